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
  /// `known`: what a glance takes on a core of one's own, from an earlier run on this machine; zero: looks on for
  /// `learn`, which must be long enough to see the core without company.
  CoreWatch(Rank& rank, Seconds known, Seconds learn);

  /// Nobody else is on the core now, as far as the quickest glance so far tells. About a microsecond. Always true on a
  /// clock that the CPU's work does not move, as a simulated one.
  bool alone();
  /// What a glance takes on a core of one's own, as far as is known.
  [[nodiscard]] Seconds quickest() const { return quickest_; }

 private:
  Seconds glance();

  Rank& rank_;
  Seconds quickest_;
};

}  // namespace twinlink::bench
