// What a block does of a program. Messages are exchanged here, too.
#pragma once

#include <type_traits>

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
TWINLINK_GPU_INLINE bool exchange(Block& block, const Program& p) {
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

/// Rank 0's bytes go to and fro as they do in a ring: who has them passes them on. Both ends keep them in the output,
/// and so see whether they are right.
template <class Block>
TWINLINK_GPU_INLINE bool echo(Block& block, const Program& p) {
  Pipe<Block> pipe(block, p.format, 0, 0);
  const Share all{0, p.bytes};
  const bool begins = p.rank == 0;
  if (begins && !pipe.send(all)) return false;
  for (std::uint64_t k = begins ? 1 : 0; k < p.echoes; ++k) {
    if (!pipe.recv_copy_send(all)) return false;
  }
  return !begins || pipe.recv(all);
}

/// To the rank k places behind this one, and from the one k places before it, for one k after the other. Link k - 1
/// leads k places on.
template <class Block>
TWINLINK_GPU_INLINE bool all_to_all(Block& block, const Program& p) {
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

/// A program of which operation and algorithm are known, as kernels have it. False: the host has given it up.
template <Operation What, Algorithm How, class Block>
TWINLINK_GPU_INLINE bool run_as(Block& block, const Program& p) {
  if constexpr (What == Operation::clear) block.clear(0);
  if constexpr (What == Operation::exchange) return exchange(block, p);
  if constexpr (What == Operation::echo) return echo(block, p);
  if constexpr (What == Operation::all_reduce && How == Algorithm::ring) return ring_all_reduce(block, p);
  if constexpr (What == Operation::all_reduce && How == Algorithm::tree) return tree_all_reduce(block, p);
  if constexpr (What == Operation::all_gather) return ring_all_gather(block, p);
  if constexpr (What == Operation::reduce_scatter) return ring_reduce_scatter(block, p);
  if constexpr (What == Operation::broadcast) return ring_broadcast(block, p);
  if constexpr (What == Operation::reduce) return ring_reduce(block, p);
  if constexpr (What == Operation::all_to_all) return all_to_all(block, p);
  if constexpr (What == Operation::put) return put_messages(block, p);
  if constexpr (What == Operation::dispatch || What == Operation::combine) return exchange_with_experts(block, p);
  return true;
}

/// Calls `known` with which operation and algorithm it is: known(std::integral_constant of each).
template <class Known>
auto as_known(const Program& p, Known known) {
  constexpr auto kRing = std::integral_constant<Algorithm, Algorithm::ring>{};
  switch (p.operation) {
    case Operation::clear:
      return known(std::integral_constant<Operation, Operation::clear>{}, kRing);
    case Operation::exchange:
      return known(std::integral_constant<Operation, Operation::exchange>{}, kRing);
    case Operation::echo:
      return known(std::integral_constant<Operation, Operation::echo>{}, kRing);
    case Operation::all_gather:
      return known(std::integral_constant<Operation, Operation::all_gather>{}, kRing);
    case Operation::reduce_scatter:
      return known(std::integral_constant<Operation, Operation::reduce_scatter>{}, kRing);
    case Operation::broadcast:
      return known(std::integral_constant<Operation, Operation::broadcast>{}, kRing);
    case Operation::reduce:
      return known(std::integral_constant<Operation, Operation::reduce>{}, kRing);
    case Operation::all_to_all:
      return known(std::integral_constant<Operation, Operation::all_to_all>{}, kRing);
    case Operation::put:
      return known(std::integral_constant<Operation, Operation::put>{}, kRing);
    case Operation::dispatch:
      return known(std::integral_constant<Operation, Operation::dispatch>{}, kRing);
    case Operation::combine:
      return known(std::integral_constant<Operation, Operation::combine>{}, kRing);
    case Operation::all_reduce:
      break;
  }
  constexpr auto kAllReduce = std::integral_constant<Operation, Operation::all_reduce>{};
  if (!is_tree(p)) return known(kAllReduce, kRing);
  return known(kAllReduce, std::integral_constant<Algorithm, Algorithm::tree>{});
}

template <class Block>
bool run(Block& block, const Program& p) {
  return as_known(p, [&](auto what, auto how) { return run_as<what(), how()>(block, p); });
}

}  // namespace twinlink::gpu
