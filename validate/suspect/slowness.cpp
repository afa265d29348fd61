#include "validate/suspect/slowness.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace twinlink::validate {

std::vector<Slowness> slowness_of(const std::vector<HeldTime>& times, const KindFacts& facts, double tolerance,
                                  double farthest) {
  static_assert(std::tuple_size_v<decltype(facts.own_errors)> == kBands);
  std::vector<Slowness> bands;
  for (const Band band : {Band::small, Band::middle, Band::large}) {
    double sum = 0;
    double squares = 0;
    std::size_t count = 0;
    for (const HeldTime& time : times) {
      if (band_of(time.size) != band) continue;
      sum += std::max(0.0, time.off);
      squares += time.deviation * time.deviation;
      ++count;
    }
    if (count == 0) continue;
    bands.push_back({.band = band,
                     .slower = std::expm1(sum / static_cast<double>(count)),
                     .allowed = std::max({tolerance, facts.own_errors.at(static_cast<std::size_t>(band)),
                                          chance_of_one_sided(squares, count, farthest)})});
  }
  return bands;
}

const Slowness& worst_of(const std::vector<Slowness>& bands) {
  assert(!bands.empty());
  return *std::ranges::max_element(bands, {}, [](const Slowness& each) { return each.slower - each.allowed; });
}

}  // namespace twinlink::validate
