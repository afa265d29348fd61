#include "validate/history/history_report.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "validate/nodes/fleet_report.hpp"

namespace twinlink::validate {
namespace {

using report::Column;
using report::Document;
using report::Heading;
using report::Paragraph;
using report::Plot;
using report::PlotCurve;
using report::PlotPoint;
using report::Table;

constexpr auto kLeft = Column::Align::left;
constexpr std::size_t kMostNodes = 20;
constexpr std::size_t kMostCharts = 6;

std::string percent(double fraction) { return fmt::format("{:+.1f} %", fraction * 100); }

std::vector<std::string> places_of(const CurveKey& key) {
  std::vector<std::string> places;
  if (!key.from.empty()) places.push_back(key.from);
  if (!key.to.empty() && key.to != key.from) places.push_back(key.to);
  return places;
}

Table dates_table(const Regression& regression) {
  Table table{.columns = {{"date", kLeft}, {"mean us"}, {"spread"}, {"", kLeft}}};
  for (const DatedFigure& dated : regression.dated) {
    table.rows.push_back({dated.date, fmt::format("{:.3f}", std::exp(dated.log_us)),
                          dated.deviation > 0 ? fmt::format("{:.1f} %", dated.deviation * 100) : "not told",
                          dated.unstable                                      ? "~ not judged"
                          : dated.date < regression.since || regression.drift ? ""
                                                                              : "slower"});
  }
  return table;
}

/// A curve for each judgement, along the dates.
Plot chart_of(const std::string& title, const Regression& regression) {
  constexpr double kSpread = 1.645;  // to the 5th and 95th percentile
  Plot plot{
      .title = title,
      .unit = "us",
      .curves = {{.label = "as it was"}, {.label = "slower", .colour = 1}, {.label = "~ not judged", .colour = 7}},
      .table = dates_table(regression)};
  for (const DatedFigure& dated : regression.dated) {
    PlotPoint point{.x = static_cast<double>(plot.names.size()), .y = std::exp(dated.log_us)};
    if (dated.deviation > 0) {
      point.low = std::exp(dated.log_us - kSpread * dated.deviation);
      point.high = std::exp(dated.log_us + kSpread * dated.deviation);
    }
    plot.names.push_back(dated.date);
    plot.curves[dated.unstable ? 2 : dated.date < regression.since ? 0 : 1].points.push_back(point);
  }
  std::erase_if(plot.curves, [](const PlotCurve& curve) { return curve.points.empty(); });
  return plot;
}

struct Ill {
  std::size_t node = 0;
  const NodeHistory* history = nullptr;
};

std::vector<Ill> ill_nodes(const std::vector<NodeHistory>& history) {
  std::vector<Ill> ill;
  for (std::size_t i = 0; i < history.size(); ++i) {
    if (!history[i].regressions.empty()) ill.push_back({i, &history[i]});
  }
  std::ranges::stable_sort(ill, std::ranges::greater{},
                           [](const Ill& each) { return each.history->regressions.front().slower; });
  return ill;
}

}  // namespace

Document history_report(const Fleet& fleet, const std::vector<NodeHistory>& history, bool charts) {
  if (history.empty()) return {};
  Document document{Heading{2, "Since when"}};
  std::size_t judged = 0;
  std::size_t unstable = 0;
  std::size_t single = 0;
  std::size_t dates = 0;
  for (const NodeHistory& node : history) {
    judged += node.judged;
    unstable += node.unstable;
    single += node.single;
    dates = std::max(dates, node.dates);
  }
  const std::vector<Ill> ill = ill_nodes(history);
  document.emplace_back(
      Paragraph{fmt::format("{} of {} nodes have become slower than they were: of {} figures with a past, on at most "
                            "{} dates. {} whose newest "
                            "point did not repeat itself (~) and {} without a past are not judged.",
                            ill.size(), history.size(), judged, dates, unstable, single)});
  if (ill.empty()) return document;
  Table table{.columns = {{"node", kLeft},
                          {"what", kLeft},
                          {"sizes", kLeft},
                          {"slower by"},
                          {"allowed"},
                          {"since", kLeft},
                          {"figures"}}};
  for (std::size_t i = 0; i < std::min(kMostNodes, ill.size()); ++i) {
    const Regression& worst = ill[i].history->regressions.front();
    const FleetNode& node = fleet.files.nodes[ill[i].node];
    const std::string gpus = node.gpus_at(places_of(worst.key), true);
    table.rows.push_back({node.name + (gpus.empty() ? "" : " " + gpus), worst.key.name,
                          std::string(to_string(worst.band)), percent(worst.slower), percent(worst.allowed),
                          worst.since + (worst.drift ? ", little by little" : ""),
                          std::to_string(ill[i].history->regressions.size())});
  }
  document.emplace_back(std::move(table));
  if (ill.size() > kMostNodes) document.emplace_back(Paragraph{fmt::format("And {} more.", ill.size() - kMostNodes)});
  for (std::size_t i = 0; charts && i < std::min(kMostCharts, ill.size()); ++i) {
    const Regression& worst = ill[i].history->regressions.front();
    document.emplace_back(
        chart_of(fmt::format("{}: {}, {}", named(fleet.files.nodes[ill[i].node], places_of(worst.key)), worst.key.name,
                             to_string(worst.band)),
                 worst));
  }
  return document;
}

nlohmann::json with_history(nlohmann::json json, const Fleet& fleet, const std::vector<NodeHistory>& history) {
  if (history.empty()) return json;
  for (std::size_t row = 0; row < fleet.rows.size(); ++row) {
    const NodeHistory& node = history[fleet.rows[row].node];
    nlohmann::json list = nlohmann::json::array();
    for (const Regression& regression : node.regressions) {
      list.push_back({{"test", regression.key.test},
                      {"curve", regression.key.name},
                      {"from", regression.key.from},
                      {"to", regression.key.to},
                      {"sizes", to_string(regression.band)},
                      {"slower", regression.slower},
                      {"allowed", regression.allowed},
                      {"since", regression.since},
                      {"drift", regression.drift}});
    }
    json["nodes"][row]["regressions"] = std::move(list);
    json["nodes"][row]["dates"] = node.dates;
  }
  return json;
}

}  // namespace twinlink::validate
