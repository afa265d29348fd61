// Ranks that go round in a ring, and what they do there.
#pragma once

#include <vector>

#include "protocols/workloads/schedule.hpp"

namespace twinlink::workloads {

struct Group {
  std::vector<int> ranks{};
  int self = 0;  ///< the place of this rank among them

  [[nodiscard]] int size() const { return static_cast<int>(ranks.size()); }
  /// Of the rank that is `distance` further on, or back.
  [[nodiscard]] int rank_at(int distance) const;
  /// Numbers of parts go round as the ranks do.
  [[nodiscard]] int wrapped(int number) const;
};

Group everyone(const Shape& shape, int rank);
/// The ranks of its node.
Group node_of(const Shape& shape, int rank);
/// Those that have its place on the other nodes.
Group same_place_of(const Shape& shape, int rank);

/// Sending to one peer and receiving from another, or from the same.
std::vector<Transfer> in_and_out(int to, const Slice& send, int from, const Slice& receive);

/// Each member gets its part of `whole`, added up over all, in a ring of as many steps as there are others.
void ring_reduce_scatter(Schedule& schedule, const Group& group, const Slice& whole);
/// Each member gets all parts of `whole`, of which it has its own.
void ring_all_gather(Schedule& schedule, const Group& group, const Slice& whole);

}  // namespace twinlink::workloads
