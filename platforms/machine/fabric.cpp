#include "platforms/machine/fabric.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

namespace twinlink::model {
namespace {

/// A number for each link: what kind it is, and the two numbers that tell those of a kind apart.
constexpr unsigned kBits = 28;
std::uint64_t link_number(int kind, std::int64_t a, std::int64_t b) {
  return (static_cast<std::uint64_t>(kind) << (2 * kBits)) | (static_cast<std::uint64_t>(a) << kBits) |
         static_cast<std::uint64_t>(b);
}

// Kinds of links between switches.
enum LinkKind : int { leaf_up, leaf_down, pod_up, pod_down, local, global, ring_forward, ring_backward };
constexpr int kDimensions = 8;  // of a torus, at most

class Tree {
 public:
  Tree(const Fabric& fabric, const FabricPort& from, const FabricPort& to) : fabric_(fabric), from_(from), to_(to) {}

  FabricWay way() {
    const int pod = fabric_.size[1] * leaves_of_place();
    const std::int64_t source = leaf(from_);
    const std::int64_t target = leaf(to_);
    if (source == target) return {};
    const int up = std::max(fabric_.size[0] / fabric_.oversubscription, 1);
    FabricWay way;
    add(way, leaf_up, source, choice() % up, up);
    if (source / pod == target / pod) {
      way.switches = 3;
    } else {
      // Above each switch of a pod's second level there are as many cores as it has leaves below.
      const int cores = std::max(pod / fabric_.oversubscription, 1);
      const int second = static_cast<int>(choice() % up);
      const auto core = static_cast<int>((choice() / up) % cores);
      add(way, pod_up, source / pod * up + second, core, cores);
      add(way, pod_down, target / pod * up + second, core, cores);
      way.switches = 5;
    }
    add(way, leaf_down, target, choice() % up, up);
    return way;
  }

 private:
  [[nodiscard]] int leaves_of_place() const { return fabric_.shape == FabricShape::rails ? from_.nics : 1; }
  [[nodiscard]] std::int64_t leaf(const FabricPort& port) const {
    const int place = port.node / fabric_.size[0];
    return fabric_.shape == FabricShape::rails ? static_cast<std::int64_t>(place) * port.nics + port.nic : place;
  }
  [[nodiscard]] int choice() const {
    const FabricPort& port = fabric_.routing == FabricRouting::by_source ? from_ : to_;
    return port.node * port.nics + port.nic;
  }
  void add(FabricWay& way, LinkKind kind, std::int64_t which, int chosen, int all) const {
    if (fabric_.routing == FabricRouting::spread) {
      way.hops.push_back({link_number(kind, which, 0), all});
    } else {
      way.hops.push_back({link_number(kind, which, chosen), 1});
    }
  }

  const Fabric& fabric_;
  const FabricPort& from_;
  const FabricPort& to_;
};

/// Minimal: to the router with the links to the other group, across, and to the target's router.
FabricWay dragonfly_way(const Fabric& fabric, const FabricPort& from, const FabricPort& to) {
  const int routers = fabric.size[1];
  const int links = fabric.size.size() > 3 ? fabric.size[3] : 1;
  const int source = from.node / fabric.size[2];
  const int target = to.node / fabric.size[2];
  const int source_group = source / routers;
  const int target_group = target / routers;
  FabricWay way;
  int here = source;
  const auto go_to = [&](int router) {
    if (router == here) return;
    way.hops.push_back({link_number(local, here, router), 1});
    ++way.switches;
    here = router;
  };
  if (source_group != target_group) {
    go_to(source_group * routers + target_group % routers);
    way.hops.push_back({link_number(global, source_group, target_group), links});
    ++way.switches;
    here = target_group * routers + source_group % routers;
  }
  go_to(target);
  return way;
}

/// Dimension by dimension, the shorter way round.
FabricWay torus_way(const Fabric& fabric, const FabricPort& from, const FabricPort& to) {
  FabricWay way;
  std::int64_t stride = 1;
  std::int64_t here = from.node;
  for (std::size_t d = 0; d < fabric.size.size(); ++d) {
    const std::int64_t length = fabric.size[d];
    const std::int64_t at = here / stride % length;
    const std::int64_t goal = to.node / stride % length;
    const std::int64_t ahead = (goal - at + length) % length;
    const bool forward = ahead * 2 <= length;
    for (std::int64_t left = forward ? ahead : length - ahead; left > 0; --left) {
      way.hops.push_back({link_number(forward ? ring_forward : ring_backward, here, static_cast<std::int64_t>(d)), 1});
      ++way.switches;
      const std::int64_t position = here / stride % length;
      const std::int64_t next = (position + (forward ? 1 : length - 1)) % length;
      here += (next - position) * stride;
    }
    stride *= length;
  }
  return way;
}

}  // namespace

std::string_view to_string(FabricShape shape) {
  constexpr std::array<std::string_view, kFabricShapes.size()> kNames{"switch", "fat-tree", "rails", "dragonfly",
                                                                      "torus"};
  return kNames.at(static_cast<std::size_t>(shape));
}

std::string_view to_string(FabricRouting routing) {
  constexpr std::array<std::string_view, kFabricRoutings.size()> kNames{"d-mod-k", "s-mod-k", "spread"};
  return kNames.at(static_cast<std::size_t>(routing));
}

std::optional<std::int64_t> Fabric::nodes() const {
  if (shape == FabricShape::one_switch) return std::nullopt;
  const auto end = shape == FabricShape::dragonfly ? std::min<std::size_t>(size.size(), 3) : size.size();
  // More than there can be nodes, and a number more does not overflow.
  constexpr std::int64_t kMost = 1'000'000'000'000;
  std::int64_t places = 1;
  for (std::size_t i = 0; i < end; ++i) places = std::min(places * size[i], kMost);
  return places;
}

std::string Fabric::wrong_size() const {
  const auto expect = [&](std::size_t least, std::size_t most, const std::string& what) -> std::string {
    return size.size() >= least && size.size() <= most ? "" : what;
  };
  switch (shape) {
    case FabricShape::one_switch:
      return expect(0, 0, "a switch has no 'size'");
    case FabricShape::fat_tree:
    case FabricShape::rails:
      return expect(2, 3, "a tree has 2 or 3 numbers: nodes of a leaf, leaves of a pod, pods");
    case FabricShape::dragonfly:
      return expect(3, 4,
                    "a dragonfly has 3 or 4 numbers: groups, routers of a group, nodes of a router, links between "
                    "two groups");
    case FabricShape::torus:
      return expect(1, kDimensions, "a torus has 1 to 8 numbers: nodes along each dimension");
  }
  return {};
}

FabricWay fabric_way(const Fabric& fabric, const FabricPort& from, const FabricPort& to) {
  switch (fabric.shape) {
    case FabricShape::one_switch:
      return {};
    case FabricShape::fat_tree:
    case FabricShape::rails:
      return Tree(fabric, from, to).way();
    case FabricShape::dragonfly:
      return dragonfly_way(fabric, from, to);
    case FabricShape::torus:
      return torus_way(fabric, from, to);
  }
  return {};
}

std::string fabric_link_name(std::uint64_t link) {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1;
  const std::uint64_t a = (link >> kBits) & kMask;
  const std::uint64_t b = link & kMask;
  switch (static_cast<LinkKind>(link >> (2 * kBits))) {
    case leaf_up:
      return fmt::format("leaf {} up {}", a, b);
    case leaf_down:
      return fmt::format("leaf {} down {}", a, b);
    case pod_up:
      return fmt::format("pod switch {} up {}", a, b);
    case pod_down:
      return fmt::format("pod switch {} down {}", a, b);
    case local:
      return fmt::format("router {} to {}", a, b);
    case global:
      return fmt::format("group {} to {}", a, b);
    case ring_forward:
      return fmt::format("torus {} forward in dimension {}", a, b);
    case ring_backward:
      return fmt::format("torus {} backward in dimension {}", a, b);
  }
  std::abort();
}

}  // namespace twinlink::model
