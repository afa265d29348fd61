// SimRank's caches: what those of a memory hold, which all its CPUs share, and what this rank's CPU holds by itself.
#include <algorithm>
#include <vector>

#include "model/sim_operation.hpp"

namespace twinlink::model {

// ---- those that CPUs share ------------------------------------------------------------------------------------------

/// The CPUs or a device go through so many bytes of each part, side by side. What the caches of one of them lacked, at
/// the most.
Bytes SimRank::lacking_in_caches(std::initializer_list<const Part*> parts, Bytes size) {
  if (!world_.caches.any()) return {};
  std::vector<HostBytes> in_host_memory;
  for (const Part* part : parts) {
    if (!part->allocation || part->allocation->memory == Memory::device) continue;
    in_host_memory.push_back({.site = part->allocation->site,
                              .rank = part->allocation->owner,
                              .at = Bytes{part->allocation->address} + part->offset,
                              .length = std::min(part->length, size)});
  }
  return world_.caches.go_through(in_host_memory);
}

/// At what rate the bytes of a message flow that CPUs copy and nobody disturbs.
Rate SimRank::rate_of_cpus(const Operation& message) const {
  const Rate rate = world_.topology.platform().intra_node.rate->value;
  const Location from = message.from.allocation->site.location;
  const auto link = world_.topology.narrowest(world_.topology.copy_route(from, target_of(message)));
  return std::min(rate, link.value_or(rate));
}

/// The bytes of an operation; and where CPUs copy them, as many more as flow in the time that it takes longer to fetch
/// some of them from memory.
Bytes SimRank::bytes_to_flow(const Operation& operation) {
  const Part& to = operation.partner ? operation.partner->to : operation.to;
  use_in_own_caches(operation);
  const Bytes lacking = lacking_in_caches({&operation.from, &to}, operation.size);
  const NetworkCosts& costs = world_.topology.platform().intra_node;
  const bool by_cpus = !operation.is_copy() && by_shared_memory(operation.peer);
  if (lacking == Bytes{} || !by_cpus || !costs.uncached) return operation.size;
  const Rate rate = rate_of_cpus(operation);
  const Seconds longer = lacking / std::min(costs.uncached->value, rate) - lacking / rate;
  return operation.size + flowing_in(longer, rate);
}

// ---- this CPU's own -------------------------------------------------------------------------------------------------

/// This rank's CPU reads or writes so many bytes of a part.
void SimRank::use_in_own_cache(const Part& part, Bytes size) {
  if (!own_cache_ || !part.allocation || part.allocation->memory == Memory::device) return;
  own_cache_->use(part.allocation->owner, Bytes{part.allocation->address} + part.offset, std::min(part.length, size));
}

/// What CPUs go through while an operation's bytes flow: a copy's that occupies its rank's, and a message's within a
/// node. What lies between the two ends of a message is left out.
void SimRank::use_in_own_caches(const Operation& operation) {
  if (!own_cache_) return;
  if (operation.is_copy()) {
    if (!operation.occupies_cpu) return;
    use_in_own_cache(operation.from, operation.size);
    return use_in_own_cache(operation.to, operation.size);
  }
  const CopiedBy copied_by = world_.topology.platform().intra_node.copied_by;
  if (!by_shared_memory(operation.peer) || copied_by == CopiedBy::none) return;
  SimRank& receiver = rank_object(operation.peer);
  (copied_by == CopiedBy::both ? *this : receiver).use_in_own_cache(operation.from, operation.size);
  if (operation.partner) receiver.use_in_own_cache(operation.partner->to, operation.size);
}

/// What it takes longer because a CPU holds what a device is to write, its owner's or this rank's. They hold it no
/// longer then.
Seconds SimRank::time_of_held_target(const Operation& operation) {
  if (!own_cache_ || !operation.is_copy() || operation.occupies_cpu) return {};
  const Allocation& target = *operation.to.allocation;
  if (target.memory == Memory::device) return {};
  SimRank& owner = rank_object(target.owner);
  const auto lose = [&](Bytes at, Bytes length) {
    const Bytes begin = Bytes{target.address} + operation.to.offset + at;
    Bytes held = own_cache_->lose(target.owner, begin, length);
    if (&owner != this && owner.own_cache_) held = std::max(held, owner.own_cache_->lose(target.owner, begin, length));
    return held;
  };
  Bytes held{};
  if (operation.blocks.empty()) held = lose(Bytes{}, operation.size);
  for (const Block& block : operation.blocks) held += lose(block.to, block.length);
  return operation.held == nullptr || held == Bytes{} ? Seconds{} : operation.held->at(held);
}

}  // namespace twinlink::model
