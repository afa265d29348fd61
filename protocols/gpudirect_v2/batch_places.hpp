// Where the messages of a batch lie at the end that does not move them. `ready` gives the place of the first one and
// the distance to the next; where they lie irregularly, each of the others has a control message of its own before it.
#pragma once

#include <span>
#include <vector>

#include "protocols/core/lane.hpp"
#include "protocols/gpudirect_v2/peer_end.hpp"
#include "protocols/gpudirect_v2/peer_messages.hpp"

namespace twinlink {

/// Sends the mover `ready` for a batch, and before it the places that it does not give.
Started send_batch(PeerEnd& end, std::span<const View> batch);

/// Receives the places that `ready` does not give, into `places`, which are empty. `mine` is the mover's part: as many
/// messages of the same length; of a single one there are no others.
Outcome recv_places(PeerEnd& end, const Ready& ready, std::span<const View> mine, std::vector<ReceivedReady>& places);

}  // namespace twinlink
