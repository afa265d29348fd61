// Ways through a torus, around cables that are gone.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "platforms/machine/fabric.hpp"

namespace twinlink::platforms {

/// Dimension by dimension, the shorter way round each ring, or the longer one where a cable of that is gone. Where both
/// are cut, the way with the fewest hops that there is; none: no hop, and cut_off() says so.
FabricWay torus_way(const Fabric& fabric, const FabricPort& from, const FabricPort& to);

/// The same for each choice among ways round a ring that are as short; where cables are gone, each different way once.
std::vector<FabricWay> torus_ways(const Fabric& fabric, const FabricPort& from, const FabricPort& to);

/// A place that cables that are gone cut off from the first one.
std::optional<std::int64_t> cut_off_in_torus(const Fabric& fabric);

}  // namespace twinlink::platforms
