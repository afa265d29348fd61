// An all-reduce that switches add up (NVLS): what a GPU reads it gets as the sum of all GPUs' memory behind the switch,
// and what it stores the switch spreads to all of them. Simulated alone: its Block brings verbs of its own.
//
//   with every round, in which each head has a chunk that it reads
//   scatter, a block of its own
//   1. await room: the slots of the round are free
//   2. offer: copy each head's chunk to where the switch reads it, and tell that head
//   sum, another one
//   3. await offers: all parts of this rank's chunk
//   4. sum: read them added up, and store the sum to all
//   5. tell: all that the switch joins
//   gather, a third one
//   6. await sums: of each head its chunk
//   7. take: out of the slots, which are free
//
// Where each of several nodes has a switch (NVLSTree), heads of the same number are a tree (trees.hpp): what the switch
// adds up goes up, and a fourth block spreads what comes down. Where switches of the network add up (SHARP), the
// network is above all of them.
//
// Link k - 1 leads k places on within the node; behind these are the links of the tree. A Block has, beside what
// primitives.hpp names,
//   bool await_room(round), await_offers(round), await_sums(round)
//   bool offer(round, round's bytes), add(round, chunk), spread(round, chunk), take(round, round's bytes)
// where false says that the host has given the launch up.
#pragma once

#include <cstdint>
#include <optional>

#include "protocols/gpu/program.hpp"
#include "protocols/gpu/trees.hpp"

namespace twinlink::gpu {

constexpr std::int32_t kScatters = 0;
constexpr std::int32_t kSums = 1;
constexpr std::int32_t kGathers = 2;
constexpr std::int32_t kSpreads = 3;

/// Of its node.
constexpr std::int32_t place_in_node(const Program& p) { return p.rank % group_of(p); }
constexpr std::int32_t heads_of(const Program& p) { return p.heads > 0 ? p.heads : group_of(p); }
constexpr bool is_head(const Program& p) { return place_in_node(p) < heads_of(p); }

/// What a round of a channel has of the buffer: as many chunks as there are heads, the last ones of the last round
/// shorter.
struct SwitchRound {
  Share all{};
  std::uint64_t chunk = 0;

  /// The chunk of a rank, by its place in the node; others than heads have none.
  [[nodiscard]] constexpr Share of(std::int32_t place) const { return piece(all, number(place) * chunk, chunk); }
};

constexpr std::uint64_t switch_rounds(const Program& p, std::int32_t channel) {
  return turns(channel_of(p, p.bytes, channel).length, p.slot * number(heads_of(p)));
}

constexpr SwitchRound switch_round(const Program& p, std::int32_t channel, std::uint64_t round) {
  const Share mine = channel_of(p, p.bytes, channel);
  const std::uint64_t heads = number(heads_of(p));
  const std::uint64_t at = round * p.slot * heads;
  const std::uint64_t even = turns(turns(mine.length - at, heads), kGrainBytes) * kGrainBytes;
  const std::uint64_t chunk = least(even, p.slot);
  return {piece(mine, at, chunk * heads), chunk};
}

/// A head's way up, or down, the tree of its rail.
template <class Block>
bool pass_along(Block& block, Branches<Block>* rail, std::uint64_t round, Share chunk) {
  if (block.role() == kSums) {
    if (!block.await_offers(round) || !block.add(round, chunk)) return false;
    if (rail != nullptr && !rail->go_up(chunk)) return false;
    return rail != nullptr && !rail->is_root() ? true : block.spread(round, chunk);
  }
  return rail->come_down(chunk) && block.spread(round, chunk);
}

template <class Block>
bool switch_all_reduce(Block& block, const Program& p) {
  const std::uint64_t rounds = switch_rounds(p, block.channel());
  std::optional<Branches<Block>> tree;
  if (has_rail_trees(p) && is_head(p)) tree.emplace(block, p, block.role() == kSums);
  Branches<Block>* const rail = tree ? &*tree : nullptr;
  if (block.role() == kSpreads && (rail == nullptr || rail->is_root())) return true;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const SwitchRound what = switch_round(p, block.channel(), round);
    bool good = true;
    switch (block.role()) {
      case kScatters:
        good = block.await_room(round) && block.offer(round, what);
        break;
      case kSums:
      case kSpreads:
        good = pass_along(block, rail, round, what.of(place_in_node(p)));
        break;
      case kGathers:
        good = block.await_sums(round) && block.take(round, what);
        break;
      default:
        break;
    }
    if (!good) return false;
  }
  return true;
}

}  // namespace twinlink::gpu
