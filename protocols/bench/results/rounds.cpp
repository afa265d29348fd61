#include "protocols/bench/results/rounds.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace twinlink::bench {

Rounds together(std::vector<Rounds> passes) {
  constexpr double kAlike = 1.1;
  const bool any_quiet = std::ranges::any_of(passes, [](const Rounds& pass) { return !pass.disturbed; });
  if (any_quiet) std::erase_if(passes, [](const Rounds& pass) { return pass.disturbed; });
  std::vector<double> medians;
  for (const Rounds& pass : passes) medians.push_back(summarize(pass).median);
  const double quickest = std::ranges::min(medians);
  Rounds all{.disturbed = !any_quiet};
  for (std::size_t i = 0; i < passes.size(); ++i) {
    if (medians[i] > quickest * kAlike) continue;
    all.times_us.insert(all.times_us.end(), passes[i].times_us.begin(), passes[i].times_us.end());
    all.left_out += passes[i].left_out;
  }
  return all;
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
