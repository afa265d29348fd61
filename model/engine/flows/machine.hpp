// Machine: a platform as flows see it. Links carry bandwidth and no latency: latency is SimRank's, sharing is that of
// the flows.
//
// Which links a transfer crosses is worked out once for all nodes, which are alike; a link is made when the first
// transfer crosses it. So there are no tables of routes, and a node costs nothing but the links that are used.
//
// Routes asks it for each operation, and gives what it returns to FlowNetwork::start(). Not only wires are links: the
// engine of a GPU for one kind of copies, a memory's DRAM, what a hub forwards and a CPU that copies messages are too.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "model/engine/flows/flow.hpp"
#include "model/engine/flows/folding.hpp"
#include "model/engine/flows/platform_names.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/core/path.hpp"

namespace twinlink::model {

/// A memory or GPU of one node of the machine.
struct Site {
  int node = 0;
  Location location{};
};

/// The settings that make SimGrid's network model fit PCI Express and InfiniBand. Its defaults are made for TCP over
/// wide-area networks: with them a 100 ns link costs 1.3 us, and bandwidths are 10 to 60 % off.
struct SimGridSetting {
  std::string name;
  std::string value;
};
std::span<const SimGridSetting> simgrid_settings();
/// The version of the library that runs: "3.32".
std::string simgrid_version();

/// What has crossed one direction of a link, or what a part lets devices have, since the start.
struct LinkUse {
  const SharedLink* link = nullptr;
  std::string name{};
  Rate rate{};
  double carried = 0;  ///< bytes that have begun to cross it
};

class Machine {
 public:
  /// Its links are in `network`. With `folding` those of the nodes that stand for all, which outlives it. A UsageError
  /// for places that the platform does not have.
  Machine(FlowNetwork& network, const Topology& topology, std::span<const Place> places,
          const Folding* folding = nullptr);

  // The links that the bytes cross, and the limit of the transfer itself: of each of its ways, which are several for
  // interleaved memory and for messages over several adapters.

  /// A copy between two ends on one node. `cached`: the caches hold most of the bytes, which then do not cross the
  /// DRAM; it matters where the platform says how much caches hold.
  [[nodiscard]] std::vector<FlowRoute> copy(int node, End from, End to, bool cached);
  /// What a thread block of a program loads and stores, at no more than `rate`. All blocks of a GPU share what the
  /// platform says that one of its kernels reaches.
  [[nodiscard]] std::vector<FlowRoute> block(int node, End from, End to, std::optional<Rate> rate);
  /// A message within a node, from host memory to host memory. It takes its share of the CPU of each of `copying`.
  [[nodiscard]] std::vector<FlowRoute> message(int node, Location from, Location to, std::span<const RankId> copying);
  /// What the GPU reads of all `others`, itself among them, and a switch adds up; or what it stores, and the switch
  /// spreads to all of them. One flow over the links of all.
  [[nodiscard]] FlowRoute through_switch(int node, std::size_t gpu, std::span<const std::size_t> others, bool reads,
                                         Rate rate);
  /// What switches of the fabric add up and spread: one flow over the adapters of all ends, each way once, and over the
  /// links between switches.
  struct SummedEnd {
    Site from{};
    Location to{};  ///< on the same node
    std::string nic{};
  };
  [[nodiscard]] FlowRoute through_fabric(std::span<const SummedEnd> ends);
  /// A message in equal parts through `adapters`: between two nodes, or in loopback within one.
  [[nodiscard]] std::vector<FlowRoute> transfer(Site from, std::span<const Adapters> adapters, Site to);

  /// The CPU of `rank` has something else to do, and the messages that it copies rest, until it returns. Nothing on
  /// platforms where no CPU copies messages.
  void leave_messages(RankId rank);
  void return_to_messages(RankId rank);

  /// A part has `share` of its bandwidth from now on, 0 to 1, in every node of its kind: as degrade() has it, an
  /// adapter of its port. With 0 nothing comes through its links: is_cut() says so of routes over them, and who runs
  /// over one now must be failed by its rank.
  void shrink(std::string_view part, double share);
  /// The same of a cable of the fabric, "leaf3-up2". With 0 ways lead round it from now on.
  void shrink_cable(std::string_view name, double share);
  /// How often ways through the fabric have changed.
  [[nodiscard]] int fabric_changes() const { return fabric_changes_; }
  /// Does a flow that has not ended cross a cable that is gone?
  [[nodiscard]] bool is_stranded(const FlowId& flow) const;
  [[nodiscard]] bool any_cut() const { return any_cut_; }
  [[nodiscard]] bool is_cut(const FlowRoute& route) const;
  /// Is a way within a node cut?
  [[nodiscard]] bool is_cut(const Route& route) const;

  /// What bytes may share on a way within a node, whoever moves them, and what is shared at a memory, an adapter and a
  /// GPU: slots of links that have a rate. For who compares ways.
  using Shared = std::vector<FabricWay::Hop>;
  [[nodiscard]] Shared shared_along(const Route& route) const;
  [[nodiscard]] Shared shared_at(Location at) const;
  [[nodiscard]] Shared shared_at(std::string_view nic) const;
  [[nodiscard]] std::size_t slots() const { return no_link_; }

  /// What has begun to cross a part's links, or a memory, in any node; and whether some of it is under way.
  struct Carried {
    double bytes = 0;
    bool under_way = false;
  };
  /// Empty for a memory whose bandwidth the platform does not say: no link stands for it, and nobody counts.
  [[nodiscard]] std::optional<Carried> carried(std::string_view part) const;

  /// All links that anything has crossed, always in the same order; new ones may come between. Their names are
  /// unique: "node 0 gpu0-switch forward", "node 3 mlx5_0 out", "fabric up 2 0".
  [[nodiscard]] std::vector<LinkUse> link_use() const;

 private:
  /// Indices into the links of any node.
  using LinkSlots = std::vector<std::size_t>;
  /// The links of one node, by slot. Null until a flow crosses them.
  using NodeLinks = std::vector<SharedLink*>;
  struct CopySlots {
    LinkSlots slots{};
    std::optional<Rate> limit{};
    std::optional<Rate> each{};  ///< what a part of it on this way gets at most, however small
    /// What the driver's copies between two GPUs get in both directions together.
    std::optional<Rate> both_ways{};
  };

  void lay_out_slots();
  void slow(std::string_view part, double share);
  [[nodiscard]] std::vector<std::optional<Rate>> rates_of(const Topology& topology) const;
  /// What a switch that adds up has of a GPU's links.
  /// Those of that many slots, from a first one on.
  [[nodiscard]] Shared shared_in(std::initializer_list<std::pair<std::size_t, std::size_t>> slots) const;
  [[nodiscard]] static Rate adding_up(const Topology& topology, std::size_t gpu);
  [[nodiscard]] SharedLink& make_link(std::size_t slot, double share);
  [[nodiscard]] std::string name_of(std::size_t slot) const;
  [[nodiscard]] std::size_t port_of(const Hop& hop) const;
  [[nodiscard]] std::size_t engine_of(std::size_t gpu, CopyKind kind) const;
  void add_route(LinkSlots& slots, const Route& route, Reach reach, bool peers, bool to_host = false) const;
  void add_memory(LinkSlots& slots, std::size_t memory, bool reads, bool writes) const;
  void add_copy_memories(LinkSlots& slots, End from, End to, bool cached) const;
  [[nodiscard]] CopySlots make_copy_slots(End from, End to, bool cached) const;
  [[nodiscard]] const LinkSlots& message_slots(Location from, Location to);
  [[nodiscard]] const LinkSlots& slots_out(Location from, const std::string& nic);
  [[nodiscard]] const LinkSlots& slots_in(const std::string& nic, Location to);
  [[nodiscard]] FlowRoute transfer(Site from, const Adapters& adapters, const FabricWay& way, Site to);
  [[nodiscard]] std::optional<Rate> each_of(const Strand& strand, const Adapters& adapters) const;
  void append(FlowRoute& route, int node, const LinkSlots& slots);
  [[nodiscard]] SharedLink& link_at(NodeLinks& links, std::size_t slot);
  [[nodiscard]] SharedLink& driver_between(int node, std::size_t a, std::size_t b, Rate both_ways);
  void append(FlowRoute& route, const FabricWay& way);
  [[nodiscard]] int copy_of(int node) const;  ///< of the graph; of the node that stands for it
  [[nodiscard]] SharedLink& between_switches(const FabricWay::Hop& hop);
  [[nodiscard]] bool cpus_copy() const { return topology_.platform().intra_node.copied_by != CopiedBy::none; }
  [[nodiscard]] SharedLink& cpu_of(RankId rank);

  const Topology& topology_;
  FlowNetwork& network_;
  const Folding* folding_;  ///< null: each node has links of its own
  std::vector<bool> cut_;   ///< by link of a node
  std::unordered_set<const SharedLink*> cut_links_;
  bool any_cut_ = false;
  std::optional<Fabric> fabric_;  ///< as far as it has not failed since
  int fabric_changes_ = 0;
  std::unordered_set<const SharedLink*> gone_cables_;
  bool limits_each_ = false;                ///< some link limits a single transfer
  std::unique_ptr<Platform> slowed_{};      ///< as far as parts have become slow since; null: none has
  std::vector<std::optional<Rate>> rates_;  ///< by slot; nothing: never the limit, so that no flow needs the link
  // Where in a node's links the slots of its parts begin.
  std::size_t first_nic_ = 0;
  std::size_t first_port_ = 0;  ///< of each link the one that its bytes enter forward, then backward
  std::size_t first_memory_ = 0;
  std::size_t first_engine_ = 0;
  std::size_t first_host_ = 0;  ///< of each link, by which GPUs copy to and from host memory
  std::size_t no_link_ = 0;
  std::unordered_map<int, NodeLinks> nodes_;
  std::map<std::tuple<int, std::size_t, std::size_t>, SharedLink*> drivers_;  ///< of a node and two GPUs without peers
  std::unordered_map<std::uint64_t, SharedLink*> between_switches_;           ///< those in use so far
  std::map<std::tuple<int, std::size_t, CopyKind>, SharedLink*> kernels_;     ///< what all blocks of a GPU reach
  std::map<std::tuple<int, std::size_t, bool>, SharedLink*> added_up_;  ///< what switches that add up have of a GPU's
                                                                        ///< links, to the switch and from it
  std::map<std::pair<int, std::string>, SharedLink*>
      summed_;                     ///< what switches of the fabric have of an adapter's link
  std::vector<SharedLink*> cpus_;  ///< by rank: what it copies of messages; null: not in use so far
  std::map<std::tuple<End, End, bool>, CopySlots> copy_slots_;  ///< worked out when first asked for, like those below
  std::map<std::pair<Location, Location>, LinkSlots> message_slots_;
  std::map<std::pair<Location, std::string>, LinkSlots> slots_out_;
  std::map<std::pair<std::string, Location>, LinkSlots> slots_in_;
};

}  // namespace twinlink::model
