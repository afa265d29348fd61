// The ways that messages take between switches, around cables that are gone.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "platforms/machine/fabric.hpp"
#include "platforms/machine/fabric_links.hpp"
#include "platforms/machine/fabric_torus.hpp"

namespace twinlink::platforms {
namespace {

using Cable = CableFault::Cable;

/// A hash of a message's ports, without order in its bits (the finalizer of MurmurHash3, 64 bits).
std::uint64_t hash(const FabricPort& from, const FabricPort& to, int seed) {
  auto state = static_cast<std::uint64_t>(seed);
  for (const int number : {from.node, from.nic, to.node, to.nic}) {
    state = (state ^ static_cast<std::uint64_t>(number)) + 0x9E3779B97F4A7C15;
    state = (state ^ (state >> 33U)) * 0xFF51AFD7ED558CCD;
    state = (state ^ (state >> 33U)) * 0xC4CEB9FE1A85EC53;
    state ^= state >> 33U;
  }
  return state;
}

/// Up to the level where both have a switch in common, and down again. A link up is chosen by the place of a port among
/// those below its leaf, so that ports of one leaf never meet on the way down (D-mod-k) or up (S-mod-k). Where that one
/// is gone at either end, the next one that is left is taken.
class Tree {
 public:
  Tree(const Fabric& fabric, const FabricPort& from, const FabricPort& to)
      : fabric_(fabric), ports_(fabric.ports(from.nics)), from_(from), to_(to) {}

  FabricWay way() {
    source_ = leaf(from_);
    target_ = leaf(to_);
    if (source_ == target_) return {};
    one_pod_ = source_ / ports_.pod_down == target_ / ports_.pod_down;
    const bool all = fabric_.routing == FabricRouting::adaptive;
    if (!all) choose();
    const std::int64_t second = all ? kAllLinks : second_;
    add(LinkKind::leaf_up, source_, second);
    if (!one_pod_) {
      for (const auto& [kind, leaf] : {std::pair{LinkKind::pod_up, source_}, std::pair{LinkKind::pod_down, target_}}) {
        add(kind, all ? leaf / ports_.pod_down : pod_switch(leaf, second_), all ? kAllLinks : core_);
      }
    }
    add(LinkKind::leaf_down, target_, second);
    if (all && !fabric_.faults.empty()) add_common();
    way_.switches = one_pod_ ? 3 : 5;
    return std::move(way_);
  }

 private:
  [[nodiscard]] bool by_rail() const { return fabric_.shape == FabricShape::rails; }
  [[nodiscard]] std::int64_t leaf(const FabricPort& port) const {
    const int place = port.node / fabric_.size[0];
    return by_rail() ? static_cast<std::int64_t>(place) * port.nics + port.nic : place;
  }
  /// Among the ports down of its leaf.
  [[nodiscard]] std::int64_t place(const FabricPort& port) const {
    const std::int64_t node = port.node % fabric_.size[0];
    return by_rail() ? node : node * port.nics + port.nic;
  }
  [[nodiscard]] std::int64_t pod_switch(std::int64_t leaf, std::int64_t second) const {
    return leaf / ports_.pod_down * ports_.up + second;
  }
  void add(LinkKind kind, std::int64_t a, std::int64_t b) {
    const std::uint64_t link = link_number(kind, a, b);
    way_.hops.push_back({link, fabric_link_rate(fabric_, from_.nics, link)});
  }
  /// A packet that goes up by a cable comes down by that of the same switch. Where cables that are left do not meet,
  /// two leaves or pods have less between them than each has.
  void add_common() {
    const std::size_t hops = way_.hops.size();
    const auto add_narrower = [&](LinkKind kind, std::int64_t a, std::int64_t b, std::size_t up) {
      const std::uint64_t link = link_number(kind, a, b);
      const Rate rate = fabric_link_rate(fabric_, from_.nics, link);
      if (rate < std::min(way_.hops[up].rate, way_.hops[hops - 1 - up].rate)) way_.hops.push_back({link, rate});
    };
    add_narrower(LinkKind::leaf_to_leaf, source_, target_, 0);
    if (!one_pod_) add_narrower(LinkKind::pod_to_pod, source_ / ports_.pod_down, target_ / ports_.pod_down, 1);
  }
  [[nodiscard]] bool is_left(std::int64_t second) const {
    return left_of(fabric_, Cable::leaf, source_, second) > 0 && left_of(fabric_, Cable::leaf, target_, second) > 0;
  }
  [[nodiscard]] bool is_left(std::int64_t second, std::int64_t core) const {
    return left_of(fabric_, Cable::pod, pod_switch(source_, second), core) > 0 &&
           left_of(fabric_, Cable::pod, pod_switch(target_, second), core) > 0;
  }
  void choose() {
    const std::int64_t cores = std::max(ports_.pod_up, 1);
    if (fabric_.routing == FabricRouting::by_hash) {
      const std::uint64_t drawn = hash(from_, to_, fabric_.seed);
      second_ = static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(ports_.up));
      core_ = static_cast<std::int64_t>((drawn >> 32U) % static_cast<std::uint64_t>(cores));
    } else {
      const FabricPort& port = fabric_.routing == FabricRouting::by_source ? from_ : to_;
      second_ = place(port) % ports_.up;
      // Ports below one switch of the second level: by leaf, and those of a leaf that have it in common.
      const int of_a_leaf = (ports_.down + ports_.up - 1) / ports_.up;
      core_ = (leaf(port) % ports_.pod_down * of_a_leaf + place(port) / ports_.up) % cores;
    }
    if (!fabric_.faults.empty()) go_round(cores);
  }
  /// A hash is drawn among those that are left, the others take the next one.
  void go_round(std::int64_t cores) {
    std::vector<std::pair<std::int64_t, std::int64_t>> left;
    for (std::int64_t i = 0; i < ports_.up; ++i) {
      const std::int64_t second = (second_ + i) % ports_.up;
      for (std::int64_t k = 0; is_left(second) && k < (one_pod_ ? 1 : cores); ++k) {
        const std::int64_t core = (core_ + k) % cores;
        if (one_pod_ || is_left(second, core)) left.emplace_back(second, core);
      }
      if (!left.empty() && fabric_.routing != FabricRouting::by_hash) break;
    }
    if (left.empty()) return;  // Fabric::cut_off() says so
    const bool as_ever = left.front() == std::pair{second_, core_};
    std::size_t one = 0;
    if (!as_ever && fabric_.routing == FabricRouting::by_hash) {
      one = hash(to_, from_, fabric_.seed) % left.size();
    }
    std::tie(second_, core_) = left[one];
  }

  const Fabric& fabric_;
  TreePorts ports_;
  const FabricPort& from_;
  const FabricPort& to_;
  FabricWay way_{};
  std::int64_t source_ = 0;  ///< leaves
  std::int64_t target_ = 0;
  bool one_pod_ = false;
  std::int64_t second_ = 0;  ///< of the links up of a leaf
  std::int64_t core_ = 0;    ///< of the links up of a switch of the second level
};

/// Where messages begin to look for a third one where a cable is gone, so that not all go over the same.
int turn_of(const FabricPort& from, const FabricPort& to) { return from.node + to.node + from.nic; }

/// Where the cable between two routers is gone: one of their line that has cables to both, if there is any.
std::optional<std::int64_t> third_between(const Fabric& fabric, std::int64_t here, std::int64_t next, int turn) {
  const auto is_joined = [&](std::int64_t one, std::int64_t other) {
    return left_between(fabric, Cable::routers, one, other) > 0;
  };
  const std::optional<RouterLine> line = line_through(fabric, here, next);
  if (!line || is_joined(here, next)) return std::nullopt;
  for (std::int64_t i = 0; i < line->count; ++i) {
    const std::int64_t third = line->at((turn + i) % line->count);
    if (third != here && third != next && is_joined(here, third) && is_joined(third, next)) return third;
  }
  return std::nullopt;
}

/// From router to router of a group, and from group to group. Minimal: to the router with the links to the other group,
/// across, and to the target's router. Adaptive: the links between two groups end at several routers of each, and
/// packets are spread over all links that leave a router, and all that come in; within a group a message takes the link
/// between its two routers. Where a link is full, fabric_detours() lead round it.
class Dragonfly {
 public:
  Dragonfly(const Fabric& fabric, const FabricPort& from, const FabricPort& to)
      : fabric_(fabric),
        routers_(fabric.size[1]),
        source_(from.node / fabric.size[2]),
        target_(to.node / fabric.size[2]),
        turn_(turn_of(from, to)) {}

  [[nodiscard]] FabricWay way() {
    here_ = source_;
    if (group(source_) == group(target_) || left(group(source_), group(target_)) > 0) {
      leave_router();
      cross_to(group(target_));
      arrive();
      return std::move(way_);
    }
    for (int i = 0; i < fabric_.size[0]; ++i) {
      const int third = (group(source_) + group(target_) + turn_ + i) % fabric_.size[0];
      if (joins(third)) return over(third);
    }
    return {};  // Fabric::cut_off() says so
  }

 private:
  [[nodiscard]] bool spreads() const { return fabric_.routing == FabricRouting::adaptive; }
  [[nodiscard]] int group(int router) const { return router / routers_; }
  [[nodiscard]] double left(int one, int other) const { return left_between(fabric_, Cable::groups, one, other); }
  [[nodiscard]] bool joins(int third) const {
    return third != group(source_) && third != group(target_) && left(group(source_), third) > 0 &&
           left(third, group(target_)) > 0;
  }
  [[nodiscard]] FabricWay over(int third) {
    way_ = {};
    here_ = source_;
    leave_router();
    cross_to(third);
    cross_to(group(target_));
    arrive();
    return std::move(way_);
  }

  void leave_router() {
    if (!spreads() || routers_ == 1 || source_ == target_) return;
    add(LinkKind::router_out, source_, 0);
    if (group(source_) != group(target_)) ++way_.switches;
  }
  void arrive() {
    if (!spreads()) return go_to(target_);
    if (routers_ == 1 || source_ == target_) return;
    if (group(source_) == group(target_)) {
      go_to(target_);
    } else {
      ++way_.switches;
    }
    add(LinkKind::router_in, target_, 0);
  }
  void add(LinkKind kind, int a, int b) {
    const std::uint64_t link = link_number(kind, a, b);
    way_.hops.push_back({link, fabric_link_rate(fabric_, 1, link)});
  }
  void go_to(int router) {
    if (router == here_) return;
    if (const auto third = third_between(fabric_, here_, router, turn_)) step_to(static_cast<int>(*third));
    step_to(router);
  }
  void step_to(int router) {
    add(LinkKind::local, here_, router);
    ++way_.switches;
    here_ = router;
  }
  void cross_to(int next) {
    const int mine = group(here_);
    if (mine == next) return;
    if (!spreads()) go_to(mine * routers_ + next % routers_);
    add(LinkKind::global, mine, next);
    ++way_.switches;
    here_ = next * routers_ + mine % routers_;
  }

  const Fabric& fabric_;
  int routers_;
  int source_;
  int target_;
  int turn_;
  int here_ = 0;
  FabricWay way_{};
};

/// Dimension by dimension to the router that has the target's place there, over a third one of the line where the cable
/// is gone. Where a link is full, fabric_detours() lead round it.
FabricWay hyperx_way(const Fabric& fabric, const FabricPort& from, const FabricPort& to) {
  FabricWay way;
  std::int64_t here = from.node / fabric.nodes_of_router();
  const std::int64_t target = to.node / fabric.nodes_of_router();
  const auto step_to = [&](std::int64_t router) {
    const std::uint64_t link = link_number(LinkKind::local, here, router);
    way.hops.push_back({link, fabric_link_rate(fabric, from.nics, link)});
    ++way.switches;
    here = router;
  };
  std::int64_t stride = 1;
  for (std::size_t dimension = 0; dimension + 1 < fabric.size.size(); stride *= fabric.size[dimension++]) {
    const std::int64_t count = fabric.size[dimension];
    const std::int64_t next = here + (target / stride % count - here / stride % count) * stride;
    if (next == here) continue;
    if (const auto third = third_between(fabric, here, next, turn_of(from, to))) step_to(*third);
    step_to(next);
  }
  return way;
}

}  // namespace

FabricWay fabric_way(const Fabric& fabric, const FabricPort& from, const FabricPort& to) {
  switch (fabric.shape) {
    case FabricShape::one_switch:
    case FabricShape::rail_only:
      return {};
    case FabricShape::fat_tree:
    case FabricShape::rails:
      return Tree(fabric, from, to).way();
    case FabricShape::dragonfly:
      return Dragonfly(fabric, from, to).way();
    case FabricShape::torus:
      return torus_way(fabric, from, to);
    case FabricShape::hyperx:
      return hyperx_way(fabric, from, to);
  }
  return {};
}

std::vector<FabricWay> fabric_ways(const Fabric& fabric, const FabricPort& from, const FabricPort& to) {
  if (fabric.shape == FabricShape::torus) return torus_ways(fabric, from, to);
  return {fabric_way(fabric, from, to)};
}

bool has_detours(const Fabric& fabric) { return fabric.has_routers() && fabric.routing == FabricRouting::adaptive; }

std::vector<std::array<FabricWay::Hop, 2>> fabric_detours(const Fabric& fabric, std::uint64_t link) {
  if (!has_detours(fabric)) return {};
  const auto [kind, from, to] = link_ends(link);
  if (kind != LinkKind::local && kind != LinkKind::global) return {};
  const RouterLine line =
      kind == LinkKind::local ? line_through(fabric, from, to).value() : RouterLine{.count = fabric.size[0]};
  const auto hop = [&, kind = kind](std::int64_t a, std::int64_t b) {
    const std::uint64_t number = link_number(kind, a, b);
    return FabricWay::Hop{number, fabric_link_rate(fabric, 1, number)};
  };
  std::vector<std::array<FabricWay::Hop, 2>> all;
  for (std::int64_t place = 0; place < line.count; ++place) {
    const std::int64_t third = line.at(place);
    if (third == from || third == to) continue;
    const std::array detour{hop(from, third), hop(third, to)};
    if (std::ranges::all_of(detour, [](const FabricWay::Hop& each) { return each.rate > Rate{}; })) {
      all.push_back(detour);
    }
  }
  return all;
}

}  // namespace twinlink::platforms
