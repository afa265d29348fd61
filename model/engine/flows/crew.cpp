#include "model/engine/flows/crew.hpp"

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

Crew::~Crew() {
  members_.clear();
  if (slab_ != nullptr) munmap(slab_, slab_size_);
}

void Crew::add(std::function<void()> body) {
  assert(slab_ == nullptr);
  Member& member = members_.emplace_back();
  member.body = std::move(body);
  member.crew = this;
  ready_.push_back(&member);
}

void Crew::make_stacks() {
  slab_size_ = members_.size() * kDistance;
  void* slab = mmap(nullptr, slab_size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (slab == MAP_FAILED) throw std::bad_alloc();
  slab_ = static_cast<std::byte*>(slab);
  std::byte* stack = slab_;
  std::size_t number = 0;
  for (Member& member : members_) {
    const bool guarded = members_.size() <= kMostGuards;
    if (guarded && mprotect(stack, kPage, PROT_NONE) != 0) throw std::bad_alloc();
    const std::size_t guard = guarded ? kPage : 0;
    const std::size_t lower = number++ * kStagger % kPage;
    member.fiber.emplace(std::span(stack + guard, kDistance - guard - lower));
    stack += kDistance;
  }
}

void Crew::run(Member& member) {
  const auto body = [](void* argument) {
    const Member& self = *static_cast<Member*>(argument);
    try {
      self.body();
    } catch (const GivenUp&) {
      // As it was told.
    } catch (...) {
      self.crew->failed_();
    }
    ++self.crew->ended_;
  };
  member.woken = false;
  running_ = &member;
  if (member.fiber->ended()) member.fiber->begin(body, &member);
  member.fiber->go_on();
  running_ = nullptr;
}

bool Crew::run_ready() {
  if (ready_.empty()) return false;
  if (slab_ == nullptr) make_stacks();
  running_now_.swap(ready_);
  for (Member* member : running_now_) run(*member);
  running_now_.clear();
  return true;
}

void Crew::give_up() {
  given_up_ = true;
  ready_.clear();
  for (Member& member : members_) {
    while (member.fiber && !member.fiber->ended()) run(member);
  }
  ended_ = members_.size();
}

void Crew::pause() {
  assert(running_ != nullptr);
  if (given_up_) throw GivenUp{};
  running_->fiber->pause();
  if (given_up_) throw GivenUp{};
}

void Crew::wake(Member& member) {
  if (!std::exchange(member.woken, true)) ready_.push_back(&member);
}

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
  // Once only: a second one would cut the next sleep short.
  if (asleep_ == nullptr) return;
  listens_ = false;
  crew_.wake(*std::exchange(asleep_, nullptr));
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
  asleep_ = crew_.running();
  crew_.pause();
}

}  // namespace twinlink::model
