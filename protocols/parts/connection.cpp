#include "protocols/parts/connection.hpp"

#include <array>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocols/core/tags.hpp"
#include "protocols/parts/shared_buffers.hpp"

namespace twinlink {
namespace {

struct ConnectMessage {
  enum class Kind : std::uint64_t { request, reply, epoch, closed };
  Kind kind{};
  std::array<std::uint64_t, 2> nothing{};  ///< makes it a control message of a size that no other one has
  std::uint64_t to = 0;                    ///< the number of the end that it is for; a request is for whoever comes
  std::uint64_t from = 0;                  ///< and of the one that sends it
};
static_assert(sizeof(ConnectMessage) == kConnectMessageSize);

/// The next control message that is wanted, into `received`; those before it are thrown away. Each one is a step of
/// these words.
Status receive_only(Rank& rank, RankId peer, Tag tag, std::string_view words,
                    const std::function<bool(const ControlMessage&)>& wanted, ControlMessage& received,
                    Seconds deadline) {
  for (;;) {
    rank.step(words);
    const Status status = wait(rank, rank.recv_control(peer, tag, received), deadline);
    if (status != Status::delivered || wanted(received)) return status;
  }
}

/// What has been sent. It is waited for last: a control message may wait for room that the peer makes when it receives.
class Sends {
 public:
  Sends(Rank& rank, RankId peer) : rank_(rank), peer_(peer) {}
  /// Abandons what has not been settled: the connection handshake has failed.
  ~Sends() {
    try {
      for (const Op op : ops_) rank_.abandon(op);
    } catch (const Error&) {
      // The backend is in error. Whoever waits for it learns that, or has learnt it already.
    }
  }
  Sends(const Sends&) = delete;
  Sends& operator=(const Sends&) = delete;

  void send_control(std::string_view words, Tag tag, const ControlMessage& message) {
    rank_.step(words);
    ops_.push_back(rank_.send_control(peer_, tag, message));
  }
  Outcome settle(Seconds deadline) {
    while (!ops_.empty()) {
      const Op op = ops_.front();
      ops_.erase(ops_.begin());
      if (const Status status = wait(rank_, op, deadline); status != Status::delivered) {
        return {status, "what was sent to connect was not taken"};
      }
    }
    return {};
  }

 private:
  Rank& rank_;
  RankId peer_;
  std::vector<Op> ops_;
};

/// Learns the epoch of the two ends.
Outcome introduce(Rank& rank, RankId peer, Sends& sends, Epoch& epoch, Seconds deadline) {
  ControlMessage received;
  std::string_view words = "receive connect request";
  rank.step(words);
  // No other operation of this rank ever has the number of this one, and so no other connection has it.
  Op pending = rank.recv_control(peer, tags::kConnect, received);
  epoch.mine = pending.id;
  try {
    sends.send_control("send connect request", tags::kConnect,
                       ControlMessage(ConnectMessage{.kind = ConnectMessage::Kind::request, .from = epoch.mine}));
  } catch (...) {
    rank.abandon(pending);  // it would write into what is gone then
    throw;
  }
  for (;;) {
    if (const Status status = wait(rank, pending, deadline); status != Status::delivered) {
      return did_not_connect(status, words);
    }
    const bool mark = received.bytes().size() != kConnectMessageSize;  // that nobody has received
    const auto message = mark ? ConnectMessage{} : received.as<ConnectMessage>();
    const bool reply = message.kind == ConnectMessage::Kind::reply && message.to == epoch.mine;
    const bool request = message.kind == ConnectMessage::Kind::request && !mark;
    // Usually the request has been answered when the reply comes. But an earlier connection may have taken it.
    if ((request || reply) && message.from != epoch.theirs) {
      epoch.theirs = message.from;
      sends.send_control(
          "send connect reply", tags::kConnect,
          ControlMessage(ConnectMessage{.kind = ConnectMessage::Kind::reply, .to = epoch.theirs, .from = epoch.mine}));
      words = "receive connect reply";
    }
    if (reply) return {};
    rank.step(words);
    pending = rank.recv_control(peer, tags::kConnect, received);
  }
}

/// For the time of a connection handshake.
class Scratch {
 public:
  Scratch(Rank& rank, Memory memory) : rank_(rank), buffer_(rank.allocate(memory, 8_B)) {}
  ~Scratch() {
    // While an exception passes, a put may still use the memory; the rank frees it when it ends.
    if (std::uncaught_exceptions() > 0) return;
    try {
      rank_.release(buffer_);
    } catch (const Error&) {
      // A device in error releases nothing. Whoever uses it next learns that.
    }
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] Buffer buffer() const { return buffer_; }

 private:
  Rank& rank_;
  Buffer buffer_;
};

/// The signal with which those to the end of that number begin. It has room for 46 bits, and numbers may differ in the
/// upper ones only, where backends count, or in the lower ones. The multiple of the golden ratio spreads both, so that
/// numbers that are counted have other signals as long as nobody counts to 2^44.
Signal epoch_signal(Tag tag, std::uint64_t number) {
  constexpr int kBits = 46;
  static_assert(kEpochSignal + (std::uint64_t{1} << kBits) - 1 == kMostSignal);
  return {tag, kEpochSignal | (number * 0x9e3779b97f4a7c15U) >> (64 - kBits)};
}

}  // namespace

Outcome did_not_connect(Status status, std::string_view words) {
  return {status, "step '" + std::string(words) + "': the peer did not connect"};
}

Outcome connect_ends(Rank& rank, RankId peer, std::span<const Tag> tags, Seconds deadline, Epoch& epoch) {
  Sends sends(rank, peer);
  if (Outcome outcome = introduce(rank, peer, sends, epoch, deadline); !outcome.ok()) return outcome;
  const ConnectMessage mark{.kind = ConnectMessage::Kind::epoch, .to = epoch.theirs, .from = epoch.mine};
  for (const Tag tag : tags) sends.send_control("send epoch", tag, ControlMessage(mark));
  const auto is_mine = [&](const ControlMessage& message) {
    if (message.bytes().size() != kConnectMessageSize) return false;
    const auto content = message.as<ConnectMessage>();
    return content.kind == ConnectMessage::Kind::epoch && content.to == epoch.mine;
  };
  for (const Tag tag : tags) {
    ControlMessage received;
    const Status status = receive_only(rank, peer, tag, "receive epoch", is_mine, received, deadline);
    if (status != Status::delivered) return did_not_connect(status, "receive epoch");
  }
  return sends.settle(deadline);
}

Outcome raise_epoch(Rank& rank, View there, View nothing, Stream stream, Tag tag, const Epoch& epoch,
                    Seconds deadline) {
  rank.step("raise epoch");
  const Op put = rank.put(there, nothing, stream, Engine::dma, epoch_signal(tag, epoch.theirs));
  const Status status = wait(rank, put, deadline);
  return status == Status::delivered ? Outcome{} : Outcome{status, "step 'raise epoch'"};
}

Outcome await_epoch(Rank& rank, RankId peer, Tag tag, const Epoch& epoch, Seconds deadline) {
  const std::uint64_t wanted = epoch_signal(tag, epoch.mine).value;
  for (;;) {
    std::uint64_t value = 0;
    rank.step("await epoch");
    const Status status = wait(rank, rank.await_signal(peer, tag, value), deadline);
    if (status != Status::delivered) return did_not_connect(status, "await epoch");
    if (value == wanted) return {};
  }
}

Outcome connect_signals(Rank& rank, RankId peer, Tag tag, Stream stream, const Epoch& epoch, Seconds deadline) {
  // A signal is raised by a put, which needs memory of the peer: such as its owner may release while it is open. That
  // is host memory, where the copy engine writes, whoever else raises signals: puts of one stream stay in order. Of
  // another node of an NVLink domain only device memory is mapped, which its owner releases once the peer has closed
  // it.
  const bool one_node = rank.path_to(peer).same_node;
  const Scratch mark(rank, one_node ? Memory::shared_pinned : Memory::device);
  const Scratch source(rank, Memory::device);
  std::optional<SharedBuffers> shared(std::in_place, rank, peer);
  Sends sends(rank, peer);
  const IpcHandle mine = rank.export_memory(mark.buffer());
  sends.send_control("send mark", tags::kConnect, ControlMessage(mine));

  ControlMessage received;
  const auto is_mark = [](const ControlMessage& message) { return message.bytes().size() == sizeof(IpcHandle); };
  Status status = receive_only(rank, peer, tags::kConnect, "receive mark", is_mark, received, deadline);
  if (status != Status::delivered) return did_not_connect(status, "receive mark");

  View there;
  try {
    there = View(shared->open({.number = epoch.theirs, .handle = received.as<IpcHandle>()}), Bytes{}, Bytes{});
  } catch (const Error& error) {
    // A forged or stale handle is the peer's fault, and a refusal of the driver nobody's.
    return {Status::peer_failed,
            std::string("step 'raise epoch': the peer's memory cannot be opened: ") + error.what()};
  }
  const View nothing(source.buffer(), Bytes{}, Bytes{});
  Outcome outcome = raise_epoch(rank, there, nothing, stream, tag, epoch, deadline);
  if (outcome.ok()) outcome = await_epoch(rank, peer, tag, epoch, deadline);
  if (!outcome.ok()) return outcome;
  if (!one_node) {
    shared.reset();
    const ConnectMessage closed{.kind = ConnectMessage::Kind::closed, .to = epoch.theirs, .from = epoch.mine};
    sends.send_control("send closed", tags::kConnect, ControlMessage(closed));
    const auto is_closed = [&](const ControlMessage& message) {
      if (message.bytes().size() != kConnectMessageSize) return false;
      const auto content = message.as<ConnectMessage>();
      return content.kind == ConnectMessage::Kind::closed && content.to == epoch.mine;
    };
    status = receive_only(rank, peer, tags::kConnect, "receive closed", is_closed, received, deadline);
    if (status != Status::delivered) return did_not_connect(status, "receive closed");
  }
  return sends.settle(deadline);
}

}  // namespace twinlink
