// One end of a connection of gpudirect-v2: what it has received of the peer's buffers, and where these lie.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "protocols/core/lane.hpp"
#include "protocols/gpudirect_v2/batches.hpp"
#include "protocols/gpudirect_v2/peer_messages.hpp"
#include "protocols/parts/shared_buffers.hpp"

namespace twinlink {

inline constexpr Stream kPeerStream{0};

/// What the steps of an exchange use. Kept for the next exchange: what a small message costs beside its copy is for a
/// good part the making of such things.
struct PeerEnd {
  PeerEnd(Rank& own, RankId other) : rank(own), peer(other), shared(own, other) {}

  /// Makes room for so many pieces under way. What was said in earlier exchanges is written over before anybody reads
  /// it.
  void make_room_for(std::size_t slots);

  /// Where the peer's messages lie, into `theirs`: of a piece what `first` names; of a batch as many as `mine`, of the
  /// same length, of which `places` may name the others. A buffer that cannot be opened is a failure of the peer.
  Outcome open(const ReceivedReady& first, std::span<const ReceivedReady> places, std::span<const View> mine);

  Rank& rank;
  RankId peer;
  SharedBuffers shared;
  Seconds deadline{};
  BatchCopies* copies = nullptr;  ///< of the exchange under way

  std::vector<ControlMessage> ready{};      ///< by slot: what the peer says about pieces that this side moves
  std::vector<ControlMessage> delivered{};  ///< and about those that it moves itself
  std::vector<std::uint64_t> flags{};       ///< by slot
  std::vector<View> theirs{};               ///< of the piece or batch to be moved next
};

/// Steps of every mover: `ready` is sent by the end whose memory is reached into, and received by the mover.
Step send_ready(PeerEnd& end, const BatchedPieces& mine);
Step recv_ready(PeerEnd& end);

}  // namespace twinlink
