#include "model/study/sweep/study_report.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "protocols/core/units.hpp"

namespace twinlink::model {
namespace {

using report::Column;
using report::Table;

std::string words(const std::vector<std::string>& names, const std::vector<std::string>& values) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", names[i], values[i]);
  return text;
}

Column left(const std::string& title) { return {title, Column::Align::left}; }

Table best_table(const StudyIdentity& identity, std::span<const StudyRow> rows) {
  const StudyAxes axes(identity);
  Table table{.columns = {left("of"), {"size"}, left("the fastest"), {"time us"}, {"5th"}, {"95th"}, {"MB/s"}}};
  for (const BestRow& best : best_rows(identity, rows)) {
    const StudyRow& row = *best.row;
    table.rows.push_back({words(axes.asked, axes.asked_of(row)), format_size(Bytes{row.bytes}),
                          words(axes.set, axes.set_of(row)) + best.ties(), fmt::format("{:.3f}", row.time_us),
                          fmt::format("{:.3f}", row.p5_us), fmt::format("{:.3f}", row.p95_us),
                          fmt::format("{:.1f}", row.rate_MBps)});
  }
  return table;
}

/// How much longer each value of an axis takes than the best of its axis, all else the same: the geometric mean
/// over all else for which every value has a time.
Table effects(const StudyIdentity& identity, std::span<const StudyRow> rows) {
  Table table{.columns = {left("axis"), left("value"), {"times the best value's time"}, {"compared"}}};
  for (std::size_t axis = 0; axis < identity.axes.size(); ++axis) {
    std::map<std::pair<std::vector<std::string>, std::uint64_t>, std::map<std::string, double>> groups;
    std::vector<std::string> values;
    for (const StudyRow& row : rows) {
      std::vector<std::string> others = row.values;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(axis));
      if (row.error.empty()) groups[{others, row.bytes}][row.values[axis]] = row.time_us;
      if (std::ranges::find(values, row.values[axis]) == values.end()) values.push_back(row.values[axis]);
    }
    std::erase_if(groups, [&](const auto& group) { return group.second.size() != values.size(); });
    if (values.size() < 2 || groups.empty()) continue;
    std::map<std::string, double> sums;
    for (const auto& [others, times] : groups) {
      const double best = std::ranges::min_element(times, {}, [](const auto& time) { return time.second; })->second;
      for (const auto& [value, time] : times) sums[value] += std::log(time / best);
    }
    for (const std::string& value : values) {
      table.rows.push_back({identity.axes[axis], value,
                            fmt::format("{:.3f}", std::exp(sums[value] / static_cast<double>(groups.size()))),
                            std::to_string(groups.size())});
    }
  }
  return table;
}

/// What each choice takes for what is asked, and what its fabric costs: a row for each choice, the fastest first.
void append_designs(report::Document& document, const StudyIdentity& identity, std::span<const StudyRow> rows) {
  const StudyAxes axes(identity);
  if (axes.set.empty() || !any_fabric(rows)) return;
  Table table{
      .columns = {left("of"), {"size"}, left("choice"), {"time us"}, {"times the fastest"}, {"ports"}, {"cables"}}};
  for (const BestRow& best : best_rows(identity, rows)) {
    std::vector<const StudyRow*> alike;
    for (const StudyRow& row : rows) {
      if (!row.error.empty() || row.bytes != best.row->bytes) continue;
      if (axes.asked_of(row) == axes.asked_of(*best.row)) alike.push_back(&row);
    }
    std::ranges::stable_sort(alike, {}, &StudyRow::time_us);
    for (const StudyRow* row : alike) {
      table.rows.push_back({words(axes.asked, axes.asked_of(*row)), format_size(Bytes{row->bytes}),
                            words(axes.set, axes.set_of(*row)), fmt::format("{:.3f}", row->time_us),
                            fmt::format("{:.3f}", row->time_us / best.row->time_us), std::to_string(row->ports),
                            std::to_string(row->cables)});
    }
  }
  document.emplace_back(report::Heading{2, "What each choice takes and costs"});
  document.emplace_back(
      report::Paragraph{"Ports of switches that a cable ends at, and cables of adapters and between switches, of the "
                        "nodes that there are."});
  document.emplace_back(std::move(table));
}

/// As bars.
report::Spans effects_as_bars(Table table) {
  report::Spans bars{.title = "Times the best value's time", .unit = "", .table = std::move(table)};
  for (const auto& row : bars.table.rows) {
    bars.spans.push_back({.label = row[0] + " " + row[1], .group = row[0], .end = std::stod(row[2])});
  }
  return bars;
}

/// All rows, along any axis; sizes are one more.
report::Explorer explorer_of(const StudyIdentity& identity, std::span<const StudyRow> rows) {
  constexpr std::size_t kMostInTable = 1000;
  report::Explorer explorer{.title = "Every point", .quantities = {{"time", "us"}, {"rate", "MB/s"}}};
  const StudyAxes parts(identity);
  for (const std::string& name : identity.axes) {
    explorer.axes.push_back({.name = name, .best = std::ranges::find(parts.set, name) != parts.set.end()});
    explorer.table.columns.push_back(left(name));
  }
  explorer.axes.push_back({.name = "size"});
  const auto place_in = [](std::vector<std::string>& values, const std::string& value) {
    const auto known = std::ranges::find(values, value);
    if (known != values.end()) return static_cast<std::size_t>(known - values.begin());
    values.push_back(value);
    return values.size() - 1;
  };
  for (const char* title : {"size", "time us", "5th", "95th", "MB/s"}) explorer.table.columns.push_back({title});
  for (const StudyRow& row : rows) {
    if (!row.error.empty()) continue;
    report::Explorer::Row place;
    for (std::size_t axis = 0; axis < row.values.size(); ++axis) {
      place.values.push_back(place_in(explorer.axes[axis].values, row.values[axis]));
    }
    const std::string size = format_size(Bytes{row.bytes});
    place.values.push_back(place_in(explorer.axes.back().values, size));
    place.quantities = {{.y = row.time_us}, {.y = row.rate_MBps}};
    if (row.samples > 1) {
      place.quantities[0].low = row.p5_us;
      place.quantities[0].high = row.p95_us;
    }
    explorer.rows.push_back(std::move(place));
    if (explorer.table.rows.size() == kMostInTable) continue;
    std::vector<std::string> cells = row.values;
    for (const std::string& cell : {size, fmt::format("{:.3f}", row.time_us), fmt::format("{:.3f}", row.p5_us),
                                    fmt::format("{:.3f}", row.p95_us), fmt::format("{:.1f}", row.rate_MBps)}) {
      cells.push_back(cell);
    }
    explorer.table.rows.push_back(std::move(cells));
  }
  if (explorer.rows.size() > kMostInTable) {
    explorer.title += fmt::format("; the table has the first {} of {}", kMostInTable, explorer.rows.size());
  }
  // Along the sizes where there are several; else along the axis with the most values.
  const auto values_of = [&](std::size_t axis) { return explorer.axes[axis].values.size(); };
  explorer.along = explorer.axes.size() - 1;
  for (std::size_t axis = 0; values_of(explorer.axes.size() - 1) < 2 && axis + 1 < explorer.axes.size(); ++axis) {
    if (values_of(axis) > values_of(explorer.along)) explorer.along = axis;
  }
  for (std::size_t axis = 0; axis < explorer.axes.size(); ++axis) {
    if (axis == explorer.along || values_of(axis) < 2) continue;
    if (!explorer.curves || values_of(axis) > values_of(*explorer.curves)) explorer.curves = axis;
  }
  return explorer;
}

/// Findings from the rows that could run; there is at least one.
void append_findings(report::Document& document, const StudyIdentity& identity, std::span<const StudyRow> rows) {
  document.emplace_back(report::Heading{2, "The fastest"});
  document.emplace_back(best_table(identity, rows));
  append_designs(document, identity, rows);
  if (Table changes = effects(identity, rows); !changes.rows.empty()) {
    document.emplace_back(report::Heading{2, "What each axis changes"});
    document.emplace_back(report::Paragraph{
        "How much longer each value takes than the best value of its axis, all else the same: geometric means."});
    document.emplace_back(effects_as_bars(std::move(changes)));
  }
  document.emplace_back(report::Heading{2, "All points"});
  document.emplace_back(
      report::Paragraph{"Along any axis, with a curve for each value of another; of the rest one value, or the one "
                        "that is fastest."});
  document.emplace_back(explorer_of(identity, rows));
}

}  // namespace

report::Document to_document(const std::string& title, const StudyIdentity& identity, std::span<const StudyRow> rows) {
  report::Document document{report::Heading{1, title}, report::Paragraph{"Simulated by " + identity.program + "."}};
  const bool any = std::ranges::any_of(rows, [](const StudyRow& row) { return row.error.empty(); });
  if (!any) document.emplace_back(report::Paragraph{"No point could run."});
  if (any) append_findings(document, identity, rows);
  report::List failed;
  for (const StudyRow& row : rows) {
    if (!row.error.empty()) failed.items.push_back(words(identity.axes, row.values) + ": " + row.error);
  }
  if (!failed.items.empty()) {
    document.emplace_back(report::Heading{2, "What could not run"});
    document.emplace_back(std::move(failed));
  }
  return document;
}

}  // namespace twinlink::model
