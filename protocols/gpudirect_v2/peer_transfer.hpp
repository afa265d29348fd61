// One direction of a connection of gpudirect-v2: what the steps of a mover do with a piece, be it a message, a part of
// one or a batch of several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "protocols/core/lane.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/gpudirect_v2/batches.hpp"
#include "protocols/gpudirect_v2/peer_messages.hpp"
#include "protocols/parts/shared_buffers.hpp"

namespace twinlink {

inline constexpr Stream kPeerStream{0};
inline constexpr Tag kFlag = tags::kPushFlag;

/// What both directions of a connection share.
struct PeerEnd {
  PeerEnd(Rank& own, RankId other) : rank(own), peer(other), shared(own, other) {}

  Rank& rank;
  RankId peer;
  SharedBuffers shared;
  Seconds deadline{};             ///< of the exchange under way
  BatchCopies* copies = nullptr;  ///< of the exchange under way
};

/// The pieces of one side's messages. Of its two ends the mover reaches into the memory of the other one, which has
/// told it by `ready` where that lies, and tells it the end by `delivered` or by a flag. Kept for the next exchange:
/// what a small message costs beside its copy is for a good part the making of such things.
class PeerTransfer {
 public:
  /// `end` must outlive this.
  explicit PeerTransfer(PeerEnd& end) : end_(end) {}
  PeerTransfer(const PeerTransfer&) = delete;
  PeerTransfer& operator=(const PeerTransfer&) = delete;

  /// The messages of an exchange, cut or batched as BatchedPieces does, of which at most `depth` pieces are under way.
  void begin(std::span<const View> messages, Bytes chunk, std::uint64_t batch, std::size_t depth);
  [[nodiscard]] const std::vector<View>& pieces() const { return own_.pieces; }

  // ---- the mover
  // -----------------------------------------------------------------------------------------------------

  Step recv_ready();
  /// Copies from this side's memory into the peer's, or from there. Where the peer's message has another size or its
  /// buffer cannot be opened, the peer is told so, for without that it would wait until its deadline.
  Started copy_out(const Piece& piece);
  Started copy_in(const Piece& piece);
  Step send_delivered();
  /// Stores into the peer's memory, then raises a flag behind the bytes: a signal, which says how long the message is.
  /// Of one that does not fit the peer's, nothing but the flag is written. Of a peer whose buffer cannot be opened no
  /// flag can be raised: it waits until its deadline. A piece of several messages goes by copies before its flag.
  Started push(const Piece& piece, Engine engine);

  // ---- the other end
  // -------------------------------------------------------------------------------------------------

  Step send_ready();
  Step recv_delivered();
  Step check_delivered();
  Step await_flag();
  Step check_flag();

 private:
  Started announce(std::span<const View> batch);
  Outcome recv_places(const Ready& ready, std::span<const View> mine, std::vector<ReceivedReady>& places);
  Outcome open(const ReceivedReady& first, std::span<const ReceivedReady> places, std::span<const View> mine);
  Outcome reach(const Piece& piece);
  void refuse(const Delivered& why);

  PeerEnd& end_;
  BatchedPieces own_{};
  std::vector<ControlMessage> received_{};  ///< by slot: `ready` at the mover, `delivered` at the other end
  std::vector<std::uint64_t> flags_{};      ///< by slot
  std::vector<View> theirs_{};              ///< where the peer's bytes lie of the piece to be moved next
};

}  // namespace twinlink
