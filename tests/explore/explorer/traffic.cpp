// Starting and ending operations of an explored job.
#include <algorithm>
#include <cassert>
#include <string>

#include "tests/explore/explorer/machine.hpp"

namespace twinlink::explore {
namespace {

/// Families of operation ids. Operations of one family with one peer or stream and tag are numbered.
enum class Family : std::uint64_t { stream = 1, send, receive, send_control, recv_control, await_signal };

constexpr int kTagLimit = 1 << 20;

std::uint64_t make_id(Family family, int peer_or_stream, int tag, std::uint32_t number) {
  assert(tag >= 0 && tag < kTagLimit && number < (1U << 24U));
  return (static_cast<std::uint64_t>(family) << 52U) | (static_cast<std::uint64_t>(peer_or_stream) << 44U) |
         (static_cast<std::uint64_t>(tag) << 24U) | number;
}

auto key_of(const Inbox& c) { return std::tuple(c.from, c.to, c.tag, c.plane); }

}  // namespace

Machine::Machine(const Scenario& scenario) : scenario_(scenario) {
  world.ranks.resize(scenario.bodies.size());
  for (int rank = 0; rank < static_cast<int>(scenario.bodies.size()); ++rank) {
    places_.push_back(scenario.path.same_node ? Place{0, rank, "explored"} : Place{rank, 0, "explored"});
  }
}

void Machine::require_peer(int rank, RankId peer) const {
  if (peer.value >= 0 && peer.value != rank && peer.value < static_cast<int>(world.ranks.size())) return;
  throw UsageError("rank " + std::to_string(peer.value) + " is no peer of rank " + std::to_string(rank));
}

Inbox& Machine::channel(int from, int to, int tag, Plane plane) {
  const auto key = std::tuple(from, to, tag, plane);
  auto& all = world.channels;
  const auto found = std::ranges::lower_bound(all, key, {}, key_of);
  if (found != all.end() && key_of(*found) == key) return *found;
  return *all.insert(found, Inbox{from, to, tag, plane});
}

const Inbox* Machine::find_channel(int from, int to, int tag, Plane plane) const {
  const auto key = std::tuple(from, to, tag, plane);
  const auto found = std::ranges::lower_bound(world.channels, key, {}, key_of);
  return found != world.channels.end() && key_of(*found) == key ? &*found : nullptr;
}

Operation& Machine::insert(int rank, Operation op) {
  auto& all = state(rank).operations;
  return *all.insert(std::ranges::lower_bound(all, op.id, {}, &Operation::id), std::move(op));
}

const Operation* Machine::find(int rank, std::uint64_t id) const {
  const auto& all = state(rank).operations;
  const auto found = std::ranges::lower_bound(all, id, {}, &Operation::id);
  return found != all.end() && found->id == id ? &*found : nullptr;
}

// ---- time -----------------------------------------------------------------------------------------------------------

void Machine::pass(int rank, Bytes moved) {
  if (scenario_.clock) state(rank).now += Seconds{1e-6 + 1e-9 * static_cast<double>(moved.count())};
}

void Machine::compute(int rank, Seconds duration) {
  if (scenario_.clock) state(rank).now += duration;
}

// ---- starting -------------------------------------------------------------------------------------------------------

Op Machine::start_copy(int rank, View to, View from, std::vector<Block> blocks, Stream stream, bool adds) {
  Operation op{.verb = Verb::copy,
               .adds = adds,
               .stream = stream.index,
               .ends = state(rank).now,
               .to = part(rank, to),
               .from = part(rank, from)};
  if (blocks.empty()) blocks.push_back({Bytes{}, Bytes{}, from.length});
  op.blocks = std::move(blocks);
  op.id = make_id(Family::stream, stream.index, 0, state(rank).streams[static_cast<std::size_t>(stream.index)]++);
  const Operation& started = insert(rank, std::move(op));
  for (const Block& block : started.blocks) {
    claim(rank, {started.from.allocation, started.from.offset + block.from, block.length}, false, &started, "copy");
    claim(rank, {started.to.allocation, started.to.offset + block.to, block.length}, true, &started, "copy");
  }
  return Op{started.id};
}

Op Machine::start_put(int rank, View to, View from, Stream stream, std::optional<Signal> signal) {
  require_transfer(to, from, stream);
  if (signal) require_signal(*signal);
  if (!held(rank, to.buffer).mapped) throw UsageError("put() writes into memory that was opened from a peer");
  Operation op{.verb = Verb::put,
               .stream = stream.index,
               .ends = state(rank).now,
               .to = part(rank, to),
               .from = part(rank, from)};
  op.peer = op.to.allocation.owner;
  if (!scenario_.path.same_node && at(op.from.allocation).registrations == 0) {
    throw UsageError("the adapter does not know the memory that a put() reads: register it");
  }
  op.blocks.push_back({Bytes{}, Bytes{}, from.length});
  op.signal = signal;
  op.id = make_id(Family::stream, stream.index, 0, state(rank).streams[static_cast<std::size_t>(stream.index)]++);
  // The peer's wait for the signal may end this one and those before it in the stream.
  at(op.from.allocation).exposed = true;
  for (const Operation& before : state(rank).operations) {
    if (before.stream != op.stream || before.ended) continue;
    at(before.from.allocation).exposed = at(before.to.allocation).exposed = true;
  }
  const Operation& started = insert(rank, std::move(op));
  claim(rank, started.from, false, &started, "put");
  claim(rank, started.to, true, &started, "put");
  if (signal) footprint.signal(rank, started.peer, signal->tag.value);
  return Op{started.id};
}

void Machine::require_sendable(int rank, const Part& bytes, RankId peer) const {
  if (at(bytes.allocation).memory != Memory::device) return;
  const Answer& allowed = scenario_.path.device_memory_on_network;
  if (!allowed) {
    throw UsageError("device memory cannot pass between ranks " + std::to_string(rank) + " and " +
                     std::to_string(peer.value) + ": " + allowed.reason);
  }
  if (at(bytes.allocation).registrations > 0) return;
  throw UsageError("the network adapter does not know this memory: register it");
}

Op Machine::start_send(int rank, RankId peer, Tag tag, View from, bool synchronous) {
  require_peer(rank, peer);
  Operation op{.verb = Verb::send, .peer = peer.value, .tag = tag.value, .from = part(rank, from)};
  require_sendable(rank, op.from, peer);
  op.eager = !synchronous && from.length <= scenario_.eager_limit;
  Inbox& to_peer = channel(rank, peer.value, tag.value, Plane::data);
  op.number = to_peer.given++;
  op.id = make_id(Family::send, peer.value, tag.value, op.number);
  auto content =
      std::make_shared<const model::Content>(at(op.from.allocation).content->slice(op.from.offset, op.from.length));
  const std::uint64_t digest = content->digest();
  to_peer.parcels.push_back({.number = op.number,
                             .eager = op.eager,
                             .arrival = state(rank).now,
                             .content = std::move(content),
                             .digest = digest});
  const Operation& started = insert(rank, std::move(op));
  match_parcels(rank, peer.value, tag.value);
  claim(rank, started.from, false, &started, "send");
  return Op{started.id};
}

Op Machine::start_receive(int rank, RankId peer, Tag tag, View to) {
  require_peer(rank, peer);
  Operation op{.verb = Verb::receive, .peer = peer.value, .tag = tag.value, .to = part(rank, to)};
  require_sendable(rank, op.to, peer);
  op.id = make_id(Family::receive, peer.value, tag.value, channel(peer.value, rank, tag.value, Plane::data).asked++);
  const Operation& started = insert(rank, std::move(op));
  claim(rank, started.to, true, &started, "receive");
  match_parcels(peer.value, rank, tag.value);
  return Op{started.id};
}

Op Machine::start_send_control(int rank, RankId peer, Tag tag, const ControlMessage& message) {
  require_peer(rank, peer);
  Inbox& to_peer = channel(rank, peer.value, tag.value, Plane::control);
  to_peer.messages.push_back({message, state(rank).now});
  return Op{insert(rank, {.id = make_id(Family::send_control, peer.value, tag.value, to_peer.given++),
                          .verb = Verb::send_control,
                          .ended = !scenario_.late_sends,
                          .peer = peer.value,
                          .tag = tag.value})
                .id};
}

Op Machine::start_recv_control(int rank, RankId peer, Tag tag, ControlMessage& into) {
  require_peer(rank, peer);
  Inbox& from_peer = channel(peer.value, rank, tag.value, Plane::control);
  return Op{insert(rank, {.id = make_id(Family::recv_control, peer.value, tag.value, from_peer.asked++),
                          .verb = Verb::recv_control,
                          .peer = peer.value,
                          .tag = tag.value,
                          .into = &into})
                .id};
}

Op Machine::start_await(int rank, RankId peer, Tag tag, std::uint64_t& value) {
  require_peer(rank, peer);
  require_signal({.tag = tag});
  Inbox& from_peer = channel(peer.value, rank, tag.value, Plane::signal);
  return Op{insert(rank, {.id = make_id(Family::await_signal, peer.value, tag.value, from_peer.asked++),
                          .verb = Verb::await_signal,
                          .peer = peer.value,
                          .tag = tag.value,
                          .value = &value})
                .id};
}

/// Notes for which parcels a receive is posted. That lasts: the sender may have been told.
void Machine::match_parcels(int from, int to, int tag) {
  std::size_t posted = 0;
  for (const Operation& op : state(to).operations) {
    if (op.verb == Verb::receive && op.peer == from && op.tag == tag && !op.ended) ++posted;
  }
  for (Parcel& parcel : channel(from, to, tag, Plane::data).parcels) {
    if (posted == 0) return;
    --posted;
    if (parcel.matched) continue;
    parcel.matched = true;
    if (parcel.eager) continue;
    for (Operation& op : state(from).operations) {
      const bool sends = op.verb == Verb::send && op.peer == to && op.tag == tag && op.number == parcel.number;
      if (sends) op.ends = std::max(state(to).now, parcel.arrival);
    }
  }
}

void Machine::abandon(int rank, Op op) {
  auto& all = state(rank).operations;
  const auto found = std::ranges::lower_bound(all, op.id, {}, &Operation::id);
  if (found == all.end() || found->id != op.id || found->abandoned) {
    throw UsageError("rank " + std::to_string(rank) + " has no operation " + std::to_string(op.id) + " in flight");
  }
  if (found->stream >= 0 && !found->ended) {
    found->abandoned = true;
    return;
  }
  if (found->verb == Verb::receive && !found->ended) {
    // Bytes that were asked for go to where they were asked for; others to the next receive.
    auto& parcels = channel(found->peer, rank, found->tag, Plane::data).parcels;
    const std::size_t place = position(rank, *found);
    if (place < parcels.size() && !parcels[place].eager) {
      parcels.erase(parcels.begin() + static_cast<std::ptrdiff_t>(place));
    }
  }
  all.erase(found);
}

void Machine::wait(int rank, std::span<const Op> ops, Seconds deadline) {
  if (ops.empty()) throw UsageError("wait_any() was given no operation to wait for");
  for (const Op op : ops) {
    const Operation* found = find(rank, op.id);
    if (found != nullptr && !found->abandoned) continue;
    throw UsageError("rank " + std::to_string(rank) + " has no operation " + std::to_string(op.id) +
                     " in flight: never started, or already returned");
  }
  state(rank).waits_for = ops.data();
  state(rank).waits_for_count = ops.size();
  state(rank).deadline = deadline;
}

// ---- ending ---------------------------------------------------------------------------------------------------------

/// How many operations of the same kind, peer and tag that have not ended are before it.
std::size_t Machine::position(int rank, const Operation& op) const {
  std::size_t before = 0;
  for (const Operation& other : state(rank).operations) {
    if (other.verb == op.verb && other.peer == op.peer && other.tag == op.tag && !other.ended && other.id < op.id) {
      ++before;
    }
  }
  return before;
}

model::Content Machine::arrived(const Part& to, Bytes into, model::Content what) {
  const auto& fault = scenario_.fault;
  if (!fault || to.allocation.owner != fault->victim.value) return what;
  if (world.into_victim++ != fault->transfer || fault->offset >= what.size()) return what;
  what.write(fault->offset, fault->kind == Fault::Kind::drop
                                ? at(to.allocation).content->slice(to.offset + into + fault->offset, 1_B)
                                : model::Content(1_B));
  return what;
}

void Machine::move_blocks(int rank, const Operation& op) {
  touch(op.from.allocation, false);
  touch(op.to.allocation, true);
  const model::Content source = *at(op.from.allocation).content;
  model::Content target = *at(op.to.allocation).content;
  for (const Block& block : op.blocks) {
    model::Content moved = source.slice(op.from.offset + block.from, block.length);
    if (op.adds) moved.add(target.slice(op.to.offset + block.to, block.length));
    if (op.to.allocation.owner != rank) moved = arrived(op.to, block.to, std::move(moved));
    target.write(op.to.offset + block.to, moved);
  }
  set_content(at(op.to.allocation), std::move(target));
}

void Machine::raise(int from, const Operation& put) {
  footprint.signal(from, put.peer, put.signal->tag.value);
  Inbox& signals = channel(from, put.peer, put.signal->tag.value, Plane::signal);
  ++signals.given;
  signals.raised.push_back({put.signal->value, put.ends});
}

void Machine::end_stream(int rank, int stream, std::uint64_t last) {
  auto& all = state(rank).operations;
  for (Operation& op : all) {
    if (op.stream != stream || op.id > last || op.ended) continue;
    move_blocks(rank, op);
    op.ended = true;
    if (op.signal) raise(rank, op);
  }
  std::erase_if(all, [&](const Operation& op) { return op.stream == stream && op.ended && op.abandoned; });
}

void Machine::receive(int rank, Operation& op) {
  auto& parcels = channel(op.peer, rank, op.tag, Plane::data).parcels;
  const auto parcel = parcels.begin() + static_cast<std::ptrdiff_t>(position(rank, op));
  const Bytes sent = parcel->content->size();
  const Bytes room = op.to.length;
  touch(op.to.allocation, true);
  write(op.to, Bytes{},
        arrived(op.to, Bytes{}, sent <= room ? *parcel->content : parcel->content->slice(Bytes{}, room)));
  op.ends = parcel->arrival;
  op.status = sent == room ? Status::delivered : Status::wrong_size;
  parcels.erase(parcel);
  op.ended = true;
}

void Machine::end(int rank, std::uint64_t id) {
  auto& all = state(rank).operations;
  Operation& op = *std::ranges::lower_bound(all, id, {}, &Operation::id);
  if (op.ended) return;
  switch (op.verb) {
    case Verb::copy:
    case Verb::put:
      return end_stream(rank, op.stream, id);
    case Verb::receive:
      return receive(rank, op);
    case Verb::recv_control: {
      // Those before it in the order of the pair and tag have arrived, too.
      Inbox& from_peer = channel(op.peer, rank, op.tag, Plane::control);
      auto& messages = from_peer.messages;
      for (Operation& other : all) {
        if (other.verb != Verb::recv_control || other.peer != op.peer || other.tag != op.tag || other.ended) continue;
        if (other.id > id) break;
        const Letter& letter = messages.front();
        other.into->assign(letter.message.bytes());
        other.ends = letter.arrival;
        Hash received;
        received.add(from_peer.received);
        received.add(letter.message.bytes());
        from_peer.received = received.key().low;
        messages.erase(messages.begin());
        other.ended = true;
      }
      return;
    }
    case Verb::await_signal: {
      if (const Operation* from = raiser(rank, op)) end_stream(op.peer, from->stream, from->id);
      auto& raised = channel(op.peer, rank, op.tag, Plane::signal).raised;
      for (Operation& other : all) {
        if (other.verb != Verb::await_signal || other.peer != op.peer || other.tag != op.tag || other.ended) continue;
        if (other.id > id) break;
        *other.value = raised.front().value;
        other.ends = raised.front().arrival;
        raised.erase(raised.begin());
        other.ended = true;
      }
      return;
    }
    case Verb::send:
      touch(op.from.allocation, false);
      op.ended = true;
      return;
    case Verb::send_control:
      op.ended = true;
      return;
  }
}

}  // namespace twinlink::explore
