// GPUDirect v2: the copy engine of the sender's GPU writes straight into the memory of a GPU on the same node.
//
//   sender                                        receiver
//                                                 1. tell ready: the handle and the place of my buffer
//   1. hear ready
//   2. peer copy: device -> the peer's device
//   3. tell delivered                             2. hear delivered
//                                                 3. check delivered
//
// A buffer is opened at its first use and stays open, so that only the first message pays for it. Between GPUs
// without peer access the same copy still arrives: the driver moves it through host memory. supports() calls that a
// fallback and gives the reason.
#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <vector>

#include "protocols/builtin.hpp"
#include "protocols/lane.hpp"
#include "protocols/tags.hpp"

namespace twinlink {
namespace {

constexpr Stream kPeerStream{0};

/// Receiver to sender: write `length` bytes at `offset` of the buffer that `handle` names.
struct Ready {
  IpcHandle handle;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

/// Sender to receiver: it is written, or refused, because what I had to send has another size.
struct Delivered {
  std::uint64_t length = 0;  ///< of what the sender had
  bool refused = false;
};

Outcome wrong_size(std::uint64_t sent) {
  return {Status::wrong_size, "the sender had " + std::to_string(sent) + " B, and the receiver expected another size"};
}

class PeerChannel final : public Channel {
 public:
  PeerChannel(Rank& rank, RankId peer, const Settings& settings, std::string path_taken)
      : rank_(rank), peer_(peer), settings_(settings), path_taken_(std::move(path_taken)) {}

  ~PeerChannel() override {
    // While an exception passes, a copy may still use the memory; the rank closes it when it ends.
    if (std::uncaught_exceptions() > 0) return;
    for (const Opened& opened : opened_) rank_.close_memory(opened.buffer);
  }
  PeerChannel(const PeerChannel&) = delete;
  PeerChannel& operator=(const PeerChannel&) = delete;

  Outcome exchange(std::span<const View> outgoing, std::span<const View> incoming) override {
    const auto depth = static_cast<std::size_t>(settings_.depth);
    const std::vector<View> sent = cut(outgoing, settings_.chunk);
    const std::vector<View> awaited = cut(incoming, settings_.chunk);
    std::vector<Message> ready(std::min(depth, sent.size()));  // one per slot
    std::vector<Message> delivered(std::min(depth, awaited.size()));

    const Lane out{.pieces = sent,
                   .depth = depth,
                   .steps = {
                       {"hear ready", [&](const Piece& p) { return rank_.hear(peer_, tags::kReady, ready[p.slot]); }},
                       {"peer copy", [&](const Piece& p) { return peer_copy(p.bytes, ready[p.slot].as<Ready>()); }},
                       {"tell delivered",
                        [&](const Piece& p) {
                          return rank_.tell(peer_, tags::kDelivered, Message(Delivered{p.bytes.length.count()}));
                        }},
                   }};
    const Lane in{
        .pieces = awaited,
        .depth = depth,
        .steps = {
            {"tell ready",
             [&](const Piece& p) {
               return rank_.tell(
                   peer_, tags::kReady,
                   Message(Ready{handle_of(p.bytes.buffer), p.bytes.offset.count(), p.bytes.length.count()}));
             }},
            {"hear delivered", [&](const Piece& p) { return rank_.hear(peer_, tags::kDelivered, delivered[p.slot]); }},
            {"check delivered",
             [&](const Piece& p) -> Started {
               // A refusal may overtake the answers for pieces before it: it ends the transfer whatever its size says.
               const auto answer = delivered[p.slot].as<Delivered>();
               return answer.refused ? wrong_size(answer.length) : Outcome{};
             }},
        }};
    const std::array lanes{in, out};
    return move(rank_, lanes, rank_.now() + settings_.timeout);
  }

  [[nodiscard]] std::string path_taken() const override { return path_taken_; }

 private:
  struct Exported {
    Buffer buffer;
    IpcHandle handle;
  };
  struct Opened {
    IpcHandle handle;
    Buffer buffer;
  };

  Started peer_copy(const View& from, const Ready& to) {
    if (to.length != from.length.count()) {
      // The receiver must learn it too; without this message it would wait until its deadline.
      const Message refusal(Delivered{.length = from.length.count(), .refused = true});
      wait(rank_, rank_.tell(peer_, tags::kDelivered, refusal), rank_.now() + settings_.timeout);
      return wrong_size(from.length.count());
    }
    return rank_.copy({open(to.handle), Bytes{to.offset}, from.length}, from, kPeerStream, Engine::dma);
  }

  IpcHandle handle_of(const Buffer& buffer) {
    for (const Exported& known : exported_) {
      if (known.buffer == buffer) return known.handle;
    }
    exported_.push_back({buffer, rank_.export_memory(buffer)});
    return exported_.back().handle;
  }

  Buffer open(const IpcHandle& handle) {
    for (const Opened& known : opened_) {
      if (known.handle == handle) return known.buffer;
    }
    opened_.push_back({handle, rank_.open_memory(peer_, handle)});
    return opened_.back().buffer;
  }

  Rank& rank_;
  RankId peer_;
  Settings settings_;
  std::string path_taken_;
  std::vector<Exported> exported_;
  std::vector<Opened> opened_;
};

class GpuDirectV2 final : public Protocol {
 public:
  [[nodiscard]] std::string_view name() const override { return "gpudirect-v2"; }
  [[nodiscard]] std::string_view description() const override {
    return "peer copy by the copy engine between GPUs of one node; through the host where peer access is missing";
  }
  [[nodiscard]] Memory message_memory() const override { return Memory::device; }
  [[nodiscard]] Settings defaults() const override { return {.chunk = Bytes{}, .depth = 16}; }
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
    return std::make_unique<PeerChannel>(rank, peer, settings,
                                         path.peer_access
                                             ? "peer copy by the copy engine"
                                             : "staged through the host by the driver: " + path.peer_access.reason);
  }
};

}  // namespace

const Protocol& gpudirect_v2_protocol() {
  static const GpuDirectV2 protocol;
  return protocol;
}

}  // namespace twinlink
