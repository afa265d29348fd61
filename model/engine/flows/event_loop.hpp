// EventLoop: lets time pass for ranks, timers and flows.
#pragma once

#include <exception>
#include <functional>
#include <optional>

#include <simgrid/s4u.hpp>

#include "model/engine/flows/clock.hpp"
#include "model/engine/flows/max_min_flows.hpp"
#include "model/engine/flows/scheduler.hpp"
#include "model/engine/flows/simgrid_flows.hpp"

namespace simgrid::kernel::timer {
class Timer;
}

namespace twinlink::model {

/// Time passes by itself from one timer to the next. Where SimGrid has the flows, it says how far time is. All of this
/// is outside of SimGrid's actors.
class EventLoop {
 public:
  /// `engine`: SimGrid has the flows, in the one engine of this process, which must not have a platform yet. Null:
  /// there is no SimGrid.
  explicit EventLoop(simgrid::s4u::Engine* engine);
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  [[nodiscard]] Clock& clock() { return clock_; }
  [[nodiscard]] Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] FlowNetwork& network() { return simgrid_ ? static_cast<FlowNetwork&>(*simgrid_) : own_; }

  /// Until all tasks of the scheduler have ended. The first exception of anybody, or that abort() was called with, ends
  /// all and is rethrown. An Error where all wait for each other for ever.
  void run();
  /// Ends all because of the exception that is being handled, as soon as whoever runs now pauses or returns.
  void abort();
  [[nodiscard]] bool aborting() const { return failure_ != nullptr; }

 private:
  void proceed();
  bool pass();
  void arm(Seconds when);

  void run_in_simgrid();

  simgrid::s4u::Engine* engine_;
  Clock clock_;
  Scheduler scheduler_;
  simgrid::s4u::Host* home_ = nullptr;  ///< SimGrid's
  MaxMinFlows own_;
  std::optional<SimGridFlows> simgrid_{};  ///< instead of `own_`
  std::exception_ptr failure_{};
  Seconds armed_ = kNever;                          ///< when SimGrid's timer is due
  simgrid::kernel::timer::Timer* timer_ = nullptr;  ///< SimGrid's, which deletes it
  simgrid::s4u::SemaphorePtr end_{};
  bool ended_ = false;
};

}  // namespace twinlink::model
