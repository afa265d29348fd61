// What values that should be alike say of themselves, and how far off one of many may be by chance.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "protocols/core/units.hpp"

namespace twinlink::validate {

/// Sizes that are slow for the same reasons: latencies, both, bandwidths.
enum class Band { small, middle, large };
inline constexpr std::size_t kBands = 3;
/// Below 32 KiB, below 1 MiB, and from there on.
Band band_of(Bytes size);
/// "small sizes", "middle sizes", "large sizes".
std::string_view to_string(Band band);

/// Of logarithms: 0.05 is five per cent.
struct Spread {
  std::size_t n = 0;
  double middle = 0;     ///< the median, of an even number the mean of the two in the middle
  double deviation = 0;  ///< the median absolute deviation as a standard deviation: a few that are ill do not count
};
/// `values` must not be empty.
Spread spread_of(std::vector<double> values);

/// What the deviation that `n` values tell is multiplied with to be that of a normal distribution in the mean: it is
/// too small of a few (Croux and Rousseeuw, Computational Statistics 1, 1992, b_n of the median absolute deviation).
/// `n` is at least 2.
double correction_of(std::size_t n);

/// Fewer values that are alike tell no spread.
inline constexpr std::size_t kLeastEquals = 5;

/// So many standard deviations one of `trials` values from a normal distribution is off with a probability of 1 %, on
/// one side.
double farthest_of(std::size_t trials);

/// The same where the deviation is told by `n` values, and may be too small itself: by two of its standard errors.
/// `n` is at least kLeastEquals.
double farthest_of(std::size_t trials, std::size_t n);

/// How large the mean of `n` logarithms may be of which those below 0 count as 0, by chance: `squares` is the sum of
/// the squares of their deviations, `farthest` of farthest_of(). As a fraction.
double chance_of_one_sided(double squares, std::size_t n, double farthest);

/// Standard deviation of a logarithm from the 5th and the 95th percentile of what it is of. 0 of none.
double deviation_of(double p5, double p95);

}  // namespace twinlink::validate
