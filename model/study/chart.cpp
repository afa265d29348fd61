#include "model/study/chart.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

namespace twinlink::model {
namespace {

constexpr std::string_view kMarkers = "ox*#@%&$=ABCDEFGH";
constexpr int kMargin = 11;  // "    100000 |"

double log2_of(Bytes size) { return std::log2(static_cast<double>(size.count())); }

struct Range {
  double low = 0;
  double high = 0;

  [[nodiscard]] double share(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

/// The smallest of 1, 2, 2.5, 4, 5, 8 and 10 times a power of ten that is not below `value`: a fifth of each is a
/// number of at most two digits.
double round_up(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {1.0, 2.0, 2.5, 4.0, 5.0, 8.0}) {
    if (value <= step * power) return step * power;
  }
  return 10 * power;
}

class Canvas {
 public:
  Canvas(std::span<const Curve> curves, const ChartStyle& style)
      : style_(style), width_(style.columns - kMargin - 1), height_(style.rows - 3) {
    for (const Curve& curve : curves) {
      for (const ChartPoint& point : drawable(curve)) include(point);
    }
    if (values_.high <= 0) throw UsageError("there is nothing to draw: no point with a size and a value above zero");
    values_.high = round_up(values_.high);
    cells_.assign(static_cast<std::size_t>(height_), std::string(static_cast<std::size_t>(width_), ' '));
  }

  /// Dots from point to point.
  void draw_line(const Curve& curve) {
    const std::vector<ChartPoint> points = drawable(curve);
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
      const int first = column(points[i]);
      const int last = column(points[i + 1]);
      for (int x = first + 1; x < last; ++x) {
        const double weight = static_cast<double>(x - first) / (last - first);
        const double y = points[i].value * (1 - weight) + points[i + 1].value * weight;
        cell(x, row_of(y)) = '.';
      }
    }
  }

  void draw_points(const Curve& curve, char marker) {
    for (const ChartPoint& point : drawable(curve)) cell(column(point), row_of(point.value)) = marker;
  }

  [[nodiscard]] std::string text() const {
    std::string text = fmt::format("{:>{}}  {}\n", style_.unit, kMargin - 1, style_.title);
    for (int row = 0; row < height_; ++row) {
      const auto label = row_label(row);
      const std::string line = fmt::format("{:>{}} {}{}", label.value_or(""), kMargin - 1, label ? '+' : '|',
                                           cells_[static_cast<std::size_t>(row)]);
      text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    }
    return text + fmt::format("{:>{}} +{:->{}}\n", "", kMargin - 1, "", width_) + size_labels();
  }

 private:
  static bool can_draw(const ChartPoint& point) { return point.size > Bytes{} && std::isfinite(point.value); }

  static std::vector<ChartPoint> drawable(const Curve& curve) {
    std::vector<ChartPoint> points;
    std::ranges::copy_if(curve.points, std::back_inserter(points), can_draw);
    return points;
  }

  void include(const ChartPoint& point) {
    const double size = log2_of(point.size);
    sizes_ = {std::min(sizes_.low, size), std::max(sizes_.high, size)};
    values_.high = std::max(values_.high, point.value);
  }

  [[nodiscard]] int column(double log2_size) const {
    return std::clamp(static_cast<int>(std::lround(sizes_.share(log2_size) * (width_ - 1))), 0, width_ - 1);
  }
  [[nodiscard]] int column(const ChartPoint& point) const { return column(log2_of(point.size)); }
  [[nodiscard]] int row_of(double value) const {
    const auto from_bottom = static_cast<int>(std::lround(values_.share(value) * (height_ - 1)));
    return height_ - 1 - std::clamp(from_bottom, 0, height_ - 1);
  }
  char& cell(int x, int row) { return cells_[static_cast<std::size_t>(row)][static_cast<std::size_t>(x)]; }

  /// The value that a row stands for, where the axis has a tick.
  [[nodiscard]] std::optional<std::string> row_label(int row) const {
    constexpr int kTicks = 5;
    for (int tick = 0; tick <= kTicks; ++tick) {
      const double value = values_.high * tick / kTicks;
      if (row_of(value) == row) return fmt::format("{:g}", value);
    }
    return std::nullopt;
  }

  /// Powers of two at equal distances, as close as their names allow.
  [[nodiscard]] std::string size_labels() const {
    constexpr int kLabelWidth = 5;  // "256K "
    const auto first = static_cast<int>(std::ceil(sizes_.low));
    int step = 1;
    while (first + step <= sizes_.high && column(first + step) - column(first) < kLabelWidth) ++step;
    std::string labels;
    for (int power = first; power <= sizes_.high; power += step) {
      const std::string label = format_size(Bytes{std::uint64_t{1} << static_cast<unsigned>(power)});
      const int at = std::min(kMargin + 1 + column(power), style_.columns - static_cast<int>(label.size()));
      labels.resize(static_cast<std::size_t>(at), ' ');
      labels += label;
    }
    return labels + '\n';
  }

  const ChartStyle& style_;
  int width_;
  int height_;
  Range sizes_{.low = std::numeric_limits<double>::infinity(), .high = 0};  // log2 of bytes
  Range values_;                                                            // from 0
  std::vector<std::string> cells_;
};

char marker_of(std::size_t curve) { return kMarkers[curve % kMarkers.size()]; }

}  // namespace

std::string draw_chart(std::span<const Curve> curves, const ChartStyle& style) {
  constexpr int kFewestColumns = 40;
  constexpr int kFewestRows = 10;
  if (style.columns < kFewestColumns || style.rows < kFewestRows) {
    throw UsageError(fmt::format("a chart of {} by {} characters: at least {} by {} are needed", style.columns,
                                 style.rows, kFewestColumns, kFewestRows));
  }
  Canvas canvas(curves, style);
  for (const Curve& curve : curves) canvas.draw_line(curve);
  for (std::size_t i = 0; i < curves.size(); ++i) canvas.draw_points(curves[i], marker_of(i));
  std::string text = canvas.text() + '\n';
  for (std::size_t i = 0; i < curves.size(); ++i) {
    text += fmt::format("{:>{}} {}\n", marker_of(i), kMargin, curves[i].label);
  }
  return text;
}

}  // namespace twinlink::model
