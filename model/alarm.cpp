#include "model/alarm.hpp"

#include <algorithm>

#include <simgrid/kernel/Timer.hpp>

namespace twinlink::model {
namespace s4u = simgrid::s4u;
using simgrid::kernel::timer::Timer;

void Alarm::sleep_until(Seconds wake) {
  /// The actor may be ended while it sleeps; SimGrid does that by an exception.
  struct Awake {
    Alarm& alarm;
    ~Awake() {
      alarm.asleep_ = false;
      alarm.remove_timer();
    }
  } const awake{*this};
  asleep_ = true;
  set_timer(wake);
  semaphore_->acquire();
}

void Alarm::ring_at(Seconds when) {
  if (!asleep_ || when >= wake_) return;
  remove_timer();
  set_timer(when);
}

void Alarm::ring() {
  // Once only: a second release would cut the next sleep short.
  if (!asleep_) return;
  asleep_ = false;
  semaphore_->release();
}

void Alarm::set_timer(Seconds when) {
  wake_ = when;
  if (when == kNever) return;
  timer_ = Timer::set(std::max(when.value(), s4u::Engine::get_clock()), [this] {
    timer_ = nullptr;  // SimGrid deletes it
    ring();
  });
}

void Alarm::remove_timer() {
  if (timer_ != nullptr) timer_->remove();
  timer_ = nullptr;
}

}  // namespace twinlink::model
