// What a block does of a program. Messages are exchanged here, too.
#pragma once

#include "protocols/gpu/experts.hpp"
#include "protocols/gpu/puts.hpp"
#include "protocols/gpu/rings.hpp"
#include "protocols/gpu/trees.hpp"

namespace twinlink::gpu {

/// Does this block do what blocks of `role` do?
template <class Block>
TWINLINK_GPU_ONLY bool does(const Block& block, const Program& p, std::int32_t role) {
  return !has_roles(p) || block.role() == role;
}

/// A message each way over link 0.
template <class Block>
TWINLINK_GPU_ONLY bool exchange(Block& block, const Program& p) {
  Pipe<Block> pipe(block, p.format, 0, 0);
  const Share out = channel_of(p, p.bytes, block.channel());
  for (std::uint64_t at = 0; does(block, p, kSends) && at < out.length; at += p.slot) {
    if (!pipe.send(piece(out, at, p.slot))) return false;
  }
  const Share in = channel_of(p, p.received, block.channel());
  for (std::uint64_t at = 0; does(block, p, kReceives) && at < in.length; at += p.slot) {
    if (!pipe.recv(piece(in, at, p.slot))) return false;
  }
  return true;
}

/// Rank 0 begins. What comes goes to the output, and what goes is the input: so both ends see whether it is right.
template <class Block>
TWINLINK_GPU_ONLY bool echo(Block& block, const Program& p) {
  Pipe<Block> pipe(block, p.format, 0, 0);
  const Share all{0, p.bytes};
  const bool begins = p.rank == 0;
  for (std::uint64_t k = 0; k < p.echoes; ++k) {
    if (begins && !pipe.send(all)) return false;
    if (!pipe.recv(all)) return false;
    if (!begins && !pipe.send(all)) return false;
  }
  return true;
}

/// To the rank k places behind this one, and from the one k places before it, for one k after the other. Link k - 1
/// leads k places on.
template <class Block>
TWINLINK_GPU_ONLY bool all_to_all(Block& block, const Program& p) {
  const Share mine = channel_of(p, block_of(p), block.channel());
  const auto at_rank = [&](std::int32_t rank) { return number(rank % p.ranks) * block_of(p); };
  const bool sends = does(block, p, kSends);
  const std::uint64_t own = at_rank(p.rank) + mine.begin;
  if (sends && !copy_own(block, own, own, mine.length)) return false;
  for (std::int32_t k = 1; k < p.ranks; ++k) {
    Pipe<Block> pipe(block, p.format, p.ranks - k - 1, k - 1);
    const std::uint64_t there = at_rank(sends ? p.rank + k : p.rank + p.ranks - k);
    for (std::uint64_t at = 0; at < mine.length; at += p.slot) {
      const Share what = piece(mine, at, p.slot);
      const Share placed{there + what.begin, what.length};
      if (!(sends ? pipe.send(placed) : pipe.recv(placed))) return false;
    }
  }
  return true;
}

/// All but trees and what is stored where it is to lie. False: the host has given it up.
template <class Block>
TWINLINK_GPU_ONLY bool run_in_rings(Block& block, const Program& p) {
  switch (p.operation) {
    case Operation::clear:
      block.clear(0);
      return true;
    case Operation::exchange:
      return exchange(block, p);
    case Operation::echo:
      return echo(block, p);
    case Operation::all_reduce:
      return ring_all_reduce(block, p);
    case Operation::all_gather:
      return ring_all_gather(block, p);
    case Operation::reduce_scatter:
      return ring_reduce_scatter(block, p);
    case Operation::broadcast:
      return ring_broadcast(block, p);
    case Operation::reduce:
      return ring_reduce(block, p);
    case Operation::all_to_all:
      return all_to_all(block, p);
    case Operation::put:
    case Operation::dispatch:
    case Operation::combine:
      return true;
  }
  return true;
}

/// Messages into a peer's memory, and blocks to experts.
template <class Block>
TWINLINK_GPU_ONLY bool run_puts(Block& block, const Program& p) {
  return p.operation == Operation::put ? put_messages(block, p) : exchange_with_experts(block, p);
}
/// Is it one of these?
TWINLINK_GPU constexpr bool is_put(const Program& p) { return p.operation == Operation::put || has_experts(p); }

template <class Block>
TWINLINK_GPU_ONLY bool run(Block& block, const Program& p) {
  if (is_put(p)) return run_puts(block, p);
  return is_tree(p) ? tree_all_reduce(block, p) : run_in_rings(block, p);
}

}  // namespace twinlink::gpu
