// A part that is not well: it has a share of its bandwidth.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/machine/platform.hpp"

namespace twinlink::platforms {

/// What degrade() knows by name: links, GPUs, adapters, hubs, memories.
std::vector<std::string> degradable_parts(const Platform& platform);

/// A link of that name, or else all that end at the GPU, adapter or hub of that name, by index.
std::vector<std::size_t> links_of(const Node& node, std::string_view part);

/// Lets a part have `share` of its rates, above 0 and at most 1: a link of all of them; an adapter of its port to the
/// fabric; a GPU, a hub or an adapter without a fabric of all links that end at it and of what it forwards and adds up;
/// a memory of its DRAM's bandwidth and of what one core copies. A link comes before a part of its name. `why` becomes
/// the source. Parts of another kind of nodes are called "KIND-NAME". Returns whether there is such a part.
bool degrade(Platform& platform, std::string_view part, double share, const std::string& why);
/// The same for one of several parts that are one fault: what two of them share, and `shrunk` holds by then, shrinks
/// once.
bool degrade(Platform& platform, std::string_view part, double share, const std::string& why,
             std::set<const void*>& shrunk);

}  // namespace twinlink::platforms
