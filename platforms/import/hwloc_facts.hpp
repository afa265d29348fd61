// What hwloc knows of a node, on the spot or as it has written it down: sockets, NUMA domains, the PCI tree above GPUs
// and adapters, and what its backends for CUDA and NVML have found out about the GPUs.
#pragma once

#include <string>

#include "platforms/import/hwloc_topology.hpp"
#include "platforms/import/node_description.hpp"

namespace twinlink::platforms {

/// GPUs are numbered by their bus ids; peer access is unknown. `name` is the host's.
NodeDescription describe(const HwlocTopology& topology, std::string name);

}  // namespace twinlink::platforms
