// Where two curves cross: from which size on one protocol is faster than another.
#pragma once

#include <string>

#include "protocols/core/units.hpp"

namespace twinlink::bench {

/// The times of two curves at one size, both positive.
struct TwoTimes {
  Bytes size{};
  double a_us = 0;
  double b_us = 0;
};

/// By how much curve a is the faster one: ln(b / a). Zero: they are equal; negative: b is faster.
double advantage_of_a(const TwoTimes& times);

/// The size, in bytes and hardly ever a whole number, at which two curves cross between two sizes: where straight lines
/// in log(time) over log(size) meet. The curve that is the faster one before must not be so after, and they must not be
/// equal at both; where they are equal at one of the sizes, it is that size. Sizes are at least 1 B and ascend.
double crossing(const TwoTimes& before, const TwoTimes& after);

/// A size that was interpolated, to four digits: "13.21K".
std::string rounded_size(double bytes);

}  // namespace twinlink::bench
