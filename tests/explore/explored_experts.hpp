// Blocks to the experts of a few ranks, of lengths that differ: what lies where, and what must be there in the end.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "protocols/gpu/program.hpp"

namespace twinlink::explore {

/// Of one rank; elements by their numbers.
struct ExpertBlocks {
  std::vector<std::uint64_t> numbers{};   ///< as gpu::Work has them
  std::uint64_t sent = 0;                 ///< elements of the input
  std::vector<std::uint64_t> received{};  ///< the output, in the end
};

/// `element(rank, i)` is what a rank's input holds.
ExpertBlocks expert_blocks(const gpu::Program& program, int rank,
                           const std::function<std::uint64_t(int, std::uint64_t)>& element);

}  // namespace twinlink::explore
