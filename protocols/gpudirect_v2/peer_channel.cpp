#include "protocols/gpudirect_v2/peer_channel.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "protocols/core/tags.hpp"
#include "protocols/gpudirect_v2/peer_transfer.hpp"
#include "protocols/parts/connection.hpp"

namespace twinlink {
namespace {

class PeerChannel final : public Channel {
 public:
  PeerChannel(Rank& rank, RankId peer, const PeerMover& mover, std::uint64_t batch, Settings settings,
              std::string path_taken)
      : settings_(std::move(settings)),
        mover_(mover),
        batch_(batch),
        path_taken_(std::move(path_taken)),
        end_(rank, peer) {
    // One more flag must find room beside those that nobody has taken: the beginning of the next connection.
    const std::size_t most = mover.flags ? kMostSignals - 1 : static_cast<std::size_t>(kMaxDepth);
    for (Lane& lane : lanes_) lane.depth = std::min(static_cast<std::size_t>(settings_.depth_or_one()), most);
    lanes_[kIncoming].steps = mover.receiver(awaited_);
    lanes_[kOutgoing].steps = mover.sender(sent_);
    connected(connect_to_peer());
  }

  [[nodiscard]] std::string path_taken() const override { return path_taken_; }

 private:
  /// What an earlier connection has left under way is thrown away, whatever its options were.
  Outcome connect_to_peer() {
    constexpr std::array kControlTags{tags::kReady, tags::kDelivered, tags::kPlace};
    const Seconds deadline = end_.rank.now() + settings_.timeout;
    Epoch numbers;
    Outcome outcome = connect_ends(end_.rank, end_.peer, kControlTags, deadline, numbers);
    if (!outcome.ok() || !mover_.flags) return outcome;
    return connect_signals(end_.rank, end_.peer, kFlag, kPeerStream, numbers, deadline);
  }

  Outcome do_exchange(std::span<const View> outgoing, std::span<const View> incoming) override {
    awaited_.begin(incoming, settings_.chunk_or_whole(), batch_, lanes_[kIncoming].depth);
    sent_.begin(outgoing, settings_.chunk_or_whole(), batch_, lanes_[kOutgoing].depth);
    lanes_[kIncoming].pieces = awaited_.pieces();
    lanes_[kOutgoing].pieces = sent_.pieces();
    BatchCopies copies(end_.rank, kPeerStream, mover_.engine);
    end_.copies = &copies;
    end_.deadline = end_.rank.now() + settings_.timeout;
    Outcome outcome = move(end_.rank, lanes_, end_.deadline);
    return outcome.ok() ? copies.settle(end_.deadline) : outcome;
  }

  Settings settings_;
  const PeerMover& mover_;
  std::uint64_t batch_;
  std::string path_taken_;

  // State of the exchange under way; the lanes' steps refer to it.
  PeerEnd end_;
  PeerTransfer awaited_{end_};
  PeerTransfer sent_{end_};
  static constexpr std::size_t kIncoming = 0;
  static constexpr std::size_t kOutgoing = 1;
  std::array<Lane, 2> lanes_;
};

}  // namespace

std::unique_ptr<Channel> connect_peers(Rank& rank, RankId peer, const PeerMover& mover, std::uint64_t batch,
                                       const Settings& settings, std::string path_taken) {
  return std::make_unique<PeerChannel>(rank, peer, mover, batch, settings, std::move(path_taken));
}

}  // namespace twinlink
