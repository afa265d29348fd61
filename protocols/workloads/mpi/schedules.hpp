// Schedules of what MPI libraries do and the catalogue has not: trees whose messages are whole, and exchanges with who
// is near first. `elements` as in collectives.hpp; roots are rank 0.
#pragma once

#include <cstdint>
#include <vector>

#include "protocols/workloads/collectives.hpp"
#include "protocols/workloads/groups.hpp"
#include "protocols/workloads/schedule.hpp"

namespace twinlink::workloads::mpi {

/// Where a rank is in a tree: who is above it, -1 for the root's, and who below, in the order of its messages.
struct Branching {
  int above = -1;
  std::vector<int> below{};
};
using Tree = Branching (*)(int ranks, int rank);

// With rank 0 as root.
Branching star(int ranks, int rank);
Branching falling_star(int ranks, int rank);  ///< the last rank first
Branching chain(int ranks, int rank);
/// Rank r of level l, from 0 on, is above r + 2^l and r + 2^(l+1).
Branching binary_tree(int ranks, int rank);
/// A rank is above those that differ from it in one bit beyond its highest.
Branching binomial_tree(int ranks, int rank);
/// A rank is above those that differ from it in one bit below its lowest: subtrees are ranks that follow each other.
Branching in_order_binomial_tree(int ranks, int rank);
/// The same with digits of base four, the highest first.
Branching four_nomial_tree(int ranks, int rank);
/// With the last rank as root: below the last of some ranks are the last of the rest's upper half and of its lower one.
Branching in_order_binary_tree(int ranks, int rank);

/// One message to each below, all at once.
template <Tree kTree>
void send_down(Schedule& schedule, const Shape& shape, int rank, const Slice& whole) {
  const Branching at = kTree(shape.ranks, rank);
  if (at.above >= 0) receive_only(schedule, at.above, whole);
  Step step;
  for (const int peer : at.below) step.transfers.push_back({peer, whole, {}});
  if (!step.transfers.empty()) schedule.steps.push_back(std::move(step));
}

/// What comes from below is received and added up, one after the other.
template <Tree kTree>
void add_up(Schedule& schedule, const Shape& shape, int rank, const Slice& whole) {
  const Branching at = kTree(shape.ranks, rank);
  for (const int peer : at.below) receive_and_add(schedule, peer, whole);
  if (at.above >= 0) send_only(schedule, at.above, whole);
}
/// To the last rank, which sends the sum to rank 0.
void add_up_in_order(Schedule& schedule, const Shape& shape, int rank, const Slice& whole);

using Part = void (*)(Schedule& schedule, const Shape& shape, int rank, const Slice& whole);

template <Part kDown>
Schedule broadcast_by(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = broadcast_of(shape, rank, elements);
  kDown(schedule, shape, rank, {Where::data, 0, elements});
  return schedule;
}
template <Part kUp>
Schedule reduce_by(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = reduce_of(shape, rank, elements);
  kUp(schedule, shape, rank, {Where::data, 0, elements});
  return schedule;
}
template <Part kUp, Part kDown>
Schedule all_reduce_by(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = all_reduce_of(shape, rank, elements);
  kUp(schedule, shape, rank, {Where::data, 0, elements});
  kDown(schedule, shape, rank, {Where::data, 0, elements});
  return schedule;
}
/// Then rank 0 sends each its part, one after the other.
void scatter_one_by_one(Schedule& schedule, const Shape& shape, int rank, std::uint64_t elements);
template <Part kUp>
Schedule reduce_scatter_by(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = reduce_scatter_of(shape, rank, elements);
  kUp(schedule, shape, rank, {Where::data, 0, elements});
  scatter_one_by_one(schedule, shape, rank, elements);
  return schedule;
}

/// Halves go down a binary tree, odd ranks' and even ranks'; then two that follow each other exchange them.
void split_down(Schedule& schedule, const Shape& shape, int rank, const Slice& whole);
/// Parts go down a binomial tree, and are gathered by recursive doubling, or in a ring.
void scatter_and_gather(Schedule& schedule, const Shape& shape, int rank, const Slice& whole);
void scatter_and_ring(Schedule& schedule, const Shape& shape, int rank, const Slice& whole);

// A copy of what a rank has into a buffer of its own comes first: MPI's calls have two.

Schedule recursive_doubling_all_reduce(const Shape& shape, int rank, std::uint64_t elements);
Schedule ring_all_reduce(const Shape& shape, int rank, std::uint64_t elements);
/// Halving with the nearest first, then doubling. Of ranks beyond a power of two pairs add up halves first.
Schedule rabenseifner_all_reduce(const Shape& shape, int rank, std::uint64_t elements);
/// The same, where of those ranks even ones give odd ones all they have first, and parts are as even as can be.
Schedule halving_doubling_all_reduce(const Shape& shape, int rank, std::uint64_t elements);
/// Halving with the nearest first, then up a binomial tree; odd ranks give even ones all they have first.
Schedule halving_reduce(const Shape& shape, int rank, std::uint64_t elements);
Schedule binomial_reduce(const Shape& shape, int rank, std::uint64_t elements);
Schedule ring_reduce_scatter(const Shape& shape, int rank, std::uint64_t elements);
/// Each part goes to its rank at once, one partner after the other.
Schedule pairwise_reduce_scatter(const Shape& shape, int rank, std::uint64_t elements);
Schedule recursive_halving_reduce_scatter(const Shape& shape, int rank, std::uint64_t elements);
/// Halving with the nearest first; then each has another's part, and they swap.
Schedule butterfly_reduce_scatter(const Shape& shape, int rank, std::uint64_t elements);

/// In log2 of the ranks, each with all that it has; then what a rank has is turned to where it belongs.
Schedule bruck_all_gather(const Shape& shape, int rank, std::uint64_t elements);
/// The same in a buffer of its own, from which all is copied.
Schedule staged_bruck_all_gather(const Shape& shape, int rank, std::uint64_t elements);
/// Of a power of two.
Schedule recursive_doubling_all_gather(const Shape& shape, int rank, std::uint64_t elements);
/// Of an even number: with the neighbour on one side and on the other in turn, two parts in a message.
Schedule neighbour_all_gather(const Shape& shape, int rank, std::uint64_t elements);

/// One after the other; the synchronized one tells each when it is its turn.
Schedule one_by_one_gather(const Shape& shape, int rank, std::uint64_t elements);
Schedule synchronized_gather(const Shape& shape, int rank, std::uint64_t elements);
Schedule one_by_one_scatter(const Shape& shape, int rank, std::uint64_t elements);

/// All at once, in falling order from the rank before.
Schedule linear_all_to_all(const Shape& shape, int rank, std::uint64_t elements);
/// The same, 32 ranks at once, of which each rank itself is one.
Schedule throttled_all_to_all(const Shape& shape, int rank, std::uint64_t elements);
/// One partner after the other: of a power of two the same one to send to and to receive from.
Schedule pairs_all_to_all(const Shape& shape, int rank, std::uint64_t elements);

/// All to rank 0, which tells one after the other.
Schedule linear_barrier(const Shape& shape, int rank, std::uint64_t elements);
Schedule recursive_doubling_barrier(const Shape& shape, int rank, std::uint64_t elements);
/// Up a binomial tree and down.
Schedule tree_barrier(const Shape& shape, int rank, std::uint64_t elements);

}  // namespace twinlink::workloads::mpi
