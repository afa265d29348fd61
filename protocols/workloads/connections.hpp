// The open channels of a rank to all peers that its schedules name.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "protocols/core/protocol.hpp"
#include "protocols/heap/heap_channel.hpp"
#include "protocols/heap/symmetric_heap.hpp"
#include "protocols/workloads/concurrent_rank.hpp"
#include "protocols/workloads/group_rank.hpp"
#include "protocols/workloads/schedule.hpp"

namespace twinlink::workloads {

/// How messages travel: within a node, between nodes, and between nodes that no NVLink domain joins.
struct Ways {
  const Protocol* within = nullptr;
  const Protocol* between = nullptr;
  Settings settings_within{};
  Settings settings_between{};
  const Protocol* between_domains = nullptr;  ///< null: `between`, whatever joins the nodes
  Settings settings_between_domains{};
};

/// Do the two map each other's memory, as those of a node do, and those of a domain of several nodes?
bool in_one_domain(const Path& path);

/// The peers of a schedule.
std::set<RankId> peers_of(const Schedule& schedule);

/// Why this rank cannot reach one of `peers`, which it names; empty: it can. And why both ways do not go together.
std::string refusal(const Rank& rank, const Ways& ways, const std::set<RankId>& peers);

/// Does any of them want a symmetric heap?
bool wants_heap(const Ways& ways);
/// Does one of them go by the numbers of the ranks?
bool go_by_numbers(const Ways& ways);
/// Does no message between nodes leave from host memory?
bool send_device_memory_alone(const Ways& ways);

/// One channel to `peer`, who does the same: by the protocol for such pairs.
std::unique_ptr<Channel> open_channel(Rank& rank, const Ways& ways, RankId peer);

/// Ranks that do collectives together by a protocol that does them by itself. What group and self stand on outlives it.
struct Circle {
  std::unique_ptr<RankGroup> group{};  ///< null: all ranks of the job
  std::unique_ptr<GroupRank> self{};
  std::unique_ptr<Communicator> all{};
};
/// `members` do the same; `rank` and `ways` outlive what is returned.
Circle join_circle(MeasuredRank& rank, const Ways& ways, std::span<const int> members);

class Connections {
 public:
  /// `rank`, `ways` and `heap` outlive it. Of ways that want one, messages are on the heap.
  Connections(ConcurrentRank& rank, const Ways& ways, SymmetricHeap* heap = nullptr)
      : rank_(rank), ways_(ways), heap_(heap) {}

  /// Opens those that are not open, all at once, so that rings and all pairs cannot wait for each other. Each peer does
  /// the same. What a channel's connect() refuses, this does.
  void open(const std::set<RankId>& peers);
  /// The same for a schedule, step by step: a job of many ranks has few connections in the making then.
  void open(const Schedule& schedule);

  /// For collectives that the protocol does by itself among `members`, none of whom are all; once open() had a schedule
  /// with one.
  [[nodiscard]] Communicator& together(const std::vector<int>& members = {}) { return *communicators_.at(members).all; }
  [[nodiscard]] Channel& to(RankId peer) { return *channels_.at(peer); }
  /// The channel to a peer where it is one on the heap; else null.
  [[nodiscard]] HeapChannel* on_heap(RankId peer) { return dynamic_cast<HeapChannel*>(channels_.at(peer).get()); }
  /// Is any channel?
  [[nodiscard]] bool connecting() const;
  /// What the channels have counted, added up.
  [[nodiscard]] std::map<std::string, std::uint64_t> counters() const;

 private:
  void open(const Together& together);

  ConcurrentRank& rank_;
  const Ways& ways_;
  SymmetricHeap* heap_;
  std::map<RankId, std::unique_ptr<Channel>> channels_;
  std::map<std::vector<int>, Circle> communicators_;
};

}  // namespace twinlink::workloads
