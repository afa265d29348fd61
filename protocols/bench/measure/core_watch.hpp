// CoreWatch: has this rank a processor core for itself?
#pragma once

#include <limits>

#include "protocols/core/rank.hpp"

namespace twinlink::bench {

/// Two hardware threads of a core share what it has, and as soon as the second one is awake, each has half of the
/// window in which the core reorders instructions, whatever the other does there: a driver's calls and a protocol's own
/// code take up to 1.7 times as long. On a virtual machine nobody here sees who that is. A piece of code that needs
/// more than half of that window is a glance at it. It needs 332 entries: where a core has no more than that (Intel
/// before Ice Lake, AMD before Zen 5, by what is published), it hardly tells company from none.
///
/// What it takes is counted in times of a chain of dependent instructions beside it. The chain takes as many cycles in
/// company as alone, so that the clock's rate is in neither: on a busy host that rate falls by a third, comes back
/// within minutes, and would look like company or hide it.
class CoreWatch {
 public:
  /// On a core of one's own a glance takes 0.99 to 1.01 times what it always takes there, on a shared one 1.8 to 2.0
  /// times (Intel Xeon, Emerald Rapids), with hardly one between.
  static constexpr double kAlone = 1.25;

  /// `known`: what a glance takes on a core of one's own, in times of its chain, from an earlier run of this
  /// build on CPUs of this kind; zero: looks on for `learn`, which must be long enough to see the core without company.
  CoreWatch(Rank& rank, double known, Seconds learn);

  /// What a glance takes now, by the quickest so far: up to kAlone where nobody else is on the core. Takes two and
  /// a half to six microseconds. 1 on a clock that the CPU's work does not move, as a simulated one.
  double look();
  /// What a glance takes on a core of one's own, in times of its chain, as far as is known; zero where the clock tells
  /// nothing.
  [[nodiscard]] double quickest() const;

 private:
  double glance();
  void remember(double times);

  Rank& rank_;
  double quickest_ = kNever;
  double last_ = kNever;  ///< what the look before this one found

  static constexpr double kNever = std::numeric_limits<double>::infinity();
};

}  // namespace twinlink::bench
