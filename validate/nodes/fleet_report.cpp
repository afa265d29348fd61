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

std::string platform_cell(const FleetRow& row) {
  if (!row.platform || row.platform->curves == 0) return "-";
  if (row.platform->slow == 0) return "as fast";
  return fmt::format("{} of {} slower", row.platform->slow, row.platform->curves);
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

/// As many letters as a line of the table has for it; what is slower where stands below, in full.
std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 52;
  if (text.size() <= kMost) return text;
  return text.substr(0, text.rfind(' ', kMost - 3)) + " ...";
}

Table nodes_table(const Fleet& fleet, const FleetReportPlan& plan) {
  Table table{.columns = {{"node", kLeft},
                          {"", kLeft},
                          {"worst"},
                          {"days"},
                          {"what explains it", kLeft},
                          {"GPUs", kLeft},
                          {"platform", kLeft}}};
  for (std::size_t i = 0; i < rows_of(fleet, plan); ++i) {
    const FleetRow& row = fleet.rows[i];
    const FleetNode& node = fleet.files.nodes[row.node];
    table.rows.push_back({node.name, std::string(to_string(row.state)),
                          row.state == State::unread ? "" : percent(row.worst),
                          row.age ? fmt::format("{}", *row.age) : "", shortened(why(fleet, row)),
                          node.gpus_at(row.explanation.places, true), platform_cell(row)});
  }
  return table;
}

/// Node by test; the colour is full at half as long again. Tables next to each other would be too wide for a terminal.
void add_heat_maps(Document& document, const Fleet& fleet, const FleetReportPlan& plan) {
  constexpr double kFull = 0.5;
  constexpr std::size_t kWidth = 110;
  std::set<std::string> left;
  for (const HeldNode& node : fleet.equals.nodes) {
    for (const auto& [test, off] : node.map) left.insert(test);
  }
  std::size_t names = 0;
  for (const FleetNode& node : fleet.files.nodes) names = std::max(names, node.name.size());
  do {
    Table table{.columns = {{"node", kLeft}}};
    for (std::size_t width = names; !left.empty();) {
      width += left.begin()->size() + 2;
      if (width > kWidth && table.columns.size() > 1) break;
      table.columns.push_back({left.extract(left.begin()).value()});
    }
    for (std::size_t i = 0; i < rows_of(fleet, plan); ++i) {
      const FleetRow& row = fleet.rows[i];
      const HeldNode& held = fleet.equals.nodes[row.node];
      std::vector<std::string> cells{fleet.files.nodes[row.node].name};
      std::vector<std::optional<double>> shades{std::nullopt};
      for (std::size_t column = 1; column < table.columns.size(); ++column) {
        const auto found = held.map.find(table.columns[column].title);
        cells.push_back(found == held.map.end() ? "-" : percent(found->second));
        shades.push_back(found == held.map.end() ? std::nullopt
                                                 : std::optional(std::clamp(found->second / kFull, -1.0, 1.0)));
      }
      table.rows.push_back(std::move(cells));
      table.shades.push_back(std::move(shades));
    }
    document.emplace_back(std::move(table));
  } while (!left.empty());
}

std::string what_of(const Slower& slower) {
  switch (slower.of) {
    case Slower::Of::curve:
      return slower.curve;
    case Slower::Of::gpu:
      return slower.test + ", all of this GPU";
    case Slower::Of::test:
      return slower.test + ", all";
    case Slower::Of::part:
      return slower.curve;
  }
  return "";
}

Table slower_table(const FleetNode& node, const HeldNode& held) {
  constexpr std::size_t kMost = 6;
  Table table{.columns = {{"what", kLeft}, {"GPUs", kLeft}, {"sizes", kLeft}, {"days"}, {"slower by"}, {"allowed"}}};
  for (std::size_t i = 0; i < std::min(kMost, held.slower.size()); ++i) {
    const Slower& slower = held.slower[i];
    table.rows.push_back({what_of(slower), node.gpus_at(slower.places, true),
                          slower.of == Slower::Of::part ? "all" : std::string(to_string(slower.band)),
                          std::to_string(slower.days), percent(slower.slower), percent(slower.allowed)});
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

std::string why(const Fleet& fleet, const FleetRow& row) {
  const FleetNode& node = fleet.files.nodes[row.node];
  const std::string& became = fleet.became(row.node);
  switch (row.state) {
    case State::slower:
      return row.explanation.text + (became.empty() ? "" : "; " + became);
    case State::was_faster:
      return became;
    case State::incomplete:
      return fmt::format("lacks {} measurements that its equals have", fleet.equals.nodes[row.node].missing.size());
    case State::silent:
      return fmt::format("its newest result is {} days older than the fleet's", row.age.value_or(0));
    case State::unjudged:
      return "too few nodes have what it has";
    case State::unread:
      return "no result" + (node.remarks.empty() ? "" : ": " + node.remarks.front());
    case State::alike:
      break;
  }
  return "";
}

std::string verdict_of(const Fleet& fleet) {
  const std::size_t nodes = fleet.rows.size();
  const std::size_t slower = fleet.count(State::slower);
  std::string text = slower == 0
                         ? fmt::format("Verdict: none of {} nodes is slower than its equals", nodes)
                         : fmt::format("Verdict: {} of {} nodes {} slower", slower, nodes, slower == 1 ? "is" : "are");
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count > 0) text += fmt::format("; {} {}", count, what);
  };
  const auto became =
      std::ranges::count_if(fleet.rows, [&](const FleetRow& row) { return !fleet.became(row.node).empty(); });
  add(static_cast<std::size_t>(became), "slower than before");
  if (fleet.slow_as_a_whole) text += "; all are slower than the platform says";
  add(fleet.count(State::silent), fmt::format("silent for more than {} days", fleet.plan.max_age));
  add(fleet.count(State::incomplete), "without all that their equals have");
  add(fleet.count(State::unjudged), "could not be judged");
  add(fleet.count(State::unread), "without a result");
  if (!fleet.rows.empty() && fleet.rows.front().state != State::alike && fleet.rows.front().state != State::unjudged) {
    const FleetRow& worst = fleet.rows.front();
    text += fmt::format(". The worst: {}: {}", named(fleet.files.nodes[worst.node], worst.explanation.places),
                        why(fleet, worst));
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
  add_heat_maps(document, fleet, plan);
  add_suspicious(document, fleet, plan);
  report::append(document, std::move(between));
  add_remarks(document, fleet, plan);
  add_who(document, fleet, plan);
  return document;
}

}  // namespace twinlink::validate
