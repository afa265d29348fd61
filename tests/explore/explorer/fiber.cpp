#include "tests/explore/explorer/fiber.hpp"

#include <sys/mman.h>

#include <array>
#include <cassert>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "protocols/fibers/stack_switch.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define TWINLINK_FIBER_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TWINLINK_FIBER_ASAN
#endif
#endif
#ifdef TWINLINK_FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif

#ifdef TWINLINK_FIBER_ASAN
// Variables that the sanitizer moves from the stack to a heap of its own would be missing in hash().
extern "C" const char* __asan_default_options() { return "detect_stack_use_after_return=0"; }
#endif

namespace twinlink::explore {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kStack = std::size_t{1} << 20U;
/// Of the stack's top, zeroed at a restart: more than the bodies use.
constexpr std::size_t kScrubbed = std::size_t{32} << 10U;

#ifdef TWINLINK_FIBER_ASAN
void* main_fake_stack = nullptr;
const void* main_bottom = nullptr;
std::size_t main_size = 0;
#endif

}  // namespace

Fiber::Fiber(std::function<void()> body, bool own_heap) : body_(std::move(body)) {
  if (own_heap) heap_.emplace();
  void* map = mmap(nullptr, kPage + kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED || mprotect(map, kPage, PROT_NONE) != 0) throw std::bad_alloc();
  map_ = static_cast<std::byte*>(map);
  stack_ = map_ + kPage;
}

Fiber::~Fiber() {
#ifdef TWINLINK_FIBER_ASAN
  __asan_unpoison_memory_region(stack_, kStack);
#endif
  munmap(map_, kPage + kStack);
}

void Fiber::restart() {
  assert(!running_);
#ifdef TWINLINK_FIBER_ASAN
  __asan_unpoison_memory_region(stack_, kStack);
  // Works of a rank have their stacks on its heap.
  if (heap_) __asan_unpoison_memory_region(heap_->used().data(), heap_->used().size());
#endif
  std::memset(stack_ + kStack - kScrubbed, 0, kScrubbed);
  if (heap_) heap_->clear();
  ended_ = false;
  fresh_ = true;
}

/// Where every fiber begins. It never returns: there is nothing below it.
void Fiber::entry(void* fiber) {
  Fiber& self = *static_cast<Fiber*>(fiber);
  begin_stack();
#ifdef TWINLINK_FIBER_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &main_bottom, &main_size);
#endif
  self.body_();
  self.ended_ = true;
  self.suspend();
  std::abort();
}

void Fiber::resume() {
  assert(!running_ && !ended_);
  const ActiveArena active(heap());
  running_ = true;
#ifdef TWINLINK_FIBER_ASAN
  __lsan_disable();  // who waits for ever never frees what he has
  __sanitizer_start_switch_fiber(&main_fake_stack, stack_, kStack);
#endif
  if (fresh_) {
    stack_pointer_ = static_cast<std::byte*>(first_place({stack_, kStack}, &Fiber::entry, this));
    fresh_ = false;
  }
  switch_stack(&resumer_, stack_pointer_);
#ifdef TWINLINK_FIBER_ASAN
  __sanitizer_finish_switch_fiber(main_fake_stack, nullptr, nullptr);
  __lsan_enable();
#endif
  running_ = false;
}

void Fiber::suspend() {
  assert(running_);
#ifdef TWINLINK_FIBER_ASAN
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(ended_ ? nullptr : &fake_stack, main_bottom, main_size);
#endif
  switch_stack(reinterpret_cast<void**>(&stack_pointer_), resumer_);
#ifdef TWINLINK_FIBER_ASAN
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

std::span<const std::byte> Fiber::live_stack() const {
  return {stack_pointer_, static_cast<std::size_t>(stack_ + kStack - stack_pointer_)};
}

void Fiber::save(FiberImage& into) const {
  assert(!running_ && !fresh_ && heap_);
  into.ended = ended_;
  if (ended_) return;
  const auto stack = live_stack();
  const auto heap = heap_->used();
  into.stack_pointer = stack_pointer_;
  into.stack.assign(stack.begin(), stack.end());
  into.heap.assign(heap.begin(), heap.end());
}

void Fiber::restore(const FiberImage& image) {
  assert(!running_ && heap_ && kFibersCanGoBack);
  ended_ = image.ended;
  fresh_ = false;
  if (ended_) {
    heap_->clear();
    return;
  }
  stack_pointer_ = image.stack_pointer;
  std::memcpy(stack_pointer_, image.stack.data(), image.stack.size());
  heap_->restore(image.heap);
}

#ifdef TWINLINK_FIBER_ASAN
namespace {

/// Reads what the sanitizer has fenced off between the variables of a stack, too. Stacks and arenas are whole words.
__attribute__((no_sanitize("address", "undefined"))) std::vector<std::byte> read_all(std::span<const std::byte> bytes) {
  assert(bytes.size() % sizeof(std::uint64_t) == 0);
  std::vector<std::byte> copy(bytes.size());
  const auto* from = static_cast<const volatile std::uint64_t*>(static_cast<const volatile void*>(bytes.data()));
  auto* to = static_cast<std::uint64_t*>(static_cast<void*>(copy.data()));
  for (std::size_t i = 0; i < bytes.size() / sizeof *to; ++i) to[i] = from[i];
  return copy;
}

/// Where the resumer stands is left in the frame that went back to him. It is no part of a state: who steps to a state
/// and who replays it resume from different depths.
std::vector<std::byte> without(std::vector<std::byte> stack, const void* resumer) {
  for (std::size_t at = 0; at + sizeof resumer <= stack.size(); at += sizeof resumer) {
    if (std::memcmp(&stack[at], &resumer, sizeof resumer) == 0) std::memset(&stack[at], 0, sizeof resumer);
  }
  return stack;
}

}  // namespace
#else
namespace {

std::span<const std::byte> read_all(std::span<const std::byte> bytes) { return bytes; }
// Fibers that go back are not replayed.
std::span<const std::byte> without(std::span<const std::byte> stack, const void*) { return stack; }

}  // namespace
#endif

void Fiber::hash(Hash& hash) const {
  assert(heap_);
  if (ended_) return hash.add(1);
  hash.add(reinterpret_cast<std::uintptr_t>(stack_pointer_));
  hash.add(without(read_all(live_stack()), resumer_));
  hash.add(read_all(heap_->used()));
}

[[gnu::noinline]] void scrub_stack() {
  std::array<std::byte, 2048> below;
  std::memset(below.data(), 0, below.size());
  asm volatile("" : : "r"(below.data()) : "memory");
}

}  // namespace twinlink::explore
