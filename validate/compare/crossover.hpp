// From which size on one protocol is faster than another, in each world, and how far the two worlds' answers lie apart.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "protocols/bench/results/crossing.hpp"

namespace twinlink::validate {

enum class Faster { a, b };

/// One curve is the faster one from `from_bytes` on, until the next Lead takes over.
struct Lead {
  Faster curve = Faster::a;
  double from_bytes = 0;  ///< interpolated, hence not a whole number
};

/// Who leads from where; every entry but the first is a crossover. Between two sizes it is bench::crossing(); at a size
/// with equal times it is that size, if the lead really changes there. Curves that only touch do not cross. Empty if
/// the curves are equal everywhere. `times` ascends by size; a size of zero bytes has no logarithm and is left out.
std::vector<Lead> leads(std::span<const bench::TwoTimes> times);

/// A crossover in both worlds, or in one of them only.
struct Crossover {
  Faster curve = Faster::a;  ///< the curve that takes the lead
  std::optional<double> measured_bytes{};
  std::optional<double> simulated_bytes{};

  /// log2(simulated / measured): +1 is a simulation that crosses at double the size. Empty unless both worlds cross.
  [[nodiscard]] std::optional<double> distance() const;
};

/// Pairs the crossovers of two worlds in which the same curve takes the lead, the closest first. What is left has only
/// one world's size. Ascending by size.
std::vector<Crossover> match_crossovers(std::span<const Lead> measured, std::span<const Lead> simulated);

}  // namespace twinlink::validate
