#include "model/cli/pages.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "platforms/topology/topology.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

using report::Column;
using report::Document;
using report::Heading;
using report::List;
using report::Paragraph;

constexpr auto kLeftSide = Column::Align::left;
constexpr Bytes kDrawnSize{1U << 20U};
constexpr std::array kDrawnProtocols{"staging", "gpudirect-v1", "gpudirect-v2", "gpudirect-v3", "cuda-ipc"};

report::Plot figure_plot(const Figure& figure, std::span<const DrawnCurve> curves) {
  report::Plot plot{.title = figure.title + " (simulated)", .unit = "MB/s", .table = {.columns = {{.title = "size"}}}};
  std::map<Bytes, std::vector<std::string>> rows;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const auto& [of, series] = curves[i];
    report::PlotCurve curve{.label = fmt::format("({}) {}", i + 1, series.label),
                            .colour = static_cast<int>(i),
                            .dashed = !of->of_the_page};
    plot.table.columns.push_back({.title = curve.label + " MB/s"});
    for (const bench::Point& point : series.points) {
      curve.points.push_back({.x = static_cast<double>(point.size.count()), .y = point.bandwidth_MBps});
      auto& row = rows[point.size];
      row.resize(curves.size());
      row[i] = fmt::format("{:.1f}", point.bandwidth_MBps);
    }
    plot.curves.push_back(std::move(curve));
  }
  for (auto& [size, cells] : rows) {
    cells.insert(cells.begin(), format_size(size));
    plot.table.rows.push_back(std::move(cells));
  }
  return plot;
}

Document figure_blocks(const SimulatedFigure& simulated) {
  const auto& [figure, platform, curves] = simulated;
  Document blocks{Heading{.level = 2, .text = figure->title}, figure_plot(*figure, curves)};
  report::Table ways{.columns = {{"curve", kLeftSide}, {"from", kLeftSide}, {"to", kLeftSide}, {"way", kLeftSide}}};
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const bench::Series& series = curves[i].series;
    ways.rows.push_back({fmt::format("({}) {}", i + 1, series.label), series.from, series.to,
                         series.points.empty() ? "" : series.points.back().path});
  }
  blocks.emplace_back(std::move(ways));
  List against;
  std::istringstream lines(against_the_page(*figure, curves));
  for (std::string line; std::getline(lines, line);) against.items.push_back(line.substr(line.find_first_not_of(' ')));
  if (against.items.empty()) {
    blocks.emplace_back(Paragraph{"The curves lie above each other as the page has them, at every size."});
  } else {
    blocks.emplace_back(std::move(against));
  }
  return blocks;
}

/// Two GPUs between which the protocol runs without a fallback: of two nodes, or else of one; empty: nowhere, and `why`
/// is the reason between two GPUs of one node.
std::optional<std::vector<Place>> pair_for(const Platform& platform, const Protocol& protocol, std::string& why) {
  const Topology topology(platform);
  const auto gpus = static_cast<int>(platform.node.gpus.size());
  std::vector<std::vector<Place>> pairs;
  if (platform.node.count > 1) pairs.push_back({{0, 0, {}}, {1, 0, {}}});
  for (int a = 0; a < gpus; ++a) {
    for (int b = a + 1; b < gpus; ++b) pairs.push_back({{0, a, {}}, {0, b, {}}});
  }
  for (const auto& pair : pairs) {
    const Support support = protocol.supports(topology.path(pair[0], pair[1]));
    if (support.kind == Support::Kind::yes) return pair;
    why = support.reason;
  }
  return std::nullopt;
}

Document ways_blocks(std::span<const SimulatedFigure> figures) {
  Document blocks{Heading{.level = 2, .text = "The ways of five protocols"},
                  Paragraph{"Red is what the bytes of a warm message cross, numbered in their order. Times count from "
                            "the start of the message; steps that only wait are left out."}};
  for (const char* const name : kDrawnProtocols) {
    const Protocol& protocol = find_protocol(name);
    blocks.emplace_back(Heading{.level = 3, .text = name});
    blocks.emplace_back(Paragraph{std::string(protocol.description())});
    std::string why;
    const SimulatedFigure* where = nullptr;
    std::optional<std::vector<Place>> pair;
    for (const SimulatedFigure& figure : figures) {
      pair = pair_for(figure.platform, protocol, why);
      where = &figure;
      if (pair) break;
    }
    if (pair) {
      report::append(blocks, message_blocks(where->platform, *pair, protocol, protocol.defaults(), {}, kDrawnSize));
    } else {
      blocks.emplace_back(Paragraph{"It does not run on these machines: " + why});
    }
  }
  return blocks;
}

}  // namespace

Document figure_page(std::span<const SimulatedFigure> figures) {
  Document document{
      Heading{.level = 1, .text = "GPUDirect Performance on Keeneland, simulated"},
      Paragraph{
          "MB/s are 10^6 bytes per second of one-way time, half of a round trip. Dashed curves are not on the page. "
          "The page gives the order of its curves, not their numbers."}};
  std::set<std::string> machines;
  for (const SimulatedFigure& simulated : figures) report::append(document, figure_blocks(simulated));
  document.emplace_back(Heading{.level = 2, .text = "The machines"});
  for (const SimulatedFigure& simulated : figures) {
    if (machines.insert(simulated.platform.name).second) document.emplace_back(machine_picture(simulated.platform));
  }
  report::append(document, ways_blocks(figures));
  return document;
}

}  // namespace twinlink::model
