#include "platforms/machine/fabric.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "protocols/core/enum_table.hpp"

namespace twinlink::platforms {

/// Of a torus or a HyperX, at most.
constexpr int kDimensions = 8;

static_assert(kFabricShapes.size() == count_of<FabricShape>() && kFabricRoutings.size() == count_of<FabricRouting>());

std::string_view to_string(FabricShape shape) {
  constexpr Words<FabricShape> kNames{"switch", "fat-tree", "rails", "rail-only", "dragonfly", "torus", "hyperx"};
  return kNames[shape];
}

std::string_view to_string(FabricRouting routing) {
  constexpr Words<FabricRouting> kNames{"d-mod-k", "s-mod-k", "ecmp", "adaptive"};
  return kNames[routing];
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

std::int64_t Fabric::routers() const {
  if (shape == FabricShape::dragonfly) return std::int64_t{size[0]} * size[1];
  return nodes().value() / size.back();
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
    case FabricShape::hyperx:
      return expect(2, kDimensions + 1, "a hyperx has 2 to 9 numbers: routers along each dimension, nodes of a router");
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

namespace {

using Counts = std::map<std::int64_t, std::int64_t>;

/// How many nodes there are of each group of `each` neighbours.
Counts filling(std::int64_t nodes, std::int64_t each) {
  Counts counts;
  for (std::int64_t begin = 0; begin < nodes; begin += each) counts[begin / each] = std::min(each, nodes - begin);
  return counts;
}

/// How many of each send to others, where the n-th node of one half sends to the n-th
/// of the other: of an odd number the last stands by.
Counts leaving(std::int64_t nodes, std::int64_t each) {
  Counts counts;
  const std::int64_t half = nodes / 2;
  for (std::int64_t begin = 0; begin < 2 * half; begin += each) {
    const std::int64_t end = std::min(begin + each, 2 * half);
    const std::int64_t pairs_within = std::max<std::int64_t>(0, std::min(half, end - half) - begin);
    if (end - begin > 2 * pairs_within) counts[begin / each] = end - begin - 2 * pairs_within;
  }
  return counts;
}

}  // namespace

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
      const TreePorts all = ports(nics);
      const int by_leaf = shape == FabricShape::rails ? 1 : nics;  // adapters of a node
      const int leaves = shape == FabricShape::rails ? nics : 1;   // of a place
      const std::map<int, double> lost = shares_of_leaves(*this, all);
      double share = 1;
      // Rails meet above their leaves only, and there all that they have leaves them.
      const auto counts = leaves > 1 ? filling(nodes, size[0]) : leaving(nodes, size[0]);
      for (const auto& [place, count] : counts) {
        for (int rail = 0; rail < leaves; ++rail) {
          const auto left = lost.find(static_cast<int>(place) * leaves + rail);
          const double up = left == lost.end() ? all.up : left->second;
          share = std::min(share, between * up / static_cast<double>(count * by_leaf));
        }
      }
      if (size.size() < 3) return share;
      for (const auto& [pod, count] : leaving(nodes, std::int64_t{size[0]} * size[1])) {
        share = std::min(share, highest * all.up * all.pod_up / static_cast<double>(count * nics));
      }
      return share;
    }
    case FabricShape::dragonfly: {
      if (nodes <= std::int64_t{size[1]} * size[2]) {
        // Half of what leaves a router of one half goes over others of it, which have as much of their own to send;
        // over routers without nodes all goes.
        const double routers = std::ceil(static_cast<double>(nodes) / size[2]);
        if (routers == 1) return 1;
        return std::min(1.0, between * (size[1] - routers / 2) / (static_cast<double>(size[2]) * nics));
      }
      const double links = size.size() > 3 ? size[3] : 1;
      const double groups = std::ceil(static_cast<double>(nodes) / size[1] / size[2]);
      return std::min(1.0, highest * links * groups / 2 / (static_cast<double>(size[1]) * size[2] * nics));
    }
    case FabricShape::torus: {
      const int longest = std::ranges::max(size);
      return std::min(1.0, between * (longest > 2 ? 4.0 : 2.0) / (static_cast<double>(longest) * nics));
    }
    case FabricShape::hyperx: {
      // The halves lie apart along the last dimension that the nodes fill; half of what leaves a router goes over
      // others of its line, which have as much of their own to send, and over those without nodes all.
      std::int64_t each = this->nodes().value();
      for (std::size_t dimension = size.size() - 1; dimension-- > 0;) {
        each /= size[dimension];
        const double filled = std::ceil(static_cast<double>(nodes) / static_cast<double>(each));
        if (filled == 1) continue;
        return std::min(1.0, between * (size[dimension] - filled / 2) / (static_cast<double>(size.back()) * nics));
      }
      return 1;
    }
  }
  return 1;
}

namespace {

struct TreeParts {
  std::int64_t leaves = 0;
  std::int64_t cables = 0;  ///< between switches
};

/// One leaf has no spine above it, and one pod no core.
TreeParts tree_parts(const Fabric& fabric, std::int64_t nodes, int nics) {
  const TreePorts ports = fabric.ports(nics);
  const std::int64_t places = (nodes + fabric.size[0] - 1) / fabric.size[0];
  const std::int64_t leaves = places * (fabric.shape == FabricShape::rails ? nics : 1);
  const std::int64_t pods = (leaves + ports.pod_down - 1) / ports.pod_down;
  if (leaves == 1) return {.leaves = 1};
  return {.leaves = leaves, .cables = leaves * ports.up + (pods > 1 ? pods * ports.up * ports.pod_up : 0)};
}

/// Cables between the routers of a HyperX that the nodes fill.
std::int64_t cables_of_hyperx(const Fabric& fabric, std::int64_t nodes) {
  const std::int64_t routers = (nodes + fabric.size.back() - 1) / fabric.size.back();
  std::int64_t cables = 0;
  for (std::int64_t router = 0; router < routers; ++router) {
    std::int64_t stride = 1;
    for (std::size_t dimension = 0; dimension + 1 < fabric.size.size(); stride *= fabric.size[dimension++]) {
      cables += router / stride % fabric.size[dimension];  // to those before it in its line
    }
  }
  return cables;
}

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
      const TreeParts tree = tree_parts(fabric, nodes, nics);
      return fmt::format("{} leaves of {} ports down and {} up, {} cables between switches, ", tree.leaves, ports.down,
                         ports.up, tree.cables);
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
    case FabricShape::hyperx:
      return fmt::format("{} routers, {} cables between them, ", filled(size.back()), cables_of_hyperx(fabric, nodes));
  }
  return "";
}

}  // namespace

FabricParts parts_of(const Fabric& fabric, std::int64_t nodes, int nics) {
  const std::vector<int>& size = fabric.size;
  const auto filled = [&](std::int64_t each) { return (nodes + each - 1) / each; };
  const std::int64_t adapters = nodes * nics;
  std::int64_t between = 0;
  switch (fabric.shape) {
    case FabricShape::one_switch:
    case FabricShape::rail_only:
      break;
    case FabricShape::fat_tree:
    case FabricShape::rails: {
      between = tree_parts(fabric, nodes, nics).cables;
      break;
    }
    case FabricShape::dragonfly: {
      const std::int64_t groups = filled(std::int64_t{size[1]} * size[2]);
      between = groups * (groups - 1) / 2 * (size.size() > 3 ? size[3] : 1) + groups * size[1] * (size[1] - 1) / 2;
      break;
    }
    case FabricShape::torus:
      // Along each dimension a ring; of two nodes one cable, of one none.
      for (const int length : size) between += length > 2 ? nodes : length == 2 ? nodes / 2 : 0;
      break;
    case FabricShape::hyperx:
      between = cables_of_hyperx(fabric, nodes);
      break;
  }
  return {.ports = adapters + 2 * between, .cables = adapters + between};
}

std::string describe(const Fabric& fabric, std::int64_t nodes, int nics) {
  return fmt::format("{}: {}bisection {:.3g} %", to_string(fabric.shape), describe_switches(fabric, nodes, nics),
                     100 * fabric.bisection(nodes, nics));
}

}  // namespace twinlink::platforms
