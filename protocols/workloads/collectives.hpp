// Schedules of the collectives. `elements` is the size as nccl-tests count it: of the whole buffer, which for
// all-gather, reduce-scatter, gather and scatter is that of all ranks together.
#pragma once

#include "protocols/workloads/schedule.hpp"

namespace twinlink::workloads {

// What a collective has and promises, before anybody says how. Roots are rank 0.
Schedule all_reduce_of(const Shape& shape, int rank, std::uint64_t elements);
Schedule all_gather_of(const Shape& shape, int rank, std::uint64_t elements);
Schedule reduce_scatter_of(const Shape& shape, int rank, std::uint64_t elements);
Schedule reduce_of(const Shape& shape, int rank, std::uint64_t elements);
Schedule broadcast_of(const Shape& shape, int rank, std::uint64_t elements);
Schedule gather_of(const Shape& shape, int rank, std::uint64_t elements);
Schedule scatter_of(const Shape& shape, int rank, std::uint64_t elements);
Schedule barrier_of(const Shape& shape, int rank);

Schedule ring_all_reduce(const Shape& shape, int rank, std::uint64_t elements);
/// Binomial trees: to rank 0, and back.
Schedule tree_all_reduce(const Shape& shape, int rank, std::uint64_t elements);
/// Recursive halving, then doubling (Rabenseifner). Ranks beyond a power of two give theirs to a neighbour first.
Schedule halving_all_reduce(const Shape& shape, int rank, std::uint64_t elements);
/// Rings within each node, between GPUs of the same number on all nodes, and within each node again.
Schedule hierarchical_all_reduce(const Shape& shape, int rank, std::uint64_t elements);
/// With all others at once: parts to whoever adds them up, and their sums to all; or all to all, added up by each.
Schedule direct_all_reduce(const Shape& shape, int rank, std::uint64_t elements);
Schedule one_shot_all_reduce(const Shape& shape, int rank, std::uint64_t elements);

Schedule ring_all_gather(const Shape& shape, int rank, std::uint64_t elements);
Schedule direct_all_gather(const Shape& shape, int rank, std::uint64_t elements);
Schedule ring_reduce_scatter(const Shape& shape, int rank, std::uint64_t elements);
Schedule direct_reduce_scatter(const Shape& shape, int rank, std::uint64_t elements);
/// Binomial tree from rank 0.
Schedule tree_broadcast(const Shape& shape, int rank, std::uint64_t elements);
/// A chain of ranks through which pieces follow each other.
Schedule chain_broadcast(const Shape& shape, int rank, std::uint64_t elements);
/// Binomial tree to rank 0.
Schedule tree_reduce(const Shape& shape, int rank, std::uint64_t elements);
/// Reduce-scatter in a ring; then all parts go to rank 0 at once.
Schedule ring_reduce(const Shape& shape, int rank, std::uint64_t elements);
/// The parts of all ranks to rank 0, and its parts to all: in a binomial tree, or all at once.
Schedule tree_gather(const Shape& shape, int rank, std::uint64_t elements);
Schedule direct_gather(const Shape& shape, int rank, std::uint64_t elements);
Schedule tree_scatter(const Shape& shape, int rank, std::uint64_t elements);
Schedule direct_scatter(const Shape& shape, int rank, std::uint64_t elements);
/// One partner after the other.
Schedule pairwise_all_to_all(const Shape& shape, int rank, std::uint64_t elements);
/// All partners at once.
Schedule direct_all_to_all(const Shape& shape, int rank, std::uint64_t elements);
/// In log2 of the ranks, each byte sent several times (Bruck).
Schedule bruck_all_to_all(const Shape& shape, int rank, std::uint64_t elements);
/// By the protocol itself, whose GPUs pass on and add up what they receive: one step.
Schedule together_all_reduce(const Shape& shape, int rank, std::uint64_t elements);
Schedule together_all_gather(const Shape& shape, int rank, std::uint64_t elements);
Schedule together_reduce_scatter(const Shape& shape, int rank, std::uint64_t elements);
Schedule together_reduce(const Shape& shape, int rank, std::uint64_t elements);
Schedule together_broadcast(const Shape& shape, int rank, std::uint64_t elements);
Schedule together_all_to_all(const Shape& shape, int rank, std::uint64_t elements);
/// Dissemination: in round k everyone tells who is 2^k further on. One element, whatever the size.
Schedule dissemination_barrier(const Shape& shape, int rank, std::uint64_t elements);

}  // namespace twinlink::workloads
