// GroupRank: a rank among some ranks of a job, as if they were all. What MPI calls a communicator.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "protocols/core/errors.hpp"
#include "protocols/trace/decorated_rank.hpp"

namespace twinlink {

/// The ranks of a group, in its order, and where they are.
struct RankGroup {
  std::vector<RankId> members{};
  std::vector<Place> places{};

  /// Places are those of the whole job.
  RankGroup(std::vector<RankId> of, std::span<const Place> all) : members(std::move(of)) {
    for (const RankId member : members) places.push_back(all[static_cast<std::size_t>(member.value)]);
  }
};

/// Ranks of different groups that speak to each other, too, do it by the rank around; in the same order at both ends.
class GroupRank final : public DecoratedRank {
 public:
  /// `group` must outlive this rank, and `inner` be a member of it; else a UsageError.
  GroupRank(MeasuredRank& inner, const RankGroup& group)
      : DecoratedRank(inner, {.id = place_in(group, inner.id()),
                              .places = group.places,
                              .numa_domains = inner.numa_domains(),
                              .release = inner.position().release}),
        group_(group) {}

  [[nodiscard]] const Path& path_to(RankId peer) const override { return DecoratedRank::path_to(outside(peer)); }
  [[nodiscard]] Standing standing() const override { return {}; }
  [[nodiscard]] Seconds silence_of(RankId peer) override { return inner().silence_of(outside(peer)); }
  Answer check_peer_access(RankId peer) override { return inner().check_peer_access(outside(peer)); }
  void look_up_pointer(RankId peer) override { inner().look_up_pointer(outside(peer)); }
  Buffer allocate_beside(RankId peer, Bytes size) override { return inner().allocate_beside(outside(peer), size); }
  Buffer open_memory(RankId owner, const IpcHandle& handle) override {
    return inner().open_memory(outside(owner), handle);
  }
  Op await_signal(RankId peer, Tag tag, std::uint64_t& value) override {
    return inner().await_signal(outside(peer), tag, value);
  }
  Op send(RankId peer, Tag tag, View from) override { return inner().send(outside(peer), tag, from); }
  Op send_synchronously(RankId peer, Tag tag, View from) override {
    return inner().send_synchronously(outside(peer), tag, from);
  }
  Op receive(RankId peer, Tag tag, View to) override { return inner().receive(outside(peer), tag, to); }
  Op add_up(std::span<const RankId> members, Tag tag, View to, View from) override {
    std::vector<RankId> all;
    for (const RankId member : members) all.push_back(outside(member));
    return inner().add_up(all, tag, to, from);
  }
  Op send_control(RankId peer, Tag tag, const ControlMessage& message) override {
    return inner().send_control(outside(peer), tag, message);
  }
  Op recv_control(RankId peer, Tag tag, ControlMessage& into) override {
    return inner().recv_control(outside(peer), tag, into);
  }
  /// That of the whole job waits for those outside.
  [[nodiscard]] std::optional<Op> meet() override { return std::nullopt; }

 private:
  static RankId place_in(const RankGroup& group, RankId rank) {
    const auto found = std::ranges::find(group.members, rank);
    if (found == group.members.end()) throw UsageError("a rank is no member of its group");
    return RankId{static_cast<int>(found - group.members.begin())};
  }
  [[nodiscard]] RankId outside(RankId member) const {
    if (member.value < 0 || member.value >= ranks()) throw UsageError("there is no such rank in the group");
    return group_.members[static_cast<std::size_t>(member.value)];
  }

  const RankGroup& group_;
};

}  // namespace twinlink
