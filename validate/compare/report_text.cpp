// The two reports for people share their parts; only the order and the detail differ.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/measure/expectation.hpp"
#include "protocols/bench/results/crossing.hpp"
#include "protocols/bench/results/rounds.hpp"
#include "validate/compare/flatten.hpp"
#include "validate/compare/report.hpp"
#include "validate/compare/report_plots.hpp"

namespace twinlink::validate {
namespace {

using report::append;
using report::Column;
using report::Document;
using report::exact_percent;
using report::Heading;
using report::List;
using report::Paragraph;
using report::Table;
using Align = Column::Align;

std::string signed_percent(double fraction) { return fmt::format("{:+.2f} %", fraction * 100); }

/// More lines than these are summed up on a terminal, and fewer names are named.
constexpr std::size_t kFewRows = 60;
constexpr std::size_t kFewNames = 20;

/// Who reads: on a terminal a screen or two, in a file everything.
enum class Detail { few, all };

std::string joined_keys(const std::vector<Key>& keys, Detail detail) {
  std::vector<std::string> texts;
  for (const auto& key : keys) {
    if (detail == Detail::few && texts.size() == kFewNames && keys.size() > kFewNames) break;
    texts.push_back(to_string(key));
  }
  const std::string more =
      texts.size() < keys.size() ? fmt::format(" and {} more", keys.size() - texts.size()) : std::string{};
  return fmt::format("{}{}", fmt::join(texts, ", "), more);
}

Heading pair_heading(const Pair& pair) {
  if (const auto& workload = pair.measured.workload) {
    const auto& told = workload->protocol.empty() ? pair.simulated.workload : workload;
    const std::string over = told->protocols().empty() ? "" : fmt::format(" over {}", told->protocols());
    return {.level = 2, .text = fmt::format("{}{}, {} ranks", pair.label, over, workload->ranks)};
  }
  if (!pair.measured.series) return {.level = 2, .text = pair.label};
  const auto& series = *pair.measured.series;
  auto text = fmt::format("{}: {}", pair.label, to_string(series.pattern));
  if (!series.from.empty() || !series.to.empty()) text += fmt::format(", {} to {}", series.from, series.to);
  for (const bench::OtherPair& other : series.beside) text += fmt::format(", beside {}", other.where_and_what());
  return {.level = 2, .text = std::move(text)};
}

Table files_table(const Pair& pair) {
  return {.columns = {{"", Align::left}, {"file", Align::left}, {"written by", Align::left}},
          .rows = {{std::string(pair.measured.side()), pair.measured.file, pair.measured.program},
                   {std::string(pair.simulated.side()), pair.simulated.file, pair.simulated.program}}};
}

Table rows_table(const Pair& pair) {
  const bool workload = pair.measured.workload.has_value();
  const bool probes = !workload && !pair.measured.series.has_value();
  Table table;
  if (workload) table.columns = {{"algorithm", Align::left}};
  if (probes) table.columns = {{"primitive", Align::left}, {"devices", Align::left}};
  for (const std::string& title : {std::string("size"), fmt::format("{} us", pair.measured.side()),
                                   fmt::format("{} us", pair.simulated.side()), std::string(pair.difference())}) {
    table.columns.push_back({.title = title});
  }
  for (const auto& row : pair.joined.rows) {
    std::vector<std::string> cells;
    if (workload) cells = {row.key.name};
    if (probes) cells = {row.key.name, devices(row.key)};
    cells.push_back(format_size(row.key.size));
    cells.push_back(microseconds(row.measured_us));
    cells.push_back(microseconds(row.simulated_us));
    cells.push_back(signed_percent(relative_error(row)));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// The lines of each primitive as one, in the order in which they were measured.
Table primitives_table(const Pair& pair) {
  std::vector<std::pair<std::string, std::vector<Row>>> primitives;
  for (const auto& row : pair.joined.rows) {
    auto known = std::ranges::find(primitives, row.key.name, &std::pair<std::string, std::vector<Row>>::first);
    if (known == primitives.end()) known = primitives.insert(known, {row.key.name, {}});
    known->second.push_back(row);
  }
  Table table{.columns = {{"primitive", Align::left},
                          {"lines"},
                          {fmt::format("geometric mean {}", pair.difference())},
                          {"bias"},
                          {fmt::format("largest {}", pair.difference())},
                          {"largest at", Align::left}}};
  for (const auto& [name, rows] : primitives) {
    const ErrorSummary errors = summarize_errors(rows);
    table.rows.push_back({name, std::to_string(errors.n), exact_percent(errors.geometric_mean),
                          signed_percent(errors.bias), exact_percent(errors.max),
                          fmt::format("{} {}", devices(errors.max_at), format_size(errors.max_at.size))});
  }
  return table;
}

/// What a reader must know before trusting the figures; may be empty.
List remarks(const Pair& pair, Detail detail) {
  List list{.items = pair.notes};
  std::vector<Key> unstable;
  for (const auto& row : pair.joined.rows) {
    if (row.unstable) unstable.push_back(row.key);
  }
  if (!unstable.empty()) {
    list.items.push_back(
        fmt::format("unstable when measured ({}): {}", bench::kUnstableMeans, joined_keys(unstable, detail)));
  }
  return list;
}

/// The lines of one file only.
std::vector<std::string> left_over(const Pair& pair, Detail detail) {
  std::vector<std::string> lines;
  const auto add = [&](std::string_view world, const std::vector<Key>& keys) {
    if (!keys.empty()) lines.push_back(fmt::format("only {}: {}", world, joined_keys(keys, detail)));
  };
  add(pair.measured.side(), pair.joined.only_measured);
  add(pair.simulated.side(), pair.joined.only_simulated);
  return lines;
}

Document left_out_blocks(const Comparison& comparison) {
  List list;
  for (const auto& pair : comparison.pairs) {
    for (const auto& line : left_over(pair, Detail::all)) list.items.push_back(fmt::format("{}: {}", pair.label, line));
  }
  for (const auto& order : comparison.orders) {
    if (order.sizes > 0) continue;
    list.items.push_back(fmt::format("which of {} and {} is faster: no size is in all four files",
                                     comparison.pairs[order.a].label, comparison.pairs[order.b].label));
  }
  if (list.items.empty()) return {};
  return {
      Heading{.level = 2, .text = "What was not compared"},
      Paragraph{"Lines are joined by exact key, and nothing is interpolated. What only one of two files holds stands "
                "here."},
      std::move(list)};
}

Table summary_table(const Comparison& comparison) {
  Table table{.columns = {{"curve", Align::left}}, .rows = {}};
  const auto error = comparison.pairs.front().difference();
  for (const std::string& title :
       {std::string("compared"), fmt::format("geometric mean {}", error), std::string("bias"),
        fmt::format("p95 {}", error), fmt::format("largest {}", error)}) {
    table.columns.push_back({.title = title});
  }
  table.columns.push_back({"largest at", Align::left});
  for (const auto& pair : comparison.pairs) {
    const auto& errors = pair.errors;
    table.rows.push_back({pair.label, std::to_string(errors.n), exact_percent(errors.geometric_mean),
                          signed_percent(errors.bias), exact_percent(errors.p95), exact_percent(errors.max),
                          to_string(errors.max_at)});
  }
  return table;
}

/// "gpudirect-v1 from 4, then staging from 13.21K"
std::string leads_text(const std::vector<Lead>& leads, const std::string& a, const std::string& b) {
  std::vector<std::string> parts;
  for (const auto& lead : leads) {
    parts.push_back(fmt::format("{} from {}", lead.curve == Faster::a ? a : b, bench::rounded_size(lead.from_bytes)));
  }
  return parts.empty() ? "neither at any size" : fmt::format("{}", fmt::join(parts, ", then "));
}

std::string crossover_text(const Pair& pair, const Crossover& crossover, const std::string& curve) {
  const auto size = [](const std::optional<double>& bytes) { return bytes ? bench::rounded_size(*bytes) : "nowhere"; };
  auto text = fmt::format("{} takes the lead: {} {}, {} {}", curve, pair.measured.side(),
                          size(crossover.measured_bytes), pair.simulated.side(), size(crossover.simulated_bytes));
  if (const auto distance = crossover.distance()) text += fmt::format(" ({:+.2f} powers of two)", *distance);
  return text;
}

Document order_blocks(const Comparison& comparison) {
  if (comparison.orders.empty()) return {};
  Document blocks{Heading{.level = 2, .text = "Which curve is faster"}};
  for (const auto& order : comparison.orders) {
    const auto& a = comparison.pairs[order.a].label;
    const auto& b = comparison.pairs[order.b].label;
    if (order.sizes == 0) {
      blocks.push_back(Paragraph{fmt::format("{} and {}: no size in common", a, b)});
      continue;
    }
    blocks.push_back(
        Paragraph{fmt::format("{} and {}: the same order at {} of {} sizes", a, b, order.same_order, order.sizes)});
    const auto& pair = comparison.pairs[order.a];
    List list{.items = {fmt::format("{}, faster: {}", pair.measured.side(), leads_text(order.measured, a, b)),
                        fmt::format("{}, faster: {}", pair.simulated.side(), leads_text(order.simulated, a, b))}};
    for (const auto& crossover : order.crossovers) {
      list.items.push_back(crossover_text(comparison.pairs[order.a], crossover, crossover.curve == Faster::a ? a : b));
    }
    blocks.push_back(std::move(list));
  }
  return blocks;
}

/// What order_blocks() says, for a page: of many curves there are many pairs.
Document order_table(const Comparison& comparison) {
  Table table{.columns = {{"curves", Align::left},
                          {"same order"},
                          {fmt::format("{}, faster", comparison.pairs.front().measured.side()), Align::left},
                          {fmt::format("{}, faster", comparison.pairs.front().simulated.side()), Align::left},
                          {"crossovers", Align::left}}};
  for (const auto& order : comparison.orders) {
    if (order.sizes == 0) continue;
    const auto& a = comparison.pairs[order.a].label;
    const auto& b = comparison.pairs[order.b].label;
    std::vector<std::string> crossovers;
    for (const auto& crossover : order.crossovers) {
      crossovers.push_back(crossover_text(comparison.pairs[order.a], crossover, crossover.curve == Faster::a ? a : b));
    }
    table.rows.push_back({fmt::format("{} and {}", a, b), fmt::format("{} of {} sizes", order.same_order, order.sizes),
                          leads_text(order.measured, a, b), leads_text(order.simulated, a, b),
                          fmt::format("{}", fmt::join(crossovers, "; "))});
  }
  if (table.rows.empty()) return {};
  Document blocks{Heading{.level = 2, .text = "Which curve is faster"}};
  append(blocks, crossing_plots(comparison));
  blocks.emplace_back(std::move(table));
  return blocks;
}

Document verdict_blocks(const Comparison& comparison) {
  std::vector<std::string> limits;
  for (const LimitedFigure& figure : limited_figures(comparison.limits)) {
    if (!figure.limit) continue;
    limits.push_back(
        fmt::format("{} {} at most {:g} %", figure.name, comparison.pairs.front().difference(), *figure.limit * 100));
  }

  switch (comparison.verdict()) {
    case Verdict::no_limit:
      return {Paragraph{"Verdict: none, for no limit was given."}};
    case Verdict::passed:
      return {Paragraph{fmt::format("Verdict: passed: {}.", fmt::join(limits, ", "))}};
    case Verdict::exceeded:
      return {Paragraph{"Verdict: limits exceeded."}, List{comparison.exceeded}};
  }
  return {};
}

Document environment_blocks(const Pair& pair, const Recording& recording) {
  Table table{.columns = {{"what", Align::left}, {"value", Align::left}},
              .rows = {{"file", recording.file}, {"program", recording.program}, {"command", recording.command}}};
  nlohmann::json environment = *recording.environment;
  // Expected times are the rows' own, or the reader was told that they are others.
  const auto expected = environment.find(bench::kExpectedMember);
  if (expected != environment.end() && expected->is_object()) expected->erase("points");
  for (auto& [name, value] : flatten(environment)) table.rows.push_back({std::move(name), std::move(value)});
  return {Heading{.level = 3, .text = fmt::format("{}, {}", pair.label, recording.side())}, std::move(table)};
}

/// For a page, with a plot, or for a terminal, where what was not compared has no other place.
Document pair_blocks(const Pair& pair, Detail detail) {
  Document blocks{pair_heading(pair), files_table(pair)};
  if (pair.measured.series && pair.measured.label.empty()) {
    blocks.push_back(Paragraph{fmt::format("The simulated file: {}", sentence(pair.prediction))});
  }
  const bool probes = !pair.measured.series && !pair.measured.workload;
  if (detail == Detail::all && pair.measured.series) {
    blocks.emplace_back(curve_plot(pair));
  } else if (detail == Detail::few && probes && pair.joined.rows.size() > kFewRows) {
    blocks.emplace_back(Paragraph{
        fmt::format("{} lines, all of them with --report and --json; by primitive:", pair.joined.rows.size())});
    blocks.emplace_back(primitives_table(pair));
  } else {
    blocks.emplace_back(rows_table(pair));
  }
  List list = remarks(pair, detail);
  if (detail == Detail::few) std::ranges::move(left_over(pair, detail), std::back_inserter(list.items));
  if (!list.items.empty()) blocks.emplace_back(std::move(list));
  return blocks;
}

}  // namespace

Document terminal_report(const Comparison& comparison) {
  Document document;
  for (const auto& pair : comparison.pairs) append(document, pair_blocks(pair, Detail::few));
  document.push_back(Heading{.level = 2, .text = "Summary"});
  document.push_back(summary_table(comparison));
  append(document, order_blocks(comparison));
  append(document, verdict_blocks(comparison));
  return document;
}

Document full_report(const Comparison& comparison) {
  const auto& first = comparison.pairs.front();
  const bool labelled = !first.measured.label.empty();
  Document document{Heading{.level = 1,
                            .text = labelled ? fmt::format("{} and {}", first.measured.label, first.simulated.label)
                                             : "Measured and simulated"}};
  append(document, verdict_blocks(comparison));
  document.push_back(summary_table(comparison));
  append(document, error_blocks(comparison));
  append(document, order_table(comparison));
  for (const auto& pair : comparison.pairs) append(document, pair_blocks(pair, Detail::all));
  append(document, left_out_blocks(comparison));
  document.push_back(Heading{.level = 2, .text = "Environments"});
  for (const auto& pair : comparison.pairs) {
    append(document, environment_blocks(pair, pair.measured));
    append(document, environment_blocks(pair, pair.simulated));
  }
  return document;
}

}  // namespace twinlink::validate
