#include "protocols/bench/results/rounds.hpp"

#include <gmock/gmock.h>

#include "protocols/bench/measure/warm_up.hpp"
#include "tests/explore/explorer/fake_world.hpp"

namespace twinlink::bench {
namespace {

TEST(Rounds, AreTimedOnTheRanksClock) {
  run_fake_world({.ranks = 1}, [](Rank& rank) {
    int round = 0;
    const auto times_us = time_rounds(rank, 3, [&] {
      for (int i = 0; i <= round; ++i) rank.allocate(Memory::pageable, 1_B);  // 1 us each
      ++round;
    });
    EXPECT_THAT(times_us, testing::ElementsAre(testing::DoubleNear(1, 1e-9), testing::DoubleNear(2, 1e-9),
                                               testing::DoubleNear(3, 1e-9)));
  });
}

TEST(Rounds, ThatShowWhatARoundTakesAreNeverMissing) {
  run_fake_world({.ranks = 1}, [](Rank& rank) {
    EXPECT_EQ(trial_rounds(rank, 3, [] {}).size(), 3U);
    EXPECT_EQ(trial_rounds(rank, 0, [] {}).size(), 1U);
  });
}

TEST(Rounds, FitIntoTheBudgetJudgedByTheLastTrial) {
  EXPECT_EQ(rounds_within(Seconds{1e-3}, {500, 10}, 1000), 100);
  EXPECT_EQ(rounds_within(Seconds{1e-3}, {10}, 40), 40);
}

TEST(Rounds, AreNotCutBelowTheFewest) {
  EXPECT_EQ(rounds_within(Seconds{1e-3}, {1e9}, 1000), kFewestRounds);
  EXPECT_EQ(rounds_within(Seconds{1e-3}, {1e9}, 2), 2);
}

TEST(Rounds, AreNotCutWithoutABudgetOrATrial) {
  EXPECT_EQ(rounds_within(Seconds{}, {1e9}, 1000), 1000);
  EXPECT_EQ(rounds_within(Seconds{1e-3}, {}, 1000), 1000);
  EXPECT_EQ(rounds_within(Seconds{1e-3}, {0}, 1000), 1000);
}

TEST(Rounds, OfPassesThatAgreeCountTogether) {
  const Rounds all = merge_passes({{.times_us = {10, 11}}, {.times_us = {9, 10.5}}});
  EXPECT_THAT(all.times_us, testing::ElementsAre(10, 11, 9, 10.5));
  EXPECT_FALSE(all.unstable);
}

TEST(Rounds, OfAPassThatTookMuchLongerDoNotCount) {
  const Rounds quick{.times_us = {10, 10}};
  const Rounds slow{.times_us = {12, 12}};
  EXPECT_EQ(merge_passes({quick, slow}).times_us, quick.times_us);
  EXPECT_EQ(merge_passes({slow, quick}).times_us, quick.times_us);
  EXPECT_TRUE(merge_passes({slow, quick}).unstable);
  EXPECT_TRUE(summarize(merge_passes({quick, slow})).unstable);
}

TEST(Rounds, OfPassesAreComparedWithTheQuickestInWhateverOrderTheyCome) {
  const Rounds first{.times_us = {11.5}};
  const Rounds second{.times_us = {10.9}};
  const Rounds third{.times_us = {10}};
  EXPECT_THAT(merge_passes({first, second, third}).times_us, testing::ElementsAre(10.9, 10));
  EXPECT_THAT(merge_passes({third, second, first}).times_us, testing::ElementsAre(10, 10.9));
}

TEST(Rounds, OfASinglePassAllCountAndItsHalvesTellWhetherItIsStable) {
  const Rounds drifts = merge_passes({{.times_us = {10, 10, 10, 12, 12, 12}}});
  EXPECT_EQ(drifts.times_us.size(), 6U);
  EXPECT_TRUE(drifts.unstable);
  EXPECT_TRUE(merge_passes({{.times_us = {12, 10}}}).unstable) << "whichever half is the slower one";
  EXPECT_FALSE(merge_passes({{.times_us = {10, 99, 10, 10, 99, 10}}}).unstable) << "single rounds move no median";
  EXPECT_FALSE(merge_passes({{.times_us = {10, 11}}}).unstable) << "a tenth is alike";
  EXPECT_FALSE(merge_passes({{.times_us = {10}}}).unstable) << "one round has no halves";
}

/// A median of 16,004 us with a 95th percentile of 33,913: every tenth round takes twice as long, in both halves alike.
TEST(Rounds, OfTwoKindsAreUnstableThoughTheirMedianHolds) {
  Rounds two_kinds;
  for (int i = 0; i < 100; ++i) two_kinds.times_us.push_back(i % 10 == 0 ? 33913 : 16004);
  EXPECT_TRUE(merge_passes({two_kinds}).unstable);
  EXPECT_TRUE(merge_passes({two_kinds, two_kinds}).unstable);
  Rounds few;
  for (int i = 0; i < 100; ++i) few.times_us.push_back(i % 34 == 0 ? 33913 : 16004);
  EXPECT_FALSE(merge_passes({few}).unstable) << "three of a hundred";
  Rounds broad;
  for (int i = 0; i < 100; ++i) broad.times_us.push_back(i % 10 == 0 ? 32000 : 16004);
  EXPECT_FALSE(merge_passes({broad}).unstable) << "less than twice as long";
}

TEST(Rounds, NeedOneThatCounts) {
  EXPECT_NO_THROW(check_repeats({.warmup = 0, .iterations = 1}));
  EXPECT_THROW(check_repeats({.warmup = 0, .iterations = 0}), UsageError);
  EXPECT_THROW(check_repeats({.warmup = -1, .iterations = 1}), UsageError);
}

}  // namespace
}  // namespace twinlink::bench
