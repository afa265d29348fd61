// The pictures of a comparison, each with the table of its numbers.
#pragma once

#include <string>

#include "platforms/report/document.hpp"
#include "validate/compare/comparison.hpp"

namespace twinlink::validate {

/// "12.500", as all tables have times.
std::string microseconds(double time_us);

/// One curve's times: measured with their 5th and 95th percentile where the file tells these, simulated, and what was
/// expected where that was something else.
report::Plot curve_plot(const Pair& pair);

/// The error of every curve, or primitive of a probe file, at every size: a plot of the curves, and a heat map.
report::Document error_blocks(const Comparison& comparison);

/// For each pattern of several curves the times of all, where one can see them cross.
report::Document crossing_plots(const Comparison& comparison);

}  // namespace twinlink::validate
