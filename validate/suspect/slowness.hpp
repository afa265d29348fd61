// By how much a curve is slower than a platform says: the one judgement that suspect and fleet share.
#pragma once

#include <cstddef>
#include <vector>

#include "validate/compare/spread.hpp"
#include "validate/primitives/primitive.hpp"

namespace twinlink::validate {

/// One time of a curve beside what the platform says.
struct HeldTime {
  Bytes size{};
  double off = 0;        ///< the logarithm of measured over predicted
  double deviation = 0;  ///< of that, by chance; 0: nobody has told
};

/// The sizes of a curve in one band: a part's bandwidth decides on large ones, and small ones must not hide it.
struct Slowness {
  Band band = Band::small;
  double slower = 0;   ///< geometric mean of measured over predicted, less 1; lines that are faster count as equal
  double allowed = 0;  ///< the tolerance, the model's own error of that kind, or what chance does, whichever is more

  [[nodiscard]] bool is_slow() const { return slower > allowed; }
};

/// Of the bands that a curve has. Of one of `farthest_of(trials)` standard deviations chance is capable.
std::vector<Slowness> slowness_of(const std::vector<HeldTime>& times, const KindFacts& facts, double tolerance,
                                  double farthest);
/// The one that is slower than allowed by most; of a curve that has any.
const Slowness& worst_of(const std::vector<Slowness>& bands);

}  // namespace twinlink::validate
