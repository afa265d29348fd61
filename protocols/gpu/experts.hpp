// Tokens to the experts of all ranks, and back: an all-to-all of blocks of any lengths, as DeepEP's low-latency kernels
// do it. Each rank has a slot for every rank and each of its experts, and a line in it that says how many bytes came.
//
//   a block that sends, for each of its experts    a block that receives
//   and each rank, the next one first
//   1. await credit: what lay there is taken       1. await slot
//   2. tell: how many bytes                        2. told: how many bytes
//   3. move: into the slot                         3. move: to where they belong
//   4. fence, signal                               4. give credit
//
// A channel has the experts whose numbers leave it as a remainder, of every rank alike. With twice as many slots in
// turn as it has of these, nobody ever waits for credit: who sends a second time has heard from all that they have
// begun the first one, and a third time that they have ended it.
//
// A Block has, besides what primitives.hpp names,
//   std::uint64_t listed(index)      a number of the launch's list (Work::numbers)
//   void tell(link, step, bytes)     into the slot's line; seen with the slot
//   std::uint64_t told(link, step)   of a slot that is filled
#pragma once

#include "protocols/gpu/primitives.hpp"

namespace twinlink::gpu {

/// What the list says of the expert of the rank so many places away.
enum class Listed : std::int32_t { bytes, from, to };
TWINLINK_GPU constexpr std::int32_t index_of(const Program& p, Listed what, std::int32_t places, std::int32_t expert) {
  return (static_cast<std::int32_t>(what) * p.ranks + places) * p.experts + expert;
}
/// How long the list is.
TWINLINK_GPU constexpr std::uint64_t numbers_of(const Program& p) { return 3 * number(p.ranks) * number(p.experts); }

template <class Block>
TWINLINK_GPU_INLINE bool send_to_expert(Block& block, const Program& p, std::int32_t places, std::int32_t expert,
                                        std::uint64_t turn) {
  const std::int32_t link = places - 1;
  const std::uint64_t step = block.sent(link) + turn;
  Move move;
  move.bytes = block.listed(index_of(p, Listed::bytes, places, expert));
  move.in = Region::input;
  move.in_at = block.listed(index_of(p, Listed::from, places, expert));
  move.into = link;
  move.into_step = step;
  bool good = block.await_credit(link, step);
  if (good) block.tell(link, step, move.bytes);
  good = good && block.move(move);
  if (!block.barrier(good)) return false;
  block.fence();
  block.signal(link, step + 1);
  return true;
}

/// To `at` of the output, which goes on to its end.
template <class Block>
TWINLINK_GPU_INLINE bool receive_for_expert(Block& block, const Program& p, std::int32_t places, std::uint64_t turn,
                                            std::uint64_t& at) {
  const std::int32_t link = p.ranks - places - 1;
  const std::uint64_t step = block.received(link) + turn;
  bool good = block.await_slot(link, step);
  Move move;
  // Whatever a peer says, nothing is read beyond the slot, or written beyond the output.
  move.bytes = good ? least(least(block.told(link, step), p.slot), p.received - at) : 0;
  move.from = link;
  move.from_step = step;
  move.out = Region::output;
  move.out_at = at;
  good = good && block.move(move);
  if (!block.barrier(good)) return false;
  block.give_credit(link, step + 1);
  at += move.bytes;
  return true;
}

/// A dispatch leaves what has come for an expert without gaps, the own block first; a combine each block in its place.
template <class Block>
TWINLINK_GPU_INLINE bool exchange_with_experts(Block& block, const Program& p) {
  const bool sends = block.role() == kSends;
  const bool packs = p.operation == Operation::dispatch;
  std::uint64_t turn = 0;
  for (std::int32_t expert = block.channel(); expert < p.experts; expert += p.channels, ++turn) {
    std::uint64_t at = block.listed(index_of(p, Listed::to, 0, expert));
    if (!sends) {
      const std::uint64_t own = block.listed(index_of(p, Listed::bytes, 0, expert));
      if (!copy_own(block, block.listed(index_of(p, Listed::from, 0, expert)), at, own)) return false;
      at += own;
    }
    for (std::int32_t places = 1; places < p.ranks; ++places) {
      if (sends) {
        if (!send_to_expert(block, p, places, expert, turn)) return false;
        continue;
      }
      if (!packs) at = block.listed(index_of(p, Listed::to, places, expert));
      if (!receive_for_expert(block, p, places, turn, at)) return false;
    }
  }
  return true;
}

}  // namespace twinlink::gpu
