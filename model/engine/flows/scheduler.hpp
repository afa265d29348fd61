// Scheduler: the code of all ranks, which takes turns on one processor; and alarms, on which a rank sleeps.
//
// A rank's code runs until it waits. Then it pauses, and EventLoop lets the next one run, or time pass:
//
//   add()                 by simulate(), once for each rank: its code
//   run_ready()           by EventLoop: all that are awake run until they wait
//   Alarm::wait_until()   by Cpu, in the rank's code: asleep until ring(), or the deadline
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "model/engine/flows/clock.hpp"
#include "protocols/fibers/fiber.hpp"

namespace twinlink::model {

/// Thrown where a rank's code waits once the simulation is given up. No std::exception, so that nobody takes it for an
/// error of his own.
struct GivenUp {};

/// Fibers on one slab of stacks. A mapping of its own for each, with a guard page, would end at half of Linux's limit
/// of 65,530 mappings.
class Scheduler {
 public:
  Scheduler() = default;
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Code that run_ready() will begin. Before the first of them runs. What it throws passes on to `failed`, but for
  /// GivenUp.
  void add(std::function<void()> body);
  void on_failure(std::function<void()> failed) { failed_ = std::move(failed); }

  /// From outside: all that have been woken run until they pause. Returns whether anybody had been woken.
  bool run_ready();
  /// From outside: waits of all throw GivenUp, until everybody has ended.
  void give_up();
  [[nodiscard]] bool all_ended() const { return ended_ == tasks_.size(); }

  struct Task {
    std::function<void()> body;
    Scheduler* scheduler = nullptr;
    std::optional<Fiber> fiber{};
    bool woken = true;  ///< it is among those that are ready
  };
  /// Who runs now; null outside.
  [[nodiscard]] Task* running() { return running_; }
  /// Whoever runs sleeps until somebody wakes it.
  void pause();
  void wake(Task& task);

 private:
  void make_stacks();
  void run(Task& task);

  std::deque<Task> tasks_;
  std::vector<Task*> ready_;
  std::vector<Task*> running_now_;
  Task* running_ = nullptr;
  std::size_t ended_ = 0;
  bool given_up_ = false;
  std::function<void()> failed_;
  std::byte* slab_ = nullptr;
  std::size_t slab_size_ = 0;
};

/// Where one rank sleeps.
class Alarm {
 public:
  Alarm(Clock& clock, Scheduler& scheduler)
      : scheduler_(scheduler), sleep_timer_(clock, [this] { wake_up(); }), deadline_(clock, [this] { wake_up(); }) {}

  /// Who calls it sleeps until `wake`.
  void sleep_until(Seconds wake);
  /// Who calls it sleeps until the alarm is rung, or until `deadline` if that is earlier.
  void wait_until(Seconds deadline);
  /// Wakes whoever is in wait_until(), else does nothing: who is awake looks at what has changed before it waits.
  void ring();

 private:
  void block(Timer& timer);
  void wake_up();

  Scheduler& scheduler_;
  Timer sleep_timer_;
  Timer deadline_;  ///< apart, for it often stays the same from one wait to the next
  Scheduler::Task* asleep_ = nullptr;
  bool listens_ = false;  ///< while asleep
};

}  // namespace twinlink::model
