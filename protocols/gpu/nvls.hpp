// An all-reduce that the switch adds up (NVLS): what a GPU reads it gets as the sum of all GPUs' memory behind the
// switch, and what it stores the switch spreads to all of them. Simulated alone: its Block brings verbs of its own.
//
//   with every round, in which each rank has a chunk that it reads
//   scatter, a block of its own
//   1. await room: the slots of the round are free
//   2. offer: copy each peer's chunk to where the switch reads it, and tell that peer
//   sum, another one
//   3. await offers: all peers' parts of this rank's chunk
//   4. sum: read them added up, and store the sum to all
//   5. tell: the peers
//   gather, a third one
//   6. await sums: of each peer its chunk
//   7. take: out of the slots, which are free
//
// Link k - 1 leads k places on, as in an all-to-all. A Block has, beside channel() and role(),
//   bool await_room(round), await_offers(round), await_sums(round)
//   bool offer(round, round's bytes), sum(round, chunk), take(round, round's bytes)
// where false says that the host has given the launch up.
#pragma once

#include <cstdint>

#include "protocols/gpu/program.hpp"

namespace twinlink::gpu {

constexpr std::int32_t kScatters = 0;
constexpr std::int32_t kSums = 1;
constexpr std::int32_t kGathers = 2;

/// What a round of a channel has of the buffer: as many chunks as there are ranks, the last ones of the last round
/// shorter.
struct SwitchRound {
  Share all{};
  std::uint64_t chunk = 0;

  /// The chunk of a rank.
  [[nodiscard]] constexpr Share of(std::int32_t rank) const { return piece(all, number(rank) * chunk, chunk); }
};

constexpr std::uint64_t switch_rounds(const Program& p, std::int32_t channel) {
  return turns(channel_of(p, p.bytes, channel).length, p.slot * number(p.ranks));
}

constexpr SwitchRound switch_round(const Program& p, std::int32_t channel, std::uint64_t round) {
  const Share mine = channel_of(p, p.bytes, channel);
  const std::uint64_t at = round * p.slot * number(p.ranks);
  const std::uint64_t chunk = chunk_of(p, mine.length - at, p.slot);
  return {piece(mine, at, chunk * number(p.ranks)), chunk};
}

template <class Block>
bool switch_all_reduce(Block& block, const Program& p) {
  const std::uint64_t rounds = switch_rounds(p, block.channel());
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const SwitchRound what = switch_round(p, block.channel(), round);
    bool good = true;
    switch (block.role()) {
      case kScatters:
        good = block.await_room(round) && block.offer(round, what);
        break;
      case kSums:
        good = block.await_offers(round) && block.sum(round, what.of(p.rank));
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
