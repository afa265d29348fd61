#include "protocols/bench/rounds.hpp"

#include <gmock/gmock.h>

#include "tests/support/fake_rank.hpp"

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

TEST(Rounds, ThatShowWhatARoundTakesAreMissingOnlyWithoutABudget) {
  run_fake_world({.ranks = 1}, [](Rank& rank) {
    EXPECT_EQ(trial_rounds(rank, 3, Seconds{}, [] {}).size(), 3U);
    EXPECT_EQ(trial_rounds(rank, 3, Seconds{1}, [] {}).size(), 3U);
    EXPECT_EQ(trial_rounds(rank, 0, Seconds{}, [] {}).size(), 0U);
    EXPECT_EQ(trial_rounds(rank, 0, Seconds{1}, [] {}).size(), 1U);
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

TEST(Rounds, NeedOneThatCounts) {
  EXPECT_NO_THROW(check_repeats({.warmup = 0, .iterations = 1}));
  EXPECT_THROW(check_repeats({.warmup = 0, .iterations = 0}), UsageError);
  EXPECT_THROW(check_repeats({.warmup = -1, .iterations = 1}), UsageError);
}

}  // namespace
}  // namespace twinlink::bench
