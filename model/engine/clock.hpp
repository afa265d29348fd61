// How time passes for the ranks: the clock, timers that act at a time, and alarms on which ranks sleep.
//
// SimGrid runs two kinds of code: that of actors, which here is the ranks' own, and its own, which acts when a timer is
// due or a flow has ended. What happens outside of actors costs no change of context.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>

#include <simgrid/s4u.hpp>

#include "protocols/core/units.hpp"

namespace simgrid::kernel::timer {
class Timer;
}

namespace twinlink::model {

inline constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

/// Two points in time closer than this are the same: SimGrid's own precision, see simgrid_settings().
inline constexpr Seconds kTimePrecision{1e-12};
constexpr bool reached(Seconds when, Seconds now) { return when <= now + kTimePrecision; }

class Timer;

/// Simulated time, and all timers that wait for it. SimGrid itself knows only the next one.
class Clock {
 public:
  Clock() = default;
  ~Clock();
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  [[nodiscard]] Seconds now() const;

 private:
  friend class Timer;
  struct Entry {
    Seconds when{};
    std::uint64_t number = 0;  ///< entries of one time act in this order
    Timer* timer = nullptr;

    friend bool operator<(const Entry& a, const Entry& b) {  // the queue's top is its greatest
      return std::tie(a.when, a.number) > std::tie(b.when, b.number);
    }
  };
  void enter(Timer& timer);
  void act();
  void tidy();
  void arm();

  std::priority_queue<Entry> entries_;
  std::uint64_t entered_ = 0;
  bool acting_ = false;
  Seconds next_ = kNever;                           ///< when SimGrid's timer is due
  simgrid::kernel::timer::Timer* timer_ = nullptr;  ///< SimGrid's, which deletes it
};

/// Acts at a time, outside of any actor, in the order in which the timers of that time were set. Cheap to set to a
/// later time, and to clear. Lives until the simulation has ended.
class Timer {
 public:
  Timer(Clock& clock, std::function<void()> action) : clock_(clock), action_(std::move(action)) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// Acts once, at `when`, or soon if that is past; kNever: not at all. What was set before is forgotten.
  void set(Seconds when);
  void clear() { when_ = kNever; }
  /// kNever once it has acted.
  [[nodiscard]] Seconds when() const { return when_; }

 private:
  friend class Clock;
  Clock& clock_;
  std::function<void()> action_;
  Seconds when_ = kNever;
  Seconds entered_for_ = kNever;  ///< its entry in the clock; not after `when_`
  std::uint64_t entry_ = 0;       ///< the number of that entry; older ones do not count
};

/// Where one actor sleeps.
class Alarm {
 public:
  explicit Alarm(Clock& clock) : bedtime_(clock, [this] { wake_up(); }), deadline_(clock, [this] { wake_up(); }) {}

  /// The actor sleeps until `wake`.
  void sleep_until(Seconds wake);
  /// The actor sleeps until it is rung, or until `deadline` if that is earlier.
  void wait_until(Seconds deadline);
  /// Wakes the actor if it is in wait_until(), else does nothing: an actor that is awake looks at what has changed
  /// before it waits.
  void ring();

 private:
  void block(Timer& timer);
  void wake_up();

  simgrid::s4u::SemaphorePtr semaphore_ = simgrid::s4u::Semaphore::create(0);
  Timer bedtime_;
  Timer deadline_;  ///< apart, for it often stays the same from one wait to the next
  bool asleep_ = false;
  bool listens_ = false;  ///< while asleep
};

}  // namespace twinlink::model
