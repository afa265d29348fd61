#include "real/rank/signals.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "real/device/host_runtime.hpp"

namespace twinlink::real {
namespace {

constexpr RankId kOrigin{1};
constexpr RankId kTarget{0};
constexpr Tag kTag{3};

class SignalsTest : public testing::Test {
 protected:
  SignalsTest() { origin.attach(kTarget, target.token()); }
  /// By the device, which refuses words that are not page-locked for it.
  void raise(std::uint64_t value, Tag tag = kTag) {
    device.copy_and_raise(nullptr, nullptr, 0_B, origin.next(kTarget, {tag, value}), Stream{0}, Engine::dma);
    device.synchronize(Stream{0});
  }

  HostRuntime device{"here", 0, HostPeers::all};
  Signals origin{kOrigin, 2, device};
  Signals target{kTarget, 2, device};
};

TEST_F(SignalsTest, AreSeenInTheirOrderWhileTheRingGoesRound) {
  constexpr Tag kLast{kSignalTags - 1};
  for (std::uint64_t number = 0; number < 3 * kMostSignals; ++number) {
    EXPECT_EQ(target.look(kOrigin, kLast, number), std::nullopt) << number;
    raise(number % 7, kLast);
    ASSERT_EQ(target.look(kOrigin, kLast, number), number % 7);
  }
}

TEST_F(SignalsTest, AsManyAsTheRingHasMayWaitForTheirTaker) {
  for (std::uint64_t number = 0; number < kMostSignals; ++number) raise(kMostSignal - number);
  for (std::uint64_t number = 0; number < kMostSignals; ++number) {
    ASSERT_EQ(target.look(kOrigin, kTag, number), kMostSignal - number);
  }
  EXPECT_EQ(target.look(kOrigin, kTag, kMostSignals), std::nullopt);
}

TEST_F(SignalsTest, OneMoreIsAnErrorThatNamesTheRankAndTheRing) {
  for (const std::uint64_t turns : {1U, 3U}) {
    Signals fresh(kTarget, 2, device);
    Signals peer(kOrigin, 2, device);
    peer.attach(kTarget, fresh.token());
    for (std::uint64_t number = 0; number <= turns * kMostSignals; ++number) {
      const Flag flag = peer.next(kTarget, {kTag, 5});
      std::atomic_ref(*flag.word).store(flag.value);
    }
    EXPECT_THAT([&] { static_cast<void>(fresh.look(kOrigin, kTag, 0)); },
                testing::ThrowsMessage<EnvironmentError>(
                    testing::HasSubstr("rank 1 has raised more than 1024 signals that nobody has taken")));
  }
}

TEST_F(SignalsTest, OfOtherTagsAndRanksAreOthers) {
  for (const std::uint64_t number : {0U, 1U}) {
    for (int tag = 0; tag < kSignalTags; ++tag) {
      EXPECT_EQ(target.look(kOrigin, Tag{tag}, number), std::nullopt) << tag;
      raise(100 * number + static_cast<std::uint64_t>(tag), Tag{tag});
      EXPECT_EQ(target.look(kTarget, Tag{tag}, number), std::nullopt) << tag;
    }
    for (int tag = 0; tag < kSignalTags; ++tag) {
      EXPECT_EQ(target.look(kOrigin, Tag{tag}, number), 100 * number + static_cast<std::uint64_t>(tag));
    }
  }
  EXPECT_THROW(static_cast<void>(origin.next(kOrigin, {kTag, 1})), UsageError) << "not attached";
}

TEST_F(SignalsTest, ArePageLockedOnceForEachPeerAndNotLonger) {
  for (int i = 0; i < 2; ++i) static_cast<void>(origin.next(kTarget, {kTag, 1}));  // a second time would be refused
  Flag left{};
  {
    Signals third(RankId{0}, 2, device);
    third.attach(kOrigin, target.token());
    left = third.next(kOrigin, {kTag, 1});
  }
  EXPECT_THROW(device.copy_and_raise(nullptr, nullptr, 0_B, left, Stream{0}, Engine::dma), EnvironmentError);
}

}  // namespace
}  // namespace twinlink::real
