// SimRank's caches: what those of a memory hold, which all its CPUs share.
#include <algorithm>
#include <vector>

#include "model/engine/sim_operation.hpp"

namespace twinlink::model {

/// The CPUs or a device go through so many bytes of each part, side by side. What the caches of one of them lacked, at
/// the most.
Bytes SimRank::lacking_in_caches(std::initializer_list<const Part*> parts, Bytes size) {
  if (!world_.caches.any()) return {};
  std::vector<HostBytes> bytes;
  for (const Part* part : parts) {
    if (!part->allocation || part->allocation->memory == Memory::device) continue;
    bytes.push_back({.site = part->allocation->site,
                     .rank = part->allocation->owner,
                     .at = Bytes{part->allocation->address} + part->offset,
                     .length = std::min(part->length, size)});
  }
  return world_.caches.go_through(bytes);
}

/// At what rate the bytes of a message flow that CPUs copy and nobody disturbs.
Rate SimRank::rate_of_cpus(const Operation& message) const {
  const Rate rate = world_.topology.platform().intra_node.rate->value;
  const Location from = message.from.allocation->site.location;
  const auto link = world_.topology.narrowest(world_.topology.copy_route(from, target_of(message)), Reach::cpu);
  return std::min(rate, link.value_or(rate));
}

/// The bytes of an operation; and where CPUs copy a message, as many more as flow in the time that it takes longer to
/// fetch some of them from memory.
Bytes SimRank::bytes_to_flow(Operation& operation) {
  const Part& to = operation.partner ? operation.partner->to : operation.to;
  operation.lacking = lacking_in_caches({&operation.from, &to}, operation.size);
  const NetworkCosts& costs = world_.topology.platform().intra_node;
  const bool by_cpus = !operation.is_copy() && by_shared_memory(operation.peer);
  if (operation.lacking == Bytes{} || !by_cpus || !costs.uncached) return operation.size;
  const Rate rate = rate_of_cpus(operation);
  const Seconds longer = operation.lacking / std::min(costs.uncached->value, rate) - operation.lacking / rate;
  return operation.size + flowing_in(longer, rate);
}

}  // namespace twinlink::model
