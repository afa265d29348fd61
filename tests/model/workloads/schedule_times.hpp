// What schedules take on an idle simulated machine.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "model/engine/flows/platform_names.hpp"
#include "platforms/machine/platform.hpp"
#include "protocols/workloads/schedule.hpp"

namespace twinlink::model::testing {

using MakeSchedule = std::function<workloads::Schedule(int rank)>;

/// Over gpudirect-v2 what each of the schedules takes on the slowest rank, once buffers and connections are known; the
/// data is verified. Once per process.
std::vector<Seconds> times_of(const Platform& platform, std::span<const Place> places,
                              std::span<const MakeSchedule> schedules);

}  // namespace twinlink::model::testing
