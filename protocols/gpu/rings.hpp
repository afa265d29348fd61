// Rings: each rank receives from the one before it and sends to the one behind it; each channel may have a ring of its
// own. In place: input and output are one buffer. Chunks and parts without bytes are passed on like others, so that all
// ranks count alike.
#pragma once

#include "protocols/gpu/primitives.hpp"

namespace twinlink::gpu {

/// A block's place in its ring, and what passes along.
template <class Block>
class Ring {
 public:
  TWINLINK_GPU_ONLY Ring(Block& block, const Program& p)
      : pipe(block, p.format, block.position().before, block.position().behind),
        block_(block),
        p_(p),
        place_(block.position().place),
        shift_(p.bytes <= p.slot ? 0 : shift_of(p, longest_of(p, block.channel()), block.channel())) {}

  /// Place, or chunk, `places` back from this one: -1 to the number of ranks.
  TWINLINK_GPU_ONLY [[nodiscard]] std::int32_t back(std::int32_t places) const {
    const std::int32_t at = place_ - places;
    return at < 0 ? at + p_.ranks : at < p_.ranks ? at : at - p_.ranks;
  }
  /// Of the part of the rank so many places back, what this channel moves in a round.
  TWINLINK_GPU_ONLY [[nodiscard]] Share part(std::int32_t places, std::uint64_t round) const {
    const Share whole = share(p_.bytes, number(p_.ranks), number(block_.rank_at(back(places))), kElementBytes);
    const Share channel = channel_of(p_, whole.length, block_.channel());
    const Share mine = round == 0 ? piece(channel, 0, first()) : piece(channel, round * p_.slot - shift_, p_.slot);
    return {whole.begin + mine.begin, mine.length};
  }
  TWINLINK_GPU_ONLY [[nodiscard]] std::uint64_t rounds() const {
    // Small messages begin at once: what a block works out before its first slot is text that it has to fetch.
    if (p_.channels == 1 && p_.bytes <= p_.slot) return p_.bytes > 0 ? 1 : 0;
    return turns(longest_of(p_, block_.channel()) + shift_, p_.slot);
  }
  /// Bytes of a step of the first round at most.
  TWINLINK_GPU_ONLY [[nodiscard]] std::uint64_t first() const { return p_.slot - shift_; }
  TWINLINK_GPU_ONLY [[nodiscard]] bool is_root() const { return p_.rank == p_.root; }
  /// Is the next rank, or the one before this, the root?
  TWINLINK_GPU_ONLY [[nodiscard]] bool root_is_behind() const { return block_.rank_at(back(-1)) == p_.root; }
  TWINLINK_GPU_ONLY [[nodiscard]] bool root_is_before() const { return block_.rank_at(back(1)) == p_.root; }

  Pipe<Block> pipe;

 private:
  Block& block_;
  const Program& p_;
  std::int32_t place_;
  std::uint64_t shift_;
};

template <class Block>
TWINLINK_GPU_INLINE bool ring_all_reduce(Block& block, const Program& p) {
  Ring<Block> ring(block, p);
  const Share mine = channel_of(p, p.bytes, block.channel());
  for (std::uint64_t first = 0; first < mine.length;) {
    const std::uint64_t chunk = chunk_of(p, mine.length - first, first == 0 ? ring.first() : p.slot);
    const auto back = [&](std::int32_t places) {
      return piece(mine, first + number(ring.back(places)) * chunk, chunk);
    };
    bool good = ring.pipe.send(back(1));
    for (std::int32_t k = 2; good && k < p.ranks; ++k) good = ring.pipe.recv_reduce_send(back(k));
    good = good && ring.pipe.recv_reduce_copy_send(back(p.ranks));
    for (std::int32_t k = 1; good && k < p.ranks - 1; ++k) good = ring.pipe.recv_copy_send(back(k));
    if (!good || !ring.pipe.recv(back(p.ranks - 1))) return false;
    first += chunk * number(p.ranks);
  }
  return true;
}

template <class Block>
TWINLINK_GPU_INLINE bool ring_all_gather(Block& block, const Program& p) {
  Ring<Block> ring(block, p);
  const std::uint64_t rounds = ring.rounds();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    bool good = ring.pipe.send(ring.part(0, round));
    for (std::int32_t k = 1; good && k < p.ranks - 1; ++k) good = ring.pipe.recv_copy_send(ring.part(k, round));
    if (!good || !ring.pipe.recv(ring.part(p.ranks - 1, round))) return false;
  }
  return true;
}

template <class Block>
TWINLINK_GPU_INLINE bool ring_reduce_scatter(Block& block, const Program& p) {
  Ring<Block> ring(block, p);
  const std::uint64_t rounds = ring.rounds();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    bool good = ring.pipe.send(ring.part(1, round));
    for (std::int32_t k = 2; good && k < p.ranks; ++k) good = ring.pipe.recv_reduce_send(ring.part(k, round));
    if (!good || !ring.pipe.recv_reduce_copy(ring.part(p.ranks, round))) return false;
  }
  return true;
}

/// From the root along the ring, to the rank before it.
template <class Block>
TWINLINK_GPU_INLINE bool ring_broadcast(Block& block, const Program& p) {
  Ring<Block> ring(block, p);
  const Share mine = channel_of(p, p.bytes, block.channel());
  const std::uint64_t rounds = rounds_of(p, block.channel());
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const Share what = piece(mine, round * p.slot, p.slot);
    bool good = true;
    if (ring.is_root()) {
      good = ring.pipe.send(what);
    } else if (ring.root_is_behind()) {
      good = ring.pipe.recv(what);
    } else {
      good = ring.pipe.recv_copy_send(what);
    }
    if (!good) return false;
  }
  return true;
}

/// From the rank behind the root along the ring, to the root.
template <class Block>
TWINLINK_GPU_INLINE bool ring_reduce(Block& block, const Program& p) {
  Ring<Block> ring(block, p);
  const Share mine = channel_of(p, p.bytes, block.channel());
  const std::uint64_t rounds = rounds_of(p, block.channel());
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const Share what = piece(mine, round * p.slot, p.slot);
    bool good = true;
    if (ring.is_root()) {
      good = ring.pipe.recv_reduce_copy(what);
    } else if (ring.root_is_before()) {
      good = ring.pipe.send(what);
    } else {
      good = ring.pipe.recv_reduce_send(what);
    }
    if (!good) return false;
  }
  return true;
}

}  // namespace twinlink::gpu
