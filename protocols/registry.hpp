// The list of all protocols. Explicit: nothing registers itself behind the reader's back.
#pragma once

#include <span>
#include <string_view>

#include "protocols/core/protocol.hpp"

namespace twinlink {

/// All protocols, in the order in which explanations and choices prefer them: the shortest way first.
std::span<const Protocol* const> all_protocols();

/// The protocol of that name. A UsageError names the closest existing name and lists all.
const Protocol& find_protocol(std::string_view name);

}  // namespace twinlink
