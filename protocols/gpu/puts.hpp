// Puts with a signal: blocks store a message straight into the peer's memory, where it is to lie, and raise a signal
// behind it; the peer's blocks await that. As nvshmemx_putmem_signal_block() does.
//
//   origin, each block its share                   target, a block for each share
//   1. put: read, store there
//   2. barrier: all threads have
//   3. fence: the bytes are seen before the signal
//   4. signal                                      1. await signal
//
// Signals are counted for ever, so none must be taken back. Whether the target's memory may be overwritten these blocks
// do not ask: the ranks have agreed on that before, or the program that they are a part of has.
//
// A Block has, besides what primitives.hpp names,
//   bool put(link, at, bytes)        bytes of the input to the same place behind the link's window, or false
#pragma once

#include "protocols/gpu/primitives.hpp"

namespace twinlink::gpu {

/// A message each way over link 0.
template <class Block>
TWINLINK_GPU_INLINE bool put_messages(Block& block, const Program& p) {
  const bool both = has_roles(p);
  if (p.bytes > 0 && (!both || block.role() == kSends)) {
    const Share mine = channel_of(p, p.bytes, block.channel());
    if (!block.barrier(block.put(0, mine.begin, mine.length))) return false;
    block.fence();
    block.signal(0, block.sent(0) + 1);
  }
  if (p.received > 0 && (!both || block.role() == kReceives)) return block.await_slot(0, block.received(0));
  return true;
}

}  // namespace twinlink::gpu
