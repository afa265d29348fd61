// A fleet for programs: JSON, and JUnit's XML.
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "platforms/report/junit.hpp"
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

}  // namespace twinlink::validate
