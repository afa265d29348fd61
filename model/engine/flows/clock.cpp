#include "model/engine/flows/clock.hpp"

namespace twinlink::model {

void Clock::enter(Timer& timer) {
  timer.entered_for_ = timer.when_;
  timer.entry_ = ++entered_;
  entries_.push({.when = timer.when_, .number = timer.entry_, .timer = &timer});
}

/// Takes entries off the top that nothing happens for: the timer was cleared, or set to another time.
Seconds Clock::next() {
  while (!entries_.empty()) {
    const Entry top = entries_.top();
    Timer& timer = *top.timer;
    if (timer.entry_ == top.number && timer.when_ == top.when) return top.when;
    entries_.pop();
    if (timer.entry_ != top.number) continue;
    timer.entered_for_ = kNever;
    if (timer.when_ < kNever) enter(timer);
  }
  return kNever;
}

bool Clock::act() {
  bool any = false;
  for (; next() <= now_; any = true) {
    Timer& timer = *entries_.top().timer;
    entries_.pop();
    timer.when_ = timer.entered_for_ = kNever;
    timer.action_();
  }
  return any;
}

void Timer::set(Seconds when) {
  when = on_grain(when);
  when_ = when;
  // An entry that is too early is put right when its time has come.
  if (when < entered_for_) clock_.enter(*this);
}

}  // namespace twinlink::model
