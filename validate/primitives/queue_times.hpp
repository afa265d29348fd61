// What copies take that queue behind each other in one stream, bench::kQueuedCopies of them. All times are the share of
// one.
#pragma once

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

}  // namespace twinlink::validate
