// A part that is not well: it has a share of its bandwidth.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/platform/platform.hpp"

namespace twinlink::model {

/// What degrade() knows by name: links, adapters, hubs, memories.
std::vector<std::string> degradable_parts(const Node& node);

/// Lets a part have `share` of its rates, above 0 and at most 1: a link of all of them; an adapter or a hub of those of
/// all links that end at it and of what it forwards; a memory of its DRAM's bandwidth and of what one core copies. A
/// link comes before a part of its name. `why` becomes the source. Returns whether there is such a part.
bool degrade(Platform& platform, std::string_view part, double share, const std::string& why);

}  // namespace twinlink::model
