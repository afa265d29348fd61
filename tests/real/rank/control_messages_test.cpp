#include "real/rank/control_messages.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>

namespace twinlink::real {
namespace {

constexpr RankId kSender{0};
constexpr RankId kOwner{1};
constexpr RankId kOther{2};
constexpr Tag kTag{5};

/// Ranks in one process, two of which send to the third: shared memory is the same for all.
class TwoRanks : public testing::Test {
 protected:
  TwoRanks() {
    for (ControlMessages* const sender : {&sender_, &other_}) sender->attach(kOwner, owner_.token());
    owner_.attach(kSender, sender_.token());
    owner_.attach(kOther, other_.token());
  }
  /// A UsageError of as() if the control message holds something else than an int.
  std::optional<int> take(Tag tag = kTag, RankId from = kSender) {
    ControlMessage message;
    if (!owner_.take(from, tag, message)) return std::nullopt;
    return message.as<int>();
  }

  ControlMessages sender_{kSender, 3};
  ControlMessages owner_{kOwner, 3};
  ControlMessages other_{kOther, 3};
};

TEST_F(TwoRanks, NothingIsTakenThatWasNotPosted) { EXPECT_FALSE(take()); }

TEST_F(TwoRanks, MessagesOfOneTagStayInOrderWhileTheBoxGoesRoundManyTimes) {
  constexpr int kRounds = 5 * static_cast<int>(kControlMessagesOfOrigin) + 3;
  for (int i = 0; i < kRounds; ++i) {
    ASSERT_TRUE(sender_.post(kOwner, kTag, ControlMessage(2 * i)));
    ASSERT_TRUE(sender_.post(kOwner, kTag, ControlMessage(2 * i + 1)));
    ASSERT_EQ(take(), 2 * i);
    ASSERT_EQ(take(), 2 * i + 1);
  }
  EXPECT_FALSE(take());
}

TEST_F(TwoRanks, AFullBoxTakesNoMessageUntilOneIsTakenOut) {
  for (std::uint64_t i = 0; i < kControlMessagesOfOrigin; ++i) {
    ASSERT_TRUE(sender_.post(kOwner, kTag, ControlMessage(static_cast<int>(i))));
  }
  EXPECT_FALSE(sender_.post(kOwner, kTag, ControlMessage(-1)));
  EXPECT_EQ(take(), 0);
  EXPECT_TRUE(sender_.post(kOwner, kTag, ControlMessage(-2)));
  EXPECT_FALSE(sender_.post(kOwner, kTag, ControlMessage(-3)));
  for (std::uint64_t i = 1; i < kControlMessagesOfOrigin; ++i) EXPECT_EQ(take(), static_cast<int>(i));
  EXPECT_EQ(take(), -2);  // and of the refused ones there is no trace
  EXPECT_FALSE(take());
}

TEST_F(TwoRanks, WhoLooksForOneTagKeepsTheOthersInOrder) {
  constexpr Tag kAnother{6};
  ASSERT_TRUE(sender_.post(kOwner, kAnother, ControlMessage(1)));
  ASSERT_TRUE(sender_.post(kOwner, kAnother, ControlMessage(2)));
  ASSERT_TRUE(sender_.post(kOwner, kTag, ControlMessage(3)));
  EXPECT_EQ(take(kTag), 3);
  ASSERT_TRUE(sender_.post(kOwner, kAnother, ControlMessage(4)));
  EXPECT_EQ(take(kAnother), 1);
  EXPECT_EQ(take(kAnother), 2);
  EXPECT_EQ(take(kAnother), 4);
  EXPECT_FALSE(take(kAnother));
}

TEST_F(TwoRanks, WhoMakesRoomKeepsAllMessagesInOrder) {
  int next = 0;
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < kControlMessagesOfOrigin; ++i, ++next) {
      ASSERT_TRUE(sender_.post(kOwner, kTag, ControlMessage(next)));
      ASSERT_TRUE(other_.post(kOwner, kTag, ControlMessage(-next)));
    }
    owner_.make_room();
  }
  ASSERT_TRUE(sender_.post(kOwner, kTag, ControlMessage(next)));
  for (int i = 0; i <= next; ++i) ASSERT_EQ(take(), i);
  for (int i = 0; i < next; ++i) ASSERT_EQ(take(kTag, kOther), -i);
  EXPECT_FALSE(take());
  EXPECT_FALSE(take(kTag, kOther));
}

TEST_F(TwoRanks, TheTwoDirectionsHaveBoxesOfTheirOwn) {
  ASSERT_TRUE(sender_.post(kOwner, kTag, ControlMessage(1)));
  ASSERT_TRUE(owner_.post(kSender, kTag, ControlMessage(2)));
  ControlMessage message;
  ASSERT_TRUE(sender_.take(kOwner, kTag, message));
  EXPECT_EQ(message.as<int>(), 2);
  EXPECT_EQ(take(), 1);
}

TEST_F(TwoRanks, AMessageKeepsItsSizeAndItsFullCapacity) {
  using Full = std::array<unsigned char, ControlMessage::kCapacity>;
  Full full{};
  for (std::size_t i = 0; i < full.size(); ++i) full[i] = static_cast<unsigned char>(i + 1);
  ASSERT_TRUE(sender_.post(kOwner, kTag, ControlMessage(full)));
  ASSERT_TRUE(sender_.post(kOwner, kTag, ControlMessage()));
  ControlMessage message;
  ASSERT_TRUE(owner_.take(kSender, kTag, message));
  EXPECT_EQ(message.as<Full>(), full);
  ASSERT_TRUE(owner_.take(kSender, kTag, message));
  EXPECT_TRUE(message.bytes().empty());
}

}  // namespace
}  // namespace twinlink::real
