#include "platforms/machine/fabric.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
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

Rate times(Rate each, int count) { return Rate{each.bytes_per_second() * count}; }

/// The number of a link that stands for all of its switch and level.
constexpr std::int64_t kAll = (std::int64_t{1} << kBits) - 1;

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
/// those below its leaf, so that ports of one leaf never meet on the way down (D-mod-k) or up (S-mod-k).
class Tree {
 public:
  Tree(const Fabric& fabric, const FabricPort& from, const FabricPort& to)
      : fabric_(fabric), ports_(fabric.ports(from.nics)), from_(from), to_(to) {}

  FabricWay way() {
    const std::int64_t source = leaf(from_);
    const std::int64_t target = leaf(to_);
    if (source == target) return {};
    const bool one_pod = source / ports_.pod_down == target / ports_.pod_down;
    const bool all = fabric_.routing == FabricRouting::adaptive;
    choose();
    const std::int64_t second = all ? kAll : second_;
    const Rate up = times(fabric_.switch_rate(), all ? ports_.up : 1);
    way_.hops.push_back({link_number(leaf_up, source, second), up});
    if (!one_pod) {
      const Rate core = times(fabric_.core_rate(), all ? ports_.up * ports_.pod_up : 1);
      way_.hops.push_back({link_number(pod_up, second_level(source), all ? kAll : core_), core});
      way_.hops.push_back({link_number(pod_down, second_level(target), all ? kAll : core_), core});
    }
    way_.hops.push_back({link_number(leaf_down, target, second), up});
    way_.switches = one_pod ? 3 : 5;
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
  /// The number of a pod's switch of the second level, or of the pod where messages go over all of them.
  [[nodiscard]] std::int64_t second_level(std::int64_t leaf) const {
    const std::int64_t pod = leaf / ports_.pod_down;
    return fabric_.routing == FabricRouting::adaptive ? pod : pod * ports_.up + second_;
  }
  void choose() {
    const int cores = std::max(ports_.pod_up, 1);
    if (fabric_.routing == FabricRouting::by_hash) {
      const std::uint64_t drawn = hash(from_, to_, fabric_.seed);
      second_ = static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(ports_.up));
      core_ = static_cast<std::int64_t>((drawn >> 32U) % static_cast<std::uint64_t>(cores));
      return;
    }
    const FabricPort& port = fabric_.routing == FabricRouting::by_source ? from_ : to_;
    second_ = place(port) % ports_.up;
    // Ports below one switch of the second level: by leaf, and those of a leaf that have it in common.
    const int of_a_leaf = (ports_.down + ports_.up - 1) / ports_.up;
    core_ = (leaf(port) % ports_.pod_down * of_a_leaf + place(port) / ports_.up) % cores;
  }

  const Fabric& fabric_;
  TreePorts ports_;
  const FabricPort& from_;
  const FabricPort& to_;
  FabricWay way_{};
  std::int64_t second_ = 0;  ///< of the links up of a leaf
  std::int64_t core_ = 0;    ///< of the links up of a switch of the second level
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
    way.hops.push_back({link_number(local, here, router), fabric.switch_rate()});
    ++way.switches;
    here = router;
  };
  if (source_group != target_group) {
    go_to(source_group * routers + target_group % routers);
    way.hops.push_back({link_number(global, source_group, target_group), times(fabric.core_rate(), links)});
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

std::string_view to_string(FabricShape shape) {
  constexpr std::array<std::string_view, kFabricShapes.size()> kNames{"switch",    "fat-tree",  "rails",
                                                                      "rail-only", "dragonfly", "torus"};
  return kNames.at(static_cast<std::size_t>(shape));
}

std::string_view to_string(FabricRouting routing) {
  constexpr std::array<std::string_view, kFabricRoutings.size()> kNames{"d-mod-k", "s-mod-k", "ecmp", "adaptive"};
  return kNames.at(static_cast<std::size_t>(routing));
}

std::optional<Oversubscription> parse_oversubscription(std::string_view text) {
  constexpr int kMost = 1'000'000;
  const auto number = [&](std::string_view digits) -> std::optional<int> {
    int value = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool whole = problem == std::errc{} && end == digits.data() + digits.size();
    return whole && value >= 1 && value <= kMost ? std::optional(value) : std::nullopt;
  };
  const std::size_t colon = text.find(':');
  const std::optional<int> down = number(text.substr(0, colon));
  const std::optional<int> up = colon == std::string_view::npos ? 1 : number(text.substr(colon + 1));
  if (!down || !up) return std::nullopt;
  return Oversubscription{*down, *up};
}

std::string to_string(const Oversubscription& ratio) { return fmt::format("{}:{}", ratio.down, ratio.up); }

std::optional<std::int64_t> Fabric::nodes() const {
  if (shape == FabricShape::one_switch || shape == FabricShape::rail_only) return std::nullopt;
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
  const std::size_t levels = size.empty() ? 0 : size.size() - 1;
  switch (shape) {
    case FabricShape::one_switch:
    case FabricShape::rail_only:
      return expect(0, 0, fmt::format("a {} has no 'size'", to_string(shape)));
    case FabricShape::fat_tree:
    case FabricShape::rails:
      if (oversubscription.size() > levels && levels > 0) {
        return fmt::format("a tree of {} numbers has {} level{} with links up, and 'oversubscription' has {}",
                           size.size(), levels, levels == 1 ? "" : "s", oversubscription.size());
      }
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

TreePorts Fabric::ports(int nics) const {
  const bool by_rail = shape == FabricShape::rails;
  const auto up = [&](int down, std::size_t level) {
    const Oversubscription ratio = level < oversubscription.size() ? oversubscription[level] : Oversubscription{};
    return static_cast<int>(std::int64_t{down} * ratio.up / ratio.down);
  };
  TreePorts ports{.down = by_rail ? size[0] : size[0] * nics, .pod_down = by_rail ? size[1] * nics : size[1]};
  ports.up = up(ports.down, 0);
  if (size.size() < 3) return ports;
  ports.pod_up = up(ports.pod_down, 1);
  ports.core_down = size[2];
  return ports;
}

std::string Fabric::wrong_ports(int nics) const {
  if (!is_tree()) return {};
  const TreePorts all = ports(nics);
  const auto wrong = [&](std::string_view what, int down, int up, std::size_t level) -> std::string {
    const Oversubscription ratio = level < oversubscription.size() ? oversubscription[level] : Oversubscription{};
    if (std::int64_t{down} * ratio.up % ratio.down != 0) {
      return fmt::format("{} has {} ports down, which {} does not divide", what, down, to_string(ratio));
    }
    if (radix > 0 && down + up > radix) {
      return fmt::format("{} has {} ports down and {} up, and a switch has {} ('radix')", what, down, up, radix);
    }
    return {};
  };
  std::string first = wrong("a leaf", all.down, all.up, 0);
  if (!first.empty()) return first;
  first = wrong("a switch of the second level", all.pod_down, all.pod_up, 1);
  if (first.empty() && size.size() == 3) first = wrong("a switch of the third level", all.core_down, 0, 2);
  return first;
}

double Fabric::bisection(std::int64_t nodes, int nics) const {
  const double adapter = link.value.bytes_per_second();
  const double between = switch_rate().bytes_per_second() / adapter;
  const double highest = core_rate().bytes_per_second() / adapter;
  switch (shape) {
    case FabricShape::one_switch:
    case FabricShape::rail_only:
      return 1;
    case FabricShape::fat_tree:
    case FabricShape::rails: {
      if (nodes <= size[0] && (nics == 1 || shape == FabricShape::fat_tree)) return 1;
      const TreePorts all = ports(nics);
      const double leaves = between * all.up / all.down;
      const bool one_pod = size.size() < 3 || nodes <= std::int64_t{size[0]} * size[1];
      return std::min({1.0, leaves, one_pod ? 1.0 : leaves / between * highest * all.pod_up / all.pod_down});
    }
    case FabricShape::dragonfly: {
      if (nodes <= std::int64_t{size[1]} * size[2]) return 1;  // within a group the routers are all joined
      const double links = size.size() > 3 ? size[3] : 1;
      const double groups = std::ceil(static_cast<double>(nodes) / size[1] / size[2]);
      return std::min(1.0, highest * links * groups / 2 / (static_cast<double>(size[1]) * size[2] * nics));
    }
    case FabricShape::torus: {
      const int longest = std::ranges::max(size);
      return std::min(1.0, between * (longest > 2 ? 4.0 : 2.0) / (static_cast<double>(longest) * nics));
    }
  }
  return 1;
}

namespace {

/// Switches and cables of as many leaves or groups as the nodes fill.
std::string describe_switches(const Fabric& fabric, std::int64_t nodes, int nics) {
  const std::vector<int>& size = fabric.size;
  const auto filled = [&](std::int64_t each) { return (nodes + each - 1) / each; };
  switch (fabric.shape) {
    case FabricShape::one_switch:
      return "";
    case FabricShape::rail_only:
      return fmt::format("{} switches of {} ports, ", nics, nodes);
    case FabricShape::fat_tree:
    case FabricShape::rails: {
      const TreePorts ports = fabric.ports(nics);
      const std::int64_t leaves = filled(size[0]) * (fabric.shape == FabricShape::rails ? nics : 1);
      const std::int64_t pods = (leaves + ports.pod_down - 1) / ports.pod_down;
      return fmt::format("{} leaves of {} ports down and {} up, {} cables between switches, ", leaves, ports.down,
                         ports.up, leaves * ports.up + pods * ports.up * ports.pod_up);
    }
    case FabricShape::dragonfly: {
      const std::int64_t groups = filled(std::int64_t{size[1]} * size[2]);
      const std::int64_t global = groups * (groups - 1) / 2 * (size.size() > 3 ? size[3] : 1);
      const std::int64_t local = groups * size[1] * (size[1] - 1) / 2;
      return fmt::format("{} groups of {} routers, {} cables within and {} between groups, ", groups, size[1], local,
                         global);
    }
    case FabricShape::torus:
      return fmt::format("{} dimension{}, ", size.size(), size.size() == 1 ? "" : "s");
  }
  return "";
}

}  // namespace

std::string describe(const Fabric& fabric, std::int64_t nodes, int nics) {
  return fmt::format("{}: {}bisection {:.3g} %", to_string(fabric.shape), describe_switches(fabric, nodes, nics),
                     100 * fabric.bisection(nodes, nics));
}

FabricWay fabric_way(const Fabric& fabric, const FabricPort& from, const FabricPort& to) {
  switch (fabric.shape) {
    case FabricShape::one_switch:
    case FabricShape::rail_only:
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
    case ring_forward:
      return fmt::format("torus {} forward in dimension {}", a, b);
    case ring_backward:
      return fmt::format("torus {} backward in dimension {}", a, b);
  }
  std::abort();
}

}  // namespace twinlink::model
