// How nodes are joined: which links between switches a message crosses. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/yaml/sourced.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::model {

/// GPUDirect RDMA: the adapters read and write device memory, where all on the way forward it.
struct Rdma {
  std::string hypothetical{};                 ///< why the real machine cannot do it; empty if it can
  std::optional<Sourced<Seconds>> latency{};  ///< what an end in device memory adds to a message's latency
};

enum class FabricShape {
  one_switch,  ///< that never blocks: an adapter's link is the only limit
  fat_tree,    ///< size: nodes of a leaf, leaves of a pod, and pods where there are three levels
  rails,       ///< the same, with a leaf of its own for each adapter of a node
  dragonfly,   ///< size: groups, routers of a group, nodes of a router, and links between two groups where not one
  torus        ///< size: nodes along each dimension
};
inline constexpr std::array kFabricShapes{FabricShape::one_switch, FabricShape::fat_tree, FabricShape::rails,
                                          FabricShape::dragonfly, FabricShape::torus};
/// As the platform file spells it: "switch", "fat-tree", "rails", "dragonfly", "torus".
std::string_view to_string(FabricShape shape);

/// Which of several ways up a tree a message takes.
enum class FabricRouting {
  by_target,  ///< the one of its target: D-mod-k
  by_source,  ///< the one of its source: S-mod-k
  spread      ///< all of them alike, packet by packet
};
inline constexpr std::array kFabricRoutings{FabricRouting::by_target, FabricRouting::by_source, FabricRouting::spread};
/// As the platform file spells it: "d-mod-k", "s-mod-k", "spread".
std::string_view to_string(FabricRouting routing);

struct Fabric {
  Sourced<Rate> link{};                       ///< of one adapter, and of one link between switches, each way
  std::optional<Sourced<Rate>> duplex{};      ///< of an adapter both ways together, where that is less than both
  std::optional<Sourced<Seconds>> latency{};  ///< of passing one switch; the first is in the messages' own latency
  std::optional<Rdma> rdma{};                 ///< none: the adapters reach host memory only
  FabricShape shape = FabricShape::one_switch;
  FabricRouting routing = FabricRouting::by_target;
  std::vector<int> size{};
  int oversubscription = 1;  ///< of a tree: so many links down for each link up

  /// How many nodes have a place. Nothing: any number.
  [[nodiscard]] std::optional<std::int64_t> nodes() const;
  /// What is wrong with `size`; empty: nothing.
  [[nodiscard]] std::string wrong_size() const;
};

/// A place where a node is plugged in.
struct FabricPort {
  int node = 0;
  int nic = 0;   ///< index among the adapters of a node
  int nics = 1;  ///< of a node
};

struct FabricWay {
  struct Hop {
    std::uint64_t link = 0;  ///< the same number is the same link, in the same direction
    int count = 1;           ///< so many links in parallel
  };
  std::vector<Hop> hops{};  ///< between switches
  int switches = 1;         ///< that are passed
};

/// The way from one port to another, of another node.
FabricWay fabric_way(const Fabric& fabric, const FabricPort& from, const FabricPort& to);
/// Of a Hop's link: its kind, and the numbers that tell those of a kind apart: "leaf 3 up 0", "group 0 to 2".
std::string fabric_link_name(std::uint64_t link);

}  // namespace twinlink::model
