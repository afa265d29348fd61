// A made-up machine of many nodes for timing the simulator: the numbers are round, the shape is what counts.
#pragma once

#include "model/engine/flows/platform_names.hpp"
#include "platforms/machine/platform.hpp"

namespace twinlink::model {

/// Nodes of two sockets. Each GPU has a PCI Express link to its socket's switch and an NVLink to the switch that joins
/// all GPUs of the node; each socket has an adapter. With an odd number of GPUs the first socket has one GPU less.
Platform large_platform(int nodes, int gpus_per_node);

}  // namespace twinlink::model
