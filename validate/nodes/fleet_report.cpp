#include "validate/nodes/fleet_report.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "platforms/machine/degraded.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/tools/drawing.hpp"
#include "platforms/tools/filter_program.hpp"
#include "protocols/core/enum_table.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::validate {
namespace {

using report::Column;
using report::Document;
using report::Heading;
using report::List;
using report::Paragraph;
using report::Picture;
using report::Table;
using State = FleetRow::State;

constexpr auto kLeft = Column::Align::left;

std::string percent(double fraction) { return fmt::format("{:+.1f} %", fraction * 100); }

std::string_view to_string(State state) {
  constexpr Words<State> kNames{"alike", "slower", "not judged", "no result"};
  return kNames[state];
}

std::string platform_cell(const FleetRow& row) {
  if (!row.platform || row.platform->curves == 0) return "-";
  if (row.platform->slow == 0) return "as fast";
  return fmt::format("{} of {} slower", row.platform->slow, row.platform->curves);
}

std::string why(const FleetRow& row, const Fleet& fleet) {
  if (row.state == State::slower) return row.explanation.text;
  if (row.state == State::unjudged) return "too few nodes have what it has";
  if (row.state == State::unread) {
    const auto& remarks = fleet.files.nodes[row.node].remarks;
    return remarks.empty() ? "" : remarks.front();
  }
  return "";
}

std::size_t rows_of(const Fleet& fleet, const FleetReportPlan& plan) {
  if (plan.most_rows == 0) return fleet.rows.size();
  return std::min(fleet.rows.size(), plan.most_rows);
}

void add_rest(Document& document, const Fleet& fleet, const FleetReportPlan& plan) {
  const std::size_t shown = rows_of(fleet, plan);
  if (shown == fleet.rows.size()) return;
  document.emplace_back(Paragraph{
      fmt::format("And {} more nodes: --report FILE.html and --json FILE have all.", fleet.rows.size() - shown)});
}

Table nodes_table(const Fleet& fleet, const FleetReportPlan& plan) {
  Table table{.columns = {{"node", kLeft},
                          {"", kLeft},
                          {"worst"},
                          {"the part that explains it", kLeft},
                          {"GPUs", kLeft},
                          {"worst in", kLeft},
                          {"against the platform", kLeft}}};
  for (std::size_t i = 0; i < rows_of(fleet, plan); ++i) {
    const FleetRow& row = fleet.rows[i];
    const FleetNode& node = fleet.files.nodes[row.node];
    std::string gpus = node.gpus_at(row.explanation.places);
    if (gpus.empty() && row.state == State::slower) gpus = "of none alone";
    table.rows.push_back({node.name, std::string(to_string(row.state)), percent(row.worst), why(row, fleet), gpus,
                          row.what, platform_cell(row)});
  }
  return table;
}

/// Node by test; the colour is full at half as long again.
Table heat_map(const Fleet& fleet, const FleetReportPlan& plan) {
  constexpr double kFull = 0.5;
  std::set<std::string> tests;
  for (const HeldNode& node : fleet.equals.nodes) {
    for (const auto& [test, off] : node.map) tests.insert(test);
  }
  Table table{.columns = {{"node", kLeft}}};
  for (const std::string& test : tests) table.columns.push_back({test});
  for (std::size_t i = 0; i < rows_of(fleet, plan); ++i) {
    const FleetRow& row = fleet.rows[i];
    const HeldNode& held = fleet.equals.nodes[row.node];
    std::vector<std::string> cells{fleet.files.nodes[row.node].name};
    std::vector<std::optional<double>> shades{std::nullopt};
    for (const std::string& test : tests) {
      const auto found = held.map.find(test);
      cells.push_back(found == held.map.end() ? "-" : percent(found->second));
      shades.push_back(found == held.map.end() ? std::nullopt
                                               : std::optional(std::clamp(found->second / kFull, -1.0, 1.0)));
    }
    table.rows.push_back(std::move(cells));
    table.shades.push_back(std::move(shades));
  }
  return table;
}

std::string what_of(const Slower& slower) {
  switch (slower.of) {
    case Slower::Of::curve:
      return slower.curve;
    case Slower::Of::gpu:
      return slower.test + ", all of this GPU";
    case Slower::Of::test:
      return slower.test + ", all";
  }
  return "";
}

Table slower_table(const FleetNode& node, const HeldNode& held) {
  constexpr std::size_t kMost = 6;
  Table table{.columns = {{"what", kLeft}, {"GPUs", kLeft}, {"sizes", kLeft}, {"slower by"}, {"allowed"}}};
  for (std::size_t i = 0; i < std::min(kMost, held.slower.size()); ++i) {
    const Slower& slower = held.slower[i];
    table.rows.push_back({what_of(slower), node.gpus_at(slower.places), std::string(to_string(slower.band)),
                          percent(slower.slower), percent(slower.allowed)});
  }
  return table;
}

std::string drawing_of(const Fleet& fleet, const FleetRow& row) {
  if (fleet.plan.base.empty() || row.explanation.way.empty()) return {};
  try {
    platforms::Platform platform = platforms::read_platform(fleet.plan.base);
    platforms::degrade(platform, row.explanation.part, row.explanation.share, "what its probes tell");
    const FleetNode& node = fleet.files.nodes[row.node];
    return platforms::svg_of(platforms::to_dot(
        platform, {.title = node.name + ": " + row.explanation.text, .nodes = {0}, .way = row.explanation.way}));
  } catch (const Error&) {
    return {};  // there is no Graphviz, or the part is none of the first node's
  }
}

void add_suspicious(Document& document, const Fleet& fleet, const FleetReportPlan& plan) {
  std::size_t drawn = 0;
  std::size_t shown = 0;
  constexpr std::size_t kMost = 20;
  for (const FleetRow& row : fleet.rows) {
    if (row.state != State::slower || ++shown > kMost) break;
    if (shown == 1) document.emplace_back(Heading{2, "What is slower where"});
    const FleetNode& node = fleet.files.nodes[row.node];
    const HeldNode& held = fleet.equals.nodes[row.node];
    document.emplace_back(Heading{3, named(node, row.explanation.places)});
    document.emplace_back(Paragraph{row.explanation.text + "."});
    if (!held.missing.empty()) {
      document.emplace_back(
          Paragraph{fmt::format("It lacks {} measurements that its equals have, '{}' the first of them.",
                                held.missing.size(), fleet.equals.keys[held.missing.front()].name)});
    }
    Table table = slower_table(node, held);
    const std::string svg = drawn < plan.drawings ? drawing_of(fleet, row) : "";
    if (!svg.empty()) {
      ++drawn;
      document.emplace_back(Picture{
          .title = fmt::format("{}: {}", node.name, row.explanation.text), .svg = svg, .table = std::move(table)});
    } else if (!table.rows.empty()) {
      document.emplace_back(std::move(table));
    }
  }
  const std::size_t slower = fleet.count(State::slower);
  if (slower > kMost)
    document.emplace_back(Paragraph{fmt::format("And {} more nodes that are slower.", slower - kMost)});
}

void add_remarks(Document& document, const Fleet& fleet, const FleetReportPlan& plan) {
  List list{fleet.remarks};
  for (const FleetNode& node : fleet.files.nodes) {
    for (const std::string& remark : node.remarks) list.items.push_back(fmt::format("{}: {}", node.name, remark));
  }
  std::size_t unstable = 0;
  std::size_t unjudged = 0;
  for (const HeldNode& node : fleet.equals.nodes) {
    unstable += node.unstable;
    unjudged += node.unjudged;
  }
  if (unstable > 0) {
    list.items.push_back(fmt::format("{} times that did not repeat themselves (~) are not judged", unstable));
  }
  if (unjudged > 0)
    list.items.push_back(fmt::format("{} curves have too few equals to be judged among them", unjudged));
  if (fleet.unexplained > 0) {
    list.items.push_back(fmt::format("of {} nodes that are slower no part was looked for: --explain says of how many",
                                     fleet.unexplained));
  }
  if (list.items.empty()) return;
  document.emplace_back(Heading{2, "Remarks"});
  const std::size_t most = plan.most_rows == 0 ? list.items.size() : plan.most_rows;
  if (list.items.size() > most) {
    const std::size_t more = list.items.size() - most;
    list.items.resize(most);
    list.items.push_back(fmt::format("and {} more", more));
  }
  document.emplace_back(std::move(list));
}

void add_who(Document& document, const Fleet& fleet, const FleetReportPlan& plan) {
  if (plan.most_rows != 0) return;
  Table table{.columns = {{"node", kLeft}, {"GPU"}, {"bus id", kLeft}, {"UUID", kLeft}, {"model", kLeft}}};
  for (const FleetNode& node : fleet.files.nodes) {
    for (const NamedGpu& gpu : node.gpus) table.rows.push_back({node.name, gpu.index(), gpu.bus, gpu.uuid, gpu.model});
  }
  if (table.rows.empty()) return;
  document.emplace_back(Heading{2, "Who is who"});
  document.emplace_back(std::move(table));
}

List kinds_of(const Fleet& fleet) {
  List list;
  for (const Kind& kind : fleet.equals.kinds) {
    list.items.push_back(fmt::format("{}: {} {}", kind.name, kind.nodes, kind.nodes == 1 ? "node" : "nodes"));
  }
  return list;
}

}  // namespace

std::string named(const FleetNode& node, const std::vector<std::string>& places) {
  const std::string gpus = node.gpus_at(places);
  return gpus.empty() ? node.name : fmt::format("{} {}", node.name, gpus);
}

std::string verdict_of(const Fleet& fleet) {
  const std::size_t nodes = fleet.rows.size();
  const std::size_t slower = fleet.count(State::slower);
  std::string text = slower == 0
                         ? fmt::format("Verdict: none of {} nodes is slower than its equals", nodes)
                         : fmt::format("Verdict: {} of {} nodes {} slower", slower, nodes, slower == 1 ? "is" : "are");
  if (fleet.slow_as_a_whole) text += "; all are slower than the platform says";
  const std::size_t unjudged = fleet.count(State::unjudged);
  const std::size_t unread = fleet.count(State::unread);
  if (unjudged > 0) text += fmt::format("; {} could not be judged", unjudged);
  if (unread > 0) text += fmt::format("; {} without a result", unread);
  if (slower > 0) {
    const FleetRow& worst = fleet.rows.front();
    text += fmt::format(". The worst: {}: {}", named(fleet.files.nodes[worst.node], worst.explanation.places),
                        worst.explanation.text);
  }
  return text + ".";
}

Document fleet_report(const Fleet& fleet, const FleetReportPlan& plan, Document between) {
  Document document{Heading{1, fmt::format("{} nodes of {}", fleet.rows.size(), fleet.files.folder.string())}};
  document.emplace_back(Paragraph{verdict_of(fleet)});
  document.emplace_back(kinds_of(fleet));
  if (!fleet.as_a_whole.empty()) document.emplace_back(List{fleet.as_a_whole});
  document.emplace_back(Heading{2, "Nodes, the worst first"});
  document.emplace_back(nodes_table(fleet, plan));
  add_rest(document, fleet, plan);
  document.emplace_back(Heading{2, "Node by test"});
  document.emplace_back(
      Paragraph{"By how much longer than the middle of all nodes: the mean over a test's curves, at the sizes where it "
                "is worst."});
  document.emplace_back(heat_map(fleet, plan));
  add_suspicious(document, fleet, plan);
  report::append(document, std::move(between));
  add_remarks(document, fleet, plan);
  add_who(document, fleet, plan);
  return document;
}

}  // namespace twinlink::validate
