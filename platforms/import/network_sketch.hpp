// The adapters of a node that is sketched: how fast each is, and which of them a GPU uses.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "platforms/import/node_description.hpp"
#include "platforms/machine/platform.hpp"

namespace twinlink::platforms {

/// Gives `platform` the fabric that its adapters need: `nics` are their indices into facts.pci, in the order of
/// platform.node.nics. Rates are as told, or by the model of platforms/parts/models/adapters.yaml, or assumed; then the
/// notes say so, unless assume_costs() takes the fabric of `base`, which may be null.
void add_fabric(NodeDescription& facts, const std::vector<std::size_t>& nics, Platform& platform, const Platform* base);

/// Gives each GPU the nearest adapter; an InfiniBand adapter before a network card, which in such a node is there for
/// its management. Of several that are as near, GPUs take turns by their number as NCCL lets them (src/graph/topo.cc,
/// ncclTopoGetLocalNet()): its bits reversed where a power of two are.
void choose_adapters(const NodeDescription& facts, const std::vector<std::size_t>& nics, Platform& platform);

}  // namespace twinlink::platforms
