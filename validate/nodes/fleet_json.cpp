// A fleet for programs: JSON, JUnit's XML, and metrics.
#include <chrono>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "platforms/report/junit.hpp"
#include "validate/nodes/dates.hpp"
#include "validate/nodes/fleet_report.hpp"

namespace twinlink::validate {
namespace {

using nlohmann::json;
using State = FleetRow::State;

json gpu_json(const FleetNode& node, const std::string& place) {
  const NamedGpu* known = node.gpu_at(place);
  const NamedGpu gpu = known == nullptr ? NamedGpu{.place = place} : *known;
  return {
      {"index", gpu.index()}, {"place", gpu.place}, {"pci_bus_id", gpu.bus}, {"uuid", gpu.uuid}, {"model", gpu.model}};
}

json gpus_json(const FleetNode& node, const std::vector<std::string>& places) {
  json list = json::array();
  for (const std::string& place : places) list.push_back(gpu_json(node, place));
  return list;
}

json row_json(const Fleet& fleet, const FleetRow& row) {
  const FleetNode& node = fleet.files.nodes[row.node];
  const HeldNode& held = fleet.equals.nodes[row.node];
  json result{{"node", node.name},
              {"state", to_string(row.state)},
              {"age_days", row.age ? json(*row.age) : json()},
              {"worst", row.worst},
              {"worst_in", row.what},
              {"why", why(fleet, row)},
              {"explanation", row.explanation.text},
              {"part", row.explanation.part},
              {"share", row.explanation.share},
              {"gpus", gpus_json(node, row.explanation.places)},
              {"tests", held.map},
              {"unstable", held.unstable},
              {"missing", held.missing.size()},
              {"remarks", node.remarks}};
  result["slower"] = json::array();
  for (const Slower& slower : held.slower) {
    result["slower"].push_back({{"test", slower.test},
                                {"curve", slower.curve},
                                {"sizes", slower.of == Slower::Of::part ? "all" : to_string(slower.band)},
                                {"days", slower.days},
                                {"slower", slower.slower},
                                {"allowed", slower.allowed},
                                {"gpus", gpus_json(node, slower.places)}});
  }
  if (row.platform) {
    result["platform"] = {
        {"slow", row.platform->slow}, {"curves", row.platform->curves}, {"slowest", row.platform->slowest}};
  }
  result["files"] = json::array();
  for (const NodeFile& file : node.files) {
    result["files"].push_back({{"file", file.file}, {"program", file.program}, {"date", file.date}});
  }
  return result;
}

/// Gauges in OpenMetrics' text, which is Prometheus' own as well.
class Metrics {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string>>;

  /// Of the samples that follow. `unit` is the end of the name, or empty.
  void gauge(const std::string& name, const std::string& unit, std::string_view help) {
    name_ = "twinlink_" + name + (unit.empty() ? "" : "_" + unit);
    text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", name_, help);
    if (!unit.empty()) text_ += fmt::format("# UNIT {} {}\n", name_, unit);
  }
  void sample(const Labels& labels, double value) {
    std::vector<std::string> pairs;
    for (const auto& [label, word] : labels) pairs.push_back(fmt::format("{}=\"{}\"", label, escaped(word)));
    text_ += fmt::format("{}{{{}}} {}\n", name_, fmt::join(pairs, ","), value);
  }
  [[nodiscard]] std::string text() const { return text_ + "# EOF\n"; }

 private:
  static std::string escaped(const std::string& word) {
    std::string text;
    for (const char c : word) {
      if (c == '\\' || c == '"') text += '\\';
      text += c == '\n' ? "\\n" : std::string{c};
    }
    return text;
  }

  std::string name_{};
  std::string text_{};
};

bool is_slower(const FleetRow& row) { return row.state == State::slower || row.state == State::was_faster; }

}  // namespace

json fleet_json(const Fleet& fleet) {
  json result{{"kind", "twinlink-fleet"},
              {"schema", kFleetSchema},
              {"folder", fleet.files.folder.string()},
              {"base", fleet.plan.base.string()},
              {"tolerance", fleet.plan.equals.tolerance},
              {"of_many_curves", fleet.plan.equals.of_many_curves},
              {"figures", fleet.equals.trials},
              {"as_a_whole", fleet.as_a_whole},
              {"slow_as_a_whole", fleet.slow_as_a_whole},
              {"remarks", fleet.remarks}};
  result["nodes"] = json::array();
  for (const FleetRow& row : fleet.rows) result["nodes"].push_back(row_json(fleet, row));
  return result;
}

std::string fleet_junit(const Fleet& fleet) {
  constexpr std::string_view kNodes = "nodes";
  report::JUnitCases cases;
  for (const FleetRow& row : fleet.rows) {
    const FleetNode& node = fleet.files.nodes[row.node];
    switch (row.state) {
      case State::alike:
        cases.add(kNodes, node.name);
        break;
      case State::unjudged:
        cases.skip(kNodes, node.name, why(fleet, row));
        break;
      default:
        cases.fail(kNodes, node.name, fmt::format("{}: {}", named(node, row.explanation.places), why(fleet, row)));
    }
  }
  if (!fleet.as_a_whole.empty()) {
    const std::string words = fmt::format("{}", fmt::join(fleet.as_a_whole, "; "));
    fleet.slow_as_a_whole ? cases.fail(kNodes, "the fleet as a whole", words)
                          : cases.add(kNodes, "the fleet as a whole");
  }
  return cases.file("twinlink-validate fleet");
}

std::string fleet_metrics(const Fleet& fleet) {
  Metrics metrics;
  const auto of_rows = [&](const auto& visit) {
    for (const FleetRow& row : fleet.rows) visit(row, fleet.files.nodes[row.node]);
  };
  metrics.gauge("node_unknown", "", "1: no result, none of late, not all, or nothing to hold it against");
  of_rows([&](const FleetRow& row, const FleetNode& node) {
    metrics.sample({{"node", node.name}}, is_slower(row) || row.state == State::alike ? 0 : 1);
  });
  metrics.gauge("node_slower", "",
                "1: slower than its equals, its platform or its past, by this part where one is found");
  of_rows([&](const FleetRow& row, const FleetNode& node) {
    if (!is_slower(row) && row.state != State::alike) return;
    metrics.sample({{"node", node.name}, {"part", row.explanation.part}}, is_slower(row) ? 1 : 0);
  });
  metrics.gauge("node_longer", "ratio",
                "by how much the worst figure takes longer than usual: 0.5 is half as long again");
  of_rows([&](const FleetRow& row, const FleetNode& node) {
    if (is_slower(row) || row.state == State::alike) metrics.sample({{"node", node.name}}, row.worst);
  });
  metrics.gauge("node_part_bandwidth", "ratio", "what a slow part has of its bandwidth");
  of_rows([&](const FleetRow& row, const FleetNode& node) {
    const auto& [part, share] = std::tie(row.explanation.part, row.explanation.share);
    if (!part.empty()) metrics.sample({{"node", node.name}, {"part", part}}, share);
  });
  metrics.gauge("node_newest_result_timestamp", "seconds", "the day of the node's newest result, since 1970");
  of_rows([&](const FleetRow&, const FleetNode& node) {
    if (const auto day = day_of(node.newest())) {
      metrics.sample({{"node", node.name}}, static_cast<double>(std::chrono::seconds(day->time_since_epoch()).count()));
    }
  });
  return metrics.text();
}

}  // namespace twinlink::validate
