#include "protocols/workloads/arrays/reshape.hpp"

#include <algorithm>

namespace twinlink::workloads {
namespace {

/// So many of the last axes a piece has whole in both boxes that stretches go on from row to row there.
struct Stretch {
  std::uint64_t length = 1;  ///< elements
  std::size_t axes = 0;      ///< that one stretch covers, the last ones
};

Stretch stretch_of(const Box& to, const Box& from, const Box& piece) {
  Stretch stretch;
  for (std::size_t axis = kAxes; axis-- > 0;) {
    stretch.length *= piece.length(axis);
    ++stretch.axes;
    if (piece.length(axis) != to.length(axis) || piece.length(axis) != from.length(axis)) break;
  }
  return stretch;
}

/// Adds the piece as one block, wherever its rows are.
Block whole(Bytes to, Bytes from, Bytes length) { return {.to = to, .from = from, .length = length}; }

Bytes aligned(Bytes size) {
  constexpr std::uint64_t kAlignment = 256;
  return Bytes{(size.count() + kAlignment - 1) / kAlignment * kAlignment};
}

}  // namespace

std::uint64_t count_blocks(const Box& to, const Box& from, const Box& piece) {
  return piece.empty() ? 0 : piece.elements() / stretch_of(to, from, piece).length;
}

std::vector<Block> blocks_between(const Box& to, const Box& from, const Box& piece, Bytes element) {
  std::vector<Block> blocks;
  if (piece.empty()) return blocks;
  const Stretch stretch = stretch_of(to, from, piece);
  blocks.resize(piece.elements() / stretch.length);
  Index at = piece.lower;
  for (Block& block : blocks) {
    block = {.to = element * to.place(at), .from = element * from.place(at), .length = element * stretch.length};
    for (std::size_t axis = kAxes - stretch.axes; axis-- > 0;) {
      if (++at[axis] < piece.upper[axis]) break;
      at[axis] = piece.lower[axis];
    }
  }
  return blocks;
}

Bytes ReshapePlan::sent() const {
  Bytes all{};
  for (const Share& share : sends) all += share.bytes;
  return all;
}

ReshapePlan plan_reshape(const Distribution& from, const std::vector<Box>& from_pieces, const Distribution& to,
                         const std::vector<Box>& to_pieces, int rank, const ReshapeWish& wish) {
  const auto self = static_cast<std::size_t>(rank);
  const std::size_t ranks = from.boxes.size();
  ReshapePlan plan{.from = from.boxes[self], .to = to.boxes[self], .element = wish.element};
  std::uint64_t blocks = 0;
  for (std::size_t distance = 0; distance < ranks; ++distance) {
    const std::size_t next = (self + distance) % ranks;
    const std::size_t before = (self + ranks - distance) % ranks;
    const Box out = intersection(from_pieces[self], to_pieces[next]);
    const Box in = intersection(from_pieces[before], to_pieces[self]);
    if (!out.empty()) {
      plan.sends.push_back({.peer = static_cast<int>(next), .piece = out, .theirs = to.boxes[next]});
      blocks += count_blocks(out, plan.from, out);
    }
    if (!in.empty()) {
      plan.receives.push_back({.peer = static_cast<int>(before), .piece = in, .theirs = from.boxes[before]});
      blocks += count_blocks(plan.to, in, in);
    }
  }
  plan.rows_told = blocks <= wish.most_blocks;
  // Where pieces begin if each of them counts as one block.
  Bytes from_place{};
  Bytes to_place{};
  const bool has_own = !plan.sends.empty() && plan.sends.front().peer == rank;
  for (Share& share : plan.sends) {
    share.bytes = wish.element * share.piece.elements();
    const bool one = count_blocks(share.piece, plan.from, share.piece) == 1;
    share.in_one = one && !wish.in_place;
    share.place = plan.rows_told ? wish.element * plan.from.place(share.piece.lower) : from_place;
    share.blocks = plan.rows_told ? blocks_between(share.piece, plan.from, share.piece, wish.element)
                                  : std::vector{whole(Bytes{}, from_place, share.bytes)};
    from_place += share.bytes;
  }
  for (Share& share : plan.receives) {
    share.bytes = wish.element * share.piece.elements();
    const bool one = count_blocks(plan.to, share.piece, share.piece) == 1;
    share.in_one = one && !wish.in_place;
    share.place = plan.rows_told ? wish.element * plan.to.place(share.piece.lower) : to_place;
    share.blocks = plan.rows_told ? blocks_between(plan.to, share.piece, share.piece, wish.element)
                                  : std::vector{whole(to_place, Bytes{}, share.bytes)};
    to_place += share.bytes;
  }
  if (has_own && !wish.in_place) {
    const Share& out = plan.sends.front();
    plan.own = plan.rows_told ? blocks_between(plan.to, plan.from, out.piece, wish.element)
                              : std::vector{whole(plan.receives.front().place, out.place, out.bytes)};
    plan.sends.erase(plan.sends.begin());
    plan.receives.erase(plan.receives.begin());
  }
  for (Share& share : plan.sends) {
    if (share.in_one) continue;
    share.packed = plan.packed_out;
    plan.packed_out += aligned(share.bytes);
  }
  for (Share& share : plan.receives) {
    if (share.in_one) continue;
    share.packed = plan.packed_in;
    plan.packed_in += aligned(share.bytes);
  }
  return plan;
}

}  // namespace twinlink::workloads
