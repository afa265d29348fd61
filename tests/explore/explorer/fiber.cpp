#include "tests/explore/explorer/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>

#include <array>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <new>

#if defined(__x86_64__) && !defined(TWINLINK_FIBER_UCONTEXT)
#define TWINLINK_FIBER_ASSEMBLER
#else
#include <ucontext.h>
#endif

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
#endif

#ifdef TWINLINK_FIBER_ASSEMBLER
// Saves what a call preserves on this stack, notes its pointer, and goes on where the other stack was left.
// Swapcontext() would ask the kernel for the signal mask each time.
extern "C" void twinlink_switch_stack(void** save, void* load);
asm(R"(
  .text
  .globl twinlink_switch_stack
  .type twinlink_switch_stack, @function
  .p2align 4
twinlink_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size twinlink_switch_stack, .-twinlink_switch_stack
)");
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

Fiber* starting = nullptr;

/// The runtime's books about exceptions in flight belong to a thread of control, so they are switched with it.
class ExceptionBooks {
 public:
  ExceptionBooks() { std::memcpy(books_.data(), abi::__cxa_get_globals(), sizeof books_); }
  void put_back() const { std::memcpy(abi::__cxa_get_globals(), books_.data(), sizeof books_); }

 private:
  std::array<std::uint64_t, 2> books_{};
};

#ifdef TWINLINK_FIBER_ASAN
void* main_fake_stack = nullptr;
const void* main_bottom = nullptr;
std::size_t main_size = 0;
#endif

}  // namespace

Fiber::Fiber(std::function<void()> body, bool own_heap) : body_(std::move(body)), own_heap_(own_heap) {
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
#endif
  std::memset(stack_ + kStack - kScrubbed, 0, kScrubbed);
  heap_.clear();
  ended_ = false;
  fresh_ = true;
}

/// Where every fiber begins. It never returns: there is nothing below it.
void Fiber::entry() {
  Fiber& self = *starting;
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
  const ExceptionBooks mine;
  const ActiveArena active(heap());
  running_ = true;
#ifdef TWINLINK_FIBER_ASAN
  __sanitizer_start_switch_fiber(&main_fake_stack, stack_, kStack);
#endif
#ifdef TWINLINK_FIBER_ASSEMBLER
  if (fresh_) {
    // As if entry() had been called from address 0, and had been switched away from before its first instruction.
    auto* frame = reinterpret_cast<std::uintptr_t*>(stack_ + kStack) - 8;
    std::memset(frame, 0, 8 * sizeof *frame);
    frame[6] = reinterpret_cast<std::uintptr_t>(&Fiber::entry);
    stack_pointer_ = reinterpret_cast<std::byte*>(frame);
    starting = this;
    fresh_ = false;
    std::memset(static_cast<void*>(abi::__cxa_get_globals()), 0, sizeof(ExceptionBooks));
  }
  twinlink_switch_stack(&resumer_, stack_pointer_);
#else
  ucontext_t here;
  resumer_ = &here;
  if (fresh_) {
    ucontext_t first;
    getcontext(&first);
    first.uc_stack.ss_sp = stack_;
    first.uc_stack.ss_size = kStack;
    first.uc_link = nullptr;
    makecontext(&first, &Fiber::entry, 0);
    starting = this;
    fresh_ = false;
    std::memset(static_cast<void*>(abi::__cxa_get_globals()), 0, sizeof(ExceptionBooks));
    swapcontext(&here, &first);
  } else {
    swapcontext(&here, reinterpret_cast<ucontext_t*>(stack_pointer_));
  }
#endif
#ifdef TWINLINK_FIBER_ASAN
  __sanitizer_finish_switch_fiber(main_fake_stack, nullptr, nullptr);
#endif
  running_ = false;
  mine.put_back();
}

void Fiber::suspend() {
  assert(running_);
  const ExceptionBooks mine;
#ifdef TWINLINK_FIBER_ASAN
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(ended_ ? nullptr : &fake_stack, main_bottom, main_size);
#endif
#ifdef TWINLINK_FIBER_ASSEMBLER
  twinlink_switch_stack(reinterpret_cast<void**>(&stack_pointer_), resumer_);
#else
  ucontext_t here;
  std::memset(&here, 0, sizeof here);
  stack_pointer_ = reinterpret_cast<std::byte*>(&here);
  swapcontext(&here, static_cast<ucontext_t*>(resumer_));
#endif
#ifdef TWINLINK_FIBER_ASAN
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
  mine.put_back();
}

std::span<const std::byte> Fiber::live_stack() const {
  return {stack_pointer_, static_cast<std::size_t>(stack_ + kStack - stack_pointer_)};
}

void Fiber::save(FiberImage& into) const {
  assert(!running_ && !fresh_ && own_heap_);
  into.ended = ended_;
  if (ended_) return;
  const auto stack = live_stack();
  const auto heap = heap_.used();
  into.stack_pointer = stack_pointer_;
  into.stack.assign(stack.begin(), stack.end());
  into.heap.assign(heap.begin(), heap.end());
}

void Fiber::restore(const FiberImage& image) {
  assert(!running_ && kFibersCanGoBack);
  ended_ = image.ended;
  fresh_ = false;
  if (ended_) {
    heap_.clear();
    return;
  }
  stack_pointer_ = image.stack_pointer;
  std::memcpy(stack_pointer_, image.stack.data(), image.stack.size());
  heap_.restore(image.heap);
}

#ifdef TWINLINK_FIBER_ASAN
namespace {

/// Reads what the sanitizer has fenced off between the variables of a stack, too.
__attribute__((no_sanitize("address"))) std::vector<std::byte> read_all(std::span<const std::byte> bytes) {
  std::vector<std::byte> copy(bytes.size());
  const volatile std::byte* from = bytes.data();
  std::byte* to = copy.data();
  for (std::size_t i = 0; i < bytes.size(); ++i) to[i] = from[i];
  return copy;
}

}  // namespace
#else
namespace {

std::span<const std::byte> read_all(std::span<const std::byte> bytes) { return bytes; }

}  // namespace
#endif

void Fiber::hash(Hash& hash) const {
  if (ended_) return hash.add(1);
  hash.add(reinterpret_cast<std::uintptr_t>(stack_pointer_));
  hash.add(read_all(live_stack()));
  hash.add(heap_.used());
}

[[gnu::noinline]] void scrub_stack() {
  std::array<std::byte, 2048> below;
  std::memset(below.data(), 0, below.size());
  asm volatile("" : : "r"(below.data()) : "memory");
}

}  // namespace twinlink::explore
