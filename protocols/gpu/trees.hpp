// Trees: sums go up, piece by piece, and what the root has comes down again. Some blocks go up and as many others come
// down, so that pieces of both pass each other; the root's go up alone, and turn round there. In place, as rings.
//
//   going up, with every piece
//   1. take in what each rank below has, and add
//   2. pass the sum on to the rank above; the root passes it to those below
//   coming down
//   1. take in what the rank above has
//   2. pass it on to each rank below
//
// A primitive has one way in and one way out, so that with several ranks below the last one's sum goes on, and others
// get their copy behind the first one.
#pragma once

#include "protocols/gpu/primitives.hpp"

namespace twinlink::gpu {

/// How many ranks are below.
TWINLINK_GPU constexpr std::int32_t below_of(const ChannelPosition& position) {
  std::int32_t count = 0;
  while (count < kMostBelow && position.below[count] != kNoLink) ++count;
  return count;
}

/// The ways of a block that goes up, or comes down.
template <class Block>
class Branches {
 public:
  TWINLINK_GPU_ONLY Branches(Block& block, const Program& p, bool up)
      : Branches(block, p, block.position(), below_of(block.position()), up) {}

  TWINLINK_GPU_ONLY [[nodiscard]] bool is_root() const { return is_root_; }

  TWINLINK_GPU_INLINE bool go_up(Share what) {
    if (below_ == 0) return main_.send(what);
    if (below_ > 1 && !more_in_[0].recv_reduce_copy(what)) return false;
    if (below_ > 2 && !more_in_[1].recv_reduce_copy(what)) return false;
    // What this block has added up so far is there before the sum is, behind which other blocks write its place.
    if (below_ > 1) block_.fence();
    if (!is_root_) return main_.recv_reduce_send(what);
    return main_.recv_reduce_copy_send(what) && pass_down(what);
  }
  TWINLINK_GPU_INLINE bool come_down(Share what) {
    if (below_ == 0) return main_.recv(what);
    return main_.recv_copy_send(what) && pass_down(what);
  }

 private:
  TWINLINK_GPU_ONLY Branches(Block& block, const Program& p, const ChannelPosition& at, std::int32_t below, bool up)
      : block_(block),
        below_(below),
        is_root_(at.above == kNoLink),
        main_(block, p.format,
              !up          ? at.above
              : below == 0 ? kNoLink
                           : at.below[below - 1],
              up && !is_root_ ? at.above : at.below[0]),
        more_in_{{block, p.format, up && below > 1 ? at.below[0] : kNoLink, kNoLink},
                 {block, p.format, up && below > 2 ? at.below[1] : kNoLink, kNoLink}},
        more_out_{{block, p.format, kNoLink, at.below[1]}, {block, p.format, kNoLink, at.below[2]}} {}

  TWINLINK_GPU_INLINE bool pass_down(Share what) {
    if (below_ > 1 && !more_out_[0].send(what)) return false;
    return below_ < 3 || more_out_[1].send(what);
  }

  Block& block_;
  std::int32_t below_ = 0;
  bool is_root_ = false;
  Pipe<Block> main_;
  Pipe<Block> more_in_[2];   // NOLINT(modernize-avoid-c-arrays): kernels have no others
  Pipe<Block> more_out_[2];  // NOLINT(modernize-avoid-c-arrays)
};

template <class Block>
TWINLINK_GPU_INLINE bool tree_all_reduce(Block& block, const Program& p) {
  const bool up = block.role() == kUp;
  Branches<Block> tree(block, p, up);
  if (!up && tree.is_root()) return true;
  const Share mine = channel_of(p, p.bytes, block.channel());
  const std::uint64_t length = tree_piece_of(p, mine.length);
  for (std::uint64_t at = 0; at < mine.length; at += length) {
    const Share what = piece(mine, at, length);
    if (!(up ? tree.go_up(what) : tree.come_down(what))) return false;
  }
  return true;
}

}  // namespace twinlink::gpu
