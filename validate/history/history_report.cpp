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
using report::Picture;
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
                          dated.unstable                  ? "~ not judged"
                          : dated.date < regression.since ? ""
                                                          : "slower"});
  }
  return table;
}

/// Points over their order in time, as wide bars of their spread; those of the regression in another colour. It lies on
/// white paper on a dark page as well, as drawings do.
std::string chart_of(const Regression& regression) {
  constexpr double kWidth = 640;
  constexpr double kHeight = 220;
  constexpr double kLeftEdge = 70;
  constexpr double kBottom = 40;
  constexpr double kTop = 15;
  constexpr double kSpread = 1.645;  // to the 5th and 95th percentile
  double low = regression.dated.front().log_us;
  double high = low;
  for (const DatedFigure& dated : regression.dated) {
    low = std::min(low, dated.log_us - kSpread * dated.deviation);
    high = std::max(high, dated.log_us + kSpread * dated.deviation);
  }
  const double margin = std::max(0.05 * (high - low), 0.01);
  low -= margin;
  high += margin;
  const std::size_t count = regression.dated.size();
  const auto x_of = [&](std::size_t i) {
    return kLeftEdge + (kWidth - kLeftEdge - 30) * (static_cast<double>(i) + 0.5) / static_cast<double>(count);
  };
  const auto y_of = [&](double value) { return kTop + (kHeight - kTop - kBottom) * (high - value) / (high - low); };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n",
      kWidth, kHeight);
  for (int i = 0; i <= 3; ++i) {
    const double value = low + (high - low) * i / 3;
    svg += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#ccc\"/>"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:.4g} us</text>\n",
        kLeftEdge, kWidth - 20, y_of(value), kLeftEdge - 6, y_of(value) + 4, std::exp(value));
  }
  const std::size_t step = std::max<std::size_t>(1, count / 6);
  for (std::size_t i = 0; i < count; ++i) {
    const DatedFigure& dated = regression.dated[i];
    const bool slow = dated.date >= regression.since;
    const char* const colour = dated.unstable ? "#888" : slow ? "#d6601a" : "#2166ac";
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" stroke=\"{3}\" stroke-width=\"2\"/>"
        "<circle cx=\"{0:.1f}\" cy=\"{4:.1f}\" r=\"4\" fill=\"{3}\"/>",
        x_of(i), y_of(dated.log_us - kSpread * dated.deviation), y_of(dated.log_us + kSpread * dated.deviation), colour,
        y_of(dated.log_us));
    if (dated.unstable)
      svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">~</text>", x_of(i) + 6, y_of(dated.log_us) + 4);
    if (i % step == 0) {
      svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", x_of(i), kHeight - 18,
                         report::escaped_markup(dated.date.substr(0, 10)));
    }
    svg += "\n";
  }
  return svg + "</svg>\n";
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
    table.rows.push_back({named(fleet.files.nodes[ill[i].node], places_of(worst.key)), worst.key.name,
                          std::string(to_string(worst.band)), percent(worst.slower), percent(worst.allowed),
                          worst.since, std::to_string(ill[i].history->regressions.size())});
  }
  document.emplace_back(std::move(table));
  if (ill.size() > kMostNodes) document.emplace_back(Paragraph{fmt::format("And {} more.", ill.size() - kMostNodes)});
  for (std::size_t i = 0; charts && i < std::min(kMostCharts, ill.size()); ++i) {
    const Regression& worst = ill[i].history->regressions.front();
    document.emplace_back(
        Picture{.title = fmt::format("{}: {}, {}", named(fleet.files.nodes[ill[i].node], places_of(worst.key)),
                                     worst.key.name, to_string(worst.band)),
                .svg = chart_of(worst),
                .table = dates_table(worst)});
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
                      {"since", regression.since}});
    }
    json["nodes"][row]["regressions"] = std::move(list);
    json["nodes"][row]["dates"] = node.dates;
  }
  return json;
}

}  // namespace twinlink::validate
