#include <algorithm>

#include <fmt/format.h>

#include "protocols/bench/figure/figures.hpp"
#include "protocols/bench/results/chart.hpp"

namespace twinlink::bench {
namespace {

const Point* point_at(const Series& series, Bytes size) {
  const auto found = std::ranges::find(series.points, size, &Point::size);
  return found == series.points.end() ? nullptr : &*found;
}

std::string table(std::span<const DrawnCurve> curves) {
  std::string text = "\n      size";
  for (std::size_t i = 0; i < curves.size(); ++i) text += fmt::format("{:>10}", fmt::format("({})", i + 1));
  text += "   MB/s\n";
  for (const Point& row : curves.front().series.points) {
    text += fmt::format("{:>10}", format_size(row.size));
    for (const DrawnCurve& drawn : curves) {
      const Point* point = point_at(drawn.series, row.size);
      text += point == nullptr ? fmt::format("{:>10}", "-") : fmt::format("{:>10.1f}", point->bandwidth_MBps);
    }
    text += "\n";
  }
  return text;
}

/// "4 to 8K, 1M": sizes as ranges of neighbours of `all`.
std::string ranges(const std::vector<Bytes>& sizes, const std::vector<Point>& all) {
  std::string text;
  for (std::size_t i = 0; i < sizes.size();) {
    auto here = std::ranges::find(all, sizes[i], &Point::size);
    std::size_t last = i;
    while (last + 1 < sizes.size() && ++here != all.end() && here->size == sizes[last + 1]) ++last;
    text += (text.empty() ? "" : ", ") + format_size(sizes[i]);
    if (last > i) text += " to " + format_size(sizes[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace

std::string against_the_page(const Figure& figure, std::span<const DrawnCurve> curves) {
  std::string text;
  const auto numbered = [&](const std::string& id) {
    const auto found = std::ranges::find(curves, id, [](const DrawnCurve& drawn) { return drawn.curve->id; });
    return static_cast<std::size_t>(found - curves.begin());
  };
  for (const auto& [lower, upper] : figure.rising) {
    const std::size_t low = numbered(lower);
    const std::size_t high = numbered(upper);
    if (low == curves.size() || high == curves.size()) continue;
    std::vector<Bytes> wrong;
    for (const Point& point : curves[low].series.points) {
      const Point* other = point_at(curves[high].series, point.size);
      if (other != nullptr && other->bandwidth_MBps < point.bandwidth_MBps) wrong.push_back(point.size);
    }
    if (wrong.empty()) continue;
    text += fmt::format("  ({}) is below ({}), against the page, at {}\n", high + 1, low + 1,
                        ranges(wrong, curves[low].series.points));
  }
  return text;
}

std::string figure_text(const Figure& figure, std::span<const DrawnCurve> curves, std::string_view world) {
  if (curves.empty()) throw UsageError("there is no curve to draw");
  std::vector<Curve> plotted;
  std::string legend;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const auto& [of, series] = curves[i];
    legend += fmt::format("  ({}) {}\n      {} to {}: {}\n", i + 1, series.label, series.from, series.to,
                          series.points.back().path);
    if (of != nullptr && !of->of_the_page) continue;
    Curve curve{.label = fmt::format("({}) {}", i + 1, series.label)};
    for (const Point& point : series.points) curve.points.push_back({point.size, point.bandwidth_MBps});
    plotted.push_back(std::move(curve));
  }
  const std::string notes = against_the_page(figure, curves);
  return draw_chart(plotted, {.title = fmt::format("{} ({})", figure.title, world)}) + table(curves) + "\n" + legend +
         (notes.empty() ? "" : "\n" + notes);
}

}  // namespace twinlink::bench
