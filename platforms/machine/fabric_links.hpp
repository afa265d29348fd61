// Links between switches by number: what kind each is, what it is called, and what is left of its rate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "platforms/machine/fabric.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::platforms {

/// Kinds of links between switches, by what their two numbers mean.
enum class LinkKind : int {
  leaf_up,        ///< leaf, switch of the second level
  leaf_down,      ///< the same
  pod_up,         ///< switch of the second level, core
  pod_down,       ///< the same
  local,          ///< two routers of a group
  global,         ///< two groups
  ring_forward,   ///< node, dimension
  ring_backward,  ///< the same
  router_out,     ///< router
  router_in,      ///< router
  leaf_to_leaf,   ///< two leaves: the cables that packets of one reach the other by
  pod_to_pod      ///< two pods: the same
};

/// In the place of the second number: all links of that switch, or of that pod and level.
inline constexpr std::int64_t kAllLinks = (std::int64_t{1} << 28U) - 1;

/// A number for each link, and what it stands for.
std::uint64_t link_number(LinkKind kind, std::int64_t a, std::int64_t b);
struct LinkEnds {
  LinkKind kind{};
  std::int64_t a = 0;
  std::int64_t b = 0;
};
LinkEnds link_ends(std::uint64_t link);

/// What is left of a cable, of 1.
double left_of(const Fabric& fabric, CableFault::Cable cable, std::int64_t a, std::int64_t b);
/// The same, whatever comes first.
double left_between(const Fabric& fabric, CableFault::Cable cable, std::int64_t one, std::int64_t other);

/// What packets that spread over all cables carry from one leaf of a tree to another, and from one pod to another: each
/// takes what the narrower of its cables up and down has.
Rate rate_between_leaves(const Fabric& fabric, int nics, std::int64_t from, std::int64_t to);
Rate rate_between_pods(const Fabric& fabric, int nics, std::int64_t from, std::int64_t to);

/// The routers that are joined two by two and have these two among them: of a dragonfly a group, of a HyperX a line.
/// Nothing: they are no two different ones of such.
struct RouterLine {
  std::int64_t first = 0;
  std::int64_t stride = 1;
  std::int64_t count = 0;

  [[nodiscard]] std::int64_t at(std::int64_t place) const { return first + place * stride; }
};
std::optional<RouterLine> line_through(const Fabric& fabric, std::int64_t one, std::int64_t other);

/// The node that is next to one of a torus.
std::int64_t torus_neighbour(const Fabric& fabric, std::int64_t node, std::size_t dimension, bool forward);

}  // namespace twinlink::platforms
