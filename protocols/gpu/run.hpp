// What a block does of a program. Messages are exchanged here, too.
#pragma once

#include <type_traits>

#include "protocols/gpu/experts.hpp"
#include "protocols/gpu/pat.hpp"
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

/// A message to each rank, in the parts that this channel has: a slot of one after the other, so that all links have
/// something to carry. Link k - 1 leads k places on.
template <class Block>
TWINLINK_GPU_INLINE bool all_to_all(Block& block, const Program& p) {
  const bool sends = does(block, p, kSends);
  const auto share_of = [&](std::int32_t round) {
    const std::int32_t part = part_in(p, round, block.channel());
    return part < parts_of(p) ? share(block_of(p), number(parts_of(p)), number(part), kGrainBytes) : Share{};
  };
  const Share own = share_of(0);
  const std::uint64_t place = number(p.rank) * block_of(p) + own.begin;
  if (sends && own.length > 0 && !copy_own(block, place, place, own.length)) return false;
  for (std::int32_t first = 1, last = 1; first < p.ranks; first = last) {
    for (std::int32_t count = 0; last < p.ranks && count < kTogether; ++last)
      count += share_of(last).length > 0 ? 1 : 0;
    bool more = true;
    for (std::uint64_t slot = 0; more; ++slot) {
      more = false;
      for (std::int32_t round = first; round < last; ++round) {
        const Share what = piece(share_of(round), slot * p.slot, p.slot);
        if (what.length == 0) continue;
        more = true;
        const std::int32_t peer = peer_in(p, round, sends ? 1 : -1);
        const std::int32_t link = (peer - p.rank + p.ranks) % p.ranks - 1;
        const std::uint64_t at = number(peer) * block_of(p) + what.begin;
        Move move;
        move.bytes = what.length;
        if (sends) {
          move.in = Region::input;
          move.in_at = at;
          move.into = link;
          move.into_step = block.sent(link) + slot;
        } else {
          move.from = link;
          move.from_step = block.received(link) + slot;
          move.out = Region::output;
          move.out_at = at;
        }
        if (!pass(block, p.format, move)) return false;
      }
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
  if constexpr (How == Algorithm::pat) return ParallelTrees<Block>(block, p).run();
  if constexpr (What == Operation::all_gather && How == Algorithm::ring) return ring_all_gather(block, p);
  if constexpr (What == Operation::reduce_scatter && How == Algorithm::ring) return ring_reduce_scatter(block, p);
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
  constexpr auto kPat = std::integral_constant<Algorithm, Algorithm::pat>{};
  switch (p.operation) {
    case Operation::clear:
      return known(std::integral_constant<Operation, Operation::clear>{}, kRing);
    case Operation::exchange:
      return known(std::integral_constant<Operation, Operation::exchange>{}, kRing);
    case Operation::echo:
      return known(std::integral_constant<Operation, Operation::echo>{}, kRing);
    case Operation::all_gather:
      if (is_pat(p)) return known(std::integral_constant<Operation, Operation::all_gather>{}, kPat);
      return known(std::integral_constant<Operation, Operation::all_gather>{}, kRing);
    case Operation::reduce_scatter:
      if (is_pat(p)) return known(std::integral_constant<Operation, Operation::reduce_scatter>{}, kPat);
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
