#include "protocols/shortest_way.hpp"

#include <algorithm>

#include "protocols/core/errors.hpp"
#include "protocols/registry.hpp"

namespace twinlink {

bool serves_all(const Protocol& protocol, std::span<const Path> paths) {
  return protocol.message_memory() == Memory::device && std::ranges::all_of(paths, [&](const Path& path) {
           return protocol.supports(path).kind == Support::Kind::yes;
         });
}

const Protocol& shortest_way(std::span<const Path> paths) {
  for (const Protocol* protocol : all_protocols()) {
    if (serves_all(*protocol, paths)) return *protocol;
  }
  throw UnavailableError("no protocol can move device memory between these two");
}

}  // namespace twinlink
