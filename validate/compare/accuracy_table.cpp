#include "validate/compare/accuracy_table.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "protocols/bench/results/crossing.hpp"
#include "protocols/bench/results/statistics.hpp"
#include "validate/compare/curve_settings.hpp"

namespace twinlink::validate {
namespace {

using report::Column;
using report::Document;
using report::Heading;
using report::Paragraph;
using report::Table;

constexpr auto kLeft = Column::Align::left;

std::string percent(double fraction) { return fmt::format("{:.1f} %", fraction * 100); }

const bench::Series& series_of(const Pair& pair) {
  if (pair.measured.series) return *pair.measured.series;
  throw InputError(pair.measured.file + ": error: probes are no curve of a protocol");
}

std::string label_of(const Pair& pair) { return settings_label(series_of(pair)); }

std::vector<std::string> row(std::string label, std::string pattern, const ErrorSummary& errors, std::string_view at) {
  return {std::move(label), std::move(pattern), percent(errors.geometric_mean), percent(errors.p95),
          fmt::format("{} at {}", percent(errors.max), at)};
}

/// A line of a curve.
struct Named {
  Row line{};
  const Pair* curve{};
};

std::vector<std::string> row_of_all(std::string label, const std::vector<Named>& lines) {
  std::vector<Row> rows;
  for (const Named& named : lines) rows.push_back(named.line);
  const auto off = [](const Named& named) { return std::abs(named.line.simulated_us / named.line.measured_us - 1); };
  const Named& worst = *std::ranges::max_element(lines, {}, off);
  return row(std::move(label), "", summarize_errors(rows),
             fmt::format("{} of {}", format_size(worst.line.key.size), label_of(*worst.curve)));
}

/// All points of all curves.
std::vector<Named> points_of(const Comparison& comparison) {
  std::vector<Named> all;
  for (const Pair& pair : comparison.pairs) {
    for (const Row& line : pair.joined.rows) all.push_back({line, &pair});
  }
  return all;
}

/// A row for each protocol with all its settings and patterns, one for all points, and one for those that are stable.
Table protocols_table(const Comparison& comparison) {
  Table table{.columns = {{"protocol", kLeft}, {"points"}, {"geometric mean error"}, {"p95"}, {"largest", kLeft}}};
  const std::vector<Named> all = points_of(comparison);
  const auto add = [&](const std::string& name, const std::vector<Named>& points) {
    std::vector<std::string> cells = row_of_all(name, points);
    cells[1] = std::to_string(points.size());
    table.rows.push_back(std::move(cells));
  };
  std::vector<std::string> names;
  for (const Pair& pair : comparison.pairs) {
    const std::string& name = series_of(pair).protocol;
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  const auto those = [&](const auto& wanted) {
    std::vector<Named> points;
    std::ranges::copy_if(all, std::back_inserter(points), wanted);
    return points;
  };
  for (const std::string& name : names) {
    add(name, those([&](const Named& point) { return series_of(*point.curve).protocol == name; }));
  }
  add("all", all);
  const std::vector<Named> stable = those([](const Named& point) { return !point.line.unstable; });
  if (!stable.empty() && stable.size() < all.size()) add("all that are stable", stable);
  return table;
}

Table curves_table(const Comparison& comparison) {
  Table table{.columns = {{"curve", kLeft}, {"pattern", kLeft}, {"geometric mean error"}, {"p95"}, {"largest", kLeft}}};
  for (const Pair& pair : comparison.pairs) {
    const bench::Series& series = series_of(pair);
    std::string pattern(to_string(series.pattern));
    if (series.pattern != bench::Pattern::pingpong) pattern += fmt::format(", window {}", series.window);
    table.rows.push_back(row(label_of(pair), std::move(pattern), pair.errors, format_size(pair.errors.max_at.size)));
  }
  return table;
}

/// Both are ping-pongs, of two protocols.
bool listed(const CurveOrder& order, const Comparison& comparison) {
  const bench::Series& a = series_of(comparison.pairs[order.a]);
  const bench::Series& b = series_of(comparison.pairs[order.b]);
  return a.pattern == bench::Pattern::pingpong && a.protocol != b.protocol;
}

std::string size_text(const std::optional<double>& bytes) { return bytes ? bench::rounded_size(*bytes) : "nowhere"; }

Document crossover_blocks(const Comparison& comparison) {
  Table table{.columns = {{"takes the lead", kLeft}, {"from", kLeft}, {"measured"}, {"simulated"}, {"powers of two"}}};
  std::vector<double> distances;
  std::size_t orders = 0;
  for (const CurveOrder& order : comparison.orders) {
    if (!listed(order, comparison)) continue;
    ++orders;
    const std::string a = label_of(comparison.pairs[order.a]);
    const std::string b = label_of(comparison.pairs[order.b]);
    for (const Crossover& crossover : order.crossovers) {
      const bool to_a = crossover.curve == Faster::a;
      const auto distance = crossover.distance();
      if (distance) distances.push_back(std::abs(*distance));
      table.rows.push_back({to_a ? a : b, to_a ? b : a, size_text(crossover.measured_bytes),
                            size_text(crossover.simulated_bytes), distance ? fmt::format("{:+.2f}", *distance) : "-"});
    }
  }
  if (orders == 0) return {};
  Document blocks{
      Paragraph{fmt::format("Crossovers between protocols: {} in {} pairs of ping-pong curves, {} in both worlds.",
                            table.rows.size(), orders, distances.size())}};
  if (!distances.empty()) {
    blocks.push_back(Paragraph{
        fmt::format("The middle distance of these is {:.2f} powers of two.", bench::upper_median(distances))});
  }
  if (!table.rows.empty()) blocks.push_back(std::move(table));
  return blocks;
}

}  // namespace

Document accuracy_table(const Comparison& comparison) {
  Document document{Heading{.level = 1, .text = "Accuracy"},
                    Paragraph{"How far simulated times are from measured ones. Written by validate/scripts/accuracy."},
                    Paragraph{"The geometric mean error is exp(mean |ln(simulated / measured)|) - 1."},
                    Paragraph{"p95 and the largest error are relative to the measurement."},
                    protocols_table(comparison),
                    curves_table(comparison)};
  std::ranges::move(crossover_blocks(comparison), std::back_inserter(document));
  const auto predicted = std::ranges::count(comparison.pairs, Prediction::held, &Pair::prediction);
  document.push_back(
      Paragraph{fmt::format("{} of {} curves were simulated before they were measured; the measured files hold the "
                            "expectations.",
                            predicted, comparison.pairs.size())});
  return document;
}

}  // namespace twinlink::validate
