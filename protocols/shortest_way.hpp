// Which protocol messages of GPUs take where nobody names one: the registry lists the shortest way first.
#pragma once

#include <span>

#include "protocols/core/path.hpp"
#include "protocols/core/protocol.hpp"

namespace twinlink {

/// Does it move device memory over each of the paths, without a fallback?
bool serves_all(const Protocol& protocol, std::span<const Path> paths);

/// The first protocol that serves all. An UnavailableError if there is none.
const Protocol& shortest_way(std::span<const Path> paths);

}  // namespace twinlink
