// Crew: the code of all ranks, which takes turns on one processor; and alarms, on which a rank sleeps.
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
class Crew {
 public:
  Crew() = default;
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Code that run_ready() will begin. Before the first of them runs. What it throws passes on to `failed`, but for
  /// GivenUp.
  void add(std::function<void()> body);
  void on_failure(std::function<void()> failed) { failed_ = std::move(failed); }

  /// From outside: all that have been woken run until they pause. Returns whether anybody had been woken.
  bool run_ready();
  /// From outside: waits of all throw GivenUp, until everybody has ended.
  void give_up();
  [[nodiscard]] bool all_ended() const { return ended_ == members_.size(); }

  struct Member {
    std::function<void()> body;
    Crew* crew = nullptr;
    std::optional<Fiber> fiber{};
    bool woken = true;  ///< it is among those that are ready
  };
  /// Who runs now; null outside.
  [[nodiscard]] Member* running() { return running_; }
  /// Whoever runs sleeps until somebody wakes it.
  void pause();
  void wake(Member& member);

 private:
  void make_stacks();
  void run(Member& member);

  std::deque<Member> members_;
  std::vector<Member*> ready_;
  std::vector<Member*> running_now_;
  Member* running_ = nullptr;
  std::size_t ended_ = 0;
  bool given_up_ = false;
  std::function<void()> failed_;
  std::byte* slab_ = nullptr;
  std::size_t slab_size_ = 0;
};

/// Where one rank sleeps.
class Alarm {
 public:
  Alarm(Clock& clock, Crew& crew)
      : crew_(crew), bedtime_(clock, [this] { wake_up(); }), deadline_(clock, [this] { wake_up(); }) {}

  /// Who calls it sleeps until `wake`.
  void sleep_until(Seconds wake);
  /// Who calls it sleeps until the alarm is rung, or until `deadline` if that is earlier.
  void wait_until(Seconds deadline);
  /// Wakes whoever is in wait_until(), else does nothing: who is awake looks at what has changed before it waits.
  void ring();

 private:
  void block(Timer& timer);
  void wake_up();

  Crew& crew_;
  Timer bedtime_;
  Timer deadline_;  ///< apart, for it often stays the same from one wait to the next
  Crew::Member* asleep_ = nullptr;
  bool listens_ = false;  ///< while asleep
};

}  // namespace twinlink::model
