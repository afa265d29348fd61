// CoreWatch: has this rank a processor core for itself?
#pragma once

#include "protocols/rank.hpp"

namespace twinlink::bench {

/// Two hardware threads of a core share the slots that it issues instructions from. Another program on the second
/// thread, which on a virtual machine nobody here sees, makes code that fills these slots take up to twice as long, and
/// so also the driver's calls and a protocol's own code; code that waits for its own results takes no longer. So a
/// piece of the first kind is a glance at who else is there.
class CoreWatch {
 public:
  /// Looks on until it has seen the core with and without company, but no longer than `learn`: to know how long a
  /// glance takes on a core of one's own.
  CoreWatch(Rank& rank, Seconds learn);

  /// Nobody else is on the core now, as far as the quickest glance so far tells. About a microsecond. Always true on a
  /// clock that the CPU's work does not move, as a simulated one.
  bool alone();

 private:
  Seconds glance();

  Rank& rank_;
  Seconds quickest_;
};

}  // namespace twinlink::bench
