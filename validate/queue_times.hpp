// What copies take that queue behind each other in one stream, bench::kQueuedCopies of them.
#pragma once

#include "protocols/units.hpp"

namespace twinlink::validate {

/// The parts of each of them.
struct QueuedCopy {
  Seconds host{};        ///< the CPU starts it
  Seconds latency{};     ///< then nothing moves, which hides behind the copies before it
  Seconds flow{};        ///< its bytes
  Seconds turnaround{};  ///< from the last byte of one to the first of the next at least
  Seconds completion{};  ///< the CPU learns that it has ended
  Seconds look{};        ///< or that it has not
};

/// The share of one, until the CPU knows that all have ended. All are started one after the other. Then the CPU asks
/// for the oldest, and where that has ended for the newest, which tells for all; those behind go on meanwhile.
Seconds share_of_queue(const QueuedCopy& copy);

}  // namespace twinlink::validate
