// Alarm: how one rank sleeps and others wake it.
#pragma once

#include <limits>

#include <simgrid/s4u.hpp>

#include "protocols/units.hpp"

namespace simgrid::kernel::timer {
class Timer;
}

namespace twinlink::model {

inline constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

/// Belongs to one actor. What is rung while it is awake is lost: the actor looks at what has changed before it sleeps.
class Alarm {
 public:
  Alarm() = default;
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  /// The actor sleeps until `wake`, or until it is rung if that is earlier. May wake too early.
  void sleep_until(Seconds wake);
  /// The actor shall wake at `when`, or now if that is past. Called by any actor, and does not let others run.
  void ring_at(Seconds when);
  /// The actor shall wake now. Called by SimGrid, not by an actor.
  void ring();

 private:
  void set_timer(Seconds when);
  void remove_timer();

  simgrid::s4u::SemaphorePtr semaphore_ = simgrid::s4u::Semaphore::create(0);
  simgrid::kernel::timer::Timer* timer_ = nullptr;  ///< SimGrid's; none while awake
  Seconds wake_ = kNever;                           ///< when the timer rings
  bool asleep_ = false;
};

}  // namespace twinlink::model
