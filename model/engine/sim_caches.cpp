// SimRank's caches: what those of a memory hold, which all its CPUs share, and what this rank's CPU holds by itself.
#include <algorithm>
#include <vector>

#include "model/engine/sim_operation.hpp"

namespace twinlink::model {

// ---- those that CPUs share ------------------------------------------------------------------------------------------

/// So many bytes of each part, as far as they lie in host memory.
std::vector<HostBytes> SimRank::in_host_memory(std::initializer_list<const Part*> parts, Bytes size) {
  std::vector<HostBytes> bytes;
  for (const Part* part : parts) {
    if (!part->allocation || part->allocation->memory == Memory::device) continue;
    bytes.push_back({.site = part->allocation->site,
                     .rank = part->allocation->owner,
                     .at = Bytes{part->allocation->address} + part->offset,
                     .length = std::min(part->length, size)});
  }
  return bytes;
}

/// The CPUs or a device go through so many bytes of each part, side by side. What the caches of one of them lacked, at
/// the most.
Bytes SimRank::lacking_in_caches(std::initializer_list<const Part*> parts, Bytes size) {
  return world_.caches.any() ? world_.caches.go_through(in_host_memory(parts, size)) : Bytes{};
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
  go_through_by_cpus(operation);
  const Bytes lacking = lacking_in_caches({&operation.from, &to}, operation.size);
  const NetworkCosts& costs = world_.topology.platform().intra_node;
  const bool by_cpus = !operation.is_copy() && by_shared_memory(operation.peer);
  if (lacking == Bytes{} || !by_cpus || !costs.uncached) return operation.size;
  const Rate rate = rate_of_cpus(operation);
  const Seconds longer = lacking / std::min(costs.uncached->value, rate) - lacking / rate;
  return operation.size + flowing_in(longer, rate);
}

// ---- those of one CPU alone -----------------------------------------------------------------------------------------

/// This rank's CPU goes through so many bytes of each part, side by side.
void SimRank::go_through_by_cpu(std::initializer_list<const Part*> parts, Bytes size) {
  if (world_.own_caches.any()) world_.own_caches.use(id_, in_host_memory(parts, size));
}

/// What CPUs go through while an operation's bytes flow: a copy's that occupies its rank's, and a message's within a
/// node. What lies between the two ends of a message is left out.
void SimRank::go_through_by_cpus(const Operation& operation) {
  if (operation.is_copy()) {
    if (operation.occupies_cpu) go_through_by_cpu({&operation.from, &operation.to}, operation.size);
    return;
  }
  if (!copied_within_node(operation.peer)) return;
  const bool single = world_.topology.platform().intra_node.copied_by == CopiedBy::receiver;
  if (!single || !operation.partner) go_through_by_cpu({&operation.from}, operation.size);
  if (!operation.partner) return;
  const Part& to = operation.partner->to;
  SimRank& receiver = rank_object(operation.peer);
  if (single) return receiver.go_through_by_cpu({&operation.from, &to}, operation.size);
  receiver.go_through_by_cpu({&to}, operation.size);
}

/// Do CPUs copy messages between this rank and `peer`?
bool SimRank::copied_within_node(RankId peer) const {
  return by_shared_memory(peer) && world_.topology.platform().intra_node.copied_by != CopiedBy::none;
}

/// A device or a thread writes so many bytes of a part. How many of them a CPU held, which holds them no longer.
Bytes SimRank::lose_in_own_caches(const Part& part, Bytes at, Bytes length) {
  if (!world_.own_caches.any() || part.allocation->memory == Memory::device) return {};
  const Allocation& target = *part.allocation;
  return world_.own_caches.lose(
      {.site = target.site, .rank = target.owner, .at = Bytes{target.address} + part.offset + at, .length = length});
}

/// What it takes longer because CPUs hold what a device or a thread is to write.
Seconds SimRank::time_of_held_target(const Operation& operation) {
  if (!operation.is_copy() || operation.occupies_cpu) return {};
  Bytes held{};
  if (operation.blocks.empty()) held = lose_in_own_caches(operation.to, Bytes{}, operation.size);
  for (const Block& block : operation.blocks) held += lose_in_own_caches(operation.to, block.to, block.length);
  return operation.held == nullptr || held == Bytes{} ? Seconds{} : operation.held->at(held);
}

}  // namespace twinlink::model
