// What repeated measurements of one thing say.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace twinlink::bench {

/// Percentiles by linear interpolation between closest ranks: rank p (n - 1), counted from 0. In the unit of the
/// samples. With n = 0 only `median` is known: another tool's single figure, of which nobody told the spread.
struct Statistics {
  std::size_t n = 0;
  double median = 0;
  double min = 0;
  double max = 0;
  double p5 = 0;
  double p95 = 0;
  bool unstable = false;  ///< parts of the samples have medians too far apart: merge_passes()

  friend bool operator==(const Statistics&, const Statistics&) = default;
};

/// Times that a file may hold, in microseconds: a femtosecond to 1000 s, as platforms' numbers. What lies beyond was no
/// clock's, and squares and quotients of it are no numbers.
inline constexpr double kLeastTime = 1e-9;
inline constexpr double kMostTime = 1e9;
/// Why `time_us` cannot be the time of anything: "the time must be positive, but is 0 us". Empty: it can.
std::string why_no_time(double time_us);

/// `samples` must not be empty.
Statistics summarize(std::vector<double> samples);

/// ln(simulated / measured) of two positive times: how far apart they are, the same either way but for the sign.
double log_ratio(double simulated, double measured);
/// exp(mean |log_ratio|) - 1: the typical factor between simulated and measured times, less 1. `log_ratios` must not be
/// empty.
double geometric_mean_error(std::span<const double> log_ratios);

/// Which of some values that should be alike are not: further than 5 % and further than five scaled median absolute
/// deviations from the median. The spread of the values themselves decides, so that a noisy machine marks no more.
std::vector<bool> outliers(const std::vector<double>& values);

/// `values` must not be empty; of an even number, the upper one of the two in the middle.
double upper_median(std::vector<double> values);

}  // namespace twinlink::bench
