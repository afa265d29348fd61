#include "model/engine/rank/sim_world.hpp"

#include <algorithm>
#include <utility>

namespace twinlink::model {

SimWorld::SimWorld(const Topology& of, Machine& on, EventLoop& by, std::span<const Place> places, OpObserver told,
                   const Folding* alike)
    : topology(of),
      machine(on),
      loop(by),
      observer(std::move(told)),
      folding(alike),
      ranks(places.size(), nullptr),
      places_(places.begin(), places.end()),
      caches_(of.graph()),
      turns_of_adapters_(std::ranges::any_of(of.graph().nics, [](const Nic& nic) { return nic.gap.has_value(); })) {
  for (const auto& numa : topology.graph().memories) {
    const double speed = cpu_speed(numa);
    cpu_costs_.push_back({.speed = speed,
                          .network = platform().network ? on_cpu(*platform().network, speed) : NetworkCosts{},
                          .intra_node = on_cpu(platform().intra_node, speed),
                          .runtime = on_cpu(platform().runtime, speed)});
  }
  memory.folding = alike;
  for (int number = 0; number < static_cast<int>(places.size()); ++number) {
    Place& place = places_[static_cast<std::size_t>(number)];
    gpus_.push_back(topology.gpu_of(place));
    place.device = topology.type_of(gpus_.back()).model;
    place.facts = topology.facts_of(place);
    cpus_.emplace_back(machine, loop, RankId{number});
  }
}

Location SimWorld::memory_near(RankId rank) const {
  return {Location::Kind::memory, topology.memory_near(gpu_of(rank))};
}

const Path& SimWorld::path(RankId from, RankId to) {
  const Place& here = place(from);
  const Place& there = place(to);
  const std::tuple key{here.node == there.node, copy_of(from) == copy_of(to), gpu_of(from), gpu_of(to)};
  const auto found = paths_.find(key);
  if (found != paths_.end()) return found->second;
  return paths_.emplace(key, topology.path(here, there)).first->second;
}

const CopyCost& SimWorld::copy_cost(End from, End to) {
  const std::pair ends{from, to};
  const auto known = copy_costs_.find(ends);
  return known != copy_costs_.end() ? known->second
                                    : copy_costs_.emplace(ends, platforms::copy_cost(topology, from, to)).first->second;
}

Bytes SimWorld::go_through_caches(std::initializer_list<const Part*> parts, Bytes size) {
  if (!caches_.any()) return {};
  std::vector<HostBytes> bytes;
  for (const Part* part : parts) {
    if (!part->allocation || part->allocation->memory == Memory::device) continue;
    const Allocation& allocation = *part->allocation;
    const std::vector<Location> pieces = topology.pieces(allocation.site.location);
    for (const Location& piece : pieces) {
      bytes.push_back({.site = {allocation.site.node, piece},
                       .rank = allocation.owner,
                       .at = Bytes{(allocation.address + part->offset.count()) / pieces.size()},
                       .length = Bytes{std::min(part->length, size).count() / pieces.size()},
                       .alike = pieces.size()});
    }
  }
  return caches_.go_through(bytes);
}

Seconds SimWorld::take_adapter_turns(int node, std::span<const Adapters> adapters) {
  if (!turns_of_adapters_) return {};
  const std::vector<Nic>& nics = topology.graph().nics;
  Seconds longest{};
  for (const Adapters& of : adapters) {
    const Nic& nic = *std::ranges::find(nics, of.from, &Nic::name);
    if (!nic.gap) continue;
    Seconds& next = next_turns_.try_emplace({node, nic.name}, now()).first->second;
    const Seconds turn = std::max(now(), next);
    next = turn + nic.gap->value;
    longest = std::max(longest, turn - now());
  }
  return longest;
}

}  // namespace twinlink::model
