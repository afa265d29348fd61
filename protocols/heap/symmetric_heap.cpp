#include "protocols/heap/symmetric_heap.hpp"

#include <array>
#include <bit>
#include <exception>
#include <string>
#include <utility>

#include "protocols/core/errors.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/heap/heap_agreement.hpp"
#include "protocols/parts/connection.hpp"

namespace twinlink {
namespace {

/// Where a rank has its heap, for one peer.
struct HeapPlace {
  IpcHandle heap{};
  std::uint64_t slots = 0;  ///< offset of the first one
  std::uint64_t count = 0;  ///< how many there are
};
static_assert(sizeof(HeapPlace) <= ControlMessage::kCapacity && sizeof(HeapPlace) != kConnectMessageSize);

/// The signals that channels use begin anew with each mapping.
constexpr std::array kChannelSignals{tags::kHeapWritten, tags::kHeapReady};

std::string bytes_text(Bytes size) { return std::to_string(size.count()) + " B"; }

void require(const Outcome& outcome, RankId peer) {
  if (outcome.ok()) return;
  throw Error("the symmetric heap of rank " + std::to_string(peer.value) + " was not opened: " + outcome.reason);
}

}  // namespace

SymmetricHeap::SymmetricHeap(Rank& rank, Bytes size, const HeapSlots& slots, Seconds timeout)
    : rank_(rank), room_(size), slots_(slots), timeout_(timeout) {
  if (size == Bytes{}) throw UsageError("a symmetric heap of no bytes");
  agree_on(rank_, {.kind = HeapCall::Kind::make, .size = size.count()}, deadline());
  memory_ = rank_.allocate(Memory::device, size + slots_.room());
}

SymmetricHeap::~SymmetricHeap() {
  // While an exception passes, somebody may still use the memory; the rank frees it when it ends.
  if (std::uncaught_exceptions() > 0) return;
  try {
    for (const auto& [id, peer] : peers_) rank_.close_memory(peer.buffer);
    if (!closed_) agree_on(rank_, {.kind = HeapCall::Kind::close}, deadline());
    rank_.release(memory_);
  } catch (const Error&) {
    // A peer that did not come has it open, or the backend is in error: whoever uses it next learns that.
  }
}

HeapBlock SymmetricHeap::allocate(Bytes size, Bytes alignment) {
  agree_on(rank_, {.kind = HeapCall::Kind::allocate, .size = size.count(), .alignment = alignment.count()}, deadline());
  if (size == Bytes{}) throw UsageError("nothing is allocated on a symmetric heap that has no bytes");
  if (!std::has_single_bit(alignment.count())) {
    throw UsageError("an alignment of " + bytes_text(alignment) + " is no power of two");
  }
  const auto place = room_.take(size, alignment);
  if (place) return {*place, size};
  throw UsageError("the symmetric heap of " + bytes_text(room_.size()) + " has no room for " + bytes_text(size) + ": " +
                   bytes_text(room_.used()) + " are in use, and the longest free stretch has " +
                   bytes_text(room_.longest()));
}

void SymmetricHeap::free(const HeapBlock& block) {
  agree_on(rank_, {.kind = HeapCall::Kind::free, .offset = block.offset.count()}, deadline());
  if (room_.give_back(block.offset)) return;
  throw UsageError("nothing was allocated at offset " + std::to_string(block.offset.count()) +
                   " of the symmetric heap, or it was freed before");
}

void SymmetricHeap::barrier() {
  quiet();
  agree_on(rank_, {.kind = HeapCall::Kind::barrier}, deadline());
}

void SymmetricHeap::close() {
  quiet();
  for (const auto& [id, peer] : peers_) rank_.close_memory(peer.buffer);
  peers_.clear();
  agree_on(rank_, {.kind = HeapCall::Kind::close}, deadline());
  closed_ = true;
}

void SymmetricHeap::open(RankId id) {
  if (peers_.contains(id)) return;
  const Path& path = rank_.path_to(id);
  if (!path.one_sided) throw UnavailableError("no puts between these ranks: " + path.one_sided.reason);
  const Seconds until = deadline();
  if (!path.device_mapping && !std::exchange(registered_, true)) rank_.register_memory(memory_);
  Peer& peer = peers_[id];
  if (with_slots_ < slots_.peers && slots_.each > 0) {
    peer.for_them = room_.size() + slots_.size * (slots_.each * with_slots_++);
  }
  Epoch epoch;
  require(connect_ends(rank_, id, std::array{tags::kHeapPlace}, until, epoch), id);
  rank_.step("send place");
  const HeapPlace mine{rank_.export_memory(memory_), peer.for_them.value_or(Bytes{}).count(),
                       peer.for_them ? slots_.each : 0};
  const Op sent = rank_.send_control(id, tags::kHeapPlace, ControlMessage(mine));
  require({wait(rank_, sent, until), "step 'send place'"}, id);
  rank_.step("receive place");
  ControlMessage message;
  require({wait(rank_, rank_.recv_control(id, tags::kHeapPlace, message), until), "step 'receive place'"}, id);
  const auto place = message.as<HeapPlace>();
  peer.buffer = rank_.open_memory(id, place.heap);
  if (place.count == slots_.each && slots_.each > 0) peer.slots = Bytes{place.slots};
  for (const auto& [tag, stream] :
       {std::pair(tags::kHeapWritten, stream_of(id)), std::pair(tags::kHeapReady, kReadyStream)}) {
    require(raise_epoch(rank_, {peer.buffer, Bytes{}, Bytes{}}, mine_nothing(), stream, tag, epoch, until), id);
  }
  for (const Tag tag : kChannelSignals) require(await_epoch(rank_, id, tag, epoch, until), id);
}

const SymmetricHeap::Peer& SymmetricHeap::at(RankId peer) const {
  const auto found = peers_.find(peer);
  if (found != peers_.end()) return found->second;
  throw UsageError("the symmetric heap of rank " + std::to_string(peer.value) + " is not open");
}

void SymmetricHeap::require_inside(const View& view) const {
  if (view.buffer == memory_ && view.offset + view.length <= room_.size()) return;
  throw UsageError(view.buffer == memory_
                       ? bytes_text(view.length) + " at offset " + std::to_string(view.offset.count()) +
                             " reach beyond the symmetric heap of " + bytes_text(room_.size())
                       : "this buffer is not on the symmetric heap: allocate it in symmetric memory");
}

View SymmetricHeap::theirs(RankId peer, Bytes offset, Bytes length) const { return {at(peer).buffer, offset, length}; }

std::size_t SymmetricHeap::slots_at(RankId peer) const { return at(peer).slots ? slots_.each : 0; }
std::size_t SymmetricHeap::slots_for(RankId peer) const { return at(peer).for_them ? slots_.each : 0; }

View SymmetricHeap::slot_at(RankId peer, std::size_t number) const {
  return {at(peer).buffer, *at(peer).slots + slots_.size * number, slots_.size};
}

View SymmetricHeap::slot_for(RankId peer, std::size_t number) const {
  return {memory_, *at(peer).for_them + slots_.size * number, slots_.size};
}

bool SymmetricHeap::is_mapped(RankId peer) const { return static_cast<bool>(rank_.path_to(peer).device_mapping); }

void SymmetricHeap::put(RankId peer, Bytes to, Bytes from, Bytes length, Engine engine, std::optional<Signal> signal) {
  const View source = mine(from, length);
  require_inside(source);
  require_inside(mine(to, length));  // they have as much as this rank
  const Buffer there = at(peer).buffer;
  rank_.step("put");
  under_way_.push_back(rank_.put({there, to, length}, source, stream_of(peer), engine, signal));
}

void SymmetricHeap::get(RankId peer, Bytes to, Bytes from, Bytes length, Engine engine) {
  const View target = mine(to, length);
  require_inside(target);
  require_inside(mine(from, length));
  const Buffer there = at(peer).buffer;
  if (!is_mapped(peer)) {
    throw UnavailableError("nothing is got from rank " + std::to_string(peer.value) +
                           ", whose memory is not mapped: adapters write here, and do not read");
  }
  rank_.step("get");
  under_way_.push_back(rank_.copy(target, {there, from, length}, stream_of(peer), engine));
}

void SymmetricHeap::raise(RankId peer, const Signal& signal) {
  const Buffer there = at(peer).buffer;
  rank_.step("raise");
  under_way_.push_back(rank_.put({there, Bytes{}, Bytes{}}, mine_nothing(), stream_of(peer), Engine::dma, signal));
}

std::uint64_t SymmetricHeap::await(RankId peer, Tag tag) {
  std::uint64_t value = 0;
  rank_.step("await signal");
  const Status status = wait(rank_, rank_.await_signal(peer, tag, value), deadline());
  if (status == Status::delivered) return value;
  throw Error("rank " + std::to_string(peer.value) + " raised no signal (" + std::string(to_string(status)) + ")");
}

void SymmetricHeap::quiet() {
  std::vector<Op> ops = std::exchange(under_way_, {});
  rank_.step("quiet");
  await_all(ops);
}

void SymmetricHeap::await_all(std::vector<Op>& ops) {
  const Seconds until = deadline();
  while (!ops.empty()) {
    const auto ended = rank_.wait_any(ops, until);
    const bool over = ended && ended->status == Status::delivered;
    if (ended) ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(ended->index));
    if (over) continue;
    for (const Op op : ops) rank_.abandon(op);
    throw Error("what was put to or got from the symmetric heap has not ended (" +
                std::string(to_string(ended ? ended->status : Status::timed_out)) + ")");
  }
}

}  // namespace twinlink
