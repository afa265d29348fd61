// What things take that queue behind each other, bench::kQueuedCopies of them: copies in one stream, and control
// messages each way. All times are the share of one.
#pragma once

#include "platforms/machine/platform.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::validate {

/// The parts of one copy, in the order in which they come.
struct CopyTimes {
  Seconds overhead{};    ///< the CPU starts it
  Seconds latency{};     ///< then nothing moves, which in a queue hides behind the copies before it
  Seconds flow{};        ///< its bytes
  Seconds completion{};  ///< the CPU learns that it has ended
  bool by_event = true;  ///< so that it asks an event for that
  Seconds gap{};         ///< in a queue, from the last byte of one to the first of the next at least

  [[nodiscard]] Seconds until_there() const { return overhead + latency + flow; }
  [[nodiscard]] Seconds total() const { return until_there() + completion; }
};

/// The share of one, until the CPU knows that all have ended. All are started one after the other. Then the CPU asks
/// for the oldest, and where that has ended for the newest, which tells for all; those behind go on meanwhile. A
/// failed poll takes `look`.
Seconds share_of_queue(const CopyTimes& copy, Seconds look);

/// Each CPU sends all, and then awaits all. The answer that ends a round lets the peer begin the next one before the
/// rank that it goes to, so that nobody waits, unless messages take longer than CPUs: the last one there, and the
/// answer. One of them is busy to answer meanwhile, and the other to take it in.
Seconds predict_controls(const model::NetworkCosts& network);
/// What the CPU does to await a control message and take it in, of which predict_controls() makes `time`. Zero where
/// the way of the messages decides.
Seconds receiving_control_of(const model::NetworkCosts& network, Seconds time);

}  // namespace twinlink::validate
