// Rounds: something that was done again and again, and timed each time (measure/warm_up.hpp does it).
#pragma once

#include <string_view>
#include <vector>

#include "protocols/bench/results/statistics.hpp"

namespace twinlink::bench {

/// How often each size is run. Warm-up rounds are not counted.
struct Repeats {
  int warmup = 0;
  int iterations = 1;
};

/// The times of rounds that count.
struct Rounds {
  std::vector<double> times_us{};  ///< in the order in which they were taken
  bool unstable = false;           ///< as of Statistics

  /// Each time is the share of one of so many things.
  Rounds& operator/=(double things);
};

/// There must be one that counts.
Statistics summarize(Rounds rounds);

/// What passes over the same thing say together, in their order: all rounds of those whose medians are within kAlike of
/// the quickest one's, for others on the host may stay for minutes, and make everything longer. Unstable if a pass does
/// not count; of a single pass, if the medians of its first and its second half lie further apart than that, and all
/// its rounds count; and if a twentieth of the rounds that count takes more than kWide times their median. There must
/// be a pass, and in each a round.
Rounds merge_passes(const std::vector<Rounds>& passes);
/// So many times the shorter one's is the longer one's time at most.
inline constexpr double kAlike = 1.1;
/// So many times the median the 95th percentile is at most: beyond, there are two kinds of rounds.
inline constexpr double kWide = 2;
/// What an unstable point or line is, for people.
inline constexpr std::string_view kUnstableMeans =
    "the medians of passes, or of the two halves of a single pass, lie more than 10 % apart, or the 95th percentile is "
    "more than twice the median";

/// A UsageError unless there is at least one counted round.
void check_repeats(const Repeats& repeats);
/// A UsageError unless there is at least one.
void check_passes(int passes);

}  // namespace twinlink::bench
