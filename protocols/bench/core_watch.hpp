// CoreWatch: has this rank a processor core for itself?
#pragma once

#include "protocols/rank.hpp"

namespace twinlink::bench {

/// Two hardware threads of a core share what it has, and as soon as the second one is awake, each has half of the
/// window in which the core reorders instructions, whatever the other does there: a driver's calls and a protocol's own
/// code take up to 1.7 times as long. On a virtual machine nobody here sees who that is. A piece of code that needs
/// more than half of that window is a glance at it. It needs 332 entries: where a core has no more than that (Intel
/// before Ice Lake, AMD before Zen 5, by what is published), it hardly tells company from none.
class CoreWatch {
 public:
  /// On a core of one's own a glance takes up to 1.15 times the least, as the clock's rate changes; on a shared one 1.6
  /// to 2.2 times (Intel Xeon of the Sapphire Rapids kind, 140,000 glances, hardly one between).
  static constexpr double kAlone = 1.25;

  /// `known`: what a glance takes on a core of one's own, from an earlier run on this machine; zero: looks on for
  /// `learn`, which must be long enough to see the core without company.
  CoreWatch(Rank& rank, Seconds known, Seconds learn);

  /// What a glance takes now, by the quickest one so far: up to kAlone where nobody else is on the core. Takes two to
  /// four microseconds. 1 on a clock that the CPU's work does not move, as a simulated one.
  double look();
  /// What a glance takes on a core of one's own, as far as is known.
  [[nodiscard]] Seconds quickest() const { return quickest_; }

 private:
  Seconds glance();

  Rank& rank_;
  Seconds quickest_;
};

}  // namespace twinlink::bench
