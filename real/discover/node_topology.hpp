// What hwloc knows of a node: sockets, NUMA domains, the PCI tree above its GPUs and adapters.
#pragma once

#include "platforms/import/node_description.hpp"
#include "real/system/hwloc_topology.hpp"

namespace twinlink::real {

/// Everything but the GPUs' own properties; the inventory stays empty. `name` is the host's.
NodeDescription describe_topology(const HwlocTopology& topology, std::string name);

/// The GPUs as hwloc sees them where no driver is asked: NVIDIA's, by their PCI class. What its XML files hold of a
/// GPU is used; peer access, links and compute capability are unknown.
GpuInventory gpus_of_topology(const HwlocTopology& topology, const NodeDescription& node);

}  // namespace twinlink::real
