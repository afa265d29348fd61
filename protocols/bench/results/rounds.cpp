#include "protocols/bench/results/rounds.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "protocols/core/errors.hpp"

namespace twinlink::bench {

namespace {

double median(std::span<const double> times_us) {
  return summarize(std::vector(times_us.begin(), times_us.end())).median;
}

/// One median for each half, or none of a single round.
std::vector<double> medians_of_halves(std::span<const double> times_us) {
  const std::size_t half = times_us.size() / 2;
  if (half == 0) return {};
  return {median(times_us.first(half)), median(times_us.subspan(half))};
}

bool apart(const std::vector<double>& medians) {
  if (medians.empty()) return false;
  const auto [least, most] = std::ranges::minmax(medians);
  return most > least * kAlike;
}

/// Among fewer rounds none is a twentieth.
bool wide(const std::vector<double>& times_us) {
  constexpr std::size_t kFewest = 20;
  if (times_us.size() < kFewest) return false;
  const Statistics statistics = summarize(times_us);
  return statistics.p95 > kWide * statistics.median;
}

}  // namespace

Rounds merge_passes(const std::vector<Rounds>& passes) {
  if (passes.size() == 1) {
    const std::vector<double>& times_us = passes.front().times_us;
    return {.times_us = times_us, .unstable = apart(medians_of_halves(times_us)) || wide(times_us)};
  }
  std::vector<double> medians;
  for (const Rounds& pass : passes) medians.push_back(median(pass.times_us));
  const double most = std::ranges::min(medians) * kAlike;
  Rounds all{.unstable = apart(medians)};
  for (std::size_t i = 0; i < passes.size(); ++i) {
    if (medians[i] > most) continue;
    all.times_us.insert(all.times_us.end(), passes[i].times_us.begin(), passes[i].times_us.end());
  }
  all.unstable = all.unstable || wide(all.times_us);
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
  statistics.unstable = rounds.unstable;
  return statistics;
}

}  // namespace twinlink::bench
