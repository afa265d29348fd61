// Switching between stacks by hand: what fibers are made of. No thread, no system call where the processor is known.
#pragma once

#include <cstddef>
#include <span>

namespace twinlink {

/// A place to go to with switch_stack(): `entry`, which must never return, is about to begin on `stack` with
/// `argument`.
void* first_place(std::span<std::byte> stack, void (*entry)(void* argument), void* argument);

/// Leaves this stack, whose place is noted in `here`, and goes on at `there`. Returns when somebody comes back. The
/// runtime's books about exceptions in flight belong to a thread of control: they are kept in between.
void switch_stack(void** here, void* there);

/// Whoever is entered for the first time calls this, for the books at hand are those of another stack.
void begin_stack();

}  // namespace twinlink
