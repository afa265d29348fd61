// Movers whose copy has an end that the mover waits for: it sends the other end `delivered`.
#pragma once

#include "protocols/core/lane.hpp"
#include "protocols/gpudirect_v2/batches.hpp"
#include "protocols/gpudirect_v2/peer_end.hpp"

namespace twinlink {

/// For the mover: finds where the peer's bytes of a piece lie, into PeerEnd::theirs. Where its message has another size
/// or its buffer cannot be opened the peer is told so, for without that it would wait until its deadline.
Outcome reach(PeerEnd& end, const BatchedPieces& mine, const Piece& piece);

Step send_delivered(PeerEnd& end, const BatchedPieces& moved);
Step recv_delivered(PeerEnd& end);
Step check_delivered(PeerEnd& end, const BatchedPieces& mine);

}  // namespace twinlink
