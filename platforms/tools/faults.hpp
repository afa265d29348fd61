// A machine that is not well: links at a share of their bandwidth, and parts that are gone.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "platforms/machine/platform.hpp"

namespace twinlink::platforms {

/// As the command line has them.
struct Faults {
  // With "@TIME" behind it a fault comes at that time of the simulation, and is one of platform.later_faults.
  std::vector<std::string> degraded{};  ///< "PART=50%", see degrade(); with a time not of a memory
  std::vector<std::string> failed{};    ///< a link; a GPU, an adapter or a hub stands for all links that end at it
  // A part is that of every node of its kind. "5/hca0" is that of node 5, and "node5" stands for all parts of node 5,
  // which becomes a kind of its own in its place.

  [[nodiscard]] bool none() const { return degraded.empty() && failed.empty(); }
};

/// Reads a platform as read_platform() does, and lets it have `faults`. All rates of a degraded part shrink alike. What
/// failed is not there: ways lead elsewhere, an adapter without links is gone, and its GPUs take the nearest that is
/// left. A UsageError for a name that the platform does not have, and for a fault that cuts off what every run needs:
/// it says who does not reach whom.
Platform read_platform(const std::filesystem::path& named, std::span<const std::string> overrides,
                       const Faults& faults);

}  // namespace twinlink::platforms
