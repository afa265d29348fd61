// What has become slower since when, for people and programs.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "platforms/report/document.hpp"
#include "validate/history/regressions.hpp"
#include "validate/nodes/fleet.hpp"

namespace twinlink::validate {

/// Empty without a history. `charts`: over the dates, of the worst nodes.
report::Document history_report(const Fleet& fleet, const std::vector<NodeHistory>& history, bool charts);

/// `json`, of fleet_json(), and each node's regressions in it.
nlohmann::json with_history(nlohmann::json json, const Fleet& fleet, const std::vector<NodeHistory>& history);

}  // namespace twinlink::validate
