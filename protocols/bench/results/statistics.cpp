#include "protocols/bench/results/statistics.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include <fmt/format.h>

namespace twinlink::bench {
namespace {

/// For normally distributed values, this times the median absolute deviation is the standard deviation.
constexpr double kScale = 1.4826;
constexpr double kMostDeviations = 5;
constexpr double kLeastShare = 0.05;

double percentile(const std::vector<double>& sorted, double share) {
  const double rank = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  if (below + 1 == sorted.size()) return sorted.back();
  const double weight = rank - static_cast<double>(below);
  return sorted[below] + weight * (sorted[below + 1] - sorted[below]);
}

}  // namespace

std::string why_no_time(double time_us) {
  if (!(time_us > 0)) return fmt::format("the time must be positive, but is {} us", time_us);
  if (time_us >= kLeastTime && time_us <= kMostTime) return "";
  return fmt::format("the time must be from {} to {} us, but is {} us", kLeastTime, kMostTime, time_us);
}

Statistics summarize(std::vector<double> samples) {
  assert(!samples.empty());
  std::ranges::sort(samples);
  return {.n = samples.size(),
          .median = percentile(samples, 0.5),
          .min = samples.front(),
          .max = samples.back(),
          .p5 = percentile(samples, 0.05),
          .p95 = percentile(samples, 0.95)};
}

// A difference of logarithms: the quotient of two extreme times could overflow.
double log_ratio(double simulated, double measured) { return std::log(simulated) - std::log(measured); }

double geometric_mean_error(std::span<const double> log_ratios) {
  assert(!log_ratios.empty());
  double sum = 0;
  for (const double ratio : log_ratios) sum += std::abs(ratio);
  return std::expm1(sum / static_cast<double>(log_ratios.size()));
}

std::vector<bool> outliers(const std::vector<double>& values) {
  if (values.empty()) return {};
  const double median = summarize(values).median;
  std::vector<double> deviations;
  std::ranges::transform(values, std::back_inserter(deviations), [&](double v) { return std::abs(v - median); });
  const double spread = kScale * summarize(deviations).median;
  std::vector<bool> marked;
  for (const double deviation : deviations) {
    marked.push_back(deviation > kLeastShare * median && deviation > kMostDeviations * spread);
  }
  return marked;
}

double upper_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace twinlink::bench
