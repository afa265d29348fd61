#include "model/cli/pages.hpp"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/study/child_process.hpp"
#include "platforms/tools/filter_program.hpp"
#include "protocols/bench/results/files.hpp"

namespace twinlink::model {
namespace {

using report::Column;
constexpr auto kLeft = Column::Align::left;
constexpr std::size_t kMostSteps = 60;  ///< of a message that is drawn

/// The nodes of a domain are drawn together, as the first of them.
int drawn_for(const Platform& platform, const Place& place) {
  return place.node / platform.node.domain * platform.node.domain;
}

/// The picture is extra: the table tells the same.
std::string svg_where_possible(const std::string& dot) {
  try {
    return svg_of(dot);
  } catch (const EnvironmentError& error) {
    static bool told = false;
    const std::string_view why(error.what());
    if (!std::exchange(told, true)) {
      std::cerr << "twinlink-sim: note: not every drawing could be made: " << why.substr(0, why.find('\n')) << "\n";
    }
    return {};
  }
}

std::string in_words(const DrawnPart& part) { return fmt::format("{} of node {}", part.name, part.node); }

report::Table way_table(const Drawing& drawing) {
  report::Table table{.columns = {{"crossing"}, {"from", kLeft}, {"to", kLeft}}};
  for (const Crossing& crossing : drawing.way) {
    table.rows.push_back({std::to_string(table.rows.size() + 1), in_words(crossing.from), in_words(crossing.to)});
  }
  return table;
}

/// The steps that take time; those that only wait for others are none.
report::Spans steps_of_message(const std::string& title, const std::vector<OpReport>& reports) {
  report::Spans all{
      .title = title,
      .unit = "us",
      .table = {
          .columns = {
              {"rank"}, {"step", kLeft}, {"start us"}, {"end us"}, {"size"}, {"cost entry", kLeft}, {"way", kLeft}}}};
  for (const auto& [r, operations] : steps_of(reports)) {
    if (r.cost.empty()) continue;
    if (all.spans.size() == kMostSteps) {
      all.title += fmt::format(", the first {}", kMostSteps);
      break;
    }
    all.spans.push_back({.label = fmt::format("{} (rank {})", r.step, r.rank.value),
                         .group = fmt::format("rank {}", r.rank.value),
                         .start = r.started.microseconds(),
                         .end = r.ended.microseconds()});
    all.table.rows.push_back({std::to_string(r.rank.value), r.step, fmt::format("{:.3f}", r.started.microseconds()),
                              fmt::format("{:.3f}", r.ended.microseconds()), format_size(r.size),
                              operations > 1 ? fmt::format("{}, {} times", r.cost, operations) : r.cost, r.route});
  }
  return all;
}

/// What message_blocks() is told by the process that simulates.
nlohmann::json to_json(const Drawing& drawing, const std::string& dot, const report::Spans& steps,
                       const report::Table& way) {
  nlohmann::json json{{"title", drawing.title},
                      {"dot", dot},
                      {"way", way.rows},
                      {"steps title", steps.title},
                      {"steps", steps.table.rows}};
  json["spans"] = nlohmann::json::array();
  for (const auto& [label, group, start, end] : steps.spans) json["spans"].push_back({label, group, start, end});
  return json;
}

}  // namespace

Drawing machine_drawing(const Platform& platform) {
  Drawing drawing;
  int first = platform.node.count;
  for (const NodeKind& kind : platform.kinds) {
    drawing.nodes.push_back(kind.replaces.value_or(first));
    if (!kind.replaces) first += kind.node.count;
  }
  return drawing;
}

Drawing message_drawing(const Platform& platform, const std::vector<Place>& places, const Protocol& protocol,
                        Bytes size, const ObservedMessage& message) {
  Drawing drawing{
      .title = fmt::format("{} on {}: a message of {} from {} to {}, {}", protocol.name(), platform.name,
                           format_size(size), to_string(places[0]), to_string(places[1]), message.path_taken),
      .nodes = {drawn_for(platform, places[0])}};
  if (drawn_for(platform, places[1]) != drawing.nodes.front()) drawing.nodes.push_back(drawn_for(platform, places[1]));
  for (const OpReport& report : message.reports) {
    const auto rank = static_cast<std::size_t>(report.rank.value);
    for (const Crossing& crossing :
         crossings_of(report.route, drawn_for(platform, places[rank]), drawn_for(platform, places[1 - rank]))) {
      if (std::ranges::find(drawing.way, crossing) == drawing.way.end()) drawing.way.push_back(crossing);
    }
  }
  return drawing;
}

report::Picture machine_picture(const Platform& platform) {
  report::Picture picture{
      .title = fmt::format("{}: {}", platform.name, platform.description),
      .svg = svg_where_possible(to_dot(platform, machine_drawing(platform))),
      .table = {
          .columns = {
              {"link", kLeft}, {"from", kLeft}, {"to", kLeft}, {"forward"}, {"backward"}, {"latency"}, {"links"}}}};
  const auto add_links = [&](const Node& node) {
    for (const Link& link : node.links) {
      picture.table.rows.push_back(
          {link.name, link.from, link.to, format_rate(link.forward.value), format_rate(link.backward.value),
           link.latency ? format_seconds(link.latency->value) : "", std::to_string(link.count)});
    }
  };
  add_links(platform.node);
  for (const NodeKind& kind : platform.kinds) add_links(kind.node);
  return picture;
}

report::Document message_blocks(const Platform& platform, const std::vector<Place>& places, const Protocol& protocol,
                                const Settings& settings, const Packing& packing, Bytes size) {
  const auto in_child = [&] {
    const ObservedMessage message = observe_message(platform, places, protocol, settings, packing, size);
    const Drawing drawing = message_drawing(platform, places, protocol, size, message);
    const report::Spans steps = steps_of_message("Steps of " + drawing.title, message.reports);
    return bench::to_text(to_json(drawing, to_dot(platform, drawing), steps, way_table(drawing)));
  };
  const auto told = nlohmann::json::parse(in_child_process(in_child));
  const auto title = told.at("title").get<std::string>();
  report::Picture way{
      .title = title, .svg = svg_where_possible(told.at("dot").get<std::string>()), .table = way_table({})};
  told.at("way").get_to(way.table.rows);
  report::Spans steps = steps_of_message(told.at("steps title").get<std::string>(), {});
  told.at("steps").get_to(steps.table.rows);
  for (const auto& span : told.at("spans")) {
    steps.spans.push_back({.label = span.at(0), .group = span.at(1), .start = span.at(2), .end = span.at(3)});
  }
  report::Document blocks{std::move(way)};
  if (!steps.spans.empty()) blocks.emplace_back(std::move(steps));
  return blocks;
}

}  // namespace twinlink::model
