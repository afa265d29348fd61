#include "protocols/workloads/arrays/mover.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "protocols/core/blocks.hpp"
#include "protocols/core/enum_table.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::workloads {
namespace {

constexpr Stream kPackStream{12};

constexpr Words<RowPacking> kPackings{"kernel", "copies", "none"};

/// What goes to a peer and what comes from it; null: nothing.
struct Both {
  const Share* out = nullptr;
  const Share* in = nullptr;
};

std::map<int, Both> by_peer(const ReshapePlan& plan, int self) {
  std::map<int, Both> all;
  for (const Share& share : plan.sends) {
    if (share.peer != self) all[share.peer].out = &share;
  }
  for (const Share& share : plan.receives) {
    if (share.peer != self) all[share.peer].in = &share;
  }
  return all;
}

View packed_view(const View& buffer, const Share& share) { return buffer.slice(share.packed, share.bytes); }

/// Blocks as they lie in both memories; a piece alone where rows are not told apart.
std::vector<Block> as_they_lie(const ReshapePlan& plan, const Share& share, bool outgoing) {
  if (!plan.rows_told) {
    return {{.to = outgoing ? Bytes{} : share.place, .from = outgoing ? share.place : Bytes{}, .length = share.bytes}};
  }
  return outgoing ? blocks_between(share.theirs, plan.from, share.piece, plan.element)
                  : blocks_between(plan.to, share.theirs, share.piece, plan.element);
}

}  // namespace

std::string_view to_string(RowPacking packing) { return kPackings[packing]; }
RowPacking find_row_packing(std::string_view name) { return value_named(kPackings, name, "packing of rows"); }

Outcome Mover::finish(std::vector<Op>& ops, std::string_view words) {
  const Seconds deadline = rank_.now() + timeout_;
  Outcome outcome;
  while (!ops.empty() && outcome.ok()) {
    const auto ended = rank_.wait_any(ops, deadline);
    if (ended) ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(ended->index));
    const Status status = ended ? ended->status : Status::timed_out;
    if (status != Status::delivered) outcome = {status, "step '" + std::string(words) + "'"};
  }
  for (const Op op : ops) rank_.abandon(op);
  return outcome;
}

void Mover::start(std::vector<Op>& ops, const View& to, const View& from, const std::vector<Block>& blocks,
                  RowPacking packing) {
  if (blocks.empty()) return;
  if (packing != RowPacking::copies) {
    ops.push_back(rank_.copy_blocks(to, from, blocks, kPackStream, Engine::kernel));
    return;
  }
  // As many as make rows, which the engine copies at once.
  for (std::size_t begin = 0; begin < blocks.size();) {
    std::size_t count = 1;
    const auto distance = [&](std::size_t i, Bytes Block::*end) {
      return (blocks[i].*end).count() - (blocks[i - 1].*end).count();
    };
    for (std::size_t i = begin + 1; i < blocks.size(); ++i, ++count) {
      const bool ascends = blocks[i].to >= blocks[i - 1].to + blocks[i - 1].length &&
                           blocks[i].from >= blocks[i - 1].from + blocks[i - 1].length;
      if (!ascends || blocks[i].length != blocks[begin].length) break;
      if (i > begin + 1 && (distance(i, &Block::to) != distance(begin + 1, &Block::to) ||
                            distance(i, &Block::from) != distance(begin + 1, &Block::from))) {
        break;
      }
    }
    const auto rows = std::span(blocks).subspan(begin, count);
    if (count == 1) {
      const Block& block = rows.front();
      ops.push_back(
          rank_.copy(to.slice(block.to, block.length), from.slice(block.from, block.length), kPackStream, Engine::dma));
    } else {
      ops.push_back(rank_.copy_blocks(to, from, rows, kPackStream, Engine::dma));
    }
    begin += count;
  }
}

/// What stays on the rank goes where it belongs at once or, in place, with the others through the packed buffer.
Outcome Mover::pack(const ReshapePlan& plan, RowPacking packing, const ReshapeMemory& memory) {
  std::vector<Op> ops;
  rank_.step("pack");
  std::vector<Block> all;
  if (packing != RowPacking::none) {
    for (const Share& share : plan.sends) {
      if (share.in_one) continue;
      for (Block block : share.blocks) {
        block.to += share.packed;
        all.push_back(block);
      }
    }
  }
  start(ops, memory.packed_out, memory.from, all, packing);
  start(ops, memory.to, memory.from, plan.own, packing);
  return finish(ops, "pack");
}

Outcome Mover::unpack(const ReshapePlan& plan, RowPacking packing, const ReshapeMemory& memory) {
  if (packing == RowPacking::none) return {};
  std::vector<Op> ops;
  rank_.step("unpack");
  const int self = rank_.id().value;
  std::vector<Block> all;
  for (const Share& share : plan.receives) {
    if (share.in_one || share.peer == self) continue;
    for (Block block : share.blocks) {
      block.from += share.packed;
      all.push_back(block);
    }
  }
  start(ops, memory.to, memory.packed_in, all, packing);
  const auto own = std::ranges::find(plan.receives, self, &Share::peer);
  if (own != plan.receives.end()) {
    const Share& out = *std::ranges::find(plan.sends, self, &Share::peer);
    start(ops, memory.to, packed_view(memory.packed_out, out), own->blocks, packing);
  }
  return finish(ops, "unpack");
}

namespace {

/// Up to so many peers all have their messages at the same time; of more, some after the others, as many as fill what
/// lies between.
constexpr std::size_t kFewPeers = 16;
constexpr std::size_t kAtOnce = 2;

/// When two ranks meet in a tournament of all; of an odd number, where no such thing is, how far on the peer is.
int round_of(int self, int peer, int ranks) {
  if (ranks % 2 == 1) return (peer - self + ranks) % ranks;
  const int circle = ranks - 1;
  if (self == circle) return peer;
  if (peer == circle) return self;
  return static_cast<int>(static_cast<std::int64_t>(self + peer) * ((circle + 1) / 2) % circle);
}

/// As views of this rank's memory, where they are messages.
std::vector<View> outgoing_of(const ReshapePlan& plan, const Share& share, RowPacking packing,
                              const ReshapeMemory& memory) {
  std::vector<View> views;
  if (packing != RowPacking::none) {
    views.push_back(share.in_one ? memory.from.slice(share.place, share.bytes) : packed_view(memory.packed_out, share));
    return views;
  }
  for (const Block& b : as_they_lie(plan, share, true)) views.push_back(memory.from.slice(b.from, b.length));
  return views;
}

std::vector<View> incoming_of(const ReshapePlan& plan, const Share& share, RowPacking packing,
                              const ReshapeMemory& memory) {
  std::vector<View> views;
  if (packing != RowPacking::none) {
    views.push_back(share.in_one ? memory.to.slice(share.place, share.bytes) : packed_view(memory.packed_in, share));
    return views;
  }
  for (const Block& b : as_they_lie(plan, share, false)) views.push_back(memory.to.slice(b.to, b.length));
  return views;
}

}  // namespace

Outcome Mover::exchange_with(int peer, const Share* out, const Share* in, const ReshapePlan& plan, RowPacking packing,
                             const ReshapeMemory& memory) {
  const RankId id{peer};
  HeapChannel* const heap = connections_.on_heap(id);
  // Where rows are not told apart nobody knows the places there: a piece goes to the one that the peer says.
  if (packing == RowPacking::none && heap != nullptr && heap->takes_blocks() && plan.rows_told) {
    const auto blocks = out == nullptr ? std::vector<Block>{} : as_they_lie(plan, *out, true);
    return heap->exchange_blocks(blocks, memory.from, memory.to, in == nullptr ? Bytes{} : in->bytes);
  }
  const auto outgoing = out == nullptr ? std::vector<View>{} : outgoing_of(plan, *out, packing, memory);
  const auto incoming = in == nullptr ? std::vector<View>{} : incoming_of(plan, *in, packing, memory);
  return connections_.to(id).exchange(outgoing, incoming);
}

/// Peers in the order in which they meet in a tournament: at each place nobody is a second one's partner.
Outcome Mover::exchange(const ReshapePlan& plan, RowPacking packing, const ReshapeMemory& memory) {
  const int self = rank_.id().value;
  std::vector<std::pair<int, Both>> peers;
  for (const auto& each : by_peer(plan, self)) peers.push_back(each);
  std::ranges::sort(peers, {}, [&](const auto& each) { return round_of(self, each.first, rank_.ranks()); });
  std::vector<Outcome> outcomes(peers.size());
  std::size_t next = 0;
  const std::function<void()> worker = [&] {
    while (next < peers.size()) {
      const std::size_t i = next++;
      const auto& [peer, both] = peers[i];
      outcomes[i] = exchange_with(peer, both.out, both.in, plan, packing, memory);
    }
  };
  const std::size_t at_once = peers.size() <= kFewPeers ? peers.size() : kAtOnce;
  if (!peers.empty()) rank_.run(std::vector(at_once, worker));
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (outcomes[i].ok()) continue;
    Outcome failed = outcomes[i];
    failed.reason = "with rank " + std::to_string(peers[i].first) + ": " + failed.reason;
    return failed;
  }
  return {};
}

Outcome Mover::run(const ReshapePlan& plan, RowPacking packing, const ReshapeMemory& memory, ReshapeTimes& times) {
  const bool in_place = memory.to.buffer == memory.from.buffer && memory.to.offset == memory.from.offset;
  if (in_place && packing == RowPacking::none) throw UsageError("in place rows are packed: they would be overwritten");
  const Seconds begin = rank_.now();
  if (Outcome outcome = pack(plan, packing, memory); !outcome.ok()) return outcome;
  const Seconds packed = rank_.now();
  if (Outcome outcome = exchange(plan, packing, memory); !outcome.ok()) return outcome;
  const Seconds exchanged = rank_.now();
  if (Outcome outcome = unpack(plan, packing, memory); !outcome.ok()) return outcome;
  times.packing += (packed - begin) + (rank_.now() - exchanged);
  times.exchange += exchanged - packed;
  return {};
}

}  // namespace twinlink::workloads
