#include "model/engine/clock.hpp"

#include <algorithm>

#include "model/engine/simgrid_versions.hpp"

namespace twinlink::model {
namespace s4u = simgrid::s4u;

// ---- clock ----------------------------------------------------------------------------------------------------------

Clock::~Clock() {
  if (timer_ != nullptr) timer_->remove();
}

Seconds Clock::now() const { return Seconds{s4u::Engine::get_clock()}; }

void Clock::enter(Timer& timer) {
  timer.entered_for_ = timer.when_;
  timer.entry_ = ++entered_;
  entries_.push({.when = timer.when_, .number = timer.entry_, .timer = &timer});
  if (!acting_ && timer.when_ < next_) arm();
}

/// Takes entries off the top that nothing happens for: the timer was cleared, or set to another time.
void Clock::tidy() {
  while (!entries_.empty()) {
    const Entry top = entries_.top();
    Timer& timer = *top.timer;
    if (timer.entry_ == top.number && timer.when_ == top.when) return;
    entries_.pop();
    if (timer.entry_ != top.number) continue;
    timer.entered_for_ = kNever;
    if (timer.when_ < kNever) enter(timer);
  }
}

/// Tells SimGrid when there is something to do.
void Clock::arm() {
  if (timer_ != nullptr) timer_->remove();
  timer_ = nullptr;
  next_ = entries_.empty() ? kNever : entries_.top().when;
  if (next_ == kNever) return;
  timer_ = versions::add_timer(std::max(next_, now()).value(), [this] { act(); });
}

/// By SimGrid.
void Clock::act() {
  timer_ = nullptr;
  acting_ = true;
  for (tidy(); !entries_.empty() && reached(entries_.top().when, now()); tidy()) {
    Timer& timer = *entries_.top().timer;
    entries_.pop();
    timer.when_ = timer.entered_for_ = kNever;
    timer.action_();
  }
  acting_ = false;
  arm();
}

// ---- timer ----------------------------------------------------------------------------------------------------------

void Timer::set(Seconds when) {
  when_ = when;
  // An entry that is too early is put right when its time has come.
  if (when < entered_for_) clock_.enter(*this);
}

// ---- alarm ----------------------------------------------------------------------------------------------------------

void Alarm::sleep_until(Seconds wake) {
  bedtime_.set(wake);
  block(bedtime_);
}

void Alarm::wait_until(Seconds deadline) {
  listens_ = true;
  deadline_.set(deadline);
  block(deadline_);
}

void Alarm::ring() {
  if (listens_) wake_up();
}

void Alarm::wake_up() {
  // Once only: a second release would cut the next sleep short.
  if (!asleep_) return;
  asleep_ = listens_ = false;
  semaphore_->release();
}

void Alarm::block(Timer& timer) {
  // The actor may be ended while it sleeps; SimGrid does that by an exception.
  struct Awake {
    Alarm& alarm;
    Timer& timer;
    ~Awake() {
      alarm.asleep_ = alarm.listens_ = false;
      timer.clear();
    }
  } const awake{*this, timer};
  asleep_ = true;
  semaphore_->acquire();
}

}  // namespace twinlink::model
