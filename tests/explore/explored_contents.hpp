// What ranks of an explored program hold in the beginning, and what they must hold in the end.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "protocols/gpu/program.hpp"

namespace twinlink::explore {

/// What element `i` of rank `rank` holds in the beginning; sums of several differ.
std::uint64_t value_of(int rank, std::uint64_t i);
/// Of an output, in the end; nothing: whatever it likes. Not of blocks to experts.
std::optional<std::uint64_t> expected_value(const gpu::Program& program, int rank, std::uint64_t i);

/// Blocks to the experts of a few ranks, of lengths that differ, on one rank; elements by their numbers.
struct ExpertBlocks {
  std::vector<std::uint64_t> numbers{};   ///< as gpu::Work has them
  std::uint64_t sent = 0;                 ///< elements of the input
  std::vector<std::uint64_t> received{};  ///< the output, in the end
};
ExpertBlocks expert_blocks(const gpu::Program& program, int rank);

}  // namespace twinlink::explore
