#include "model/engine/rank/event_queue.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace twinlink::model {

bool EventQueue::later(const Entry& a, const Entry& b) {
  return std::tie(a.when, a.number) > std::tie(b.when, b.number);
}

void EventQueue::add(Seconds when, std::shared_ptr<QueuedEvent> what) {
  when = on_grain(when);
  entries_.push_back({.when = when, .number = added_++, .what = std::move(what)});
  std::ranges::push_heap(entries_, later);
  if (when < timer_.when()) timer_.set(when);
}

void EventQueue::run() {
  while (!entries_.empty() && reached(entries_.front().when, clock_.now())) {
    std::ranges::pop_heap(entries_, later);
    const std::shared_ptr<QueuedEvent> what = std::move(entries_.back().what);
    entries_.pop_back();
    what->happen();
  }
}

void EventQueue::act() {
  if (closed_) return;
  run();
  if (!entries_.empty()) timer_.set(entries_.front().when);
}

void EventQueue::close() {
  closed_ = true;
  timer_.clear();
}

}  // namespace twinlink::model
