#include "validate/compare/spread.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numbers>

namespace twinlink::validate {
namespace {

double middle_of(std::vector<double>& values) {
  assert(!values.empty());
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  if (values.size() % 2 == 1) return *half;
  return (*half + *std::max_element(values.begin(), half)) / 2;
}

}  // namespace

Band band_of(Bytes size) {
  if (size < 32_KiB) return Band::small;
  return size < 1_MiB ? Band::middle : Band::large;
}

std::string_view to_string(Band band) {
  return band == Band::small ? "small sizes" : band == Band::middle ? "middle sizes" : "large sizes";
}

Spread spread_of(std::vector<double> values) {
  constexpr double kOfNormal = 1.4826;  // of a normal distribution
  Spread spread{.n = values.size(), .middle = middle_of(values)};
  for (double& value : values) value = std::abs(value - spread.middle);
  spread.deviation = kOfNormal * middle_of(values);
  return spread;
}

double correction_of(std::size_t n) {
  assert(n >= 2);
  constexpr std::array kOfFew{1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107};  // of 2 to 9
  if (n < kOfFew.size() + 2) return kOfFew[n - 2];
  const auto all = static_cast<double>(n);
  return all / (all - 0.8);
}

double farthest_of(std::size_t trials) {
  constexpr double kChance = 0.01;
  constexpr double kExact = 1e-6;
  const double each = kChance / static_cast<double>(std::max<std::size_t>(trials, 1));
  double low = 0;
  for (double high = 40; high - low > kExact;) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::numbers::sqrt2) / 2 > each ? low : high) = middle;
  }
  return low;
}

double farthest_of(std::size_t trials, std::size_t n) {
  assert(n >= kLeastEquals);
  constexpr double kErrorOfDeviation = 1.16;  // a median absolute deviation's standard error, times the root of n
  constexpr double kLeastShare = 0.2;         // of a few values nothing more can be said
  const double share = 1 - 2 * kErrorOfDeviation / std::sqrt(static_cast<double>(n));
  return farthest_of(trials) / std::max(share, kLeastShare);
}

double chance_of_one_sided(double squares, std::size_t n, double farthest) {
  assert(n > 0);
  constexpr double kMeanOfUpperHalf = 0.399;  // of a normal distribution whose lower half counts as 0
  const double root = std::sqrt(static_cast<double>(n));
  const double deviation = std::sqrt(squares / static_cast<double>(n));
  // Of one value the upper end is that of the distribution; the more there are, the nearer they are to their mean.
  return std::expm1(deviation * (kMeanOfUpperHalf * (1 - 1 / root) + farthest / root));
}

double deviation_of(double p5, double p95) {
  constexpr double kDeviations = 3.29;  // so far the two percentiles of a normal distribution are apart
  return p5 > 0 && p95 > p5 ? std::log(p95 / p5) / kDeviations : 0;
}

}  // namespace twinlink::validate
