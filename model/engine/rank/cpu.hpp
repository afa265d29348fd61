// Cpu: the processor of one rank. It runs the rank's code, and copies messages through shared memory beside it.
#pragma once

#include <functional>

#include "model/engine/flows/event_loop.hpp"
#include "model/engine/flows/machine.hpp"
#include "model/engine/flows/scheduler.hpp"
#include "protocols/core/rank.hpp"

namespace twinlink::model {

/// While the rank's code is busy, the messages that this CPU copies rest; adapters and copy engines go on. What it does
/// twice at a time counts once.
class Cpu {
 public:
  /// `machine` and `loop` outlive it.
  Cpu(Machine& machine, EventLoop& loop, RankId rank)
      : machine_(machine), loop_(loop), rank_(rank), alarm_(loop.clock(), loop.scheduler()) {}
  Cpu(const Cpu&) = delete;
  Cpu& operator=(const Cpu&) = delete;

  // Called by the rank's code.

  /// The code is busy for `duration`: it sleeps that long, and nothing wakes it earlier. Where the simulation is given
  /// up it returns at once.
  void be_busy(Seconds duration);
  /// The code is busy as long as `wait`, which sleeps: for a copy that occupies the CPU until it has ended.
  void be_busy_during(const std::function<void()>& wait);
  /// The code sleeps until ring(), or until `deadline` if that is earlier.
  void sleep(Seconds deadline) { alarm_.wait_until(deadline); }

  /// Something has changed for the rank's code: it wakes up, if it is in sleep().
  void ring() { alarm_.ring(); }
  /// It copies one message more, or one less.
  void begin_work();
  void end_work();
  /// For how long it has been busy so far.
  [[nodiscard]] Seconds worked() const;

 private:
  Machine& machine_;
  EventLoop& loop_;
  RankId rank_;
  Alarm alarm_;
  int works_ = 0;          ///< what it has to do now
  Seconds works_since_{};  ///< when it began to have something
  Seconds worked_{};       ///< before that
};

}  // namespace twinlink::model
