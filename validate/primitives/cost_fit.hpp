// From measured times to the costs of a platform: weighted least squares on relative errors, with as few points as the
// times justify. Pure; CALIBRATION.md explains the method.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "platforms/machine/platform.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::validate {

/// How exact a fit tries to be: what follows a curve more closely than this is taken for noise.
inline constexpr double kTolerance = 0.01;
/// A rate is told by the times if its standard error is at most this share of it.
inline constexpr double kCertainRate = 0.05;

/// One measured time.
struct Observation {
  Bytes size{};
  Seconds time{};     ///< positive
  double spread = 0;  ///< standard deviation of the rounds, relative to `time`
  Bytes again{};      ///< of these bytes, so many take their time a second time
  Seconds busy{};  ///< what is known of `time` and belongs to neither latency nor bytes, beside `overhead` of the fit
};

/// time(size) = overhead + busy(size) + latency(size) + (size + again(size)) / rate; the latency is linear between its
/// points and constant beyond them.
struct CurveFit {
  std::vector<platforms::Piecewise::Knot> latency{};  ///< ascending, at least one; no cost is negative
  std::optional<Rate> rate{};                         ///< nothing if the times do not tell it
};

/// Fits latency and rate to what is left of the times after `overhead`. Where the times do not tell the rate, the
/// latency is fitted beside `known_rate`; nothing there: the bytes take no time. Where one rate leaves an error of more
/// than a tenth at some size, as with caches that hold small sizes only, the best rate of any size is taken if that at
/// least halves the error; then large sizes have a latency that grows. `observations` must not be empty.
CurveFit fit_curve(std::span<const Observation> observations, Seconds overhead, std::optional<Rate> known_rate);

/// The same beside a rate that is known for sure, which becomes the fit's.
CurveFit fit_beside_rate(std::span<const Observation> observations, Seconds overhead, Rate rate);

/// The one time that is closest to all of them. `observations` must not be empty.
Seconds fit_constant(std::span<const Observation> observations);

struct LineFit {
  Seconds base{};  ///< not negative
  Seconds per_byte{};
};
/// time(size) = base + size * per_byte. Nothing if there are not two different sizes, or the times do not grow.
std::optional<LineFit> fit_line(std::span<const Observation> observations);

/// A cost at one size, and how far a curve may pass by it.
struct CostAt {
  platforms::Piecewise::Knot knot{};
  Seconds tolerance{};
};
/// The least of these points that still pass within every one's tolerance, first and last included. `costs` ascend by
/// size and are not empty.
std::vector<platforms::Piecewise::Knot> fewest_knots(std::span<const CostAt> costs);

/// A time that has a part which `count` things cause.
struct CountedObservation {
  Observation total{};
  Seconds rest{};  ///< the time without them
  double count = 0;
};
/// What each of them takes: total = rest + count * each. Nothing if that is not positive.
std::optional<Seconds> fit_share(std::span<const CountedObservation> observations);

/// `costs`, not empty, as a curve: constant where all tolerances bear that.
platforms::Piecewise curve_of(const std::map<Bytes, CostAt>& costs);

}  // namespace twinlink::validate
