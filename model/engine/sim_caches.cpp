// SimRank's caches: what those of a memory hold, which all its CPUs share.
#include <algorithm>
#include <vector>

#include "model/engine/sim_operation.hpp"

namespace twinlink::model {

/// The CPUs or a device go through so many bytes of each part, side by side. What the caches of one of them lacked, at
/// the most. Of interleaved bytes each memory's caches hold their own.
Bytes SimRank::lacking_in_caches(std::initializer_list<const Part*> parts, Bytes size) {
  if (!world_.caches.any()) return {};
  std::vector<HostBytes> bytes;
  for (const Part* part : parts) {
    if (!part->allocation || part->allocation->memory == Memory::device) continue;
    const Allocation& memory = *part->allocation;
    const std::vector<Location> pieces = world_.topology.pieces(memory.site.location);
    for (const Location& piece : pieces) {
      bytes.push_back({.site = {memory.site.node, piece},
                       .rank = memory.owner,
                       .at = Bytes{(memory.address + part->offset.count()) / pieces.size()},
                       .length = Bytes{std::min(part->length, size).count() / pieces.size()},
                       .alike = pieces.size()});
    }
  }
  return world_.caches.go_through(bytes);
}

/// At what rate the bytes of a message flow that CPUs copy and nobody disturbs.
Rate SimRank::rate_of_cpus(const Operation& message) const {
  const Rate rate = world_.topology.platform().intra_node.rate->value;
  const Location from = message.from.allocation->site.location;
  Rate least = rate;
  for (const Strand& strand : world_.topology.strands(from, target_of(message))) {
    const auto link = world_.topology.narrowest(world_.topology.copy_route(strand.from, strand.to), Reach::cpu);
    if (link) least = std::min(least, Rate{link->bytes_per_second() / strand.share});
  }
  return least;
}

/// The bytes of an operation; and where CPUs copy it, as many more as flow in the time that it takes longer to fetch
/// some of them from memory.
Bytes SimRank::bytes_to_flow(Operation& operation) {
  const Part& to = operation.partner ? operation.partner->to : operation.to;
  operation.lacking = lacking_in_caches({&operation.from, &to}, operation.size);
  const auto& uncached = world_.topology.platform().intra_node.uncached;
  if (operation.lacking == Bytes{} || !uncached) return operation.size;
  Seconds longer{};
  Rate rate{};
  if (operation.is_copy()) {
    const bool by_cpu = operation.occupies_cpu && !operation.by_event;
    if (!by_cpu) return operation.size;
    // What such a copy takes by its size may hold some of that time already.
    rate = *world_.copy_cost(end_of(operation.from, operation.engine), end_of(operation.to, operation.engine)).rate;
    const Seconds held = operation.report.latency + operation.size / rate;
    longer = operation.lacking / uncached->value - held * share_of(operation.lacking, operation.size);
    if (longer <= Seconds{}) return operation.size;
  } else {
    if (!by_shared_memory(operation.peer)) return operation.size;
    rate = rate_of_cpus(operation);
    longer = operation.lacking / std::min(uncached->value, rate) - operation.lacking / rate;
  }
  return operation.size + flowing_in(longer, rate);
}

}  // namespace twinlink::model
