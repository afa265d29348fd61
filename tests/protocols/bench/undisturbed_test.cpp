#include "protocols/bench/measure/undisturbed.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <vector>

#include "protocols/bench/measure/core_watch.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/support/fake_rank.hpp"

namespace twinlink::bench {
namespace {

using testing::ElementsAre;

constexpr Patience kPatience{Seconds{1.0}};
constexpr std::array kPair{RankId{0}, RankId{1}};
/// Two such rounds are a batch.
constexpr double kRound_us = 100;

/// Of glances: alone, and in company.
constexpr double kOwn = 1;
constexpr double kShared = 2;

/// By rank and glance: how long it takes, by one on a core of its own. Glances beyond the list find `otherwise`.
struct Glances {
  std::array<std::vector<double>, 2> listed{};
  double otherwise = kOwn;
};

/// Both ends of a pair time `count` rounds, each of which tells its number as its time. `changes`: of cores, by rank.
std::array<Rounds, 2> time_pair(int count, const Glances& glances, Seconds wait = Seconds{1e-3},
                                std::array<int, 2>* changes = nullptr) {
  std::array<Rounds, 2> results;
  run_fake_world({}, [&](Rank& rank) {
    const auto self = static_cast<std::size_t>(rank.id().value);
    std::size_t glance = 0;
    Undisturbed wanted{.wait = wait};
    if (changes != nullptr) wanted.another_core = [&] { return ++(*changes)[self] > 0; };
    UndisturbedRounds rounds(rank, wanted, kPatience, [&] {
      const std::vector<double>& listed = glances.listed[self];
      return glance < listed.size() ? listed[glance++] : glances.otherwise;
    });
    double number = 0;
    results[self] = rounds.time(kPair, count, {kRound_us}, [&] { return ++number; });
  });
  return results;
}

TEST(UndisturbedRounds, AllCountWhereNobodyDisturbs) {
  for (const Rounds& rounds : time_pair(5, {})) {
    EXPECT_THAT(rounds.times_us, ElementsAre(1, 2, 3, 4, 5));
    EXPECT_EQ(rounds.left_out, 0U);
    EXPECT_FALSE(rounds.disturbed);
  }
}

TEST(UndisturbedRounds, LeavesOutWhatEitherEndFindsDisturbed) {
  // Before and after each batch of two: rank 0 is disturbed after the first, rank 1 before the third.
  const Glances glances{.listed = {{{kOwn, kShared}, {kOwn, kOwn, kOwn, kOwn, kShared, kOwn}}}};
  for (const Rounds& rounds : time_pair(5, glances)) {
    EXPECT_THAT(rounds.times_us, ElementsAre(3, 4, 7, 8, 9));
    EXPECT_EQ(rounds.left_out, 4U);
    EXPECT_FALSE(rounds.disturbed);
  }
}

TEST(UndisturbedRounds, SaysSoWhereTheyNeverAreUndisturbed) {
  for (const Rounds& rounds : time_pair(5, {.otherwise = kShared})) {
    EXPECT_GE(rounds.times_us.size(), 5U);
    EXPECT_GT(rounds.left_out, 0U);
    EXPECT_TRUE(rounds.disturbed);
  }
}

/// A batch of two has the most company of both ends, before and after it.
TEST(UndisturbedRounds, OtherwiseTheRoundsWithTheLeastCompanyCount) {
  const Glances glances{.listed = {{{2, 2, 1.5, 1.3, 1.4, 1.3}, {1, 1, 1, 1, 1, 1.6}}}, .otherwise = 3};
  for (const Rounds& rounds : time_pair(4, glances)) {
    EXPECT_THAT(rounds.times_us, ElementsAre(3, 4, 5, 6)) << "batches of 2, 1.5, 1.6, and then 3";
    EXPECT_GT(rounds.left_out, 2U);
    EXPECT_TRUE(rounds.disturbed);
  }
}

/// As long as that takes a rank that was away.
TEST(UndisturbedRounds, AnEndlessGlanceIsCompanyLikeAnyOther) {
  const Glances glances{.listed = {{{1e9, 1e9}, {}}}};
  for (const Rounds& rounds : time_pair(5, glances)) {
    EXPECT_THAT(rounds.times_us, ElementsAre(3, 4, 5, 6, 7));
    EXPECT_FALSE(rounds.disturbed);
  }
}

TEST(UndisturbedRounds, EndlessGlancesEndAllTheSame) {
  std::array<int, 2> changes{};
  for (const Rounds& rounds : time_pair(5, {.otherwise = 1e9}, Seconds{1e-3}, &changes)) {
    EXPECT_GE(rounds.times_us.size(), 5U);
    EXPECT_TRUE(rounds.disturbed);
  }
}

TEST(UndisturbedRounds, WhoHasCompanyForLongGoesToAnotherCore) {
  // For four batches rank 0, for three rank 1.
  const Glances glances{.listed = {{std::vector(8, kShared), std::vector(6, kShared)}}};
  std::array<int, 2> changes{};
  for (const Rounds& rounds : time_pair(5, glances, Seconds{1.0}, &changes)) {
    // Nor does the batch count in which the new core gets to know what it runs.
    EXPECT_THAT(rounds.times_us, ElementsAre(11, 12, 13, 14, 15));
    EXPECT_EQ(rounds.left_out, 10U);
    EXPECT_FALSE(rounds.disturbed);
  }
  EXPECT_THAT(changes, ElementsAre(1, 0));
}

TEST(UndisturbedRounds, GoesRoundTheCoresInAnyCase) {
  std::array<int, 2> changes{};
  for (const Rounds& rounds : time_pair(24, {}, Seconds{1.0}, &changes)) {
    // After ten batches of two; the next one does not count.
    EXPECT_EQ(rounds.times_us.size(), 24U);
    EXPECT_EQ(rounds.times_us[19], 20);
    EXPECT_EQ(rounds.times_us[20], 23);
    EXPECT_EQ(rounds.left_out, 2U);
    EXPECT_FALSE(rounds.disturbed);
  }
  EXPECT_THAT(changes, ElementsAre(1, 1));
}

/// One of them has timed rounds of its own before.
TEST(UndisturbedRounds, GoesRoundTheCoresTogetherWithTheOthers) {
  std::array<int, 2> changes{};
  run_fake_world({}, [&](Rank& rank) {
    const auto self = static_cast<std::size_t>(rank.id().value);
    const Undisturbed wanted{.wait = Seconds{1.0}, .another_core = [&] { return ++changes[self] > 0; }};
    UndisturbedRounds rounds(rank, wanted, kPatience, [] { return kOwn; });
    const auto round = [] { return 1.0; };
    if (self == 0) rounds.time(8, {kRound_us}, round);  // four batches of the ten
    const Rounds together = rounds.time(kPair, 20, {kRound_us}, round);
    EXPECT_EQ(together.times_us.size(), 20U);
    EXPECT_EQ(together.left_out, 2U) << "one batch, after which both settle";
  });
  EXPECT_THAT(changes, ElementsAre(1, 1));
}

TEST(UndisturbedRounds, CompanyThatComesAndGoesIsBorne) {
  std::vector<double> glances(6, kShared);
  glances.insert(glances.end(), {kOwn, kOwn});
  glances.insert(glances.end(), 6, kShared);
  std::array<int, 2> changes{};
  time_pair(5, {.listed = {{glances, {}}}}, Seconds{1.0}, &changes);
  EXPECT_THAT(changes, ElementsAre(0, 0));
}

TEST(UndisturbedRounds, FewAreEnoughInTheEnd) {
  // Three batches alone, then never again.
  const Glances glances{.listed = {{{kOwn, kOwn, kOwn, kOwn, kOwn, kOwn}, {}}}, .otherwise = kShared};
  const Glances both{.listed = {{glances.listed[0], glances.listed[0]}}, .otherwise = kShared};
  for (const Rounds& rounds : time_pair(100, both)) {
    EXPECT_THAT(rounds.times_us, ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_GT(rounds.left_out, 0U);
    EXPECT_FALSE(rounds.disturbed);
  }
}

std::size_t all_of(const Rounds& rounds) { return rounds.times_us.size() + rounds.left_out; }

/// By the clock of a fake world, on which the rounds themselves take no time.
TEST(UndisturbedRounds, WaitsAsLongForEverySize) {
  run_fake_world({}, [&](Rank& rank) {
    int glances = 0;
    // The first size finds three batches alone, the others none.
    UndisturbedRounds rounds(rank, {.wait = Seconds{1e-3}}, kPatience, [&] { return glances++ < 6 ? kOwn : kShared; });
    std::vector<double> timed;
    for (int size = 0; size < 4; ++size) {
      timed.push_back(static_cast<double>(all_of(rounds.time(kPair, 10, {kRound_us}, [] { return 1.0; }))));
    }
    for (const double others : timed) EXPECT_NEAR(others, timed[0], 20);
    const auto longer = UndisturbedRounds(rank, {.wait = Seconds{4e-3}}, kPatience, [] {
                          return kShared;
                        }).time(kPair, 10, {kRound_us}, [] { return 1.0; });
    EXPECT_GT(static_cast<double>(all_of(longer)), 2 * timed[0]);
  });
}

TEST(UndisturbedRounds, CountsTheFewThatComeLate) {
  const Rounds never = time_pair(10, {.otherwise = kShared})[0];
  EXPECT_TRUE(never.disturbed);
  // In the middle of the time; a batch of two rounds has two glances.
  std::vector<double> glances(all_of(never) / 4 * 2, kShared);
  glances.insert(glances.end(), 6, kOwn);
  for (const Rounds& rounds : time_pair(10, {.listed = {{glances, glances}}, .otherwise = kShared})) {
    EXPECT_EQ(rounds.times_us.size(), 6U);
    EXPECT_NEAR(static_cast<double>(all_of(rounds)), static_cast<double>(all_of(never)), 20);
    EXPECT_FALSE(rounds.disturbed);
  }
}

TEST(UndisturbedRounds, WatchesNothingUnlessAskedTo) {
  for (const Rounds& rounds : time_pair(5, {.otherwise = kShared}, Seconds{})) {
    EXPECT_THAT(rounds.times_us, ElementsAre(1, 2, 3, 4, 5));
    EXPECT_FALSE(rounds.disturbed);
  }
}

TEST(UndisturbedRounds, BeginOnACoreApartFromTheOthers) {
  run_fake_world({.ranks = 1}, [](Rank& rank) {
    int changes = 0;
    Undisturbed wanted{.another_core = [&] { return ++changes > 0; }};
    const UndisturbedRounds all_count(rank, wanted, kPatience);
    EXPECT_EQ(changes, 0);
    wanted.wait = Seconds{1e-3};
    const UndisturbedRounds watched(rank, wanted, kPatience);
    EXPECT_EQ(changes, 1);
  });
}

/// Its clock shows what the CPU's work takes: each look at it comes so much later than the one before.
class WorkingClock final : public DecoratedRank {
 public:
  WorkingClock(Rank& inner, std::deque<double> steps_us) : DecoratedRank(inner), steps_us_(std::move(steps_us)) {}
  Seconds now() override {
    now_us_ += steps_us_.front();
    if (steps_us_.size() > 1) steps_us_.pop_front();
    return Seconds{now_us_ * 1e-6};
  }

 private:
  std::deque<double> steps_us_;
  double now_us_ = 0;
};

/// A glance by the clock: its two chains, and what fills the window between them.
struct Glance {
  double chain_us = 0.5;
  double fill_us = 0;
  double other_chain_us = 0.5;
};

/// The looks at the clock of it.
std::vector<double> steps_of(const Glance& glance) {
  return {0, glance.chain_us, glance.fill_us, glance.other_chain_us};
}

/// Of looks one after the other with nothing known before: alone or not.
std::vector<bool> verdicts(const std::vector<Glance>& glances) {
  std::vector<bool> found;
  run_fake_world({.ranks = 1}, [&](Rank& rank) {
    // When learning begins, a glance of which nothing is learnt, and its end, which has come at once.
    std::deque<double> steps_us{0, 0, 1, 1, 1, 1};
    for (const Glance& glance : glances) std::ranges::copy(steps_of(glance), std::back_inserter(steps_us));
    WorkingClock clock(rank, steps_us);
    CoreWatch watch(clock, 0, Seconds{0.5e-6});
    for (std::size_t i = 0; i < glances.size(); ++i) found.push_back(watch.look() <= CoreWatch::kAlone);
  });
  return found;
}

TEST(CoreWatch, TellsASharedCoreByTheTimeOfAGlance) {
  EXPECT_THAT(verdicts({{.fill_us = 1.4}, {.fill_us = 1.41}, {.fill_us = 2.6}, {.fill_us = 1.42}}),
              ElementsAre(true, true, false, true));
}

TEST(CoreWatch, LearnsWhatAnOwnCoreIsWhenItSeesOneTwice) {
  const Glance shared{.fill_us = 2.6};
  const Glance own{.fill_us = 1.4};
  EXPECT_THAT(verdicts({shared, shared, own, shared, own, own, shared}),
              ElementsAre(true, true, true, true, true, true, false));
}

TEST(CoreWatch, TellsByTheSameThingWhateverTheClocksRateIs) {
  constexpr double kSlower = 1.5;
  const Glance own{.fill_us = 1.4};
  const Glance shared{.fill_us = 2.6};
  const auto slow = [](const Glance& glance) {
    return Glance{kSlower * glance.chain_us, kSlower * glance.fill_us, kSlower * glance.other_chain_us};
  };
  EXPECT_THAT(verdicts({own, own, slow(own), slow(shared), own, shared}),
              ElementsAre(true, true, true, false, true, false));
}

TEST(CoreWatch, IsNotMisledByAnInterrupt) {
  const Glance own{.fill_us = 1.4};
  // In one chain: the other one counts. In both: what looks quick then is no measure for the looks that follow.
  EXPECT_THAT(verdicts({own, own, {.chain_us = 9, .fill_us = 2.6}, {.fill_us = 2.6, .other_chain_us = 9}}),
              ElementsAre(true, true, false, false));
  EXPECT_THAT(verdicts({own, own, {.chain_us = 9, .fill_us = 1.4, .other_chain_us = 9}, own, own}),
              ElementsAre(true, true, true, true, true));
}

TEST(CoreWatch, LearnsNothingThatIsKnown) {
  run_fake_world({.ranks = 1}, [](Rank& rank) {
    std::deque<double> steps_us;
    for (const double fill_us : {2.6, 1.4})
      std::ranges::copy(steps_of({.fill_us = fill_us}), std::back_inserter(steps_us));
    WorkingClock clock(rank, steps_us);
    CoreWatch watch(clock, 2.8, Seconds{1e3});
    EXPECT_GT(watch.look(), CoreWatch::kAlone);
    EXPECT_LE(watch.look(), CoreWatch::kAlone);
    EXPECT_DOUBLE_EQ(watch.quickest(), 2.8);
  });
}

TEST(CoreWatch, IsAlwaysAloneOnAClockThatTheCpuDoesNotMove) {
  run_fake_world({.ranks = 1}, [&](Rank& rank) {
    CoreWatch watch(rank, 0, Seconds{0.2});
    EXPECT_LE(watch.look(), CoreWatch::kAlone);
    EXPECT_EQ(watch.quickest(), 0);
  });
}

}  // namespace
}  // namespace twinlink::bench
