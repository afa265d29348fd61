// Which GPUs reach each other, as the driver says, beside what follows from the wiring.
#pragma once

#include <string>
#include <vector>

#include "platforms/import/node_description.hpp"
#include "platforms/machine/platform.hpp"

namespace twinlink::platforms {

/// Gives `platform`, whose links and GPUs are those of `node`, a list of peers where the wiring does not say the same,
/// and `remarks` a line for each GPU: "gpu0 reaches: gpu1 (18 NVLinks to NVSwitch), gpu2 (PCIe); not gpu3 (no support
/// by the chipset)". Both stay as they are if no driver was asked.
void add_peers(const NodeDescription& node, Platform& platform, std::vector<std::string>& remarks);

}  // namespace twinlink::platforms
