// From the facts about a node to a platform. Pure.
#pragma once

#include <string>
#include <vector>

#include "platforms/import/node_description.hpp"
#include "platforms/machine/platform.hpp"

namespace twinlink::real {

struct NodePlatform {
  model::Platform platform{};
  std::vector<std::string> heading{};  ///< comment for the file: what its format has no place for, UUIDs above all
  std::vector<std::string> notes{};    ///< what the user must know: what is not known, or cannot be said in a platform
};

/// One node with the GPUs, adapters and links of `node`: link rates nominal, costs assumed, see assume_costs() for
/// `base`, which may be null. GPUs are numbered by PCI bus id. An UnavailableError without a GPU, for a platform needs
/// one, or without a NUMA domain.
NodePlatform make_platform(const NodeDescription& node, const model::Platform* base);

}  // namespace twinlink::real
