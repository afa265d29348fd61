#include "protocols/fibers/fiber.hpp"

#include <cassert>
#include <cstdlib>
#include <utility>

#include "protocols/fibers/stack_switch.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace twinlink {

void Fiber::begin(void (*body)(void*), void* argument) {
  assert(ended());
  forget_frames();
  body_ = body;
  argument_ = argument;
  place_ = first_place(stack_, &Fiber::enter, this);
}

// The address sanitizer wants to know of every change of stacks.
#if defined(__SANITIZE_ADDRESS__)
void Fiber::enter(void* fiber) {
  begin_stack();
  Fiber& self = *static_cast<Fiber*>(fiber);
  __sanitizer_finish_switch_fiber(nullptr, &self.outside_bottom_, &self.outside_size_);
  self.body_(self.argument_);
  self.body_ = nullptr;
  __sanitizer_start_switch_fiber(nullptr, self.outside_bottom_, self.outside_size_);
  switch_stack(&self.place_, self.outside_);
  std::abort();  // nobody resumes what has ended
}

void Fiber::go_on() {
  assert(!ended());
  __sanitizer_start_switch_fiber(&fake_outside_, stack_.data(), stack_.size());
  switch_stack(&outside_, place_);
  __sanitizer_finish_switch_fiber(fake_outside_, nullptr, nullptr);
}

void Fiber::pause() {
  __sanitizer_start_switch_fiber(&fake_stack_, outside_bottom_, outside_size_);
  switch_stack(&place_, outside_);
  __sanitizer_finish_switch_fiber(std::exchange(fake_stack_, nullptr), &outside_bottom_, &outside_size_);
}

/// The last frames of the body before never returned.
void Fiber::forget_frames() { __asan_unpoison_memory_region(stack_.data(), stack_.size()); }
#else
void Fiber::enter(void* fiber) {
  begin_stack();
  Fiber& self = *static_cast<Fiber*>(fiber);
  self.body_(self.argument_);
  self.body_ = nullptr;
  switch_stack(&self.place_, self.outside_);
  std::abort();  // nobody resumes what has ended
}

void Fiber::go_on() {
  assert(!ended());
  switch_stack(&outside_, place_);
}

void Fiber::pause() { switch_stack(&place_, outside_); }

void Fiber::forget_frames() {}
#endif

}  // namespace twinlink
