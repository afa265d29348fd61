// Blocks of a non-contiguous copy: the checks and sums that every backend needs.
#pragma once

#include <optional>
#include <span>

#include "protocols/core/rank.hpp"

namespace twinlink {

/// The bytes of all blocks together.
Bytes total_length(std::span<const Block> blocks);

/// A 2-D copy: `rows` rows of `width` bytes; rows begin `to_pitch` and `from_pitch` bytes after the one before.
struct Rows {
  Bytes to{};    ///< of the first row
  Bytes from{};  ///< of the first row
  Bytes width{};
  Bytes to_pitch{};
  Bytes from_pitch{};
  std::size_t rows = 0;
};
/// The blocks as a 2-D copy. Empty unless they are equally long and equally far apart, in ascending order.
std::optional<Rows> as_rows(std::span<const Block> blocks);

/// A UsageError for blocks that lie outside of their views, that overlap at the destination or, for the copy engine,
/// that are no 2-D copy; also for no blocks at all and empty ones, and for any by a resident kernel.
void check_blocks(const View& to, const View& from, std::span<const Block> blocks, Engine engine);

}  // namespace twinlink
