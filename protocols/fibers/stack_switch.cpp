#include "protocols/fibers/stack_switch.hpp"

#include <cxxabi.h>

#include <array>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__) && !defined(TWINLINK_FIBER_UCONTEXT)
#define TWINLINK_FIBER_ASSEMBLER
#else
#include <ucontext.h>

#include <new>
#endif

#ifdef TWINLINK_FIBER_ASSEMBLER
// Saves what a call preserves on this stack, notes its pointer, and goes on where the other stack was left.
// Swapcontext() would ask the kernel for the signal mask each time.
extern "C" void twinlink_switch_stack(void** save, void* load);
// Where a stack begins: with the function and its argument in registers that a switch has loaded.
extern "C" void twinlink_enter_stack();
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
  .globl twinlink_enter_stack
  .type twinlink_enter_stack, @function
twinlink_enter_stack:
  movq %rbx, %rdi
  jmpq *%r12
  .size twinlink_enter_stack, .-twinlink_enter_stack
)");
#endif

namespace twinlink {
namespace {

using ExceptionBooks = std::array<std::uint64_t, 2>;

}  // namespace

#ifdef TWINLINK_FIBER_ASSEMBLER
void* first_place(std::span<std::byte> stack, void (*entry)(void*), void* argument) {
  // As if it had been called from address 0, and had been switched away from before its first instruction.
  constexpr std::size_t kWords = 8;
  constexpr std::size_t kR12 = 3;
  constexpr std::size_t kRbx = 4;
  constexpr std::size_t kReturn = 6;
  auto* frame = static_cast<std::uintptr_t*>(static_cast<void*>(stack.data() + stack.size())) - kWords;
  std::memset(frame, 0, kWords * sizeof *frame);
  frame[kR12] = reinterpret_cast<std::uintptr_t>(entry);
  frame[kRbx] = reinterpret_cast<std::uintptr_t>(argument);
  frame[kReturn] = reinterpret_cast<std::uintptr_t>(&twinlink_enter_stack);
  return frame;
}
#else
namespace {

/// makecontext() passes on numbers of 32 bits only.
void enter_stack(unsigned entry_high, unsigned entry_low, unsigned argument_high, unsigned argument_low) {
  const auto join = [](unsigned high, unsigned low) { return (std::uintptr_t{high} << 32U) | low; };
  reinterpret_cast<void (*)(void*)>(join(entry_high, entry_low))(
      reinterpret_cast<void*>(join(argument_high, argument_low)));
}

}  // namespace

void* first_place(std::span<std::byte> stack, void (*entry)(void*), void* argument) {
  // The place lies at the top of the stack, which begins below it.
  constexpr std::size_t kRoom = (sizeof(ucontext_t) + 63) / 64 * 64;
  auto* place = new (stack.data() + stack.size() - kRoom) ucontext_t;
  getcontext(place);
  place->uc_stack.ss_sp = stack.data();
  place->uc_stack.ss_size = stack.size() - kRoom;
  place->uc_link = nullptr;
  const auto high = [](const auto value) {
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(value) >> 32U);
  };
  const auto low = [](const auto value) { return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(value)); };
  makecontext(place, reinterpret_cast<void (*)()>(&enter_stack), 4, high(entry), low(entry), high(argument),
              low(argument));
  return place;
}
#endif

void switch_stack(void** here, void* there) {
  ExceptionBooks mine;
  std::memcpy(mine.data(), abi::__cxa_get_globals(), sizeof mine);
#ifdef TWINLINK_FIBER_ASSEMBLER
  twinlink_switch_stack(here, there);
#else
  ucontext_t place;
  std::memset(&place, 0, sizeof place);
  *here = &place;
  swapcontext(&place, static_cast<ucontext_t*>(there));
#endif
  std::memcpy(abi::__cxa_get_globals(), mine.data(), sizeof mine);
}

void begin_stack() { std::memset(static_cast<void*>(abi::__cxa_get_globals()), 0, sizeof(ExceptionBooks)); }

}  // namespace twinlink
