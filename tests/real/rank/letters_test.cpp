#include "real/rank/letters.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>

namespace twinlink::real {
namespace {

constexpr RankId kSender{0};
constexpr RankId kOwner{1};
constexpr Tag kTag{5};

/// Two ranks in one process: shared memory is the same for both.
class TwoRanks : public testing::Test {
 protected:
  TwoRanks() {
    sender_.meet(kOwner, owner_.token());
    owner_.meet(kSender, sender_.token());
  }
  /// A UsageError of as() if the letter holds something else than an int.
  std::optional<int> take(Tag tag = kTag) {
    Message letter;
    if (!owner_.take(kSender, tag, letter)) return std::nullopt;
    return letter.as<int>();
  }

  Letters sender_{kSender, 2};
  Letters owner_{kOwner, 2};
};

TEST_F(TwoRanks, NothingIsTakenThatWasNotPosted) { EXPECT_FALSE(take()); }

TEST_F(TwoRanks, LettersOfOneTagStayInOrderWhileTheBoxGoesRoundManyTimes) {
  constexpr int kRounds = 5 * static_cast<int>(kLettersOfOrigin) + 3;
  for (int i = 0; i < kRounds; ++i) {
    ASSERT_TRUE(sender_.post(kOwner, kTag, Message(2 * i)));
    ASSERT_TRUE(sender_.post(kOwner, kTag, Message(2 * i + 1)));
    ASSERT_EQ(take(), 2 * i);
    ASSERT_EQ(take(), 2 * i + 1);
  }
  EXPECT_FALSE(take());
}

TEST_F(TwoRanks, AFullBoxTakesNoLetterUntilOneIsTakenOut) {
  for (std::uint64_t i = 0; i < kLettersOfOrigin; ++i) {
    ASSERT_TRUE(sender_.post(kOwner, kTag, Message(static_cast<int>(i))));
  }
  EXPECT_FALSE(sender_.post(kOwner, kTag, Message(-1)));
  EXPECT_EQ(take(), 0);
  EXPECT_TRUE(sender_.post(kOwner, kTag, Message(-2)));
  EXPECT_FALSE(sender_.post(kOwner, kTag, Message(-3)));
  for (std::uint64_t i = 1; i < kLettersOfOrigin; ++i) EXPECT_EQ(take(), static_cast<int>(i));
  EXPECT_EQ(take(), -2);  // and of the refused ones there is no trace
  EXPECT_FALSE(take());
}

TEST_F(TwoRanks, WhoLooksForOneTagKeepsTheOthersInOrder) {
  constexpr Tag kOther{6};
  ASSERT_TRUE(sender_.post(kOwner, kOther, Message(1)));
  ASSERT_TRUE(sender_.post(kOwner, kOther, Message(2)));
  ASSERT_TRUE(sender_.post(kOwner, kTag, Message(3)));
  EXPECT_EQ(take(kTag), 3);
  ASSERT_TRUE(sender_.post(kOwner, kOther, Message(4)));
  EXPECT_EQ(take(kOther), 1);
  EXPECT_EQ(take(kOther), 2);
  EXPECT_EQ(take(kOther), 4);
  EXPECT_FALSE(take(kOther));
}

TEST_F(TwoRanks, WhoMakesRoomKeepsAllLettersInOrder) {
  int next = 0;
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < kLettersOfOrigin; ++i) ASSERT_TRUE(sender_.post(kOwner, kTag, Message(next++)));
    owner_.make_room();
  }
  ASSERT_TRUE(sender_.post(kOwner, kTag, Message(next++)));
  for (int i = 0; i < next; ++i) ASSERT_EQ(take(), i);
  EXPECT_FALSE(take());
}

TEST_F(TwoRanks, TheTwoDirectionsHaveBoxesOfTheirOwn) {
  ASSERT_TRUE(sender_.post(kOwner, kTag, Message(1)));
  ASSERT_TRUE(owner_.post(kSender, kTag, Message(2)));
  Message letter;
  ASSERT_TRUE(sender_.take(kOwner, kTag, letter));
  EXPECT_EQ(letter.as<int>(), 2);
  EXPECT_EQ(take(), 1);
}

TEST_F(TwoRanks, ALetterKeepsItsSizeAndItsFullCapacity) {
  using Full = std::array<unsigned char, Message::kCapacity>;
  Full full{};
  for (std::size_t i = 0; i < full.size(); ++i) full[i] = static_cast<unsigned char>(i + 1);
  ASSERT_TRUE(sender_.post(kOwner, kTag, Message(full)));
  ASSERT_TRUE(sender_.post(kOwner, kTag, Message()));
  Message letter;
  ASSERT_TRUE(owner_.take(kSender, kTag, letter));
  EXPECT_EQ(letter.as<Full>(), full);
  ASSERT_TRUE(owner_.take(kSender, kTag, letter));
  EXPECT_TRUE(letter.bytes().empty());
}

}  // namespace
}  // namespace twinlink::real
