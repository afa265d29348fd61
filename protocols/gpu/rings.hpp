// Rings: each rank receives from the one before it, link 0, and sends to the one behind it, link 1. In place: input and
// output are one buffer. Chunks and parts without bytes are passed on like others, so that all ranks count alike.
#pragma once

#include "protocols/gpu/primitives.hpp"

namespace twinlink::gpu {

constexpr std::int32_t kBefore = 0;
constexpr std::int32_t kBehind = 1;

/// Rank, chunk or part `places` back from this one; up to the number of ranks.
TWINLINK_GPU constexpr std::uint64_t places_back(const Program& p, std::int32_t places) {
  return number((p.rank + p.ranks - places) % p.ranks);
}

template <class Block>
TWINLINK_GPU_ONLY bool ring_all_reduce(Block& block, const Program& p) {
  Pipe<Block> pipe(block, p.format, kBefore, kBehind);
  const Share mine = channel_of(p, p.bytes, block.channel());
  for (std::uint64_t first = 0; first < mine.length;) {
    const std::uint64_t chunk = chunk_of(p, mine.length - first);
    const auto back = [&](std::int32_t places) { return piece(mine, first + places_back(p, places) * chunk, chunk); };
    bool good = pipe.send(back(1));
    for (std::int32_t k = 2; good && k < p.ranks; ++k) good = pipe.recv_reduce_send(back(k));
    good = good && pipe.recv_reduce_copy_send(back(p.ranks));
    for (std::int32_t k = 1; good && k < p.ranks - 1; ++k) good = pipe.recv_copy_send(back(k));
    if (!good || !pipe.recv(back(p.ranks - 1))) return false;
    first += chunk * number(p.ranks);
  }
  return true;
}

/// Of the part of rank `rank`, what this channel moves in a round.
TWINLINK_GPU constexpr Share part_in_round(const Program& p, std::int32_t channel, std::uint64_t rank,
                                           std::uint64_t round) {
  const Share part = share(p.bytes, number(p.ranks), rank, kElementBytes);
  const Share mine = piece(channel_of(p, part.length, channel), round * p.slot, p.slot);
  return {part.begin + mine.begin, mine.length};
}

template <class Block>
TWINLINK_GPU_ONLY bool ring_all_gather(Block& block, const Program& p) {
  Pipe<Block> pipe(block, p.format, kBefore, kBehind);
  const std::uint64_t rounds = rounds_of(p, block.channel());
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const auto back = [&](std::int32_t k) { return part_in_round(p, block.channel(), places_back(p, k), round); };
    bool good = pipe.send(back(0));
    for (std::int32_t k = 1; good && k < p.ranks - 1; ++k) good = pipe.recv_copy_send(back(k));
    if (!good || !pipe.recv(back(p.ranks - 1))) return false;
  }
  return true;
}

template <class Block>
TWINLINK_GPU_ONLY bool ring_reduce_scatter(Block& block, const Program& p) {
  Pipe<Block> pipe(block, p.format, kBefore, kBehind);
  const std::uint64_t rounds = rounds_of(p, block.channel());
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const auto back = [&](std::int32_t k) { return part_in_round(p, block.channel(), places_back(p, k), round); };
    bool good = pipe.send(back(1));
    for (std::int32_t k = 2; good && k < p.ranks; ++k) good = pipe.recv_reduce_send(back(k));
    if (!good || !pipe.recv_reduce_copy(back(p.ranks))) return false;
  }
  return true;
}

/// From the root along the ring, to the rank before it.
template <class Block>
TWINLINK_GPU_ONLY bool ring_broadcast(Block& block, const Program& p) {
  Pipe<Block> pipe(block, p.format, kBefore, kBehind);
  const Share mine = channel_of(p, p.bytes, block.channel());
  const std::uint64_t rounds = rounds_of(p, block.channel());
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const Share what = piece(mine, round * p.slot, p.slot);
    bool good = true;
    if (p.rank == p.root) {
      good = pipe.send(what);
    } else if ((p.rank + 1) % p.ranks == p.root) {
      good = pipe.recv(what);
    } else {
      good = pipe.recv_copy_send(what);
    }
    if (!good) return false;
  }
  return true;
}

/// From the rank behind the root along the ring, to the root.
template <class Block>
TWINLINK_GPU_ONLY bool ring_reduce(Block& block, const Program& p) {
  Pipe<Block> pipe(block, p.format, kBefore, kBehind);
  const Share mine = channel_of(p, p.bytes, block.channel());
  const std::uint64_t rounds = rounds_of(p, block.channel());
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const Share what = piece(mine, round * p.slot, p.slot);
    bool good = true;
    if (p.rank == p.root) {
      good = pipe.recv_reduce_copy(what);
    } else if (p.rank == (p.root + 1) % p.ranks) {
      good = pipe.send(what);
    } else {
      good = pipe.recv_reduce_send(what);
    }
    if (!good) return false;
  }
  return true;
}

}  // namespace twinlink::gpu
