// What studies simulate in child processes: warm messages, and what the child answers.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "model/engine/flows/platform_names.hpp"
#include "platforms/machine/platform.hpp"
#include "protocols/bench/measure/driver.hpp"
#include "protocols/bench/results/results.hpp"
#include "protocols/core/path.hpp"
#include "protocols/core/protocol.hpp"

namespace twinlink::model {

/// As 'run' measures.
bench::Plan warm_plan(bench::Pattern pattern, std::vector<Bytes> sizes, int window, Settings settings);
/// What the first rank measures. With SimGrid's flows once per process, as every simulation.
bench::Series warm_series(const Platform& platform, std::span<const Place> places, const Protocol& protocol,
                          const bench::Plan& plan);

/// To the simulation's own precision, so that equal times are equal.
double to_picoseconds(double time_us);

}  // namespace twinlink::model
