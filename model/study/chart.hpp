// A plot of curves in a terminal, in plain ASCII.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "protocols/core/units.hpp"

namespace twinlink::model {

struct ChartPoint {
  Bytes size{};  ///< at least 1
  double value = 0;
};

struct Curve {
  std::string label{};
  std::vector<ChartPoint> points{};  ///< ascending by size
};

struct ChartStyle {
  std::string title{};
  std::string unit = "MB/s";  ///< of the values
  int columns = 100;          ///< of the whole chart, at least 40
  int rows = 30;              ///< of the whole chart without the legend, at least 10
};

/// Message size along a binary logarithmic axis, values upwards from 0. Each curve has a marker of its own,
/// named in the legend below; where two markers meet, the later curve's is seen. A UsageError if there is no point to
/// draw.
std::string draw_chart(std::span<const Curve> curves, const ChartStyle& style);

}  // namespace twinlink::model
