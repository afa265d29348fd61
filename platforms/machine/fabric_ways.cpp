// The ways that messages take between switches, around cables that are gone.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "platforms/machine/fabric.hpp"

namespace twinlink::model {
namespace {

/// A number for each link: what kind it is, and the two numbers that tell those of a kind apart.
constexpr unsigned kBits = 28;
std::uint64_t link_number(int kind, std::int64_t a, std::int64_t b) {
  return (static_cast<std::uint64_t>(kind) << (2 * kBits)) | (static_cast<std::uint64_t>(a) << kBits) |
         static_cast<std::uint64_t>(b);
}

// Kinds of links between switches.
enum LinkKind : int {
  leaf_up,
  leaf_down,
  pod_up,
  pod_down,
  local,
  global,
  ring_forward,
  ring_backward,
  router_out,
  router_in
};

Rate times(Rate each, double count) { return Rate{each.bytes_per_second() * count}; }

/// The number of a link that stands for all of its switch and level.
constexpr std::int64_t kAll = (std::int64_t{1} << kBits) - 1;

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

/// What is left of a cable, of 1.
double left_of(const Fabric& fabric, Cable cable, std::int64_t a, std::int64_t b) {
  for (const CableFault& fault : fabric.faults) {
    if (fault.cable == cable && fault.a == a && fault.b == b) return fault.share;
  }
  return 1;
}
double left_between(const Fabric& fabric, Cable cable, std::int64_t one, std::int64_t other) {
  return left_of(fabric, cable, std::min(one, other), std::max(one, other));
}

/// How many cables have been lost that `is_one` says yes to.
template <class IsOne>
double lost(const Fabric& fabric, const IsOne& is_one) {
  double sum = 0;
  for (const CableFault& fault : fabric.faults) sum += is_one(fault) ? 1 - fault.share : 0;
  return sum;
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
    const std::int64_t second = all ? kAll : second_;
    way_.hops.push_back({link_number(leaf_up, source_, second), leaf_rate(source_, all)});
    if (!one_pod_) {
      for (const auto& [kind, leaf] : {std::pair{pod_up, source_}, std::pair{pod_down, target_}}) {
        const std::int64_t from = all ? leaf / ports_.pod_down : pod_switch(leaf, second_);
        way_.hops.push_back({link_number(kind, from, all ? kAll : core_), core_rate(from, all)});
      }
    }
    way_.hops.push_back({link_number(leaf_down, target_, second), leaf_rate(target_, all)});
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
  [[nodiscard]] Rate leaf_rate(std::int64_t leaf, bool all) const {
    const double left =
        all ? ports_.up -
                  lost(fabric_, [&](const CableFault& fault) { return fault.cable == Cable::leaf && fault.a == leaf; })
            : left_of(fabric_, Cable::leaf, leaf, second_);
    return times(fabric_.switch_rate(), left);
  }
  /// `from`: a switch of the second level, or the pod of all of them.
  [[nodiscard]] Rate core_rate(std::int64_t from, bool all) const {
    const auto in_pod = [&](const CableFault& fault) {
      return fault.cable == Cable::pod && fault.a / ports_.up == from;
    };
    const double left = all ? static_cast<double>(ports_.up) * ports_.pod_up - lost(fabric_, in_pod)
                            : left_of(fabric_, Cable::pod, from, core_);
    return times(fabric_.core_rate(), left);
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

/// From router to router of a group, and from group to group. Minimal: to the router with the links to the other group,
/// across, and to the target's router. Adaptive: the links between two groups end at several routers of each, and
/// packets are spread over all links that leave a router, and all that come in.
class Dragonfly {
 public:
  Dragonfly(const Fabric& fabric, const FabricPort& from, const FabricPort& to)
      : fabric_(fabric),
        routers_(fabric.size[1]),
        source_(from.node / fabric.size[2]),
        target_(to.node / fabric.size[2]) {}

  [[nodiscard]] FabricWay way() {
    here_ = source_;
    if (group(source_) == group(target_) || left(group(source_), group(target_)) > 0) {
      leave_router();
      cross_to(group(target_));
      arrive();
      return std::move(way_);
    }
    for (int i = 0; i < fabric_.size[0]; ++i) {
      const int third = (group(source_) + group(target_) + i) % fabric_.size[0];
      if (joins(third)) return over(third);
    }
    return {};  // Fabric::cut_off() says so
  }
  [[nodiscard]] std::vector<FabricWay> detours() {
    std::vector<FabricWay> all;
    if (group(source_) == group(target_)) return all;
    for (int i = 1; i < fabric_.size[0]; ++i) {
      const int third = (group(source_) + i) % fabric_.size[0];
      if (joins(third)) all.push_back(over(third));
    }
    return all;
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
    way_.hops.push_back({link_number(router_out, source_, 0), all_of_router(source_)});
    if (group(source_) != group(target_)) ++way_.switches;
  }
  void arrive() {
    if (!spreads()) return go_to(target_);
    if (routers_ == 1 || source_ == target_) return;
    way_.hops.push_back({link_number(router_in, target_, 0), all_of_router(target_)});
    ++way_.switches;
  }
  [[nodiscard]] Rate all_of_router(int router) const {
    const double gone = lost(fabric_, [&](const CableFault& fault) {
      return fault.cable == Cable::routers && (fault.a == router || fault.b == router);
    });
    return times(fabric_.switch_rate(), routers_ - 1 - gone);
  }
  void go_to(int router) {
    if (router == here_) return;
    const int first = group(here_) * routers_;
    const auto is_left = [&](int one, int other) { return left_between(fabric_, Cable::routers, one, other) > 0; };
    for (int between = first; !is_left(here_, router) && between < first + routers_; ++between) {
      if (between == here_ || between == router || !is_left(here_, between) || !is_left(between, router)) continue;
      step_to(between);
      break;
    }
    step_to(router);
  }
  void step_to(int router) {
    const double left = left_between(fabric_, Cable::routers, here_, router);
    way_.hops.push_back({link_number(local, here_, router), times(fabric_.switch_rate(), left)});
    ++way_.switches;
    here_ = router;
  }
  void cross_to(int next) {
    const int mine = group(here_);
    if (mine == next) return;
    if (!spreads()) go_to(mine * routers_ + next % routers_);
    const int links = fabric_.size.size() > 3 ? fabric_.size[3] : 1;
    way_.hops.push_back({link_number(global, mine, next), times(fabric_.core_rate(), links * left(mine, next))});
    ++way_.switches;
    here_ = next * routers_ + mine % routers_;
  }

  const Fabric& fabric_;
  int routers_;
  int source_;
  int target_;
  int here_ = 0;
  FabricWay way_{};
};

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
      way.hops.push_back({link_number(forward ? ring_forward : ring_backward, here, static_cast<std::int64_t>(d)),
                          fabric.switch_rate()});
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
  }
  return {};
}

std::vector<FabricWay> fabric_detours(const Fabric& fabric, const FabricPort& from, const FabricPort& to) {
  if (fabric.shape != FabricShape::dragonfly || fabric.routing != FabricRouting::adaptive) return {};
  return Dragonfly(fabric, from, to).detours();
}

std::string fabric_link_name(std::uint64_t link) {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1;
  const std::uint64_t a = (link >> kBits) & kMask;
  const std::uint64_t b = link & kMask;
  const auto up_or_down = [&](std::string_view of, std::string_view direction) {
    return b == static_cast<std::uint64_t>(kAll) ? fmt::format("{} {} {}, all links", of, a, direction)
                                                 : fmt::format("{} {} {} {}", of, a, direction, b);
  };
  const std::string_view second = b == static_cast<std::uint64_t>(kAll) ? "pod" : "pod switch";
  switch (static_cast<LinkKind>(link >> (2 * kBits))) {
    case leaf_up:
      return up_or_down("leaf", "up");
    case leaf_down:
      return up_or_down("leaf", "down");
    case pod_up:
      return up_or_down(second, "up");
    case pod_down:
      return up_or_down(second, "down");
    case local:
      return fmt::format("router {} to {}", a, b);
    case global:
      return fmt::format("group {} to {}", a, b);
    case router_out:
      return fmt::format("router {} out, all links", a);
    case router_in:
      return fmt::format("router {} in, all links", a);
    case ring_forward:
      return fmt::format("torus {} forward in dimension {}", a, b);
    case ring_backward:
      return fmt::format("torus {} backward in dimension {}", a, b);
  }
  std::abort();
}

}  // namespace twinlink::model
