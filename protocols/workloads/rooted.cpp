// Collectives with a root, which is rank 0: what all have comes together there, or what it has goes out to all.
#include <algorithm>
#include <utility>
#include <vector>

#include "protocols/workloads/collectives.hpp"
#include "protocols/workloads/groups.hpp"

namespace twinlink::workloads {
namespace {

constexpr int kRoot = 0;

/// A part that nobody knows from another's.
std::uint64_t part_value(int rank) { return static_cast<std::uint64_t>(rank) + 1; }

/// Nobody has an element where there are fewer than ranks: no message then.
void add_transfer(Step& step, int peer, const Slice& send, const Slice& receive) {
  if (send.length + receive.length > 0) step.transfers.push_back({peer, send, receive});
}

void add_step(Schedule& schedule, Step step) {
  if (!step.transfers.empty()) schedule.steps.push_back(std::move(step));
}

/// In a binomial tree: with whom, and which parts go up or come down, from the leaves on.
struct Branch {
  int peer = 0;
  Slice parts{};
  bool up = false;  ///< the peer is nearer to the root
};
std::vector<Branch> branches_of(int ranks, int rank, std::uint64_t elements) {
  std::vector<Branch> branches;
  for (int distance = 1; distance < ranks; distance *= 2) {
    if ((rank & distance) != 0) {
      branches.push_back({rank - distance, parts_of(elements, ranks, rank, std::min(rank + distance, ranks)), true});
      break;
    }
    const int child = rank + distance;
    if (child >= ranks) continue;
    branches.push_back({child, parts_of(elements, ranks, child, std::min(child + distance, ranks)), false});
  }
  return branches;
}

}  // namespace

Schedule gather_of(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule{.data = elements, .before = {{part_of(elements, shape.ranks, rank), part_value(rank)}}};
  for (int r = 0; rank == kRoot && r < shape.ranks; ++r) {
    schedule.after.push_back({part_of(elements, shape.ranks, r), part_value(r)});
  }
  return schedule;
}

Schedule scatter_of(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule{.data = elements, .after = {{part_of(elements, shape.ranks, rank), part_value(rank)}}};
  for (int r = 0; rank == kRoot && r < shape.ranks; ++r) {
    schedule.before.push_back({part_of(elements, shape.ranks, r), part_value(r)});
  }
  return schedule;
}

namespace {

/// Parts between the root and all others, at once.
void add_star(Schedule& schedule, const Shape& shape, int rank, std::uint64_t elements, bool to_root) {
  Step step;
  if (rank != kRoot) {
    const Slice mine = part_of(elements, shape.ranks, rank);
    to_root ? add_transfer(step, kRoot, mine, {}) : add_transfer(step, kRoot, {}, mine);
  }
  for (int r = 1; rank == kRoot && r < shape.ranks; ++r) {
    const Slice theirs = part_of(elements, shape.ranks, r);
    to_root ? add_transfer(step, r, {}, theirs) : add_transfer(step, r, theirs, {});
  }
  add_step(schedule, std::move(step));
}

/// Parts up or down the tree, a branch after the other.
void add_tree(Schedule& schedule, const std::vector<Branch>& branches, bool to_root) {
  for (const Branch& branch : branches) {
    Step step;
    const bool sends = branch.up == to_root;
    sends ? add_transfer(step, branch.peer, branch.parts, {}) : add_transfer(step, branch.peer, {}, branch.parts);
    add_step(schedule, std::move(step));
  }
}

}  // namespace

Schedule tree_gather(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = gather_of(shape, rank, elements);
  add_tree(schedule, branches_of(shape.ranks, rank, elements), true);
  return schedule;
}

Schedule direct_gather(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = gather_of(shape, rank, elements);
  add_star(schedule, shape, rank, elements, true);
  return schedule;
}

Schedule tree_scatter(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = scatter_of(shape, rank, elements);
  std::vector<Branch> branches = branches_of(shape.ranks, rank, elements);
  std::ranges::reverse(branches);
  add_tree(schedule, branches, false);
  return schedule;
}

Schedule direct_scatter(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = scatter_of(shape, rank, elements);
  add_star(schedule, shape, rank, elements, false);
  return schedule;
}

Schedule ring_reduce(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = reduce_of(shape, rank, elements);
  ring_reduce_scatter(schedule, everyone(shape, rank), {Where::data, 0, elements});
  add_star(schedule, shape, rank, elements, true);
  return schedule;
}

}  // namespace twinlink::workloads
