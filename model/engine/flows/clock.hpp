// How time passes for the ranks: the clock, and timers that act at a time. EventLoop alone moves the clock; who waits
// for a time has a Timer.
//
//   Timer timer(clock, [] { ... });        // what it is to do, outside of any rank's code
//   timer.set(clock.now() + 8.58_us);      // once, then; set() again moves it, clear() takes it back
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>

#include "protocols/core/units.hpp"

namespace twinlink::model {

inline constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

/// Two points in time closer than this are the same: SimGrid's own precision, see simgrid_settings().
inline constexpr Seconds kTimePrecision{1e-12};
constexpr bool reached(Seconds when, Seconds now) { return when <= now + kTimePrecision; }

/// `time`, or the next moment of a grain of a fifth of a picosecond. So what takes as long takes as long at any time of
/// a run, whatever the last digits of a sum are, and what happens in one moment has one time. Nothing changes beyond
/// 2,000 s, where a number has no such digits.
inline Seconds on_grain(Seconds time) {
  constexpr double kGrains = 1LL << 42;  // a second
  constexpr double kLast = 2000;
  if (!(time.value() < kLast)) return time;
  const double grains = time.value() * kGrains;
  const auto nearest = static_cast<double>(std::llrint(grains));
  return Seconds{(nearest < grains ? nearest + 1 : nearest) / kGrains};
}

class Timer;

/// Simulated time, and all timers that wait for it.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  [[nodiscard]] Seconds now() const { return now_; }
  /// When the next timer is due; kNever: none is set.
  [[nodiscard]] Seconds next();
  /// It is `when` now, which is not behind next(). A `when` that is past changes nothing: time does not go back.
  void advance(Seconds when) {
    if (when > now_) now_ = when;
  }
  /// The timers that are due act, and those that they set for the same time. Returns whether any was due.
  bool act();

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
  void enter(Timer& timer, Seconds when);

  std::priority_queue<Entry> entries_;
  std::uint64_t entered_ = 0;
  Seconds now_{};
};

/// Acts at a time, outside of any rank's code, in the order in which the timers of that time were set. Cheap to set to
/// a later time, and to clear. Lives until the simulation has ended.
class Timer {
 public:
  Timer(Clock& clock, std::function<void()> action) : clock_(clock), action_(std::move(action)) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// Acts once, at `when`, on the grain, or, if that is past, when timers act next; kNever: not at all. What was set
  /// before is forgotten.
  void set(Seconds when);
  /// As set(). Cheap for a time that becomes a little earlier again and again, as the end of a flow does when others
  /// leave its links: the clock keeps one entry, somewhat before, and looks then whether the time has come.
  void move(Seconds when);
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

}  // namespace twinlink::model
