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
  for (const StudyRow* row : best_rows(identity, rows)) {
    table.rows.push_back({words(axes.asked, axes.asked_of(*row)), format_size(Bytes{row->bytes}),
                          words(axes.set, axes.set_of(*row)), fmt::format("{:.3f}", row->time_us),
                          fmt::format("{:.3f}", row->p5_us), fmt::format("{:.3f}", row->p95_us),
                          fmt::format("{:.1f}", row->rate_MBps)});
  }
  return table;
}

/// Of each value of an axis how much longer it takes than the best of its axis, all else the same: the geometric mean
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

/// The curves of one question; of many those with the least time at the largest size.
report::Plot plot_of(const std::string& title, const StudyAxes& axes,
                     std::vector<std::vector<const StudyRow*>> curves) {
  constexpr std::size_t kMost = 10;
  std::ranges::stable_sort(curves, {}, [](const auto& curve) { return curve.back()->time_us; });
  report::Plot plot{.title = title, .unit = "us", .logarithmic = true};
  plot.table.columns = {left("curve"), {"size"}, {"time us"}, {"5th"}, {"95th"}};
  for (std::size_t i = 0; i < std::min(kMost, curves.size()); ++i) {
    report::PlotCurve curve{.label = words(axes.set, axes.set_of(*curves[i].front())), .colour = static_cast<int>(i)};
    if (curve.label.empty()) curve.label = "time";
    for (const StudyRow* row : curves[i]) {
      curve.points.push_back({.x = static_cast<double>(row->bytes), .y = row->time_us});
      if (row->samples > 1) {
        curve.points.back().low = row->p5_us;
        curve.points.back().high = row->p95_us;
      }
      plot.table.rows.push_back({curve.label, format_size(Bytes{row->bytes}), fmt::format("{:.3f}", row->time_us),
                                 fmt::format("{:.3f}", row->p5_us), fmt::format("{:.3f}", row->p95_us)});
    }
    plot.curves.push_back(std::move(curve));
  }
  return plot;
}

}  // namespace

report::Document to_document(const std::string& title, const StudyIdentity& identity, std::span<const StudyRow> rows) {
  const StudyAxes axes(identity);
  report::Document document{report::Heading{1, title}, report::Paragraph{"Simulated by " + identity.program + "."}};
  document.emplace_back(report::Heading{2, "The fastest"});
  document.emplace_back(best_table(identity, rows));
  document.emplace_back(report::Heading{2, "What each axis changes"});
  document.emplace_back(report::Paragraph{
      "How much longer each value takes than the best value of its axis, all else the same: geometric means."});
  document.emplace_back(effects(identity, rows));
  document.emplace_back(report::Heading{2, "Curves"});
  std::vector<std::vector<std::string>> asked_in_order;
  std::map<std::vector<std::string>, std::map<std::vector<std::string>, std::vector<const StudyRow*>>> questions;
  report::List failed;
  for (const StudyRow& row : rows) {
    if (!row.error.empty()) {
      failed.items.push_back(words(identity.axes, row.values) + ": " + row.error);
      continue;
    }
    const auto asked = axes.asked_of(row);
    if (!questions.contains(asked)) asked_in_order.push_back(asked);
    questions[asked][axes.set_of(row)].push_back(&row);
  }
  for (const auto& asked : asked_in_order) {
    std::vector<std::vector<const StudyRow*>> curves;
    for (auto& [set, curve] : questions[asked]) {
      std::ranges::stable_sort(curve, {}, &StudyRow::bytes);
      curves.push_back(std::move(curve));
    }
    const std::string name = words(axes.asked, asked);
    document.emplace_back(plot_of(name.empty() ? "Time by size" : name, axes, std::move(curves)));
  }
  if (!failed.items.empty()) {
    document.emplace_back(report::Heading{2, "What could not run"});
    document.emplace_back(std::move(failed));
  }
  return document;
}

}  // namespace twinlink::model
