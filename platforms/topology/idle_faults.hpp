// Faults that are not on any way of a job: who gave one wants to know that it makes no difference.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/machine/platform.hpp"
#include "protocols/core/path.hpp"

namespace twinlink::platforms {

/// Does the job use that GPU of the graph itself, or only the host memory next to it?
using UsesGpu = std::function<bool(const std::string& gpu)>;

/// Of the parts that have failed from the start, those that no way of a job with ranks at `places` would cross if they
/// were there, a line for each: "--fail hca0 makes no difference: ...".
std::vector<std::string> idle_failures(const Platform& platform, std::span<const Place> places,
                                       const UsesGpu& uses_gpu);

/// The same of all faults, for whoever does not simulate the job itself: its ranks may use their GPUs, and a fault that
/// comes later may come before the end.
std::vector<std::string> idle_faults(const Platform& platform, std::span<const Place> places);

/// Is a part a cable of the fabric, "fabric/leaf3-up2"?
bool is_cable(std::string_view part);
/// "leaf3-up2" of "fabric/leaf3-up2".
std::string_view cable_name(std::string_view part);
/// May a message of ranks at `places` cross it where it is whole?
bool may_cross_cable(const Platform& platform, std::string_view part, std::span<const Place> places);

}  // namespace twinlink::platforms
