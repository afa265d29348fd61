// A rank's messages: sends and receives that the library makes, and its control messages.
#include <algorithm>
#include <utility>

#include "model/engine/rank/copies.hpp"
#include "model/engine/rank/sim_rank.hpp"
#include "platforms/costs/software_costs.hpp"

namespace twinlink::model {
namespace {

/// The library asks the driver of a pointer that may be one to device memory.
Seconds looking_at(const Part& part, const NetworkCosts& costs) {
  return part.allocation->memory == Memory::device ? or_none(costs.device_pointer) : Seconds{};
}

}  // namespace

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
  const RuntimeCosts& costs = world_.costs(id_).runtime;
  if (ways_.by_shared_memory(peer) || ways_.costs(peer).is_eager(part.length)) return;
  if (memory.memory != Memory::pageable || std::exchange(memory.in_library_cache, true)) return;
  if (!costs.register_base || !costs.register_per_gib) return;
  cpu_.be_busy(registering(world_.platform(), costs, memory.content.size()));
}

Op SimRank::send(RankId to, Tag tag, View from) {
  require_peer(to);
  const Part source = memory_.part(from);
  require_sendable(source, to);
  register_pageable(source, to);
  const NetworkCosts& costs = ways_.costs(to);
  const OperationPtr operation = make("send");
  operation->kind = Operation::Kind::send;
  operation->from = source;
  operation->peer = to;
  operation->tag = tag;
  operation->eager = costs.is_eager(source.length);
  operation->size = operation->report.size = source.length;
  operation->take_snapshot();
  operation->hold();
  if (world_.observer) operation->report.cost = ways_.by_shared_memory(to) ? "intra_node" : "network";
  operation->report.overhead = costs.posting(source.length) + looking_at(source, costs);
  operation->report.completion = or_none(costs.send_completion);
  // The way of control messages is looked up where the limit is another one than that of the curve.
  const Seconds asking = costs.latency_limit ? (costs.control.value + ways_.latency_of_control(to)) * 2 : Seconds{};
  const bool read = source.allocation->memory == Memory::device;
  operation->report.latency =
      costs.latency_asking(source.length, asking, read) + ways_.copying_piece_by_piece(to, source.length);
  operation->queue = &transport_.wire(to, operation->turn);
  operation->gap = or_none(costs.gap, source.length);
  operation->stages = ways_.stages(*operation);
  cpu_.be_busy(operation->report.overhead);

  operation->partner = rank(to).mailbox_.match(seen_by(to), operation);
  operation->report.latency += ways_.latency(*operation) + ways_.adapter_turn(*operation);
  operation->due = now() + operation->report.latency;
  if (operation->partner || operation->eager) transport_.start(operation, operation->due);
  return operation->op;
}

/// Above the eager limit the sender has asked the receiver anyway. Below, the bytes go at once, and the receiver
/// answers with a control message of the library's own (Open MPI's ob1 and MVAPICH2 alike).
Op SimRank::send_synchronously(RankId to, Tag tag, View from) {
  const Op sent = send(to, tag, from);
  const OperationPtr bytes = operations_.find(sent);
  if (!bytes->eager) return sent;
  bytes->acknowledged = true;
  const OperationPtr operation = make("send");
  operation->kind = Operation::Kind::send;
  operation->from = memory_.part(from);
  operation->report.completion = bytes->report.completion;
  operation->hold();
  const Op op = await_control(operation, to, acknowledgement_tag(tag));
  abandon(sent);
  return op;
}

Op SimRank::receive(RankId from, Tag tag, View to) {
  require_peer(from);
  const Part target = memory_.part(to);
  require_sendable(target, from);
  register_pageable(target, from);
  const NetworkCosts& costs = ways_.costs(from);
  const OperationPtr operation = make("receive");
  operation->kind = Operation::Kind::receive;
  operation->to = target;
  operation->peer = from;
  operation->tag = tag;
  operation->hold();
  operation->report.size = target.length;
  operation->report.overhead = costs.receive_overhead.value + looking_at(target, costs);
  cpu_.be_busy(operation->report.overhead);

  if (const OperationPtr send = mailbox_.match(operation)) take_unexpected(send, operation);
  return operation->op;
}

/// A send of a peer has been posted before its receive, which has come now.
void SimRank::take_unexpected(const OperationPtr& send, const OperationPtr& receive) {
  SimRank& sender = rank(receive->peer);
  const Seconds way = sender.ways_.latency(*send);
  send->partner = receive;
  const Seconds farther = sender.ways_.latency(*send) - way;
  if (!send->eager) {
    // The sender has asked already; the answer that it may send takes one control message.
    const Seconds asked = now() + ways_.costs(receive->peer).control.value + ways_.latency_of_control(receive->peer);
    send->report.awaited_receiver = asked > send->due;
    sender.transport_.start(send, std::max(send->due, asked) + farther);
    return;
  }
  // Before its bytes flow the adapter learns where they belong. Later they are in the library's buffer.
  if (!send->had_its_turn) {
    send->unhidden += std::max(farther, Seconds{});
  } else if (receive->to.allocation->memory == Memory::device) {
    receive->fetching = time_to_fetch(world_, id_, send->size);
  }
  if (send->state != Operation::State::ended) return;
  world_.go_through_caches({&receive->to}, send->size);
  deliver(send);
}

/// The bytes of a send have arrived where a receive wants them, or will never do so. `send` may be a peer's.
void SimRank::deliver(const OperationPtr& send) {
  const OperationPtr receive = send->partner;
  send->partner.reset();
  SimRank& receiver = rank(receive->report.rank);
  if (send->status != Status::delivered) return receiver.complete(receive, send->status);
  const RankId sender = receive->peer;
  const Bytes sent = send->snapshot.size();
  const Bytes room = receive->to.length;
  const Bytes written = std::min(sent, room);
  receive->to.allocation->content.write(receive->to.offset, send->snapshot.slice(Bytes{}, written));
  // An eager message comes out of the library's own buffer, even if an adapter has put it there.
  const bool by_cpu = send->eager || receiver.ways_.by_shared_memory(sender);
  const NetworkCosts& costs = receiver.ways_.costs(sender);
  receive->report.completion = costs.taking_in(sent) + receive->fetching;
  receive->to.allocation->was_written(receive->to.offset, written, by_cpu);
  if (send->acknowledged) {
    receive->report.completion += costs.sending_control();
    const Seconds arrival = now() + costs.control.value + receiver.ways_.latency_of_control(sender);
    rank(sender).mailbox_.post(receiver.seen_by(sender), acknowledgement_tag(send->tag), arrival, ControlMessage());
  }
  receiver.complete(receive, sent == room ? Status::delivered : Status::wrong_size);
}

Op SimRank::send_control(RankId to, Tag tag, const ControlMessage& message) {
  require_peer(to);
  const NetworkCosts& costs = ways_.costs(to);
  const OperationPtr operation = make("send_control");
  operation->kind = Operation::Kind::send_control;
  operation->peer = to;
  operation->tag = tag;
  if (world_.observer) operation->report.cost = ways_.by_shared_memory(to) ? "intra_node control" : "network control";
  operation->report.size = Bytes{message.bytes().size()};
  operation->report.overhead = costs.sending_control();
  const Seconds whole = costs.control.value + ways_.latency_of_control(to);
  operation->report.latency = whole - operation->report.overhead;
  const Seconds arrival = now() + whole;
  cpu_.be_busy(operation->report.overhead);
  // What is lost nobody tells the sender.
  if (!ways_.control_is_cut(to)) rank(to).mailbox_.post(seen_by(to), tag, arrival, message);
  complete(operation, Status::delivered);
  return operation->op;
}

Op SimRank::recv_control(RankId from, Tag tag, ControlMessage& into) {
  require_peer(from);
  const OperationPtr operation = make("recv_control");
  operation->kind = Operation::Kind::recv_control;
  operation->into = &into;
  operation->report.overhead = ways_.costs(from).receiving_control();
  cpu_.be_busy(operation->report.overhead);
  return await_control(operation, from, tag);
}

Op SimRank::await_control(const OperationPtr& operation, RankId from, Tag tag) {
  operation->peer = from;
  operation->tag = tag;
  mailbox_.await(operation);
  return operation->op;
}

}  // namespace twinlink::model
