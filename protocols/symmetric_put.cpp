// A symmetric heap and one-sided puts, as in OpenSHMEM and NVSHMEM: the origin writes, the target's CPU does nothing.
//
//   to connect, at both ends: the connection handshake (connection.hpp)
//
//   origin                                         target
//   the heap is made collectively: when a buffer is used for the first time
//                                                  send place: the handle of my buffer
//   receive place
//   and with the first of them (connection.hpp)
//   raise epoch                                    await epoch
//   with every exchange (not with `order=user`)
//   1. receive open                                1. send open
//   with every message
//   2. put: device -> the target's device, signal  2. await signal
//                                                  3. check signal
//   quiet: all puts have ended
//   with `engine=blocks` instead, which have signals of their own from the first exchange on (puts/block_puts.hpp)
//   2. launch: blocks of a kernel put, fence       2. launch: blocks of a kernel await the signals
//      and signal
//   3. send check                                  3. receive check
//   4. wait                                        4. wait
//
// A transfer needs no message: the origin knows where to write, and the signal says which place was written, which the
// target compares with its own.
//
// What the origin cannot know by itself is whether the target's memory may be overwritten. A program on a symmetric
// heap orders that by its own means, and uses the same places at both ends: the n-th buffer that is sent from goes to
// the n-th buffer that is received into, at the same offset (`order=user`). By default the target opens its memory once
// per exchange, and says where its messages are to lie whenever that has changed since it said so last.
#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protocols/builtin.hpp"
#include "protocols/core/lane.hpp"
#include "protocols/core/options.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/parts/connection.hpp"
#include "protocols/puts/block_puts.hpp"
#include "protocols/puts/expert_puts.hpp"

namespace twinlink {
namespace {

/// Between nodes the adapter writes, unless GPUs are peers there as well.
bool by_adapter(const Path& path) { return !path.same_node && !path.peer_access; }

constexpr Stream kPutStream{0};
/// Messages between two openings: each may have a signal that nobody has taken yet. So may two rounds of an earlier
/// connection, where the user orders them, and there is a beginning behind those.
constexpr std::size_t kMostInRound = (kMostSignals - 1) / 3;

/// The CPU asks for each put; or blocks of a kernel put by themselves.
enum class Mover { copy_engine, kernel, blocks };
constexpr Choices kMovers{OptionChoice<Mover>{"copy-engine", Mover::copy_engine},
                          OptionChoice<Mover>{"kernel", Mover::kernel}, OptionChoice<Mover>{"blocks", Mover::blocks}};
enum class Order { exchange, user };
constexpr Choices kOrders{OptionChoice<Order>{"exchange", Order::exchange}, OptionChoice<Order>{"user", Order::user}};

constexpr std::array kOptions{
    Option{"engine", kMovers.names(), "copy-engine",
           "who writes into a peer's memory on the same node: the copy engine, or a kernel, for each put of the CPU; "
           "blocks: those of a kernel at each end, which put, fence and signal, and await, by themselves"},
    Option{"blocks", "COUNT", "0",
           "of engine=blocks, each way; 0: one for each 16 KiB of a message, and up to 32; of experts one each, and up "
           "to 32"},
    Option{"order", kOrders.names(), "exchange",
           "exchange: the target opens its memory once per exchange; user: the caller orders them, as on a real heap"}};

/// What a signal may say besides the beginning of a connection.
constexpr unsigned kDigestBits = 47;
constexpr std::uint64_t kMostDigest = (std::uint64_t{1} << kDigestBits) - 1;
/// A put was refused: the two ends do not have the same messages.
constexpr std::uint64_t kRefusal = kMostDigest + 1;
static_assert(kRefusal < kEpochSignal);

/// A place of the symmetric heap.
struct HeapPlace {
  std::uint64_t buffer = 0;  ///< of the target, in the order of first use
  std::uint64_t offset = 0;
  std::uint64_t length = 0;

  friend bool operator==(const HeapPlace&, const HeapPlace&) = default;

  /// For a signal, with the length of the whole message, of which this may be a piece: FNV-1a on whole numbers.
  [[nodiscard]] std::uint64_t digest(Bytes whole) const {
    std::uint64_t all = 0xcbf29ce484222325U;
    for (const std::uint64_t number : {buffer, offset, length, whole.count()}) all = (all ^ number) * 0x100000001b3U;
    return (all ^ (all >> kDigestBits)) & kMostDigest;
  }
};

/// From target to origin: the messages of this round may be written.
struct Open {
  std::uint64_t messages = 0;
  bool moved = false;  ///< they lie elsewhere than in the round before: the places follow
};
/// As many places as a control message holds.
struct Places {
  std::array<HeapPlace, ControlMessage::kCapacity / sizeof(HeapPlace)> places;
};

/// From origin to target, of blocks: what it puts in this round, and where, or that it refuses to.
struct Check {
  std::uint64_t digest = 0;
};

static_assert(sizeof(Open) != kConnectMessageSize && sizeof(Places) != kConnectMessageSize);

/// One direction: its buffers, in the order of their first use, and what an exchange moves. Lists keep their room for
/// the next exchange, for to make them would be a good part of what a small message costs beside its put.
class HeapFlow {
 public:
  /// Takes in the buffers of `views`; returns those that are new.
  std::vector<Buffer> open(std::span<const View> views) {
    std::vector<Buffer> fresh;
    for (const View& view : views) {
      if (std::ranges::find(known_, view.buffer) != known_.end()) continue;
      known_.push_back(view.buffer);
      fresh.push_back(view.buffer);
    }
    return fresh;
  }
  [[nodiscard]] bool empty() const { return known_.empty(); }
  [[nodiscard]] Buffer front() const { return known_.front(); }

  /// The messages of an exchange, in pieces.
  void take(std::span<const View> messages, Bytes chunk) {
    cut(messages, chunk, pieces_);
    whole_lengths(messages, chunk, wholes_);
  }
  [[nodiscard]] std::size_t pieces() const { return pieces_.size(); }

  /// Goes on to the round whose first piece is `begin`; its pieces go into `lane`.
  void begin_round(std::size_t begin, Lane& lane) {
    begin_ = std::min(begin, pieces_.size());
    const auto part = std::span(pieces_).subspan(begin_, std::min(kMostInRound, pieces_.size() - begin_));
    lane.pieces.assign(part.begin(), part.end());
    places.clear();
    for (const View& view : part) {
      const auto found = std::ranges::find(known_, view.buffer);
      places.push_back({static_cast<std::uint64_t>(found - known_.begin()), view.offset.count(), view.length.count()});
    }
  }
  /// Of all places of this round.
  [[nodiscard]] std::uint64_t digest() const {
    std::uint64_t all = places.size();
    for (const HeapPlace& place : places) all = all * 0x100000001b3U ^ place.digest(Bytes{place.length});
    return all & kMostDigest;
  }
  /// The length of the message that a piece of this round is a part of.
  [[nodiscard]] Bytes whole(const Piece& piece) const { return wholes_[begin_ + piece.number]; }

  std::vector<HeapPlace> places;  ///< by piece of this round

 private:
  std::vector<Buffer> known_;
  std::vector<View> pieces_;
  std::vector<Bytes> wholes_;  ///< by piece
  std::size_t begin_ = 0;      ///< the first piece of this round
};

class SymmetricChannel final : public Channel {
 public:
  SymmetricChannel(Rank& rank, RankId peer, Settings settings, Mover mover, int blocks, Order order)
      : rank_(rank),
        peer_(peer),
        settings_(std::move(settings)),
        engine_(mover == Mover::kernel ? Engine::kernel : Engine::dma),
        order_(order),
        through_adapter_(by_adapter(rank.path_to(peer))),
        signals_(static_cast<std::size_t>(settings_.depth_or_one())),
        lanes_{Lane{.pieces = {}, .depth = signals_.size(), .steps = target_steps()},
               Lane{.pieces = {}, .depth = signals_.size(), .steps = origin_steps()}} {
    constexpr std::array kControlTags{tags::kHeader, tags::kReady};
    connected(connect_ends(rank, peer, kControlTags, rank.now() + settings_.timeout, numbers_));
    if (mover == Mover::blocks) by_blocks_ = std::make_unique<BlockPuts>(rank, peer, blocks);
  }

  ~SymmetricChannel() override {
    // While an exception passes, a put may still use the memory; the rank closes it when it ends.
    if (std::uncaught_exceptions() > 0) return;
    for (const Buffer& buffer : theirs_) rank_.close_memory(buffer);
    for (const Buffer& buffer : registered_) forget(buffer);
  }
  SymmetricChannel(const SymmetricChannel&) = delete;
  SymmetricChannel& operator=(const SymmetricChannel&) = delete;

  [[nodiscard]] std::string path_taken() const override {
    if (through_adapter_) return "one-sided put by the network adapter";
    if (by_blocks_)
      return "one-sided put by " + by_blocks_->blocks_taken() + " of a kernel, which signal by themselves";
    return engine_ == Engine::kernel ? "one-sided put by a kernel's stores" : "one-sided put by the copy engine";
  }

 private:
  Outcome do_exchange(std::span<const View> outgoing, std::span<const View> incoming) override {
    if (!by_blocks_) return exchange_in_rounds(outgoing, incoming);
    try {
      Outcome outcome = exchange_in_rounds(outgoing, incoming);
      if (!outcome.ok()) by_blocks_->fail();
      return outcome;
    } catch (...) {
      by_blocks_->fail();
      throw;
    }
  }

  Outcome exchange_in_rounds(std::span<const View> outgoing, std::span<const View> incoming) {
    deadline_ = rank_.now() + settings_.timeout;
    if (by_blocks_ && !(outgoing.empty() && incoming.empty())) {
      if (Outcome outcome = by_blocks_->open(deadline_); !outcome.ok()) return outcome;
    }
    if (Outcome outcome = extend_heap(outgoing, incoming); !outcome.ok()) return outcome;
    const Bytes chunk = by_blocks_ ? Bytes{} : settings_.chunk_or_whole();
    out_.take(outgoing, chunk);
    in_.take(incoming, chunk);
    for (std::size_t begin = 0; begin < std::max(out_.pieces(), in_.pieces()); begin += kMostInRound) {
      const bool open = order_ == Order::exchange || begin != 0;
      if (Outcome outcome = round(begin, open); !outcome.ok()) return outcome;
    }
    return {};
  }

  /// The collective: both ends learn of each other's new buffers. Of the same number, for they are symmetric. With the
  /// first ones the signals begin.
  Outcome extend_heap(std::span<const View> outgoing, std::span<const View> incoming) {
    const bool first_out = theirs_.empty() && !outgoing.empty();
    const bool first_in = in_.empty() && !incoming.empty();
    rank_.step("send place");
    for (const Buffer& buffer : in_.open(incoming)) {
      make_known_to_adapter(buffer);
      const Op sent = rank_.send_control(peer_, tags::kHeader, ControlMessage(rank_.export_memory(buffer)));
      if (wait(rank_, sent, deadline_) != Status::delivered) return {Status::timed_out, "step 'send place'"};
    }
    rank_.step("receive place");
    for (const Buffer& buffer : out_.open(outgoing)) {
      make_known_to_adapter(buffer);
      ControlMessage place;
      const Status status = wait(rank_, rank_.recv_control(peer_, tags::kHeader, place), deadline_);
      if (status != Status::delivered) return {status, "step 'receive place': the peer has no buffer beside this one"};
      try {
        theirs_.push_back(rank_.open_memory(peer_, place.as<IpcHandle>()));
      } catch (const Error& error) {
        // A forged or stale handle is the peer's fault, and a refusal of the driver nobody's.
        return {Status::peer_failed, std::string("step 'receive place': ") + error.what()};
      }
    }
    if (first_out) {
      Outcome raised =
          raise_epoch(rank_, no_place(), nothing(), kPutStream, tags::kSymmetricSignal, numbers_, deadline_);
      if (!raised.ok()) return raised;
    }
    if (first_in) return await_epoch(rank_, peer_, tags::kSymmetricSignal, numbers_, deadline_);
    return {};
  }

  void make_known_to_adapter(Buffer buffer) {
    if (!through_adapter_ || std::ranges::find(registered_, buffer) != registered_.end()) return;
    rank_.register_memory(buffer);
    registered_.push_back(buffer);
  }

  void forget(Buffer buffer) {
    try {
      rank_.deregister_memory(buffer);
    } catch (const UsageError&) {
      // Its owner has released it, which took the registration back.
    }
  }

  Outcome round(std::size_t begin, bool open) {
    in_.begin_round(begin, lanes_[kIncoming]);
    out_.begin_round(begin, lanes_[kOutgoing]);
    if (open) {
      if (Outcome outcome = send_open(in_.places); !outcome.ok()) return outcome;
      if (Outcome outcome = recv_open(out_.places); !outcome.ok()) return outcome;
    }
    return by_blocks_ ? move_by_blocks() : move(rank_, lanes_, deadline_);
  }

  Outcome move_by_blocks() {
    const std::vector<View>& out = lanes_[kOutgoing].pieces;
    const std::vector<View>& in = lanes_[kIncoming].pieces;
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (Bytes{out_.places[i].offset} + out[i].length > theirs_[out_.places[i].buffer].size) return refuse();
    }
    std::vector<Op> ops;
    for (std::size_t i = 0; i < std::max(out.size(), in.size()); ++i) {
      const View from = i < out.size() ? out[i] : View{};
      const View into = i < in.size() ? in[i] : View{};
      if (from.length == Bytes{} && into.length == Bytes{}) continue;
      View there;
      if (i < out.size()) there = {theirs_[out_.places[i].buffer], Bytes{out_.places[i].offset}, from.length};
      ops.push_back(by_blocks_->launch(from, there, into));
    }
    return wait_for_blocks(std::move(ops), !out.empty(), !in.empty());
  }

  /// The target learns by the check that the origin has other messages, and gives its blocks up.
  Outcome wait_for_blocks(std::vector<Op> ops, bool sends, bool receives) {
    ControlMessage check;
    Op heard;
    if (receives) {
      rank_.step("receive check");
      heard = rank_.recv_control(peer_, tags::kHeader, check);
      ops.push_back(heard);
    }
    if (sends) {
      rank_.step("send check");
      ops.push_back(rank_.send_control(peer_, tags::kHeader, ControlMessage(Check{out_.digest()})));
    }
    rank_.step("wait");
    Outcome outcome;
    while (!ops.empty() && outcome.ok()) {
      const auto ended = rank_.wait_any(ops, deadline_);
      if (!ended) outcome = {Status::timed_out, "step 'wait'"};
      if (!ended) break;
      const Op op = ops[ended->index];
      ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(ended->index));
      if (ended->status != Status::delivered) outcome = {ended->status, "step 'wait'"};
      if (receives && op == heard && outcome.ok() && check.as<Check>().digest != in_.digest())
        outcome = not_symmetric();
    }
    for (const Op op : ops) rank_.abandon(op);
    return outcome;
  }

  std::vector<Step> target_steps() {
    return {{"await signal",
             [this](const Piece& p) { return rank_.await_signal(peer_, tags::kSymmetricSignal, signals_[p.slot]); }},
            {"check signal", [this](const Piece& p) -> Started {
               return signals_[p.slot] == in_.places[p.number].digest(in_.whole(p)) ? Outcome{} : not_symmetric();
             }}};
  }
  std::vector<Step> origin_steps() {
    return {{"put", [this](const Piece& p) { return put_to(out_.places[p.number], p.bytes, out_.whole(p)); }}};
  }

  Outcome send_open(const std::vector<HeapPlace>& mine) {
    if (mine.empty()) return {};
    rank_.step("send open");
    const bool moved = mine != sent_;
    Status status = send_control(ControlMessage(Open{mine.size(), moved}));
    if (moved) sent_ = mine;
    constexpr std::size_t kAtOnce = Places{}.places.size();
    for (std::size_t i = 0; moved && i < mine.size() && status == Status::delivered; i += kAtOnce) {
      Places some{};
      std::copy_n(mine.begin() + static_cast<std::ptrdiff_t>(i), std::min(kAtOnce, mine.size() - i),
                  some.places.begin());
      status = send_control(ControlMessage(some));
    }
    return {status, "step 'send open'"};
  }

  /// Replaces `theirs`, which holds the places of what this side has, by those that the target names.
  Outcome recv_open(std::vector<HeapPlace>& theirs) {
    if (theirs.empty()) return {};
    rank_.step("receive open");
    ControlMessage message;
    Status status = recv_control(message);
    if (status != Status::delivered) return {status, "step 'receive open'"};
    const auto open = message.as<Open>();
    if (open.moved) {
      received_.clear();
      while (received_.size() < open.messages) {
        if (status = recv_control(message); status != Status::delivered) return {status, "step 'receive open'"};
        for (const HeapPlace& place : message.as<Places>().places) {
          if (received_.size() < open.messages) received_.push_back(place);
        }
      }
    }
    const auto fits = [&](const HeapPlace& there, const HeapPlace& here) {
      return there.length == here.length && there.buffer < theirs_.size();
    };
    if (!std::ranges::equal(received_, theirs, fits)) return refuse();
    theirs = received_;
    return {};
  }

  Status send_control(const ControlMessage& message) {
    return wait(rank_, rank_.send_control(peer_, tags::kReady, message), deadline_);
  }
  Status recv_control(ControlMessage& message) {
    return wait(rank_, rank_.recv_control(peer_, tags::kReady, message), deadline_);
  }

  Started put_to(const HeapPlace& place, const View& from, Bytes whole) {
    const Buffer target = theirs_[place.buffer];
    if (Bytes{place.offset} + from.length > target.size) return refuse();
    const Signal signal{tags::kSymmetricSignal, place.digest(whole)};
    return rank_.put({target, Bytes{place.offset}, from.length}, from, kPutStream, engine_, signal);
  }

  /// The target must learn it too; without this it would wait until its deadline.
  Outcome refuse() {
    if (by_blocks_) {
      const ControlMessage refusal(Check{kRefusal});
      static_cast<void>(wait(rank_, rank_.send_control(peer_, tags::kHeader, refusal), deadline_));
      return not_symmetric();
    }
    const Op sent = rank_.put(no_place(), nothing(), kPutStream, engine_, Signal{tags::kSymmetricSignal, kRefusal});
    static_cast<void>(wait(rank_, sent, deadline_));  // the exchange has failed, whatever the target learns
    return not_symmetric();
  }

  // What a put moves that only raises a signal.
  [[nodiscard]] View no_place() const { return {theirs_.front(), Bytes{}, Bytes{}}; }
  [[nodiscard]] View nothing() const { return {out_.front(), Bytes{}, Bytes{}}; }

  static Outcome not_symmetric() {
    return {Status::wrong_size, "the two ends do not have messages of the same length at the same places of the heap"};
  }

  Rank& rank_;
  RankId peer_;
  Settings settings_;
  Engine engine_;
  Order order_;
  bool through_adapter_;
  Seconds deadline_{};
  Epoch numbers_;
  HeapFlow out_;
  HeapFlow in_;
  std::vector<Buffer> theirs_;          ///< the peer's, by the place of out_
  std::vector<Buffer> registered_;      ///< with the adapter
  std::vector<HeapPlace> sent_;         ///< where the messages of the last round were to lie, here
  std::vector<HeapPlace> received_;     ///< and there
  std::vector<std::uint64_t> signals_;  ///< by slot
  static constexpr std::size_t kIncoming = 0;
  static constexpr std::size_t kOutgoing = 1;
  std::array<Lane, 2> lanes_;
  std::unique_ptr<BlockPuts> by_blocks_{};
};

class SymmetricPut final : public Protocol {
 public:
  [[nodiscard]] std::string_view name() const override { return "symmetric-put"; }
  [[nodiscard]] std::string_view description() const override {
    return "one-sided puts into a symmetric heap with a signal behind the data, as NVSHMEM does";
  }
  [[nodiscard]] Memory message_memory() const override { return Memory::device; }
  [[nodiscard]] Settings defaults() const override { return {.chunk = Bytes{}, .depth = 64}; }
  [[nodiscard]] bool wants_same_places() const override { return true; }
  [[nodiscard]] bool cuts_messages(const Settings& settings) const override {
    return OptionReader(*this, settings).choice("engine", kMovers) != Mover::blocks;
  }
  [[nodiscard]] bool does(Collective what, const Settings& settings) const override {
    return puts_to_experts(what, *this, settings);
  }
  [[nodiscard]] std::span<const Option> options() const override { return kOptions; }
  [[nodiscard]] Support supports(const Path& path) const override {
    if (!path.one_sided) return {Support::Kind::no, path.one_sided.reason};
    // The driver would stage the copy through the host: that is no put.
    if (path.same_node && !path.peer_access) return {Support::Kind::no, path.peer_access.reason};
    return {};
  }
  [[nodiscard]] std::unique_ptr<Channel> connect(Rank& rank, RankId peer, const Settings& settings) const override {
    check_settings(*this, settings);
    require_support(*this, rank.path_to(peer));
    const OptionReader read(*this, settings);
    const Path& path = rank.path_to(peer);
    const Mover mover = read.choice("engine", kMovers);
    const int blocks = put_blocks(*this, settings);
    if (mover != Mover::copy_engine && by_adapter(path)) {
      throw UnavailableError("protocol 'symmetric-put' by a kernel cannot run here: the ranks are on different nodes");
    }
    if (mover == Mover::blocks && !path.gpu_programs) {
      throw UnavailableError("protocol 'symmetric-put' by thread blocks cannot run here: " + path.gpu_programs.reason);
    }
    return std::make_unique<SymmetricChannel>(rank, peer, settings, mover, blocks, read.choice("order", kOrders));
  }
};

}  // namespace

const Protocol& symmetric_put_protocol() {
  static const SymmetricPut protocol;
  return protocol;
}

}  // namespace twinlink
