// GPUDirect v2: one GPU reaches into the memory of another on the same node. Four ways, by the option `engine`:
//
//   copy-engine: the copy engine of the sender's GPU writes
//     sender                                        receiver
//                                                   1. tell ready: the handle and the place of my buffer
//     1. hear ready
//     2. peer copy: device -> the peer's device
//     3. tell delivered                             2. hear delivered
//                                                   3. check delivered
//
//   kernel-push: a kernel on the sender's GPU stores, and a flag behind the bytes tells the receiver; resident-push:
//   the same by a kernel that is there already, and the copy engine for what is too large for it
//     sender                                        receiver
//                                                   1. tell ready
//     1. hear ready
//     2. push: device -> the peer's device, flag    2. await flag
//                                                   3. check flag
//
//   kernel-pull: a kernel on the receiver's GPU loads
//     sender                                        receiver
//     1. tell ready: the handle and the place of my message
//                                                   1. hear ready
//                                                   2. pull: the peer's device -> device
//     2. hear delivered                             3. tell delivered
//     3. check delivered
//
// A buffer is opened at its first use and stays open, so that only the first message pays for it. Between GPUs
// without peer access the copy engine's copy still arrives: the driver moves it through host memory. supports() calls
// that a fallback and gives the reason. A kernel's loads and stores have no such help.
#include <algorithm>
#include <array>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "protocols/builtin.hpp"
#include "protocols/lane.hpp"
#include "protocols/options.hpp"
#include "protocols/tags.hpp"

namespace twinlink {
namespace {

constexpr Stream kPeerStream{0};
constexpr Tag kFlag = tags::kPushFlag;

/// The values of the option, in its order.
enum class Mover { copy_engine, kernel_push, kernel_pull, resident_push };

constexpr std::array kOptions{Option{
    "engine", "copy-engine|kernel-push|kernel-pull|resident-push", "copy-engine",
    "who moves the bytes between the two GPUs; resident-push: a kernel that stays on the sender's GPU and occupies "
    "a multiprocessor of it moves up to 64 KiB, the copy engine what is larger"}};

/// What a resident kernel moves sooner than the copy engine: it is one block of threads, with the bandwidth of one, but
/// needs no launch. (H200 over NVLink: 5.6 us against 6.8 us at 64 KiB, 30 us against 9.3 us at 1 MiB.)
constexpr Bytes kMostResident = 64_KiB;

std::string_view words(Mover mover) {
  switch (mover) {
    case Mover::copy_engine:
      return "peer copy by the copy engine";
    case Mover::kernel_push:
      return "peer copy by a kernel's stores";
    case Mover::kernel_pull:
      return "peer copy by a kernel's loads";
    case Mover::resident_push:
      return "peer copy by the stores of a resident kernel, which occupies a multiprocessor of the sender's GPU";
  }
  return "";
}

/// To the side that moves the bytes: `length` bytes at `offset` of the buffer that `handle` names are mine.
struct Ready {
  IpcHandle handle;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t whole = 0;  ///< of the message that they are a part of
};

/// From the side that moves the bytes: it is done, or it is not and will not be.
struct Delivered {
  enum class Answer : std::uint8_t {
    done,
    wrong_size,  ///< the mover's message has another size
    not_opened   ///< the mover cannot open the buffer
  };
  std::uint64_t whole = 0;  ///< of the mover's message
  Answer answer = Answer::done;
};

/// The parts of one side's messages, and how long the messages are.
struct Parts {
  Parts(std::span<const View> messages, Bytes chunk)
      : pieces(cut(messages, chunk)), wholes(whole_lengths(messages, chunk)) {}
  [[nodiscard]] std::uint64_t whole(const Piece& piece) const { return wholes[piece.number].count(); }

  std::vector<View> pieces;
  std::vector<Bytes> wholes;  ///< by piece
};

/// Memory of this rank that the peer knows, and memory of the peer that is open here.
class SharedBuffers {
 public:
  SharedBuffers(Rank& rank, RankId peer) : rank_(rank), peer_(peer) {}
  ~SharedBuffers() {
    // While an exception passes, a copy may still use the memory; the rank closes it when it ends.
    if (std::uncaught_exceptions() > 0) return;
    for (const Known& opened : opened_) rank_.close_memory(opened.buffer);
  }
  SharedBuffers(const SharedBuffers&) = delete;
  SharedBuffers& operator=(const SharedBuffers&) = delete;

  IpcHandle handle_of(const Buffer& buffer) {
    for (const Known& known : exported_) {
      if (known.buffer == buffer) return known.handle;
    }
    exported_.push_back({buffer, rank_.export_memory(buffer)});
    return exported_.back().handle;
  }

  Buffer open(const IpcHandle& handle) {
    for (const Known& known : opened_) {
      if (known.handle == handle) return known.buffer;
    }
    opened_.push_back({rank_.open_memory(peer_, handle), handle});
    return opened_.back().buffer;
  }

 private:
  struct Known {
    Buffer buffer;
    IpcHandle handle;
  };
  Rank& rank_;
  RankId peer_;
  std::vector<Known> exported_;
  std::vector<Known> opened_;
};

class PeerChannel final : public Channel {
 public:
  PeerChannel(Rank& rank, RankId peer, Settings settings, Mover mover, std::string path_taken)
      : rank_(rank),
        peer_(peer),
        settings_(std::move(settings)),
        mover_(mover),
        path_taken_(std::move(path_taken)),
        shared_(rank, peer) {}

  [[nodiscard]] std::string path_taken() const override { return path_taken_; }

 private:
  Outcome do_exchange(std::span<const View> outgoing, std::span<const View> incoming) override {
    const auto depth = static_cast<std::size_t>(settings_.depth);
    const Parts awaited(incoming, settings_.chunk);
    const Parts sent(outgoing, settings_.chunk);
    const std::size_t slots = std::min(depth, std::max(awaited.pieces.size(), sent.pieces.size()));
    std::vector<Message> here(slots);   // what the peer says about the pieces that this side moves
    std::vector<Message> there(slots);  // and about those that it moves itself
    flags_.resize(slots);
    const bool push = mover_ != Mover::kernel_pull;
    const std::array lanes{
        Lane{.pieces = awaited.pieces, .depth = depth, .steps = push ? stand_by(awaited, there) : pull(awaited, here)},
        Lane{.pieces = sent.pieces, .depth = depth, .steps = push ? this->push(sent, here) : stand_by(sent, there)}};
    deadline_ = rank_.now() + settings_.timeout;
    return move(rank_, lanes, deadline_);
  }

  using Steps = std::vector<Step>;
  [[nodiscard]] bool flagged() const { return mover_ == Mover::kernel_push || mover_ == Mover::resident_push; }
  [[nodiscard]] Engine pusher_of(Bytes length) const {
    if (mover_ == Mover::kernel_push) return Engine::kernel;
    return length <= kMostResident ? Engine::resident : Engine::dma;
  }

  /// Of the side whose memory is reached into.
  Steps stand_by(const Parts& parts, std::vector<Message>& delivered) {
    Steps steps{{"tell ready", [this, &parts](const Piece& p) {
                   const Ready ready{.handle = shared_.handle_of(p.bytes.buffer),
                                     .offset = p.bytes.offset.count(),
                                     .length = p.bytes.length.count(),
                                     .whole = parts.whole(p)};
                   return rank_.tell(peer_, tags::kReady, Message(ready));
                 }}};
    if (flagged()) {
      steps.push_back(
          {"await flag", [this](const Piece& p) { return rank_.await_signal(peer_, kFlag, flags_[p.slot]); }});
      steps.push_back({"check flag", [this, &parts](const Piece& p) -> Started {
                         const std::uint64_t whole = parts.whole(p);
                         return flags_[p.slot] == whole ? Outcome{} : wrong_size(whole, flags_[p.slot]);
                       }});
      return steps;
    }
    steps.push_back({"hear delivered", [this, &delivered](const Piece& p) {
                       return rank_.hear(peer_, tags::kDelivered, delivered[p.slot]);
                     }});
    steps.push_back({"check delivered", [&delivered, &parts](const Piece& p) -> Started {
                       // A refusal may overtake the answers for pieces before it: it ends the transfer whatever its
                       // size says.
                       const auto said = delivered[p.slot].as<Delivered>();
                       switch (said.answer) {
                         case Delivered::Answer::wrong_size:
                           return wrong_size(parts.whole(p), said.whole);
                         case Delivered::Answer::not_opened:
                           return Outcome{Status::peer_failed, "the peer could not open this rank's buffer"};
                         case Delivered::Answer::done:
                           return Outcome{};
                       }
                       return Outcome{};
                     }});
    return steps;
  }

  Steps push(const Parts& parts, std::vector<Message>& ready) {
    Steps steps{hear_ready(ready)};
    if (flagged()) {
      steps.push_back({"push", [this, &ready, &parts](const Piece& p) {
                         return push_flagged(p.bytes, parts.whole(p), ready[p.slot].as<Ready>());
                       }});
      return steps;
    }
    steps.push_back({"peer copy", [this, &ready, &parts](const Piece& p) {
                       return reach(parts.whole(p), ready[p.slot].as<Ready>(),
                                    [&](View to) { return rank_.copy(to, p.bytes, kPeerStream, Engine::dma); });
                     }});
    steps.push_back(tell_delivered(parts));
    return steps;
  }

  Steps pull(const Parts& parts, std::vector<Message>& ready) {
    return {hear_ready(ready),
            {"pull",
             [this, &ready, &parts](const Piece& p) {
               return reach(parts.whole(p), ready[p.slot].as<Ready>(),
                            [&](View from) { return rank_.copy(p.bytes, from, kPeerStream, Engine::kernel); });
             }},
            tell_delivered(parts)};
  }

  Step hear_ready(std::vector<Message>& ready) {
    return {"hear ready", [this, &ready](const Piece& p) { return rank_.hear(peer_, tags::kReady, ready[p.slot]); }};
  }
  Step tell_delivered(const Parts& parts) {
    return {"tell delivered", [this, &parts](const Piece& p) {
              return rank_.tell(peer_, tags::kDelivered, Message(Delivered{parts.whole(p)}));
            }};
  }

  /// Starts `copy` with the peer's bytes, unless its message has another size or its buffer cannot be opened.
  template <class Copy>
  Started reach(std::uint64_t whole, const Ready& theirs, Copy copy) {
    if (theirs.whole != whole) {
      refuse({whole, Delivered::Answer::wrong_size});
      return wrong_size(whole, theirs.whole);
    }
    View bytes;
    try {
      bytes = view(theirs);
    } catch (const Error& error) {
      // A forged or stale handle is the peer's fault, and a refusal of the driver nobody's.
      refuse({whole, Delivered::Answer::not_opened});
      return Outcome{Status::peer_failed, std::string("the peer's buffer cannot be opened: ") + error.what()};
    }
    return copy(bytes);
  }

  /// The other side must learn it too; without this message it would wait until its deadline.
  void refuse(const Delivered& why) { wait(rank_, rank_.tell(peer_, tags::kDelivered, Message(why)), deadline_); }

  /// The flag says how long the message is; of one that does not fit, nothing but the flag is written.
  Started push_flagged(const View& from, std::uint64_t whole, const Ready& to) {
    const Signal flag{kFlag, whole};
    if (to.whole == whole) return rank_.put(view(to), from, kPeerStream, pusher_of(from.length), flag);
    const View nothing = view(to).slice(Bytes{}, Bytes{});
    const Op refusal = rank_.put(nothing, from.slice(Bytes{}, Bytes{}), kPeerStream, pusher_of({}), flag);
    wait(rank_, refusal, deadline_);
    return wrong_size(whole, to.whole);
  }

  View view(const Ready& theirs) { return {shared_.open(theirs.handle), Bytes{theirs.offset}, Bytes{theirs.length}}; }

  Rank& rank_;
  RankId peer_;
  Settings settings_;
  Mover mover_;
  std::string path_taken_;
  SharedBuffers shared_;
  Seconds deadline_{};                ///< of the exchange under way
  std::vector<std::uint64_t> flags_;  ///< by slot
};

class GpuDirectV2 final : public Protocol {
 public:
  [[nodiscard]] std::string_view name() const override { return "gpudirect-v2"; }
  [[nodiscard]] std::string_view description() const override {
    return "peer copy between GPUs of one node, by copy engine or kernel; through the host where peer access is "
           "missing";
  }
  [[nodiscard]] Memory message_memory() const override { return Memory::device; }
  [[nodiscard]] Settings defaults() const override { return {.chunk = Bytes{}, .depth = 16}; }
  [[nodiscard]] std::span<const Option> options() const override { return kOptions; }
  [[nodiscard]] Support supports(const Path& path) const override {
    if (!path.same_node)
      return {Support::Kind::no, "the GPUs are on different nodes, and peer-to-peer ends at the node"};
    if (!path.device_mapping) return {Support::Kind::no, path.device_mapping.reason};
    if (!path.peer_access) return {Support::Kind::fallback, path.peer_access.reason};
    return {};
  }
  [[nodiscard]] std::unique_ptr<Channel> connect(Rank& rank, RankId peer, const Settings& settings) const override {
    check_settings(*this, settings);
    const Path& path = rank.path_to(peer);
    require_support(*this, path);
    const auto mover = OptionReader(*this, settings).choice<Mover>("engine");
    if (!path.peer_access && mover != Mover::copy_engine) {
      throw UnavailableError("protocol 'gpudirect-v2' by a kernel cannot run here, and no driver helps it: " +
                             path.peer_access.reason);
    }
    std::string way(words(mover));
    if (!path.peer_access) way = "staged through the host by the driver: " + path.peer_access.reason;
    return std::make_unique<PeerChannel>(rank, peer, settings, mover, std::move(way));
  }
};

}  // namespace

const Protocol& gpudirect_v2_protocol() {
  static const GpuDirectV2 protocol;
  return protocol;
}

}  // namespace twinlink
