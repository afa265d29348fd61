// Messages that go as they lie: no copy before or after them.
#pragma once

#include <span>

#include "protocols/protocol.hpp"

namespace twinlink {

/// An exchange of `outgoing` and `incoming` with `peer` by send() and receive() alone, cut into the settings' chunks,
/// of which `depth` are under way at once each way. Any memory that the rank's send() takes.
Outcome exchange_plain_messages(Rank& rank, RankId peer, const Settings& settings, std::span<const View> outgoing,
                                std::span<const View> incoming);

}  // namespace twinlink
