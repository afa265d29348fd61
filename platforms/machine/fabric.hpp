// How nodes are joined: which links between switches a message crosses. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/yaml/sourced.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::platforms {

/// GPUDirect RDMA: the adapters read and write device memory, where all on the way forward it.
struct Rdma {
  std::string hypothetical{};                 ///< why the real machine cannot do it; empty if it can
  std::string by_gpu{};                       ///< by what programs of GPUs drive them; empty: by nothing that is known
  std::optional<Sourced<Seconds>> latency{};  ///< what an end in device memory adds to a message's latency
};

enum class FabricShape {
  one_switch,  ///< that never blocks: an adapter's link is the only limit
  fat_tree,    ///< size: nodes of a leaf, leaves of a pod, and pods where there are three levels
  rails,       ///< the same, with a leaf of its own for each adapter of a node
  rail_only,   ///< one switch for each adapter of a node, and nothing that joins them
  dragonfly,   ///< size: groups, routers of a group, nodes of a router, and links between two groups where not one
  torus,       ///< size: nodes along each dimension
  hyperx  ///< size: routers along each dimension, of which those of a line are joined two by two; nodes of a router
};
inline constexpr std::array kFabricShapes{FabricShape::one_switch, FabricShape::fat_tree,  FabricShape::rails,
                                          FabricShape::rail_only,  FabricShape::dragonfly, FabricShape::torus,
                                          FabricShape::hyperx};
/// As the platform file spells it: "switch", "fat-tree", "rails", "rail-only", "dragonfly", "torus", "hyperx".
std::string_view to_string(FabricShape shape);

/// Which of several ways up a tree a message takes.
enum class FabricRouting {
  by_target,  ///< the one of its target's port: D-mod-k
  by_source,  ///< the one of its source's port: S-mod-k
  by_hash,    ///< one that a hash of both ports draws: ECMP
  adaptive    ///< all of them, packet by packet, each the one that is least loaded
};
inline constexpr std::array kFabricRoutings{FabricRouting::by_target, FabricRouting::by_source, FabricRouting::by_hash,
                                            FabricRouting::adaptive};
/// As the platform file spells it: "d-mod-k", "s-mod-k", "ecmp", "adaptive".
std::string_view to_string(FabricRouting routing);

/// Ports down for ports up: 2:1, or 1:2 where more go up than down.
struct Oversubscription {
  int down = 1;
  int up = 1;

  friend bool operator==(const Oversubscription&, const Oversubscription&) = default;
};
/// "2" or "2:1"; nothing for what is neither, or has a zero.
std::optional<Oversubscription> parse_oversubscription(std::string_view text);
/// "2:1".
std::string to_string(const Oversubscription& ratio);

/// The ports of a tree's switches. They count adapters: a node with eight of them takes eight ports.
struct TreePorts {
  int down = 0;       ///< of a leaf, to adapters
  int up = 0;         ///< of a leaf
  int pod_down = 0;   ///< of a switch of the second level: one to each leaf of its pod
  int pod_up = 0;     ///< of a switch of the second level; 0 where there are two levels
  int core_down = 0;  ///< of a switch of the third level: one to each pod
};

/// A cable between two switches, or all that join two groups, which has a share of its rate left.
struct CableFault {
  enum class Cable {
    leaf,      ///< link up `b` of leaf `a`, to a switch of the second level
    pod,       ///< link up `b` of switch `a` of the second level, counted through all pods
    routers,   ///< between routers `a` < `b` of a group of a dragonfly, or of a line of a HyperX
    ring,      ///< of a torus, between neighbours `a` < `b`
    groups,    ///< all between groups `a` < `b`
    one_cable  ///< one of these
  };
  Cable cable = Cable::leaf;
  int a = 0;
  int b = 0;
  double share = 0;  ///< 0: it is gone

  friend bool operator==(const CableFault&, const CableFault&) = default;
};

/// A place where a node is plugged in.
struct FabricPort {
  int node = 0;
  int nic = 0;   ///< index among the adapters of a node
  int nics = 1;  ///< of a node
};

struct Fabric {
  Sourced<Rate> link{};                        ///< of one adapter, each way
  std::optional<Sourced<Rate>> switch_link{};  ///< of one link between switches, each way; none: `link`
  /// Rate of one link of the highest level: to the cores of a tree, between groups of a dragonfly. None: `switch_link`.
  std::optional<Sourced<Rate>> core_link{};
  std::optional<Sourced<Rate>> duplex{};      ///< of an adapter both ways together, where that is less than both
  std::optional<Sourced<Seconds>> latency{};  ///< of passing one switch; the first is in the messages' own latency
  /// What switches that add up let through of an adapter's link, each way (SHARP). None: they do not.
  std::optional<Sourced<Rate>> reduces{};
  std::optional<Rdma> rdma{};  ///< none: the adapters reach host memory only
  FabricShape shape = FabricShape::one_switch;
  FabricRouting routing = FabricRouting::by_target;
  std::vector<int> size{};
  std::vector<Oversubscription> oversubscription{};  ///< of a tree's leaves, and of its second level; none: 1:1
  int radix = 0;                                     ///< ports of each switch; 0: as many as are needed
  int seed = 1;                                      ///< of the hash of ECMP
  std::vector<CableFault> faults{};                  ///< no two of one cable

  [[nodiscard]] bool is_tree() const { return shape == FabricShape::fat_tree || shape == FabricShape::rails; }
  [[nodiscard]] bool has_routers() const { return shape == FabricShape::dragonfly || shape == FabricShape::hyperx; }
  /// Of a shape that has them: how many, and nodes at each.
  [[nodiscard]] std::int64_t routers() const;
  [[nodiscard]] int nodes_of_router() const { return shape == FabricShape::dragonfly ? size[2] : size.back(); }
  /// How many nodes have a place. Nothing: any number.
  [[nodiscard]] std::optional<std::int64_t> nodes() const;
  /// What is wrong with `size`; empty: nothing.
  [[nodiscard]] std::string wrong_size() const;
  /// What is wrong with the ports of the switches, where nodes have `nics` adapters; empty: nothing.
  [[nodiscard]] std::string wrong_ports(int nics) const;
  /// The cables that a user names: "leaf3-up2", "pod-switch3-up1", "router3-router5", "group0-group2" for all between
  /// two groups, "group0-group2-cable" for one of them, "node3-node4" of a torus; and all cables to other switches of
  /// "leaf3", of "pod-switch3" of the second level (or "spine3" where that is the highest), of "core3" of the third,
  /// and of "router3". Each with this share left. A UsageError for what the fabric does not have; without what it says
  /// of the option.
  [[nodiscard]] std::vector<CableFault> cables(std::string_view name, double share, int nics) const;
  /// The ports of nodes at a switch that a user names: "leaf3" of a tree or of rails that nothing joins, "router3" of a
  /// dragonfly, "switch" of one switch. Empty: `name` is no switch of this fabric. A UsageError as cables().
  [[nodiscard]] std::optional<std::vector<FabricPort>> ports_at(std::string_view name, int nodes, int nics) const;
  /// Takes a fault in; of one cable the least share stands, and cables of two groups add up.
  void add_fault(const CableFault& fault);
  /// Which switches or groups no way joins any more; empty: none.
  [[nodiscard]] std::string cut_off(int nics) const;
  /// The ports of a tree, which must not be wrong.
  [[nodiscard]] TreePorts ports(int nics) const;
  [[nodiscard]] Rate switch_rate() const { return switch_link.value_or(link).value; }
  [[nodiscard]] Rate core_rate() const { return core_link ? core_link->value : switch_rate(); }
  /// Share of what half of `nodes` nodes, with `nics` adapters each, can send that reaches the other half, the n-th of
  /// one the n-th of the other: the least level decides, each link as good as it can be loaded. All that rails have
  /// leaves their leaves; of rails that nothing joins: within the rails.
  [[nodiscard]] double bisection(std::int64_t nodes, int nics) const;
};

/// What has to be bought of a fabric, as many leaves or groups as the nodes fill.
struct FabricParts {
  std::int64_t ports = 0;   ///< of switches that a cable ends at
  std::int64_t cables = 0;  ///< of adapters, and between switches
};
FabricParts parts_of(const Fabric& fabric, std::int64_t nodes, int nics);

/// For people: "rails: 32 leaves of 32 ports down and 32 up, 1024 cables between switches; bisection 100 %"; of `nodes`
/// nodes with `nics` adapters each.
std::string describe(const Fabric& fabric, std::int64_t nodes, int nics);

struct FabricWay {
  struct Hop {
    std::uint64_t link = 0;  ///< the same number is the same link, in the same direction
    Rate rate{};             ///< of it, or of all links in parallel that messages are spread over
  };
  std::vector<Hop> hops{};  ///< between switches
  int switches = 1;         ///< that are passed
};

/// The way from one port to another, of another node. Of rails that nothing joins both are of one rail. Where a cable
/// is gone, the next one that is left at both ends; hashes draw among those that are left, and adaptive routing spreads
/// over them. Of a dragonfly the minimal one, or over a third group where nothing joins the two any more.
FabricWay fabric_way(const Fabric& fabric, const FabricPort& from, const FabricPort& to);
/// The ways over which a message's bytes go in equal parts: of a torus one for each way round a ring that is as short
/// as the other, else that one.
std::vector<FabricWay> fabric_ways(const Fabric& fabric, const FabricPort& from, const FabricPort& to);
/// Ways round a link over two others that have something left, for adaptive routing where it is full: of a dragonfly
/// over each third router of a group, or each third group; of a HyperX over each third router of a line. Empty
/// otherwise.
std::vector<std::array<FabricWay::Hop, 2>> fabric_detours(const Fabric& fabric, std::uint64_t link);
/// Are there such ways?
bool has_detours(const Fabric& fabric);
/// Cables up that are left of the leaves that have lost some: 7.5 of 8 where one has half of its rate.
std::map<int, double> shares_of_leaves(const Fabric& fabric, const TreePorts& ports);
/// What is left of a link's rate, or of all that a Hop stands for.
Rate fabric_link_rate(const Fabric& fabric, int nics, std::uint64_t link);
/// Name of a Hop's link: its kind, and the numbers that tell those of a kind apart: "leaf 3 up 0", "group 0 to 2".
std::string fabric_link_name(std::uint64_t link);

}  // namespace twinlink::platforms
