// Messages on a symmetric heap, from anywhere to anywhere on it.
//
//   sender                                             receiver
//   with every message
//                                                      1. say ready: a signal that names its place
//   1. await ready: has it come, or is there no slot?  2. await signal
//   2. put: to that place, or into a slot there        3. take out of the slot, if it came there
//
// Nobody asks for anything: a receiver says when it has come that it is ready, and goes on; a sender that is earlier
// puts a short message into a slot. So no message waits for the way back, as an opening would. A slot is free again
// once its receiver says that it is ready for a message of a later round, for then it has taken all of this one.
#include "protocols/heap/heap_channel.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "protocols/core/blocks.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/core/options.hpp"
#include "protocols/core/tags.hpp"

namespace twinlink {
namespace {

/// A signal says a place, or how long a message is, in 40 bits; above these what it needs besides.
constexpr unsigned kPlaceBits = 40;
constexpr std::uint64_t kPlaces = std::uint64_t{1} << kPlaceBits;
/// Of a written message: the slot that it lies in, and one more; 0: it lies in its place.
constexpr std::size_t kMostSlots = 4;
/// What no message has there: the sender refuses the receiver's length.
constexpr std::uint64_t kRefused = 31;
constexpr unsigned kCheckBits = 5;

/// Messages of a round: each may have a signal that nobody has taken yet.
constexpr std::size_t kMostInRound = 300;

/// A few bits of a length, so that a sender finds out that the receiver expects another one before it writes.
std::uint64_t check_of(Bytes length) { return (length.count() * 0x9e3779b97f4a7c15U) >> (64 - kCheckBits); }

}  // namespace

HeapChannel::HeapChannel(SymmetricHeap& heap, RankId peer, Settings settings, Engine engine)
    : heap_(heap),
      rank_(heap.rank()),
      peer_(peer),
      settings_(std::move(settings)),
      engine_(engine),
      lanes_{Lane{.pieces = {},
                  .depth = kDepth,
                  .steps = {{"say ready", [this](const Piece& piece) { return say_ready(piece); }}}},
             Lane{.pieces = {},
                  .depth = kDepth,
                  .steps = {{"await signal",
                             [this](const Piece& piece) {
                               return rank_.await_signal(peer_, tags::kHeapWritten, signals_[piece.slot]);
                             }},
                            {"take out of the slot", [this](const Piece& piece) { return check_and_take(piece); }}}},
             // One after the other, for signals are taken in order; puts go on meanwhile.
             Lane{.pieces = {}, .depth = 1, .steps = sender_steps()}} {
  if (heap_.size().count() >= kPlaces) throw UsageError("channels reach 1 TiB of a symmetric heap at the most");
  heap_.open(peer);
  slots_.resize(std::min<std::size_t>(heap_.slots_at(peer), kMostSlots));
}

HeapChannel::~HeapChannel() {
  if (!pending_) return;
  try {
    rank_.abandon(*pending_);
  } catch (const Error&) {
    // The backend is in error: whoever uses it next learns that.
  }
}

std::string HeapChannel::path_taken() const {
  if (!heap_.is_mapped(peer_)) return "one-sided put by the network adapter";
  return engine_ == Engine::kernel ? "one-sided put by a kernel's stores" : "one-sided put by the copy engine";
}

std::vector<Counter> HeapChannel::counters() const { return {{"puts into slots", into_slots_}}; }

Outcome HeapChannel::do_exchange(std::span<const View> outgoing, std::span<const View> incoming) {
  for (const View& view : outgoing) heap_.require_inside(view);
  for (const View& view : incoming) heap_.require_inside(view);
  blocks_ = {};
  incoming_bytes_.reset();
  const Seconds deadline = rank_.now() + settings_.timeout;
  const std::vector<View> out = cut(outgoing, settings_.chunk_or_whole());
  const std::vector<View> in = cut(incoming, settings_.chunk_or_whole());
  for (std::size_t begin = 0; begin < std::max(out.size(), in.size()); begin += kMostInRound) {
    const auto part = [begin](const std::vector<View>& all, Lane& lane) {
      const auto rest = std::span(all).subspan(std::min(begin, all.size()));
      const auto some = rest.first(std::min(kMostInRound, rest.size()));
      lane.pieces.assign(some.begin(), some.end());
    };
    part(in, lanes_[0]);
    part(in, lanes_[1]);
    part(out, lanes_[2]);
    if (Outcome outcome = run(deadline); !outcome.ok()) return outcome;
  }
  return {};
}

Outcome HeapChannel::exchange_blocks(std::span<const Block> blocks, const View& here, const View& into,
                                     Bytes incoming) {
  heap_.require_inside(here);
  heap_.require_inside(into);
  blocks_ = blocks;
  outgoing_bytes_ = Bytes{};
  for (const Block& block : blocks) outgoing_bytes_ += block.length;
  incoming_bytes_ = incoming;
  lanes_[0].pieces.clear();
  lanes_[2].pieces.clear();
  if (incoming > Bytes{}) lanes_[0].pieces.push_back(into);
  lanes_[1].pieces = lanes_[0].pieces;
  if (!blocks.empty()) lanes_[2].pieces.push_back(here);
  return run(rank_.now() + settings_.timeout);
}

Outcome HeapChannel::run(Seconds deadline) {
  places_.assign(lanes_[2].pieces.size(), 0);
  Outcome outcome = move(rank_, lanes_, deadline);
  const Outcome finished = finish_puts(outcome.ok() ? deadline : rank_.now());
  sent_ += lanes_[2].pieces.size();
  return outcome.ok() ? finished : outcome;
}

// ---- the receiver ---------------------------------------------------------------------------------------------------

Op HeapChannel::say_ready(const Piece& piece) {
  const std::uint64_t check = check_of(incoming_bytes_.value_or(piece.bytes.length));
  const Signal signal{tags::kHeapReady, check << kPlaceBits | piece.bytes.offset.count()};
  return rank_.put(heap_.theirs(peer_, Bytes{}, Bytes{}), heap_.mine_nothing(), SymmetricHeap::kReadyStream,
                   Engine::dma, signal);
}

Started HeapChannel::check_and_take(const Piece& piece) {
  const std::uint64_t signal = signals_[piece.slot];
  const std::uint64_t slot = signal >> kPlaceBits;
  const Bytes length{signal & (kPlaces - 1)};
  const Bytes expected = incoming_bytes_.value_or(piece.bytes.length);
  if (slot == kRefused || length != expected) return wrong_size(expected.count(), length.count());
  if (slot == 0 || expected == Bytes{}) return Outcome{};
  const View from = heap_.slot_for(peer_, slot - 1).slice(Bytes{}, expected);
  return rank_.copy(piece.bytes, from, SymmetricHeap::kSlotStream, Engine::dma);
}

// ---- the sender -----------------------------------------------------------------------------------------------------

/// Of messages that went into slots the peer has still to say that it was ready: one await for each of these, and one
/// for the message itself.
std::vector<Step> HeapChannel::sender_steps() {
  std::vector<Step> steps{{"await ready", [this](const Piece& piece) { return decide(piece); }}};
  for (std::size_t i = 0; i <= kMostSlots; ++i) {
    steps.push_back({"await ready", [this](const Piece& piece) { return await_ready(piece); }});
  }
  steps.push_back({"put", [this](const Piece& piece) { return put(piece); }});
  return steps;
}

void HeapChannel::take_said() {
  if (ready_for_ >= sent_ && ready_for_ - sent_ < places_.size()) places_[ready_for_ - sent_] = value_;
  ++ready_for_;
}

bool HeapChannel::is_ready(std::uint64_t number) {
  while (ready_for_ <= number) {
    if (!pending_) pending_ = rank_.await_signal(peer_, tags::kHeapReady, value_);
    if (!rank_.wait_any({&*pending_, 1}, rank_.now())) return false;
    pending_.reset();
    take_said();
  }
  return true;
}

/// One that is free for the message.
std::optional<std::size_t> HeapChannel::free_slot(const Piece& piece) const {
  if (!blocks_.empty() || piece.bytes.length > heap_.slot_size()) return std::nullopt;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (!slots_[slot].used || ready_for_ > slots_[slot].message) return slot;
  }
  return std::nullopt;
}

Started HeapChannel::decide(const Piece& piece) {
  slot_.reset();
  handed_over_ = false;
  if (is_ready(sent_ + piece.number)) return Outcome{};
  slot_ = free_slot(piece);
  if (!slot_) return Outcome{};
  slots_[*slot_] = {.message = sent_ + lanes_[2].pieces.size(), .used = true};
  ++into_slots_;
  return Outcome{};
}

Started HeapChannel::await_ready(const Piece& piece) {
  if (std::exchange(handed_over_, false)) take_said();
  if (slot_ || ready_for_ > sent_ + piece.number) return Outcome{};
  if (!pending_) pending_ = rank_.await_signal(peer_, tags::kHeapReady, value_);
  handed_over_ = true;
  return *std::exchange(pending_, std::nullopt);
}

Started HeapChannel::put(const Piece& piece) {
  if (std::exchange(handed_over_, false)) take_said();
  const Bytes length = blocks_.empty() ? piece.bytes.length : outgoing_bytes_;
  const Stream stream = SymmetricHeap::stream_of(peer_);
  const std::uint64_t slot = slot_ ? *slot_ + 1 : 0;
  const Signal signal{tags::kHeapWritten, slot << kPlaceBits | length.count()};
  if (slot_) {
    const View there = heap_.slot_at(peer_, *slot_).slice(Bytes{}, length);
    puts_.push_back(rank_.put(there, piece.bytes, stream, engine_, signal));
    return Outcome{};
  }
  const std::uint64_t said = places_[piece.number];
  const Bytes place{said & (kPlaces - 1)};
  const View nowhere = heap_.theirs(peer_, Bytes{}, Bytes{});
  if (said >> kPlaceBits != check_of(length)) {
    const Signal refused{tags::kHeapWritten, kRefused << kPlaceBits | length.count()};
    const Op sent = rank_.put(nowhere, heap_.mine_nothing(), stream, Engine::dma, refused);
    static_cast<void>(
        wait(rank_, sent, rank_.now() + settings_.timeout));  // whatever the receiver learns, it has failed
    return Outcome{Status::wrong_size, "the receiver expects a message of another length"};
  }
  if (blocks_.empty()) {
    puts_.push_back(rank_.put(heap_.theirs(peer_, place, length), piece.bytes, stream, engine_, signal));
    return Outcome{};
  }
  // All of the heap behind the place, for blocks may lie anywhere there; the signal comes behind them in the stream.
  const View there = heap_.theirs(peer_, place, heap_.size() - place);
  const Engine engine = as_rows(blocks_) ? engine_ : Engine::kernel;
  puts_.push_back(rank_.copy_blocks(there, piece.bytes, blocks_, stream, engine));
  puts_.push_back(rank_.put(nowhere, heap_.mine_nothing(), stream, engine_, signal));
  return Outcome{};
}

/// Quiet: what was put may be written again.
Outcome HeapChannel::finish_puts(Seconds deadline) {
  std::vector<Op> puts = std::exchange(puts_, {});
  rank_.step("put");
  Outcome outcome;
  while (!puts.empty() && outcome.ok()) {
    const auto ended = rank_.wait_any(puts, deadline);
    if (ended) puts.erase(puts.begin() + static_cast<std::ptrdiff_t>(ended->index));
    const Status status = ended ? ended->status : Status::timed_out;
    if (status != Status::delivered) outcome = {status, "step 'put'"};
  }
  for (const Op op : puts) rank_.abandon(op);
  return outcome;
}

std::unique_ptr<HeapChannel> connect_on(SymmetricHeap& heap, RankId peer, const Protocol& protocol,
                                        const Settings& settings) {
  check_settings(protocol, settings);
  require_support(protocol, heap.rank().path_to(peer));
  if (settings.options.contains("order")) {
    throw UsageError("option 'order' of " + std::string(protocol.name()) +
                     " is for two ranks: on a symmetric heap all are ordered by their own signals");
  }
  const OptionReader read(protocol, settings);
  if (read.text("engine") == "blocks") {
    throw UnavailableError(
        "puts by thread blocks (engine=blocks) are for two ranks, and on a symmetric heap for dispatch and combine by "
        "the algorithm 'kernel': messages of many ranks are put by the copy engine, or by a kernel that the CPU "
        "launches for each");
  }
  const Engine engine = read.text("engine") == "kernel" ? Engine::kernel : Engine::dma;
  if (engine == Engine::kernel && !heap.is_mapped(peer)) {
    throw UnavailableError("puts by a kernel cannot run here: the ranks are on different nodes");
  }
  return std::make_unique<HeapChannel>(heap, peer, settings, engine);
}

}  // namespace twinlink
