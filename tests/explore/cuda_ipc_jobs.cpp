#include "tests/explore/cuda_ipc_jobs.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>

#include "protocols/core/tags.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/explore/bodies.hpp"
#include "tests/explore/explorer/hash.hpp"
#include "tests/support/finish.hpp"

namespace twinlink::explore {
namespace {

/// Looks at the packets that one end sends and receives, and knows nothing of the endpoint's own books.
class Inspector final : public DecoratedRank {
 public:
  Inspector(MeasuredRank& inner, Witness& witness) : DecoratedRank(inner), witness_(witness) {}

  Op send_control(RankId peer, Tag tag, const ControlMessage& message) override {
    if (tag.value == tags::kIpcFifo.value) {
      const auto kind = kind_of(message);
      if (kind == PacketKind::request) ++requests_;
      witness_.require(requests_ <= 5, "more than five requests");
      look_at(kind, "sends");
    }
    return DecoratedRank::send_control(peer, tag, message);
  }
  Op recv_control(RankId peer, Tag tag, ControlMessage& into) override {
    const Op op = DecoratedRank::recv_control(peer, tag, into);
    if (tag.value == tags::kIpcFifo.value) {
      receiving_ = op;
      into_ = &into;
    }
    return op;
  }
  std::optional<Completion> wait_any(std::span<const Op> ops, Seconds deadline) override {
    const auto ended = DecoratedRank::wait_any(ops, deadline);
    if (ended && ops[ended->index] == receiving_) {
      look_at(kind_of(*into_), "receives");
      receiving_ = Op{};
      into_ = nullptr;
    }
    return ended;
  }

  [[nodiscard]] std::uint64_t digest() const { return static_cast<std::uint64_t>(requests_) * 2 + (agreed_ ? 1 : 0); }

 private:
  /// A connection handshake's control message is none.
  static std::optional<PacketKind> kind_of(const ControlMessage& message) {
    if (message.bytes().size() == kConnectMessageSize) return std::nullopt;
    return packet_of(message).kind;
  }
  /// Who sends an ACK has enabled IPC before, and who receives it enables it then.
  void look_at(std::optional<PacketKind> kind, const std::string& does) {
    if (kind == PacketKind::ack) agreed_ = true;
    if (kind == PacketKind::rget) witness_.require(agreed_, does + " an RGET header before IPC was agreed on");
  }

  Witness& witness_;
  int requests_ = 0;
  bool agreed_ = false;
  Op receiving_{};
  const ControlMessage* into_ = nullptr;
};

/// All that the protocol remembers between two waits and that the outside cannot tell.
std::uint64_t digest_of(const CudaIpcChannel& channel) {
  Hash hash;
  const handshake::Endpoint& end = channel.handshake();
  hash.add(static_cast<std::uint64_t>(end.state()) * 16 + static_cast<std::uint64_t>(end.tries()),
           end.get_enabled() ? 1 : 0);
  hash.add(channel.counts().ipc_messages, channel.counts().staged_messages);
  const CacheCounts& cache = channel.cache_counts();
  hash.add(channel.counts().fragments_sent, cache.invalid);
  hash.add(cache.hits * 1000 + cache.misses, cache.evicted);
  return hash.key().low;
}

/// Most messages that the rank sends at once.
int most_at_once(const IpcJob& job, int sender) {
  int most = 0;
  for (const Sends& sends : job.exchanges) most = std::max(most, sends[static_cast<std::size_t>(sender)]);
  return most;
}

int buffers_of(const IpcJob& job, int sender) { return job.buffers > 0 ? job.buffers : most_at_once(job, sender); }

/// What lies in a buffer that is sent from.
Payload pattern(int sender, int exchange, int buffer) {
  return Payload{static_cast<std::uint64_t>(1000 * sender + 10 * exchange + buffer + 1)};
}

void converse(const IpcJob& job, MeasuredRank& plain_rank, Witness& witness) {
  Inspector inspector(plain_rank, witness);
  MeasuredRank& rank = inspector;
  const int me = rank.id().value;
  const RankId peer{1 - me};
  std::vector<View> from;
  std::vector<View> to;
  for (int i = 0; i < buffers_of(job, me); ++i) from.emplace_back(rank.allocate(Memory::device, kSize));
  for (int i = 0; i < most_at_once(job, peer.value); ++i) to.emplace_back(rank.allocate(Memory::device, kSize));
  {
    CudaIpcOptions options{.fidelity = job.fidelity, .cache = job.cache, .eviction = job.eviction, .eager = job.eager};
    options.payload = kSize;
    options.late = job.late[static_cast<std::size_t>(me)];
    CudaIpcChannel channel(rank, peer, options, kLong);
    const std::function<std::uint64_t()> digest = [&] { return digest_of(channel) * 31 + inspector.digest(); };
    witness.watch(digest);
    int exchange = 0;
    int sent = 0;
    int received = 0;
    for (const Sends& sends : job.exchanges) {
      for (int i = 0; i < std::ssize(from); ++i) rank.fill(from[static_cast<std::size_t>(i)], pattern(me, exchange, i));
      std::vector<View> outgoing;
      for (int i = 0; i < sends[static_cast<std::size_t>(me)]; ++i) {
        outgoing.push_back(from[static_cast<std::size_t>(sent++) % from.size()]);
      }
      const std::span incoming =
          std::span(to).first(static_cast<std::size_t>(sends[static_cast<std::size_t>(peer.value)]));
      for (const View& view : incoming) rank.fill(view, kSentinel);
      const Outcome outcome = channel.exchange(outgoing, incoming);
      witness.require(outcome.ok(), outcome.reason);
      for (const View& view : incoming) {
        const Payload expected = pattern(peer.value, exchange, received++ % buffers_of(job, peer.value));
        witness.require(rank.check(view, expected).intact(), "a message is not what was sent");
      }
      ++exchange;
    }
    witness.ending(job.ending(channel));
    witness.unwatch();
  }
  ControlMessage received;
  const Op sent = rank.send_control(peer, kMeet, ControlMessage());
  finish(rank, rank.recv_control(peer, kMeet, received), kLong);
  finish(rank, sent, kLong);
  for (const View& view : from) rank.release(view.buffer);
  for (const View& view : to) rank.release(view.buffer);
}

}  // namespace

std::string handshake_state(const CudaIpcChannel& channel) {
  return std::string(to_string(channel.handshake().state()));
}

std::vector<Sends> times(int count, const std::vector<Sends>& exchanges) {
  std::vector<Sends> all;
  for (; count > 0; --count) all.insert(all.end(), exchanges.begin(), exchanges.end());
  return all;
}

Scenario scenario_of(const IpcJob& job) {
  const Body body = [job](MeasuredRank& rank, Witness& witness) { converse(job, rank, witness); };
  Scenario scenario{.bodies = {body, body}};
  scenario.late_sends = job.late_sends;
  if (!job.peer_access) scenario.path.peer_access = Answer::refused("no peer access");
  return scenario;
}

}  // namespace twinlink::explore
