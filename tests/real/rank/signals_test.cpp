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
  /// What a device writes for a raise.
  void raise(std::uint64_t value, Tag tag = kTag) {
    const Flag flag = origin.next(kTarget, {tag, value});
    std::atomic_ref(*flag.word).store(flag.value);
  }

  HostRuntime device{"here", 0, HostPeers::all};
  Signals origin{kOrigin, 2, device};
  Signals target{kTarget, 2, device};
};

TEST_F(SignalsTest, AreSeenInTheirOrderWhileTheRingGoesRound) {
  for (std::uint64_t number = 0; number < 3 * kMostSignals; ++number) {
    EXPECT_EQ(target.look(kOrigin, kTag, number), std::nullopt) << number;
    raise(number % 7);
    ASSERT_EQ(target.look(kOrigin, kTag, number), number % 7);
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
  raise(5);
  EXPECT_EQ(target.look(kOrigin, Tag{kTag.value + 1}, 0), std::nullopt);
  EXPECT_EQ(target.look(kTarget, kTag, 0), std::nullopt);
  EXPECT_THROW(static_cast<void>(origin.next(kOrigin, {kTag, 1})), UsageError) << "not attached";
}

}  // namespace
}  // namespace twinlink::real
