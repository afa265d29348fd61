#include "validate/compare/report_plots.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/measure/expectation.hpp"

namespace twinlink::validate {
namespace {

using report::Column;
using report::Document;
using report::Paragraph;
using report::Plot;
using report::PlotCurve;
using report::PlotPoint;
using report::Table;

/// From so much on, cells of the heat map have the full colour.
constexpr double kFullShade = 0.25;

/// Null where the file tells no percentiles.
const bench::Statistics* spread_at(const Pair& pair, Bytes size) {
  const auto& points = pair.measured.series->points;
  const auto found = std::ranges::find(points, size, &bench::Point::size);
  return found == points.end() || found->time_us.n < 2 ? nullptr : &found->time_us;
}

/// A size of zero has no place on the axis.
void add_point(PlotCurve& curve, Bytes size, double y, const bench::Statistics* spread = nullptr) {
  if (size.count() == 0) return;
  PlotPoint point{.x = static_cast<double>(size.count()), .y = y};
  if (spread != nullptr) {
    point.low = spread->p5;
    point.high = spread->p95;
  }
  curve.points.push_back(point);
}

std::string way_of(const Pair& pair) {
  const auto& series = *pair.measured.series;
  return series.from.empty() && series.to.empty() ? "" : series.from + " to " + series.to;
}

/// A row of the heat map.
struct ErrorRow {
  std::string curve{};
  std::string what{};  ///< pattern or primitive
  std::string way{};
  std::map<Bytes, double> errors{};
};

std::vector<ErrorRow> error_rows(const Comparison& comparison) {
  std::vector<ErrorRow> all;
  for (const auto& pair : comparison.pairs) {
    std::map<std::pair<std::string, std::string>, std::size_t> known;  // of a pair: what and way -> its row
    for (const auto& row : pair.joined.rows) {
      const bool sweep = pair.measured.series.has_value();
      const auto what = sweep ? std::string(to_string(pair.measured.series->pattern)) : row.key.name;
      const auto way = sweep ? way_of(pair) : devices(row.key);
      const auto [place, is_new] = known.emplace(std::pair(what, way), all.size());
      if (is_new) all.push_back({.curve = pair.label, .what = what, .way = way});
      all[place->second].errors.emplace(row.key.size, relative_error(row));
    }
  }
  return all;
}

Table heat_map(const std::vector<ErrorRow>& rows) {
  std::set<Bytes> sizes;
  for (const auto& row : rows) {
    for (const auto& [size, error] : row.errors) sizes.insert(size);
  }
  Table table{.columns = {{"curve", Column::Align::left}, {"what", Column::Align::left}, {"way", Column::Align::left}}};
  for (const Bytes size : sizes) table.columns.push_back({.title = format_size(size)});
  for (const auto& row : rows) {
    std::vector<std::string> cells{row.curve, row.what, row.way};
    std::vector<std::optional<double>> shades(cells.size());
    for (const Bytes size : sizes) {
      const auto error = row.errors.find(size);
      const bool there = error != row.errors.end();
      cells.push_back(there ? fmt::format("{:+.1f} %", error->second * 100) : "");
      shades.push_back(there ? std::optional(std::clamp(error->second / kFullShade, -1.0, 1.0)) : std::nullopt);
    }
    table.rows.push_back(std::move(cells));
    table.shades.push_back(std::move(shades));
  }
  return table;
}

/// All curves of one pattern.
Plot pattern_plot(const Comparison& comparison, bench::Pattern pattern) {
  Plot plot{.title = fmt::format("All curves, {}: time of a message", to_string(pattern)),
            .unit = "us",
            .logarithmic = true,
            .table = {.columns = {{"size"}}}};
  std::map<Bytes, std::map<std::size_t, std::string>> cells;  // by size and column
  for (const Pair& pair : comparison.pairs) {
    if (!pair.measured.series || pair.measured.series->pattern != pattern) continue;
    const auto colour = static_cast<int>(plot.curves.size() / 2);
    PlotCurve measured{.label = fmt::format("{}, {}", pair.label, pair.measured.side()), .colour = colour};
    PlotCurve simulated{
        .label = fmt::format("{}, {}", pair.label, pair.simulated.side()), .colour = colour, .dashed = true};
    for (const auto& row : pair.joined.rows) {
      add_point(measured, row.key.size, row.measured_us);
      add_point(simulated, row.key.size, row.simulated_us);
      cells[row.key.size][plot.table.columns.size()] = microseconds(row.measured_us);
      cells[row.key.size][plot.table.columns.size() + 1] = microseconds(row.simulated_us);
    }
    for (PlotCurve* curve : {&measured, &simulated}) {
      plot.table.columns.push_back({.title = curve->label + " us"});
      plot.curves.push_back(std::move(*curve));
    }
  }
  for (const auto& [size, of_size] : cells) {
    std::vector<std::string> row(plot.table.columns.size());
    row[0] = format_size(size);
    for (const auto& [column, text] : of_size) row[column] = text;
    plot.table.rows.push_back(std::move(row));
  }
  return plot;
}

}  // namespace

std::string microseconds(double time_us) { return fmt::format("{:.3f}", time_us); }

Plot curve_plot(const Pair& pair) {
  const auto& rows = pair.joined.rows;
  const bool spreads =
      std::ranges::any_of(rows, [&](const Row& row) { return spread_at(pair, row.key.size) != nullptr; });
  std::optional<bench::Expectation> expected;
  if (pair.prediction == Prediction::other) {
    expected = bench::expectation_of(*pair.measured.environment, pair.measured.file);
  }
  Plot plot{.title = pair.label + ": time of a message", .unit = "us", .logarithmic = true};
  std::vector<std::string> titles{"size", fmt::format("{} us", pair.measured.side())};
  if (spreads) titles.insert(titles.end(), {"p5 us", "p95 us"});
  titles.insert(titles.end(), {fmt::format("{} us", pair.simulated.side()), std::string(pair.difference())});
  if (expected) titles.emplace_back("expected us");
  for (auto& title : titles) plot.table.columns.push_back({.title = std::move(title)});

  PlotCurve measured{.label = std::string(pair.measured.side())};
  PlotCurve simulated{.label = std::string(pair.simulated.side()), .colour = 1, .dashed = true};
  PlotCurve other{.label = "expected", .colour = 2, .dashed = true};
  for (const auto& row : rows) {
    const Bytes size = row.key.size;
    const auto* spread = spread_at(pair, size);
    std::vector<std::string> cells{format_size(size), microseconds(row.measured_us)};
    add_point(measured, size, row.measured_us, spread);
    add_point(simulated, size, row.simulated_us);
    if (spreads) {
      cells.push_back(spread == nullptr ? "" : microseconds(spread->p5));
      cells.push_back(spread == nullptr ? "" : microseconds(spread->p95));
    }
    cells.push_back(microseconds(row.simulated_us));
    cells.push_back(fmt::format("{:+.2f} %", relative_error(row) * 100));
    if (expected) {
      const auto* time = expected->find(size);
      if (time != nullptr) add_point(other, size, time->time_us);
      cells.push_back(time == nullptr ? "" : microseconds(time->time_us));
    }
    plot.table.rows.push_back(std::move(cells));
  }
  plot.curves = {std::move(measured), std::move(simulated)};
  if (expected) plot.curves.push_back(std::move(other));
  return plot;
}

Document error_blocks(const Comparison& comparison) {
  Table map = heat_map(error_rows(comparison));
  const Pair& first = comparison.pairs.front();
  const bool labelled = !first.measured.label.empty();
  Plot plot{.title = labelled ? "Differences of all curves" : "Errors of all curves", .unit = "%"};
  for (const Pair& pair : comparison.pairs) {
    if (!pair.measured.series) continue;
    PlotCurve curve{.label = pair.label, .colour = static_cast<int>(plot.curves.size())};
    for (const auto& row : pair.joined.rows) add_point(curve, row.key.size, relative_error(row) * 100);
    plot.curves.push_back(std::move(curve));
  }
  Document blocks{
      report::Heading{.level = 2, .text = labelled ? "Difference by size" : "Error by size"},
      Paragraph{fmt::format("({1} - {0}) / {0}: with + the {1} time is longer. Where there are colours, they are "
                            "full from {2:g} % on.",
                            first.measured.side(), first.simulated.side(), kFullShade * 100)}};
  if (plot.curves.empty()) {
    blocks.emplace_back(std::move(map));
  } else {
    plot.table = std::move(map);
    blocks.emplace_back(std::move(plot));
  }
  return blocks;
}

Document crossing_plots(const Comparison& comparison) {
  std::map<bench::Pattern, int> uses;
  for (const auto& pair : comparison.pairs) {
    if (pair.measured.series) ++uses[pair.measured.series->pattern];
  }
  Document blocks;
  for (const auto& [pattern, curves] : uses) {
    if (curves > 1) blocks.emplace_back(pattern_plot(comparison, pattern));
  }
  return blocks;
}

}  // namespace twinlink::validate
