// Primitives: what a block does with one slot. Written once for GPUs, emulation, simulation and exploration, which each
// bring a Block. Called by the loops of rings.hpp, trees.hpp, nvls.hpp, puts.hpp and experts.hpp: one primitive for
// each slot that they pass on. Those of pat.hpp
// have several moves to a slot.
//
//   with every slot
//   1. await credit: the slot that is to be filled is free
//   2. await slot: the one that is read is filled (Simple; a line of LL and LL128 tells it by itself)
//   3. move: read, add, store, here and into the peer's slot
//   4. barrier: all threads of the block have
//   5. fence (Simple): what the block has stored is seen before what it stores now
//   6. signal (Simple): raise the peer's tail
//   7. give credit: the slot that was read is free
//
// A Block has
//   std::int32_t channel(), role()               which one it is: its number by and modulo the channels
//   ChannelPosition position()                   where its rank stands in the channel's ring and tree
//   std::int32_t rank_at(place)                  of the channel's ring
//   std::uint64_t sent(link), received(link)     slots before this launch
//   bool await_credit(link, step)                until slot number `step` may be filled
//   bool await_slot(link, step)                  until it is filled
//   bool move(const Move&)                       all of it, or false
//   bool barrier(bool good)                      of its threads: is it good for all of them? Only there they meet
//   void fence()
//   void signal(link, tail)
//   void give_credit(link, credit)
//   void clear(link)                             of the FIFO that the peer will fill
// where false says that the host has given the launch up, and everybody returns.
#pragma once

#include <cstdint>

#include "protocols/gpu/program.hpp"

namespace twinlink::gpu {

/// Which of the rank's own buffers.
enum class Region : std::uint8_t { none, input, output };

/// The bytes of a slot, or of what would be one: what comes from the slot `from`, with the bytes at `in` added, or
/// these alone; to `out`, and into the slot `into`. Of simple a slot may have several, each at its place there, which
/// is a multiple of 16 B.
struct Move {
  std::uint64_t bytes = 0;
  std::int32_t from = kNoLink;
  std::uint64_t from_step = 0;
  std::uint64_t from_at = 0;
  Region in = Region::none;
  std::uint64_t in_at = 0;
  Region out = Region::none;
  std::uint64_t out_at = 0;
  std::int32_t into = kNoLink;
  std::uint64_t into_step = 0;
  std::uint64_t into_at = 0;
};

/// Steps 1 to 7 for one slot, as far as `move` has a slot to read or to fill. False: the launch was given up.
template <class Block>
TWINLINK_GPU_ONLY bool pass(Block& block, LineFormat format, const Move& move) {
  const bool simple = format == LineFormat::simple;
  bool good = move.into == kNoLink || block.await_credit(move.into, move.into_step);
  good = good && (move.from == kNoLink || !simple || block.await_slot(move.from, move.from_step));
  good = good && block.move(move);
  if (!block.barrier(good)) return false;
  if (move.into != kNoLink && simple) {
    block.fence();
    block.signal(move.into, move.into_step + 1);
  }
  if (move.from != kNoLink) block.give_credit(move.from, move.from_step + 1);
  return true;
}

/// A block's way in and its way out: the links that it reads from and writes to, and how many slots have gone so far.
/// Its verbs have NCCL's names. `what`, `to` and `with` are places in the rank's own buffers:
///
///   send                   input -> peer's slot
///   recv                   slot -> output
///   recv_copy_send         slot -> output, and -> peer's slot
///   recv_reduce_send       slot + input -> peer's slot
///   recv_reduce_copy       slot + input -> output
///   recv_reduce_copy_send  slot + input -> output, and -> peer's slot
template <class Block>
class Pipe {
 public:
  TWINLINK_GPU_ONLY Pipe(Block& block, LineFormat format, std::int32_t in, std::int32_t out)
      : block_(block),
        format_(format),
        in_(in),
        out_(out),
        received_(in == kNoLink ? 0 : block.received(in)),
        sent_(out == kNoLink ? 0 : block.sent(out)) {}

  TWINLINK_GPU_ONLY bool send(Share what) { return go(false, true, Region::input, Region::none, what); }
  TWINLINK_GPU_ONLY bool recv(Share to) { return go(true, false, Region::none, Region::output, to); }
  TWINLINK_GPU_ONLY bool recv_copy_send(Share to) { return go(true, true, Region::none, Region::output, to); }
  TWINLINK_GPU_ONLY bool recv_reduce_send(Share with) { return go(true, true, Region::input, Region::none, with); }
  TWINLINK_GPU_ONLY bool recv_reduce_copy(Share with) { return go(true, false, Region::input, Region::output, with); }
  TWINLINK_GPU_ONLY bool recv_reduce_copy_send(Share with) {
    return go(true, true, Region::input, Region::output, with);
  }

 private:
  TWINLINK_GPU_INLINE bool go(bool receives, bool sends, Region in, Region out, Share what) {
    Move move;
    move.bytes = what.length;
    move.in = in;
    move.out = out;
    move.in_at = move.out_at = what.begin;
    if (receives) {
      move.from = in_;
      move.from_step = received_++;
    }
    if (sends) {
      move.into = out_;
      move.into_step = sent_++;
    }
    return pass(block_, format_, move);
  }

  Block& block_;
  LineFormat format_;
  std::int32_t in_;
  std::int32_t out_;
  std::uint64_t received_;
  std::uint64_t sent_;
};

/// Within the rank: from its input to its output, past all slots.
template <class Block>
TWINLINK_GPU_ONLY bool copy_own(Block& block, std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
  Move move;
  move.bytes = bytes;
  move.in = Region::input;
  move.in_at = from;
  move.out = Region::output;
  move.out_at = to;
  return pass(block, LineFormat::ll, move);  // there is no slot, and so no format
}

}  // namespace twinlink::gpu
