// Reshape: from one distribution of an array to another. Pure: what a rank sends and receives, and where that lies.
#pragma once

#include <cstdint>
#include <vector>

#include "protocols/core/rank.hpp"
#include "protocols/workloads/arrays/boxes.hpp"

namespace twinlink::workloads {

/// How the elements of `piece` lie in the memories of two boxes, in as few stretches as both have in one. In bytes.
std::vector<Block> blocks_between(const Box& to, const Box& from, const Box& piece, Bytes element);
/// How many these are.
std::uint64_t count_blocks(const Box& to, const Box& from, const Box& piece);

/// What goes to one peer, or comes from it.
struct Share {
  int peer = 0;
  Box piece{};
  Box theirs{};                 ///< the box of the peer at the other end
  Bytes bytes{};                ///< of the piece
  std::vector<Block> blocks{};  ///< from this rank's memory to the packed piece, or back
  Bytes packed{};               ///< where that lies in the packed buffer
  bool in_one = false;          ///< it lies in one stretch of this rank's memory, from `place`: nothing is packed
  Bytes place{};
};

struct ReshapePlan {
  Box from{};
  Box to{};
  Bytes element{};
  std::vector<Share> sends{};     ///< not empty, the nearest peer behind this rank first
  std::vector<Share> receives{};  ///< the nearest before it first
  std::vector<Block> own{};       ///< what stays on the rank
  Bytes packed_out{};             ///< what the packed buffers have to hold
  Bytes packed_in{};
  bool rows_told = true;  ///< false: each piece counts as one block, wherever its rows are

  [[nodiscard]] Bytes sent() const;
};

struct ReshapeWish {
  Bytes element{16};
  bool in_place = false;  ///< both distributions have the same memory: all is packed, its own piece too
  /// With more blocks than this each piece counts as one: for ranks without bytes, of which there may be many.
  std::uint64_t most_blocks = UINT64_MAX;
};

/// Of boxes of `from_pieces` alone, which lie within those of `from`, and likewise of `to`.
ReshapePlan plan_reshape(const Distribution& from, const std::vector<Box>& from_pieces, const Distribution& to,
                         const std::vector<Box>& to_pieces, int rank, const ReshapeWish& wish);
/// Of all.
inline ReshapePlan plan_reshape(const Distribution& from, const Distribution& to, int rank, const ReshapeWish& wish) {
  return plan_reshape(from, from.boxes, to, to.boxes, rank, wish);
}

}  // namespace twinlink::workloads
