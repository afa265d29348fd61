#include "model/engine/flows/clock.hpp"

#include <algorithm>
#include <utility>

namespace twinlink::model {

void Clock::enter(Timer& timer, Seconds when) {
  timer.entered_for_ = when;
  timer.entry_ = ++entered_;
  entries_.push({.when = when, .number = timer.entry_, .timer = &timer});
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
    if (timer.when_ < kNever) enter(timer, timer.when_);
  }
  return kNever;
}

/// What is due within the precision of time happens before any rank goes on: a sum of other times has another last
/// digit, and must not decide what a rank knows.
bool Clock::act() {
  bool any = false;
  for (; reached(next(), now_); any = true) {
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
  if (when < entered_for_) clock_.enter(*this, when);
}

void Timer::move(Seconds when) {
  when = on_grain(when);
  const bool again = std::exchange(when_, when) < kNever;
  if (when >= entered_for_) return;
  constexpr double kOften = 0.125;
  clock_.enter(*this, again ? when - std::max(when - clock_.now(), Seconds{}) * kOften : when);
}

}  // namespace twinlink::model
