#include "model/engine/rank/message_ways.hpp"

#include <algorithm>
#include <utility>

#include "platforms/costs/transfer_costs.hpp"

namespace twinlink::model {

bool MessageWays::by_shared_memory(RankId peer) const {
  return world_.place(rank_).node == world_.place(peer).node && !world_.platform().within_node.loopback;
}

const NetworkCosts& MessageWays::costs(RankId peer) const {
  const Platform& platform = world_.platform();
  if (by_shared_memory(peer)) return world_.costs(rank_).intra_node;
  if (!platform.network) throw InputError(platform.file + ": error: no fabric joins the nodes of this platform");
  return world_.costs(rank_).network;
}

std::vector<Adapters> MessageWays::adapters(RankId peer, Location from, Location to, Bytes size,
                                            AdapterTurn turn) const {
  const std::size_t gpu = from.kind == Location::Kind::gpu ? from.index : world_.gpu_of(rank_);
  // Between hosts alone others than the GPUs' may help.
  const Location::Kind ends = to.kind == Location::Kind::gpu ? to.kind : from.kind;
  std::vector<Adapters> all = world_.topology.adapters(ends, gpu, world_.gpu_of(peer), size);
  if (turn == AdapterTurn{}) return all;
  const std::vector<Nic>& nics = world_.topology.graph().nics;
  const auto turned = [&](const std::string& nic, int places) {
    const auto at = static_cast<std::size_t>(std::ranges::find(nics, nic, &Nic::name) - nics.begin());
    return nics[(at + static_cast<std::size_t>(places)) % nics.size()].name;
  };
  return {{turned(all.front().from, turn.at_sender), turned(all.front().to, turn.at_receiver)}};
}

Location MessageWays::target(const Operation& operation) const {
  if (operation.is_copy()) return operation.to.site().location;
  if (operation.partner) return world_.location(operation.peer, operation.partner->to.site().location);
  return world_.memory_near(operation.peer);
}

Seconds MessageWays::latency_between(RankId peer, Location from, Location to, Bytes size, bool in_request,
                                     AdapterTurn turn) {
  const bool by_memory = by_shared_memory(peer);
  const std::tuple key{peer, from, to, !by_memory && costs(peer).is_striped(size), in_request, turn};
  if (const auto known = latencies_.find(key); known != latencies_.end()) return known->second;
  const Seconds latency =
      by_memory ? world_.topology.latency(from, to)
                : platforms::latency(world_.topology, world_.place(rank_).node, from,
                                     adapters(peer, from, to, size, turn), world_.place(peer).node, to, in_request);
  latencies_.emplace(key, latency);
  return latency;
}

Seconds MessageWays::latency(const Operation& operation) {
  const Location from = operation.from.site().location;
  const bool in_request = operation.kind == Operation::Kind::send && from.kind != Location::Kind::gpu &&
                          costs(operation.peer).is_inline(operation.size);
  return latency_between(operation.peer, from, target(operation), operation.size, in_request, operation.turn);
}

Seconds MessageWays::latency_of_control(RankId peer) {
  const bool in_request = costs(peer).is_inline(Bytes{});
  return latency_between(peer, world_.memory_near(rank_), world_.memory_near(peer), Bytes{}, in_request, {});
}

Seconds MessageWays::adapter_turn(const Operation& operation) {
  if (by_shared_memory(operation.peer)) return {};
  const Location from = operation.from.site().location;
  return world_.take_adapter_turns(world_.place(rank_).node,
                                   adapters(operation.peer, from, target(operation), operation.size, operation.turn));
}

Seconds MessageWays::copying_piece_by_piece(RankId peer, Bytes size) {
  const Platform& platform = world_.platform();
  const std::optional<Bytes>& piece = platform.within_node.copy_size;
  if (!piece || !by_shared_memory(peer) || platform.intra_node.is_eager(size)) return Seconds{};
  world_.copies_in_pieces = true;
  const End memory{world_.memory_near(rank_), Memory::pageable};
  const CopyCost& copy = world_.copy_cost(memory, memory);
  const std::uint64_t pieces = (size.count() + piece->count() - 1) / piece->count();
  const Seconds call = copy.starting(world_.costs(rank_).speed);
  return std::min(size, *piece) / *copy.rate + call * static_cast<double>(pieces);
}

/// Nobody's what goes through an adapter. Where the platform says how long an eager message keeps the CPUs busy, its
/// bytes are in that.
boost::container::small_vector<RankId, 2> MessageWays::copying_ranks(const Operation& send) const {
  if (!by_shared_memory(send.peer)) return {};
  if (send.eager && world_.platform().intra_node.completion) return {};
  switch (world_.platform().intra_node.copied_by) {
    case CopiedBy::none:
      return {};
    case CopiedBy::receiver:
      return {send.peer};
    case CopiedBy::both:
      return {rank_, send.peer};
  }
  return {};
}

/// Most messages have one stage. One that CPUs copy in pieces has first what the sender's copies before the receiver's
/// has anything to copy, then what both copy at the same time, and then what is left for the receiver's.
Stages MessageWays::stages(const Operation& send) const {
  const NetworkCosts& costs = world_.platform().intra_node;
  const Bytes last = by_shared_memory(send.peer) ? costs.last_fragment(send.size) : Bytes{};
  Stages stages;
  if (last == Bytes{}) {
    stages.push_back({.copying = copying_ranks(send)});
    return stages;
  }
  stages.push_back({.copying = {rank_}, .share = share_of(last - costs.first_part(send.size), send.size)});
  if (last < send.size) {
    stages.push_back({.copying = {rank_, send.peer}, .share = share_of(send.size - last, send.size)});
  }
  stages.push_back({.copying = {send.peer}, .share = share_of(last, send.size)});
  return stages;
}

/// In round k everyone tells who is 2^k further on.
Seconds MessageWays::time_to_tell_all() {
  if (!time_to_tell_all_) {
    time_to_tell_all_ = Seconds{};
    const auto ranks = static_cast<int>(world_.ranks.size());
    for (int distance = 1; distance < ranks; distance *= 2) {
      const RankId to{(rank_.value + distance) % ranks};
      *time_to_tell_all_ += costs(to).control.value + latency_of_control(to) + costs(to).receiving_control();
    }
  }
  return *time_to_tell_all_;
}

bool MessageWays::control_is_cut(RankId peer) const {
  if (!world_.machine.any_cut()) return false;
  const Topology& topology = world_.topology;
  const Location here = world_.memory_near(rank_);
  const Location there = world_.memory_near(peer);
  if (by_shared_memory(peer)) return world_.machine.is_cut(topology.copy_route(here, there));
  const Adapters nics = adapters(peer, here, there, Bytes{}).front();
  return world_.machine.is_cut(topology.to_nic_route(here, nics.from)) ||
         world_.machine.is_cut(topology.from_nic_route(nics.to, there));
}

}  // namespace twinlink::model
