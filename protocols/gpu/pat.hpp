// Parallel aggregated trees, NCCL's PAT: of an all-gather the part of each rank goes to all others in a tree of its
// own, and of a reduce-scatter their sum comes up one. All ranks do the same in all trees at once: a step for each
// doubling of the ranks, and short parts of several trees share a slot. In place, as rings.
//
// Say a rank stands so many places behind a tree's root. Below it are those 1, 2, 4, ... further on, as far as that is
// less than the lowest bit of its own number, and there are so many ranks.
//
//   with every distance: of an all-gather from the farthest on, of a reduce-scatter from the nearest on
//   1. send: what of each tree in which the rank so far away is on the other end
//   2. receive: the same of those in which I am; of a reduce-scatter, add
//
// Links by distance: 2 to the k places on is link k, and so far back the one behind all those.
#pragma once

#include "protocols/gpu/primitives.hpp"

namespace twinlink::gpu {

template <class Block>
class ParallelTrees {
 public:
  TWINLINK_GPU_ONLY ParallelTrees(Block& block, const Program& p)
      : block_(block),
        p_(p),
        adds_(p.operation == Operation::reduce_scatter),
        longest_(longest_of(p, block.channel())),
        apart_(turns(longest_, kGrainBytes) * kGrainBytes),
        together_(longest_ > p.slot || longest_ == 0 ? 1 : static_cast<std::int32_t>(quotient(p.slot, apart_))) {}

  /// All trees, a slot of each part after the other.
  TWINLINK_GPU_INLINE bool run() {
    const std::uint64_t rounds = turns(longest_, p_.slot);
    const std::int32_t doublings = doublings_of(p_);
    for (std::uint64_t round = 0; round < rounds; ++round) {
      for (std::int32_t k = 0; k < doublings; ++k) {
        if (!step(adds_ ? k : doublings - 1 - k, round)) return false;
      }
    }
    return true;
  }

 private:
  /// The other end is 2 to the k places away.
  TWINLINK_GPU_INLINE bool step(std::int32_t k, std::uint64_t round) {
    const std::int32_t distance = std::int32_t{1} << k;
    const std::int32_t trees = (p_.ranks - distance + 2 * distance - 1) / (2 * distance);
    const std::int32_t on = k;
    const std::int32_t back = doublings_of(p_) + k;
    const std::int32_t slots = (trees + together_ - 1) / together_;
    for (std::int32_t slot = 0; slot < slots; ++slot) {
      const std::int32_t first = slot * together_;
      const std::int32_t end = first + together_ < trees ? first + together_ : trees;
      const std::uint64_t number_of_slot = round * number(slots) + number(slot);
      if (!send(adds_ ? back : on, number_of_slot, {first, end, distance, round})) return false;
      if (!receive(adds_ ? on : back, number_of_slot, {first, end, distance, round})) return false;
    }
    return true;
  }

  /// Trees [first, end) of those with an edge so far.
  struct Trees {
    std::int32_t first;
    std::int32_t end;
    std::int32_t distance;
    std::uint64_t round;
  };
  /// What is moved of the part of a tree's root, which is so many places back: those with the edge, and this end of it.
  TWINLINK_GPU_ONLY [[nodiscard]] Share part(const Trees& trees, std::int32_t tree, bool below) const {
    const std::int32_t back = 2 * trees.distance * tree + (below ? trees.distance : 0);
    const std::int32_t root = p_.rank - back < 0 ? p_.rank - back + p_.ranks : p_.rank - back;
    const Share whole = share(p_.bytes, number(p_.ranks), number(root), kElementBytes);
    const Share mine = piece(channel_of(p_, whole.length, block_.channel()), trees.round * p_.slot, p_.slot);
    return {whole.begin + mine.begin, mine.length};
  }

  TWINLINK_GPU_INLINE bool send(std::int32_t link, std::uint64_t slot, const Trees& trees) {
    const std::uint64_t step = block_.sent(link) + slot;
    bool good = block_.await_credit(link, step);
    for (std::int32_t tree = trees.first; good && tree < trees.end; ++tree) {
      const Share what = part(trees, tree, adds_);
      Move move;
      move.bytes = what.length;
      move.in = Region::input;
      move.in_at = what.begin;
      move.into = link;
      move.into_step = step;
      move.into_at = number(tree - trees.first) * apart_;
      good = block_.move(move);
    }
    if (!block_.barrier(good)) return false;
    block_.fence();
    block_.signal(link, step + 1);
    return true;
  }

  TWINLINK_GPU_INLINE bool receive(std::int32_t link, std::uint64_t slot, const Trees& trees) {
    const std::uint64_t step = block_.received(link) + slot;
    bool good = block_.await_slot(link, step);
    for (std::int32_t tree = trees.first; good && tree < trees.end; ++tree) {
      const Share what = part(trees, tree, !adds_);
      Move move;
      move.bytes = what.length;
      move.from = link;
      move.from_step = step;
      move.from_at = number(tree - trees.first) * apart_;
      move.in = adds_ ? Region::input : Region::none;
      move.in_at = what.begin;
      move.out = Region::output;
      move.out_at = what.begin;
      good = block_.move(move);
    }
    if (!block_.barrier(good)) return false;
    block_.give_credit(link, step + 1);
    return true;
  }

  Block& block_;
  const Program& p_;
  bool adds_;
  std::uint64_t longest_;
  std::uint64_t apart_;    ///< parts in one slot
  std::int32_t together_;  ///< so many
};

}  // namespace twinlink::gpu
