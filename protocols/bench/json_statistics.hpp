// What result and probe files write alike.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "protocols/bench/json_members.hpp"
#include "protocols/bench/statistics.hpp"

namespace twinlink::bench {

/// Adds "time_us" (the median), "n", "min_us", "max_us", "p5_us" and "p95_us" to an object.
void write_statistics(nlohmann::json& object, const Statistics& time_us);
Statistics read_statistics(Members& members);

/// The member "world": "simulated" or "measured".
std::string read_world(Members& members);

}  // namespace twinlink::bench
