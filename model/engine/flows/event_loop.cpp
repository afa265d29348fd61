#include "model/engine/flows/event_loop.hpp"

#include <algorithm>
#include <utility>

#include "model/engine/flows/simgrid_versions.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {
namespace s4u = simgrid::s4u;

EventLoop::EventLoop(s4u::Engine* engine) : engine_(engine), own_(clock_) {
  scheduler_.on_failure([this] { abort(); });
  if (engine == nullptr) return;
  s4u::NetZone& zone = *versions::add_zone(*engine, "machine");
  home_ = versions::add_home(zone);
  simgrid_.emplace(zone, *home_, clock_, [this] { arm(clock_.now()); });
  end_ = s4u::Semaphore::create(0);
}

void EventLoop::abort() {
  if (!failure_) failure_ = std::current_exception();
}

void EventLoop::run() {
  if (engine_ != nullptr) {
    run_in_simgrid();
  } else {
    try {
      static_cast<void>(pass());
    } catch (...) {
      abort();
    }
    if (failure_) scheduler_.give_up();
  }
  if (failure_) std::rethrow_exception(failure_);
}

/// SimGrid's simulation ends when no actor is left, so one waits for the end.
void EventLoop::run_in_simgrid() {
  versions::add_actor("ranks", *home_, [this] {
    versions::in_one_step([this] { arm(Seconds{}); });
    end_->acquire();
  });
  engine_->run();
}

/// By SimGrid's timer.
void EventLoop::proceed() {
  timer_ = nullptr;
  clock_.advance(std::exchange(armed_, kNever));
  if (ended_) return;
  try {
    const Seconds now = clock_.now();
    simgrid_->tell_simgrid();
    simgrid_->hear_simgrid();
    if (pass()) {
      // SimGrid's clock has stood still where it was not needed.
      if (clock_.now() == now) simgrid_->tell_simgrid();
      return arm(simgrid_->has_news_for_simgrid() ? clock_.now() : clock_.next());
    }
  } catch (...) {
    abort();
  }
  if (failure_) scheduler_.give_up();
  ended_ = true;
  end_->release();
}

/// As far as time passes without SimGrid. False: it has come to an end.
bool EventLoop::pass() {
  for (;;) {
    for (bool any = true; any && !aborting();) {
      any = clock_.act();
      any = scheduler_.run_ready() || any;
    }
    if (aborting() || scheduler_.all_ended()) return false;
    if (simgrid_ && simgrid_->any()) return true;
    own_.share();
    const Seconds next = clock_.next();
    if (next == kNever) {
      throw Error("deadlock: every rank that is left waits for another one, without a deadline");
    }
    clock_.advance(next);
  }
}

void EventLoop::arm(Seconds when) {
  if (ended_ || when >= armed_) return;
  if (timer_ != nullptr) timer_->remove();
  armed_ = when;
  timer_ = versions::add_timer(std::max(when.value(), s4u::Engine::get_clock()), [this] { proceed(); });
}

}  // namespace twinlink::model
