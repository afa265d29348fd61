#include "protocols/bench/results/crossing.hpp"

#include <cassert>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace twinlink::bench {

double advantage_of_a(const TwoTimes& times) { return std::log(times.b_us) - std::log(times.a_us); }

double crossing(const TwoTimes& before, const TwoTimes& after) {
  const double at_first = advantage_of_a(before);
  const double at_last = advantage_of_a(after);
  assert(at_first != at_last && at_first * at_last <= 0 && "the curves do not cross");
  const double low = std::log2(static_cast<double>(before.size.count()));
  const double high = std::log2(static_cast<double>(after.size.count()));
  return std::exp2(low + (high - low) * at_first / (at_first - at_last));
}

std::string rounded_size(double bytes) {
  for (const auto& [suffix, unit] : {std::pair{"G", 0x1p30}, std::pair{"M", 0x1p20}, std::pair{"K", 0x1p10}}) {
    if (bytes >= unit) return fmt::format("{:.4g}{}", bytes / unit, suffix);
  }
  return fmt::format("{:.4g}", bytes);
}

}  // namespace twinlink::bench
