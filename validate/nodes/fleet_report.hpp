// A fleet for people, for programs and for a CI.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "platforms/report/document.hpp"
#include "validate/nodes/fleet.hpp"

namespace twinlink::validate {

inline constexpr int kFleetSchema = 1;

struct FleetReportPlan {
  std::size_t most_rows = 20;  ///< of a table; 0: all
  std::size_t drawings = 0;    ///< of so many of the worst nodes, where Graphviz is there
};

/// The verdict first, then a row for each node, the worst first, the heat map, what is slower where, drawings, remarks,
/// and who is who. `between` stands before the remarks.
report::Document fleet_report(const Fleet& fleet, const FleetReportPlan& plan, report::Document between = {});
/// "Verdict: 3 of 100 nodes are slower ...".
std::string verdict_of(const Fleet& fleet);
/// A node with its GPUs, the one that `places` names, or all: "node017 GPU 5 (0000:9b:00.0, GPU-...)".
std::string named(const FleetNode& node, const std::vector<std::string>& places);

/// What is to be said of a node: the part that explains it, what it lacks, since when; empty of one that is alike.
std::string why(const Fleet& fleet, const FleetRow& row);

/// Everything, unrounded; what is slower as fractions.
nlohmann::json fleet_json(const Fleet& fleet);
/// JUnit's XML, a test case for each node; one for the fleet as a whole where it was held against a platform.
std::string fleet_junit(const Fleet& fleet);
/// OpenMetrics' text, for the textfile collector of Prometheus' node_exporter: by node, whether anybody knows, whether
/// it is slower, by how much, by which part, and of when its newest result is. Ratios and seconds; 0 and 1 of verdicts.
/// Where nobody knows there is no sample of a verdict.
std::string fleet_metrics(const Fleet& fleet);

}  // namespace twinlink::validate
