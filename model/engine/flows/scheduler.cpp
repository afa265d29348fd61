#include "model/engine/flows/scheduler.hpp"

#include <sys/mman.h>

#include <cassert>
#include <new>
#include <span>
#include <utility>

namespace twinlink::model {
namespace {

// The stack of a rank: twice what protocols put on it. Pages that nobody touches take no memory.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kStack = std::size_t{1} << 20U;
#else
constexpr std::size_t kStack = std::size_t{256} << 10U;
#endif
constexpr std::size_t kPage = 4096;
constexpr std::size_t kCacheLine = 64;
// Stacks that begin at the same place of a page, or of a cache's rows, push each other out of the caches.
constexpr std::size_t kDistance = kStack + kPage;
constexpr std::size_t kStagger = 13 * kCacheLine;
/// Each guard page splits a mapping in two. Jobs of more ranks run the same code.
constexpr std::size_t kMostGuards = 8192;

}  // namespace

Scheduler::~Scheduler() {
  tasks_.clear();
  if (slab_ != nullptr) munmap(slab_, slab_size_);
}

void Scheduler::add(std::function<void()> body) {
  assert(slab_ == nullptr);
  Task& task = tasks_.emplace_back();
  task.body = std::move(body);
  task.scheduler = this;
  ready_.push_back(&task);
}

void Scheduler::make_stacks() {
  slab_size_ = tasks_.size() * kDistance;
  void* slab = mmap(nullptr, slab_size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (slab == MAP_FAILED) throw std::bad_alloc();
  slab_ = static_cast<std::byte*>(slab);
  std::byte* stack = slab_;
  std::size_t number = 0;
  for (Task& task : tasks_) {
    const bool guarded = tasks_.size() <= kMostGuards;
    if (guarded && mprotect(stack, kPage, PROT_NONE) != 0) throw std::bad_alloc();
    const std::size_t guard = guarded ? kPage : 0;
    const std::size_t lower = number++ * kStagger % kPage;
    task.fiber.emplace(std::span(stack + guard, kDistance - guard - lower));
    stack += kDistance;
  }
}

void Scheduler::run(Task& task) {
  const auto body = [](void* argument) {
    const Task& self = *static_cast<Task*>(argument);
    try {
      self.body();
    } catch (const GivenUp&) {
      // As it was told.
    } catch (...) {
      self.scheduler->failed_();
    }
    ++self.scheduler->ended_;
  };
  task.woken = false;
  running_ = &task;
  if (task.fiber->ended()) task.fiber->begin(body, &task);
  task.fiber->go_on();
  running_ = nullptr;
}

bool Scheduler::run_ready() {
  if (ready_.empty()) return false;
  if (slab_ == nullptr) make_stacks();
  running_now_.swap(ready_);
  for (Task* task : running_now_) run(*task);
  running_now_.clear();
  return true;
}

void Scheduler::give_up() {
  given_up_ = true;
  ready_.clear();
  for (Task& task : tasks_) {
    while (task.fiber && !task.fiber->ended()) run(task);
  }
  ended_ = tasks_.size();
}

void Scheduler::pause() {
  assert(running_ != nullptr);
  if (given_up_) throw GivenUp{};
  running_->fiber->pause();
  if (given_up_) throw GivenUp{};
}

void Scheduler::wake(Task& task) {
  if (!std::exchange(task.woken, true)) ready_.push_back(&task);
}

void Alarm::sleep_until(Seconds wake) {
  sleep_timer_.set(wake);
  block(sleep_timer_);
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
  // Once only: a second one would cut the next sleep short.
  if (asleep_ == nullptr) return;
  listens_ = false;
  scheduler_.wake(*std::exchange(asleep_, nullptr));
}

void Alarm::block(Timer& timer) {
  // The wait may end by an exception.
  struct Awake {
    Alarm& alarm;
    Timer& timer;
    ~Awake() {
      alarm.asleep_ = nullptr;
      alarm.listens_ = false;
      timer.clear();
    }
  } const awake{*this, timer};
  asleep_ = scheduler_.running();
  scheduler_.pause();
}

}  // namespace twinlink::model
