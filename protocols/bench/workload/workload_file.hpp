// The file of a workload's times.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "protocols/bench/results/json_value.hpp"
#include "protocols/bench/workload/measure_workload.hpp"

namespace twinlink::bench {

inline constexpr int kWorkloadSchema = 1;
inline constexpr std::string_view kWorkloadKind = "twinlink-workload";

struct WorkloadFile {
  std::string world{};
  std::string program{};
  std::string command{};
  JsonValue environment{};
  WorkloadSeries series{};
  std::vector<JsonValue> links{};           ///< of each point what crossed them, where somebody knows and was asked
  std::vector<JsonValue> critical_paths{};  ///< likewise
};
/// An imported file is without what is 0 or empty: nobody has told it.
nlohmann::json to_json(const WorkloadFile& file);

/// An InputError that names `origin` and the member that is missing, wrong or unknown. What an imported file does not
/// tell is 0 or empty.
WorkloadFile workload_from_json(const nlohmann::json& json, const std::string& origin);

}  // namespace twinlink::bench
