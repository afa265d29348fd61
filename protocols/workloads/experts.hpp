// A mixture of experts: tokens go to those that a gate has chosen for them, which is an all-to-all with unequal blocks,
// and come back.
#pragma once

#include <string>
#include <vector>

#include "protocols/workloads/schedule.hpp"

namespace twinlink::workloads {

/// Which share of all tokens' copies goes to the experts of each rank; they add up to 1. Ranks have parts of the
/// experts as part_of() gives them out. An expert is chosen as often as Zipf's law says of its place in the order that
/// the seed draws, but by no token twice.
std::vector<double> expert_shares(const Experts& experts, int ranks);

/// Why the ranks of a shape cannot have these experts; empty: they can.
std::string refuse_experts(const Shape& shape);

/// `elements` is what a rank sends: all copies of its tokens, also those for its own experts.
Schedule direct_dispatch(const Shape& shape, int rank, std::uint64_t elements);
Schedule pairwise_dispatch(const Shape& shape, int rank, std::uint64_t elements);
/// And what it gets back: each block the other way.
Schedule direct_combine(const Shape& shape, int rank, std::uint64_t elements);
Schedule pairwise_combine(const Shape& shape, int rank, std::uint64_t elements);

/// The same in one step, that the protocol does: experts by experts, in whole 16 B. What has come for an expert lies
/// without gaps, that of the own rank first and then that of the ranks before it.
Schedule together_dispatch(const Shape& shape, int rank, std::uint64_t elements);
Schedule together_combine(const Shape& shape, int rank, std::uint64_t elements);

}  // namespace twinlink::workloads
