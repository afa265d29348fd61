#include "protocols/bench/rounds.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace twinlink::bench {

Rounds together(Rounds one, Rounds other) {
  constexpr double kAlike = 1.1;
  const double median = summarize(one).median;
  const double others = summarize(other).median;
  if (one.disturbed != other.disturbed) return one.disturbed ? other : one;
  if (median > others * kAlike) return other;
  if (others > median * kAlike) return one;
  one.times_us.insert(one.times_us.end(), other.times_us.begin(), other.times_us.end());
  one.left_out += other.left_out;
  return one;
}

void check_passes(int passes) {
  if (passes < 1) throw UsageError(fmt::format("{} passes: at least one is needed", passes));
}

void check_repeats(const Repeats& repeats) {
  if (repeats.warmup < 0 || repeats.iterations < 1) {
    throw UsageError(fmt::format("{} warm-up rounds and {} counted ones: at least 0 and 1 are needed", repeats.warmup,
                                 repeats.iterations));
  }
}

Rounds& Rounds::operator/=(double things) {
  for (double& time : times_us) time /= things;
  return *this;
}

Statistics summarize(Rounds rounds) {
  Statistics statistics = summarize(std::move(rounds.times_us));
  statistics.left_out = rounds.left_out;
  statistics.disturbed = rounds.disturbed;
  return statistics;
}

double time_round(Rank& rank, const std::function<void()>& round) {
  const Seconds start = rank.now();
  round();
  return (rank.now() - start).microseconds();
}

std::vector<double> time_rounds(Rank& rank, int count, const std::function<void()>& round) {
  std::vector<double> samples;
  samples.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) samples.push_back(time_round(rank, round));
  return samples;
}

std::vector<double> trial_rounds(Rank& rank, int warmup, Seconds budget, const std::function<void()>& round) {
  return time_rounds(rank, budget == Seconds{} ? warmup : std::max(warmup, 1), round);
}

int rounds_within(Seconds budget, const std::vector<double>& trial, int wanted) {
  if (budget == Seconds{} || trial.empty() || trial.back() <= 0) return wanted;
  const double affordable = budget.microseconds() / trial.back();
  if (affordable >= wanted) return wanted;
  return std::min(wanted, std::max(kFewestRounds, static_cast<int>(affordable)));
}

}  // namespace twinlink::bench
