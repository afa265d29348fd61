// Ranks that do something together: in a ring, or in halves.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "protocols/workloads/schedule.hpp"

namespace twinlink::workloads {

struct Group {
  int first = 0;
  int distance = 1;  ///< between two members
  int members = 1;
  int self = 0;  ///< the place of this rank among them

  [[nodiscard]] int size() const { return members; }
  [[nodiscard]] int rank(int member) const { return first + member * distance; }
  /// Rank of the member that is so many places further on, or back.
  [[nodiscard]] int rank_at(int places) const { return rank(wrapped(self + places)); }
  /// Numbers of parts go round as the ranks do.
  [[nodiscard]] int wrapped(int number) const;
};

Group everyone(const Shape& shape, int rank);
/// The ranks of its node.
Group node_of(const Shape& shape, int rank);
/// Those that have its place on the other nodes.
Group same_place_of(const Shape& shape, int rank);

/// All others, in an order in which at each place nobody is a second one's partner. Between nodes the two of a pair
/// meet, as in a tournament, so that a message finds its receive posted. Within a node each sends to who is so far on:
/// copies are one behind the other there, and who follows somebody late follows the same one at the next place, where
/// in a tournament all would soon wait for all. Messages of both kinds take turns, so that each node's copies have an
/// order of their own. Of a power of two all pairs of a place differ in the same bits, so that they are equally far
/// apart and messages that begin together end together.
std::vector<int> partners(const Shape& shape, int self);

/// What the parts of ranks [first, behind) hold, which follow each other; empty: there are none.
Slice parts_of(std::uint64_t elements, int ranks, int first, int behind);

// Steps with one peer, none where there is nothing to send. What is added up arrives in the scratch buffer.
void send_only(Schedule& schedule, int peer, const Slice& what);
void receive_only(Schedule& schedule, int peer, const Slice& into);
void receive_and_add(Schedule& schedule, int peer, const Slice& into);
void exchange_and_add(Schedule& schedule, int peer, const Slice& send, const Slice& into);

/// Sending to one peer and receiving from another, or from the same.
std::vector<Transfer> in_and_out(int to, const Slice& send, int from, const Slice& receive);

/// The part of a member, whose number may be any before it is wrapped.
[[nodiscard]] Slice part_within(const Slice& whole, const Group& group, int number);

/// Each member gets its part of `whole`, added up over all, in a ring of as many steps as there are others.
void ring_reduce_scatter(Schedule& schedule, const Group& group, const Slice& whole);
/// Each member gets all parts of `whole`, of which it has its own.
void ring_all_gather(Schedule& schedule, const Group& group, const Slice& whole);
/// The same, where each member exchanges with all others at once: for GPUs that links join two by two.
void direct_reduce_scatter(Schedule& schedule, const Group& group, const Slice& whole);
void direct_all_gather(Schedule& schedule, const Group& group, const Slice& whole);

/// A step of recursive halving: what a member keeps of a slice, and what it gives its peer.
struct Half {
  int peer = 0;
  Slice mine{};
  Slice theirs{};
};
enum class First { farthest, nearest };
/// Those of a member of a group of a power of two, whose members `rank_of` names: each keeps half of what it had.
std::vector<Half> halves_of(int members, int self, const Slice& whole, const std::function<int(int)>& rank_of,
                            First first = First::farthest);
/// Each member gets its part of the whole, added up over all, in as many steps as there are halves.
void halving_reduce_scatter(Schedule& schedule, std::span<const Half> halves);
/// And then all of it.
void doubling_all_gather(Schedule& schedule, std::span<const Half> halves);

}  // namespace twinlink::workloads
