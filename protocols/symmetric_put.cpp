// A symmetric heap and one-sided puts, as in OpenSHMEM and NVSHMEM: the origin writes, the target's CPU does nothing.
//
//   origin                                         target
//   the heap is made collectively: when a buffer is used for the first time
//                                                  tell place: the handle of my buffer
//   hear place
//   with every exchange (not with `order=user`)
//   1. hear open                                   1. tell open
//   with every message
//   2. put: device -> the target's device, signal  2. await signal
//                                                  3. check signal
//   quiet: all puts have ended
//
// Symmetric means that both ends use the same place: the n-th buffer that the origin sends from goes to the n-th buffer
// that the target receives into, at the same offset. A transfer needs no message, for the origin knows where to write;
// the signal says which place was written, and the target compares it with its own.
//
// What the origin must not know by itself is whether the target's memory may be overwritten. A program on a symmetric
// heap orders that by its own means (`order=user`). By default the target opens its memory once per exchange.
#include <algorithm>
#include <array>
#include <exception>
#include <vector>

#include "protocols/builtin.hpp"
#include "protocols/lane.hpp"
#include "protocols/options.hpp"
#include "protocols/tags.hpp"

namespace twinlink {
namespace {

constexpr Stream kPutStream{0};
/// Messages between two openings: each may have a signal that nobody has taken yet.
constexpr std::size_t kMostInRound = kMostSignals / 2;

enum class Mover { copy_engine, kernel };
enum class Order { exchange, user };

constexpr std::array kOptions{
    Option{"engine", "copy-engine|kernel", "copy-engine", "who writes into a peer's memory on the same node"},
    Option{"order", "exchange|user", "exchange",
           "exchange: the target opens its memory once per exchange; user: the caller orders them, as on a real heap"}};

/// Mixes a number into a digest: one round of FNV-1a on whole numbers.
std::uint64_t mix(std::uint64_t digest, std::uint64_t number) { return (digest ^ number) * 0x100000001b3U; }

/// A place of the symmetric heap.
struct HeapPlace {
  std::size_t buffer = 0;  ///< in the order of first use
  Bytes offset{};
  Bytes length{};

  /// In the 48 bits that a signal carries.
  [[nodiscard]] std::uint64_t digest() const {
    const std::uint64_t all = mix(mix(mix(0xcbf29ce484222325U, buffer), offset.count()), length.count());
    return (all ^ (all >> 48U)) & kMostSignal;
  }
};

/// From target to origin: these messages may be written.
struct Open {
  std::uint64_t digest = 0;  ///< of all places of the round
};

/// The buffers of one direction, in the order of their first use.
class Buffers {
 public:
  /// Takes in the buffers of `views`; returns those that are new.
  std::vector<Buffer> meet(std::span<const View> views) {
    std::vector<Buffer> fresh;
    for (const View& view : views) {
      if (std::ranges::find(known_, view.buffer) != known_.end()) continue;
      known_.push_back(view.buffer);
      fresh.push_back(view.buffer);
    }
    return fresh;
  }
  [[nodiscard]] HeapPlace place(const View& view) const {
    const auto found = std::ranges::find(known_, view.buffer);
    return {static_cast<std::size_t>(found - known_.begin()), view.offset, view.length};
  }
  [[nodiscard]] std::uint64_t digest(std::span<const View> views) const {
    std::uint64_t all = views.size();
    for (const View& view : views) all = mix(all, place(view).digest());
    return all;
  }

 private:
  std::vector<Buffer> known_;
};

class SymmetricChannel final : public Channel {
 public:
  SymmetricChannel(Rank& rank, RankId peer, const Settings& settings, Engine engine, Order order)
      : rank_(rank),
        peer_(peer),
        settings_(settings),
        engine_(engine),
        order_(order),
        through_adapter_(!rank.path_to(peer).same_node) {}

  ~SymmetricChannel() override {
    // While an exception passes, a put may still use the memory; the rank closes it when it ends.
    if (std::uncaught_exceptions() > 0) return;
    for (const Buffer& buffer : theirs_) rank_.close_memory(buffer);
    for (const Buffer& buffer : registered_) rank_.deregister_memory(buffer);
  }
  SymmetricChannel(const SymmetricChannel&) = delete;
  SymmetricChannel& operator=(const SymmetricChannel&) = delete;

  Outcome exchange(std::span<const View> outgoing, std::span<const View> incoming) override {
    deadline_ = rank_.now() + settings_.timeout;
    if (Outcome outcome = extend_heap(outgoing, incoming); !outcome.ok()) return outcome;
    const std::vector<View> out = cut(outgoing, settings_.chunk);
    const std::vector<View> in = cut(incoming, settings_.chunk);
    const auto part = [](const std::vector<View>& all, std::size_t begin) {
      const std::size_t from = std::min(begin, all.size());
      return std::span(all).subspan(from, std::min(kMostInRound, all.size() - from));
    };
    for (std::size_t begin = 0; begin < std::max(out.size(), in.size()); begin += kMostInRound) {
      const bool open = order_ == Order::exchange || begin > 0;
      if (Outcome outcome = round(part(out, begin), part(in, begin), open); !outcome.ok()) return outcome;
    }
    return {};
  }

  [[nodiscard]] std::string path_taken() const override {
    if (through_adapter_) return "one-sided put by the network adapter";
    return engine_ == Engine::kernel ? "one-sided put by a kernel's stores" : "one-sided put by the copy engine";
  }

 private:
  /// The collective: both ends learn of each other's new buffers. Of the same number, for they are symmetric.
  Outcome extend_heap(std::span<const View> outgoing, std::span<const View> incoming) {
    rank_.step("tell place");
    for (const Buffer& buffer : in_.meet(incoming)) {
      make_known_to_adapter(buffer);
      const Op told = rank_.tell(peer_, tags::kHeader, Message(rank_.export_memory(buffer)));
      if (wait(rank_, told, deadline_) != Status::delivered) return {Status::timed_out, "step 'tell place'"};
    }
    rank_.step("hear place");
    for (const Buffer& buffer : out_.meet(outgoing)) {
      make_known_to_adapter(buffer);
      Message place;
      const Status status = wait(rank_, rank_.hear(peer_, tags::kHeader, place), deadline_);
      if (status != Status::delivered) return {status, "step 'hear place': the peer has no buffer beside this one"};
      theirs_.push_back(rank_.open_memory(peer_, place.as<IpcHandle>()));
    }
    return {};
  }

  void make_known_to_adapter(Buffer buffer) {
    if (!through_adapter_ || std::ranges::find(registered_, buffer) != registered_.end()) return;
    rank_.register_memory(buffer);
    registered_.push_back(buffer);
  }

  Outcome round(std::span<const View> outgoing, std::span<const View> incoming, bool open) {
    if (open) {
      if (Outcome outcome = open_memory(outgoing, incoming); !outcome.ok()) return outcome;
    }
    const auto depth = static_cast<std::size_t>(settings_.depth);
    std::vector<std::uint64_t> signals(depth);
    const std::array lanes{Lane{.pieces = {incoming.begin(), incoming.end()},
                                .depth = depth,
                                .steps = {{"await signal",
                                           [&](const Piece& p) {
                                             return rank_.await_signal(peer_, tags::kSymmetricSignal, signals[p.slot]);
                                           }},
                                          {"check signal",
                                           [&](const Piece& p) -> Started {
                                             if (signals[p.slot] == in_.place(p.bytes).digest()) return Outcome{};
                                             return not_symmetric();
                                           }}}},
                           Lane{.pieces = {outgoing.begin(), outgoing.end()},
                                .depth = depth,
                                .steps = {{"put", [this](const Piece& p) { return put(p.bytes); }}}}};
    return move(rank_, lanes, deadline_);
  }

  Outcome open_memory(std::span<const View> outgoing, std::span<const View> incoming) {
    if (!incoming.empty()) {
      rank_.step("tell open");
      const Op told = rank_.tell(peer_, tags::kReady, Message(Open{in_.digest(incoming)}));
      if (wait(rank_, told, deadline_) != Status::delivered) return {Status::timed_out, "step 'tell open'"};
    }
    if (outgoing.empty()) return {};
    rank_.step("hear open");
    Message opened;
    const Status status = wait(rank_, rank_.hear(peer_, tags::kReady, opened), deadline_);
    if (status != Status::delivered) return {status, "step 'hear open': the deadline passed"};
    if (opened.as<Open>().digest == out_.digest(outgoing)) return {};
    return refuse(outgoing.front());
  }

  Started put(const View& from) {
    const HeapPlace place = out_.place(from);
    const Buffer target = theirs_[place.buffer];
    if (place.offset + place.length > target.size) return refuse(from);
    const Signal signal{tags::kSymmetricSignal, place.digest()};
    return rank_.put({target, place.offset, place.length}, from, kPutStream, engine_, signal);
  }

  /// The target must learn it too; without this signal it would wait until its deadline.
  Outcome refuse(const View& from) {
    const Buffer target = theirs_[out_.place(from).buffer];
    const Signal signal{tags::kSymmetricSignal, kMostSignal};
    const Op told = rank_.put({target, Bytes{}, Bytes{}}, from.slice(Bytes{}, Bytes{}), kPutStream, engine_, signal);
    wait(rank_, told, deadline_);
    return not_symmetric();
  }

  static Outcome not_symmetric() {
    return {Status::wrong_size, "the two ends do not have messages of the same length at the same place of the heap"};
  }

  Rank& rank_;
  RankId peer_;
  Settings settings_;
  Engine engine_;
  Order order_;
  bool through_adapter_;
  Seconds deadline_{};
  Buffers out_;
  Buffers in_;
  std::vector<Buffer> theirs_;      ///< the peer's, by the place of out_
  std::vector<Buffer> registered_;  ///< with the adapter
};

class SymmetricPut final : public Protocol {
 public:
  [[nodiscard]] std::string_view name() const override { return "symmetric-put"; }
  [[nodiscard]] std::string_view description() const override {
    return "one-sided puts into a symmetric heap with a signal behind the data, as NVSHMEM does";
  }
  [[nodiscard]] Memory message_memory() const override { return Memory::device; }
  [[nodiscard]] Settings defaults() const override { return {.chunk = Bytes{}, .depth = 64}; }
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
    const Engine engine = read.choice<Mover>("engine") == Mover::kernel ? Engine::kernel : Engine::dma;
    if (engine == Engine::kernel && !rank.path_to(peer).same_node) {
      throw UnavailableError("protocol 'symmetric-put' by a kernel cannot run here: the ranks are on different nodes");
    }
    return std::make_unique<SymmetricChannel>(rank, peer, settings, engine, read.choice<Order>("order"));
  }
};

}  // namespace

const Protocol& symmetric_put_protocol() {
  static const SymmetricPut protocol;
  return protocol;
}

}  // namespace twinlink
