// Rounds: something that is done again and again, and timed each time.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "protocols/bench/results/statistics.hpp"
#include "protocols/core/rank.hpp"

namespace twinlink::bench {

/// How often each size is run. Warm-up rounds are not counted.
struct Repeats {
  int warmup = 0;
  int iterations = 1;
};

/// How rounds that something disturbs are left out: undisturbed.hpp.
struct Undisturbed {
  Seconds wait{};     ///< how much longer the rounds of one size may take for that; zero: all count, nothing is watched
  double glance = 0;  ///< CoreWatch::quickest(), if an earlier run on such CPUs has told; zero: not known
  /// Sends this rank to another core, and says whether it did; empty where there is none.
  std::function<bool()> another_core{};
};

/// The times of rounds that count.
struct Rounds {
  std::vector<double> times_us{};  ///< in the order in which they were taken
  std::size_t left_out = 0;        ///< others that were timed, and do not count: undisturbed.hpp
  bool disturbed = false;          ///< something else ran on a core beside some of those that count

  /// Each time is the share of one of so many things.
  Rounds& operator/=(double things);
};

/// There must be one that counts.
Statistics summarize(Rounds rounds);

/// What passes over the same thing say together: all rounds of those whose medians are within a tenth of the quickest,
/// for others on the host may stay for minutes, and make everything longer; and of those that were disturbed none
/// beside one that was not. In the order of the passes. There must be one, and in each a round that counts.
Rounds together(std::vector<Rounds> passes);

/// What a time budget leaves at least.
inline constexpr int kFewestRounds = 5;

/// A UsageError unless there is at least one counted round.
void check_repeats(const Repeats& repeats);
/// A UsageError unless there is at least one.
void check_passes(int passes);

/// How long `round` takes, in microseconds on the rank's clock.
double time_round(Rank& rank, const std::function<void()>& round);
/// Runs `round` `count` times; how long each took, in microseconds on the rank's clock.
std::vector<double> time_rounds(Rank& rank, int count, const std::function<void()>& round);

/// The rounds before those that count, and how long each took. With a budget there is at least one, even without any
/// warm-up: it shows what a round takes.
std::vector<double> trial_rounds(Rank& rank, int warmup, Seconds budget, const std::function<void()>& round);

/// How many rounds fit into `budget`: `wanted`, or fewer but not below kFewestRounds. `trial` holds the times of rounds
/// already run, in microseconds; without any, and with a budget of zero, nothing is cut.
int rounds_within(Seconds budget, const std::vector<double>& trial, int wanted);

}  // namespace twinlink::bench
