// SimRank's messages: sends and receives with their matching, and control messages.
#include <algorithm>
#include <string>
#include <utility>

#include "model/engine/sim_operation.hpp"

namespace twinlink::model {
namespace {

/// Acknowledgements come through the same queues as control messages and signals, each tag beside the one of its
/// number.
Tag acknowledgement_tag(Tag tag) { return Tag{tag.value + (1 << 29)}; }

}  // namespace

// ---- which way, and what it costs -----------------------------------------------------------------------------------

bool SimRank::by_shared_memory(RankId peer) const {
  return place(id_).node == place(peer).node && !world_.topology.platform().within_node.loopback;
}

const NetworkCosts& SimRank::network_to(RankId peer) const {
  const Platform& platform = world_.topology.platform();
  if (by_shared_memory(peer)) return platform.intra_node;
  if (!platform.network) throw InputError(platform.file + ": error: no fabric joins the nodes of this platform");
  return *platform.network;
}

std::vector<Adapters> SimRank::adapters_to(RankId peer, Bytes size) const {
  return world_.topology.adapters(gpu_of(id_), gpu_of(peer), size);
}

/// What lies between two ends of a message of `size` adds to its latency, and so does an adapter's reaching into device
/// memory. Of a message over several adapters the part that comes last counts.
SimRank::Way& SimRank::way_between(RankId peer, Location from, Location to, Bytes size) {
  const bool by_memory = by_shared_memory(peer);
  const std::tuple key{peer, from, to, !by_memory && network_to(peer).is_striped(size)};
  if (const auto known = ways_.find(key); known != ways_.end()) return known->second;
  Way& found = ways_[key];
  Seconds& way = found.latency;
  if (by_memory) {
    way = world_.topology.message_way(from, to);
    return found;
  }
  for (const Adapters& nics : adapters_to(peer, size)) {
    way = std::max(way, world_.topology.message_way(from, nics, to) +
                            world_.topology.fabric_latency(place(id_).node, place(peer).node, nics));
  }
  for (const Location& end : {from, to}) {
    const auto& rdma = world_.topology.platform().fabric->rdma;
    if (end.kind == Location::Kind::gpu && rdma) way += or_none(rdma->latency);
  }
  return found;
}

Seconds SimRank::way_of(const Operation& send) {
  return way_between(send.peer, send.from.allocation->site.location, target_of(send), send.size).latency;
}

/// Control messages lie in the memories next to the GPUs.
Seconds SimRank::way_of_control(RankId peer) { return way_between(peer, near_, memory_near(peer), Bytes{}).latency; }

/// How long a message has to wait until its adapters can take it.
Seconds SimRank::adapter_turn(RankId peer, Bytes size) {
  if (!world_.turns_of_nics || by_shared_memory(peer)) return {};
  const std::vector<Nic>& nics = world_.topology.graph().nics;
  Seconds longest{};
  for (const Adapters& adapters : adapters_to(peer, size)) {
    const Nic& nic = *std::ranges::find(nics, adapters.from, &Nic::name);
    if (!nic.gap) continue;
    Seconds& next = world_.nic_turns.try_emplace({place(id_).node, nic.name}, now()).first->second;
    const Seconds turn = std::max(now(), next);
    next = turn + nic.gap->value;
    longest = std::max(longest, turn - now());
  }
  return longest;
}

/// What it adds to a large message that the library copies piece by piece: the copy out of the shared buffer begins
/// when the first piece has been copied in, and every piece is a call of memcpy.
Seconds SimRank::copying_through_shared_memory(RankId peer, Bytes size) const {
  const Platform& platform = world_.topology.platform();
  const std::optional<Bytes>& piece = platform.within_node.copy_size;
  if (!piece || !by_shared_memory(peer) || platform.intra_node.is_eager(size)) return Seconds{};
  const auto gpu = gpu_of(id_);
  const End memory{{Location::Kind::memory, world_.topology.memory_near(gpu)}, Memory::pageable};
  const CopyCost& found = world_.copy_cost(memory, memory);
  const Cost& copy = *found.cost;
  const std::uint64_t pieces = (size.count() + piece->count() - 1) / piece->count();
  return std::min(size, *piece) / *found.rate + copy.overhead.value * static_cast<double>(pieces);
}

/// Whose CPUs copy the bytes of a message: nobody's what goes through an adapter. Where the platform says how long an
/// eager one keeps the CPUs busy, its bytes are in that.
boost::container::small_vector<RankId, 2> SimRank::copying_ranks(const Operation& send) const {
  if (!by_shared_memory(send.peer)) return {};
  if (send.eager && world_.topology.platform().intra_node.completion) return {};
  switch (world_.topology.platform().intra_node.copied_by) {
    case CopiedBy::none:
      return {};
    case CopiedBy::receiver:
      return {send.peer};
    case CopiedBy::both:
      return {id_, send.peer};
  }
  return {};
}

/// The parts of a message's way, one after the other: of most messages the whole. Of one that CPUs copy in pieces first
/// what the sender's copies before the receiver's has anything to copy, then what both copy at the same time, and then
/// what is left for the receiver's.
SimRank::Stages SimRank::stages_of(const Operation& send) const {
  const NetworkCosts& costs = world_.topology.platform().intra_node;
  const Bytes last = by_shared_memory(send.peer) ? costs.last_fragment(send.size) : Bytes{};
  Stages stages;
  if (last == Bytes{}) {
    stages.push_back({.copying = copying_ranks(send)});
    return stages;
  }
  stages.push_back({.copying = {id_}, .share = share_of(last - costs.first_part(send.size), send.size)});
  if (last < send.size) stages.push_back({.copying = {id_, send.peer}, .share = share_of(send.size - last, send.size)});
  stages.push_back({.copying = {send.peer}, .share = share_of(last, send.size)});
  return stages;
}

/// Device memory goes over the network only where the path allows it.
void SimRank::require_sendable(const Part& part, RankId peer) const {
  if (part.allocation->memory != Memory::device) return;
  const Answer& allowed = path_to(peer).device_memory_on_network;
  if (allowed) return require_registered(part);
  throw UsageError("device memory cannot pass between ranks " + std::to_string(id_.value) + " and " +
                   std::to_string(peer.value) + ": " + allowed.reason);
}

/// A message that is not eager leaves from where it lies and arrives there, so the adapter must know the memory. The
/// library registers pageable memory when it first meets it, and keeps that in a cache; page-locked memory the adapter
/// knows, for its driver and the GPU's share the pages.
void SimRank::register_pageable(const Part& part, RankId peer) {
  Allocation& memory = *part.allocation;
  const RuntimeCosts& costs = world_.topology.platform().runtime;
  if (by_shared_memory(peer) || network_to(peer).is_eager(part.length) || memory.memory != Memory::pageable) return;
  if (std::exchange(memory.in_library_cache, true) || !costs.register_base || !costs.register_per_gib) return;
  be_busy(per_gib(costs.register_base->value, costs.register_per_gib->value, memory.content.size()));
}

void SimRank::require_registered(const Part& part) const {
  if (part.allocation->registrations > 0) return;
  throw UsageError("the network adapter does not know this device memory: register_memory() comes first");
}

/// Where the bytes of a message or a put go. An eager message that nobody awaits yet goes to the library's own buffer,
/// next to the receiver.
Location SimRank::target_of(const Operation& send) const {
  if (send.is_copy()) return send.to.allocation->site.location;
  if (send.partner) return send.partner->to.allocation->site.location;
  return memory_near(send.peer);
}

// ---- the verbs ------------------------------------------------------------------------------------------------------

Op SimRank::send(RankId to, Tag tag, View from) {
  require_peer(to);
  const Part source = memory_.part(from);
  require_sendable(source, to);
  register_pageable(source, to);
  SimRank& receiver = rank_object(to);
  const NetworkCosts& costs = network_to(to);
  const OperationPtr operation = make("send");
  operation->kind = Operation::Kind::send;
  operation->from = source;
  operation->peer = to;
  operation->tag = tag;
  operation->eager = costs.is_eager(source.length);
  operation->size = operation->report.size = source.length;
  operation->take_snapshot();
  source.hold();
  if (world_.observer) operation->report.cost = by_shared_memory(to) ? "intra_node" : "network";
  operation->report.overhead = costs.posting(source.length);
  operation->report.completion = or_none(costs.send_completion);
  operation->report.latency = costs.latency.value.at(source.length) + copying_through_shared_memory(to, source.length);
  operation->queue = &wires_[to];
  if (costs.gap) operation->gap = costs.gap->value.at(source.length);
  operation->stages = stages_of(*operation);
  be_busy(operation->report.overhead);

  Inbox& inbox = receiver.inbox_from(id_, tag);
  if (!inbox.receives.empty()) {
    operation->partner = inbox.receives.front();
    inbox.receives.erase(inbox.receives.begin());
  } else {
    inbox.sends.push_back(operation);
  }
  operation->report.latency += way_of(*operation) + adapter_turn(to, source.length);
  operation->due = now() + operation->report.latency;
  if (operation->partner || operation->eager) delay(operation, operation->due);
  return operation->op;
}

/// Above the eager limit the sender has asked the receiver anyway. Below, the bytes go at once, and the receiver
/// answers with a control message of the library's own (Open MPI's ob1 and MVAPICH2 alike).
Op SimRank::send_synchronously(RankId to, Tag tag, View from) {
  const Op sent = send(to, tag, from);
  const OperationPtr bytes = find(sent);
  if (!bytes->eager) return sent;
  bytes->acknowledged = true;
  const OperationPtr operation = make("send");
  operation->from = memory_.part(from);
  operation->from.hold();
  const Op op = await_next_arrival(operation, to, acknowledgement_tag(tag));
  abandon(sent);
  return op;
}

Op SimRank::receive(RankId from, Tag tag, View to) {
  require_peer(from);
  const Part target = memory_.part(to);
  require_sendable(target, from);
  register_pageable(target, from);
  const NetworkCosts& costs = network_to(from);
  const OperationPtr operation = make("receive");
  operation->kind = Operation::Kind::receive;
  operation->to = target;
  operation->peer = from;
  operation->tag = tag;
  target.hold();
  operation->report.size = target.length;
  operation->report.overhead = costs.receive_overhead.value;
  be_busy(costs.receive_overhead.value);

  Inbox& inbox = inbox_from(from, tag);
  if (inbox.sends.empty()) {
    inbox.receives.push_back(operation);
    return operation->op;
  }
  const OperationPtr send = inbox.sends.front();
  inbox.sends.erase(inbox.sends.begin());
  SimRank& sender = rank_object(from);
  const Seconds way = sender.way_of(*send);
  send->partner = operation;
  // An eager message that came unexpected.
  if (send->state == Operation::State::ended) {
    lacking_in_caches({&target}, send->size);
    deliver(send);
  } else if (!send->eager) {
    // The sender has asked already; the answer that it may send takes one control message.
    const Seconds asked = now() + costs.control.value + way_of_control(from);
    send->report.awaited_receiver = asked > send->due;
    sender.delay(send, std::max(send->due, asked) + sender.way_of(*send) - way);
  }
  return operation->op;
}

Op SimRank::send_control(RankId to, Tag tag, const ControlMessage& message) {
  require_peer(to);
  SimRank& receiver = rank_object(to);
  const NetworkCosts& costs = network_to(to);
  const OperationPtr operation = make("send_control");
  operation->kind = Operation::Kind::send_control;
  operation->peer = to;
  operation->tag = tag;
  if (world_.observer) operation->report.cost = by_shared_memory(to) ? "intra_node control" : "network control";
  operation->report.size = Bytes{message.bytes().size()};
  operation->report.overhead = costs.sending_control();
  const Seconds whole = costs.control.value + way_of_control(to);
  operation->report.latency = whole - operation->report.overhead;
  const Seconds arrival = now() + whole;
  be_busy(operation->report.overhead);
  // What is lost nobody tells the sender.
  if (!control_is_cut(to)) receiver.post(id_, tag, {arrival, message});
  complete(operation, Status::delivered);
  return operation->op;
}

Op SimRank::recv_control(RankId from, Tag tag, ControlMessage& into) {
  require_peer(from);
  const OperationPtr operation = make("recv_control");
  operation->into = &into;
  be_busy(operation->report.overhead = network_to(from).receiving_control());
  return await_next_arrival(operation, from, tag);
}

/// The operation takes the next arrival of `from` with `tag` that nobody waits for yet.
Op SimRank::await_next_arrival(const OperationPtr& operation, RankId from, Tag tag) {
  operation->kind = Operation::Kind::recv_control;
  operation->peer = from;
  operation->tag = tag;
  Inbox& inbox = inbox_from(from, tag);
  inbox.awaited.push_back(operation);
  if (inbox.arrivals.size() >= inbox.awaited.size()) {
    await_arrival(inbox, inbox.arrivals[inbox.awaited.size() - 1]);
  }
  return operation->op;
}

bool SimRank::control_is_cut(RankId peer) const {
  if (!world_.machine.any_cut()) return false;
  const Topology& topology = world_.topology;
  if (by_shared_memory(peer)) return world_.machine.is_cut(topology.copy_route(near_, memory_near(peer)));
  const Adapters adapters = adapters_to(peer, Bytes{}).front();
  return world_.machine.is_cut(topology.to_nic_route(near_, adapters.from)) ||
         world_.machine.is_cut(topology.from_nic_route(adapters.to, memory_near(peer)));
}

/// The bytes of a send have arrived where a receive wants them, or will never do so.
void SimRank::deliver(const OperationPtr& send) {
  const OperationPtr receive = send->partner;
  send->partner.reset();
  SimRank& receiver = rank_object(receive->report.rank);
  if (send->status != Status::delivered) return receiver.complete(receive, send->status);
  const Bytes sent = send->snapshot.size();
  const Bytes room = receive->to.length;
  const Bytes written = std::min(sent, room);
  receive->to.allocation->content.write(receive->to.offset, send->snapshot.slice(Bytes{}, written));
  // An eager message comes out of the library's own buffer, even if an adapter has put it there.
  const bool by_cpu = send->eager || by_shared_memory(send->peer);
  receive->report.completion = receiver.network_to(send->report.rank).taking_in(sent);
  receive->to.allocation->was_written(receive->to.offset, written, by_cpu);
  if (send->acknowledged) {
    SimRank& sender = rank_object(send->report.rank);
    const NetworkCosts& costs = receiver.network_to(sender.id_);
    receive->report.completion += costs.sending_control();
    const Seconds arrival = now() + costs.control.value + receiver.way_of_control(sender.id_);
    sender.post(receiver.id_, acknowledgement_tag(send->tag), {arrival, ControlMessage()});
  }
  receiver.complete(receive, sent == room ? Status::delivered : Status::wrong_size);
}

}  // namespace twinlink::model
