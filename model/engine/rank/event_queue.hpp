// EventQueue: what happens to one rank by itself, at its time and outside of the rank's code: the end of a latency, a
// control message that arrives, a core that is through with its work. The rank's own event queue.
//
//   event_queue.add(now() + 8.58_us, operation);    // Operation::happen() is called then
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/engine/flows/clock.hpp"

namespace twinlink::model {

/// What can stand in an event queue: an operation whose latency runs, control messages that are on their way.
class QueuedEvent {
 public:
  QueuedEvent() = default;
  virtual ~QueuedEvent() = default;
  QueuedEvent(const QueuedEvent&) = delete;
  QueuedEvent& operator=(const QueuedEvent&) = delete;

  virtual void happen() = 0;
};

/// Each event comes once for each time that it was added, in the order of times, and those of one time in the order
/// in which they were added.
class EventQueue {
 public:
  /// `clock` outlives it.
  explicit EventQueue(Clock& clock) : clock_(clock), timer_(clock, [this] { act(); }) {}
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  /// `what` happens at `when`, or, if that is past, in the next run(). It lives at least until then.
  void add(Seconds when, std::shared_ptr<QueuedEvent> what);
  /// All that is due by now happens, and what it adds for now. Also comes by itself, at each time that was asked for.
  void run();
  /// Nothing happens any more.
  void close();
  [[nodiscard]] bool is_past(Seconds when) const { return reached(when, clock_.now()); }

 private:
  struct Entry {
    Seconds when{};
    std::uint64_t number = 0;
    std::shared_ptr<QueuedEvent> what;
  };
  [[nodiscard]] static bool later(const Entry& a, const Entry& b);
  void act();

  Clock& clock_;
  std::vector<Entry> entries_;  ///< a heap, whose top is the next one
  std::uint64_t added_ = 0;
  Timer timer_;  ///< set to the next one
  bool closed_ = false;
};

}  // namespace twinlink::model
