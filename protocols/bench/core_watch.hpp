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
  /// A core of one's own varies by less: interrupts hit one glance in many, and the clock's rate drifts by some
  /// percent. A shared one takes 1.5 to 2 times as long (seen on an Intel Xeon of 2.1 GHz).
  static constexpr double kAlone = 1.25;

  /// `known`: what a glance takes on a core of one's own, from an earlier run on this machine; zero: looks on for
  /// `learn`, which must be long enough to see the core without company.
  CoreWatch(Rank& rank, Seconds known, Seconds learn);

  /// What a glance takes now, by the quickest one so far: up to kAlone where nobody else is on the core. Takes about a
  /// microsecond. 1 on a clock that the CPU's work does not move, as a simulated one.
  double look();
  /// What a glance takes on a core of one's own, as far as is known.
  [[nodiscard]] Seconds quickest() const { return quickest_; }

 private:
  Seconds glance();

  Rank& rank_;
  Seconds quickest_;
};

}  // namespace twinlink::bench
