// Movers that raise a flag behind the bytes that they push: a signal, which the receiver awaits.
#pragma once

#include "protocols/core/lane.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/gpudirect_v2/batches.hpp"
#include "protocols/gpudirect_v2/peer_end.hpp"

namespace twinlink {

inline constexpr Tag kFlag = tags::kPushFlag;

/// Pushes a piece, then raises its flag. The flag says how long the message is; of one that does not fit the peer's,
/// nothing but the flag is written. Of a peer whose buffer cannot be opened no flag can be raised: it waits until its
/// deadline.
Started push(PeerEnd& end, const BatchedPieces& sent, const Piece& piece, Engine engine);

Step await_flag(PeerEnd& end);
Step check_flag(PeerEnd& end, const BatchedPieces& awaited);

}  // namespace twinlink
