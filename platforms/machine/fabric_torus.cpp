#include "platforms/machine/fabric_torus.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "platforms/machine/fabric_links.hpp"

namespace twinlink::platforms {
namespace {

/// A step from one node to the next.
struct Step {
  std::int64_t from = 0;
  std::size_t dimension = 0;
  bool forward = true;
};

bool is_left(const Fabric& fabric, std::int64_t from, std::int64_t to) {
  return left_between(fabric, CableFault::Cable::ring, from, to) > 0;
}

/// From `here` along a ring; nothing where a cable is gone. A ring of one has no step.
std::optional<std::vector<Step>> along(const Fabric& fabric, std::int64_t here, std::size_t dimension, bool forward,
                                       std::int64_t count) {
  std::vector<Step> steps;
  for (; count > 0; --count) {
    const std::int64_t next = torus_neighbour(fabric, here, dimension, forward);
    if (!is_left(fabric, here, next)) return std::nullopt;
    steps.push_back({here, dimension, forward});
    here = next;
  }
  return steps;
}

/// Breadth first from a node, until `until` says so: by which step each node was reached.
std::vector<std::optional<Step>> explore(const Fabric& fabric, std::int64_t from,
                                         const std::function<bool(std::int64_t)>& until) {
  std::int64_t count = 1;
  for (const int length : fabric.size) count *= length;
  std::vector<std::optional<Step>> by(static_cast<std::size_t>(count));
  std::vector<std::int64_t> reached{from};
  for (std::size_t next = 0; next < reached.size() && !until(reached[next]); ++next) {
    for (std::size_t dimension = 0; dimension < fabric.size.size(); ++dimension) {
      if (fabric.size[dimension] == 1) continue;
      for (const bool forward : {true, false}) {
        const std::int64_t there = torus_neighbour(fabric, reached[next], dimension, forward);
        auto& step = by[static_cast<std::size_t>(there)];
        if (there == from || step || !is_left(fabric, reached[next], there)) continue;
        step = Step{reached[next], dimension, forward};
        reached.push_back(there);
      }
    }
  }
  return by;
}

std::vector<Step> around(const Fabric& fabric, std::int64_t from, std::int64_t to) {
  const auto by = explore(fabric, from, [to](std::int64_t node) { return node == to; });
  std::vector<Step> steps;
  for (std::int64_t here = to; here != from;) {
    const std::optional<Step>& step = by[static_cast<std::size_t>(here)];
    if (!step) return {};
    steps.push_back(*step);
    here = step->from;
  }
  std::ranges::reverse(steps);
  return steps;
}

/// Both ways round a ring may be as short: bit n of `backward` says that the n-th such ring is gone round backward.
/// Empty: from `from` to itself, or cut.
std::vector<Step> steps_between(const Fabric& fabric, std::int64_t from, std::int64_t to, unsigned backward = 0) {
  std::vector<Step> steps;
  std::int64_t stride = 1;
  std::int64_t here = from;
  for (std::size_t dimension = 0; dimension < fabric.size.size(); ++dimension) {
    const std::int64_t length = fabric.size[dimension];
    const std::int64_t at = here / stride % length;
    const std::int64_t goal = to / stride % length;
    const std::int64_t ahead = (goal - at + length) % length;
    bool forward = ahead * 2 <= length;
    if (ahead * 2 == length) {
      forward = (backward & 1U) == 0;
      backward >>= 1U;
    }
    auto ring = along(fabric, here, dimension, forward, forward ? ahead : length - ahead);
    if (!ring) ring = along(fabric, here, dimension, !forward, forward ? length - ahead : ahead);
    if (!ring) return around(fabric, from, to);
    steps.insert(steps.end(), ring->begin(), ring->end());
    here += (goal - at) * stride;
    stride *= length;
  }
  return steps;
}

}  // namespace

std::int64_t torus_neighbour(const Fabric& fabric, std::int64_t node, std::size_t dimension, bool forward) {
  std::int64_t stride = 1;
  for (std::size_t d = 0; d < dimension; ++d) stride *= fabric.size[d];
  const std::int64_t length = fabric.size[dimension];
  const std::int64_t at = node / stride % length;
  return node + ((at + (forward ? 1 : length - 1)) % length - at) * stride;
}

namespace {

FabricWay way_of(const Fabric& fabric, int nics, const std::vector<Step>& steps) {
  FabricWay way;
  for (const auto& [node, dimension, forward] : steps) {
    const LinkKind kind = forward ? LinkKind::ring_forward : LinkKind::ring_backward;
    const std::uint64_t link = link_number(kind, node, static_cast<std::int64_t>(dimension));
    way.hops.push_back({link, fabric_link_rate(fabric, nics, link)});
    ++way.switches;
  }
  return way;
}

/// Rings of which both ways lead from one place to the other in as many hops.
unsigned ties_between(const Fabric& fabric, std::int64_t from, std::int64_t to) {
  unsigned ties = 0;
  for (const std::int64_t length : fabric.size) {
    if (length > 1 && (to % length - from % length + length) % length * 2 == length) ++ties;
    from /= length;
    to /= length;
  }
  return ties;
}

}  // namespace

FabricWay torus_way(const Fabric& fabric, const FabricPort& from, const FabricPort& to) {
  return way_of(fabric, from.nics, steps_between(fabric, from.node, to.node));
}

std::vector<FabricWay> torus_ways(const Fabric& fabric, const FabricPort& from, const FabricPort& to) {
  std::vector<FabricWay> all;
  const unsigned ties = ties_between(fabric, from.node, to.node);
  for (unsigned backward = 0; backward < (1U << ties); ++backward) {
    FabricWay way = way_of(fabric, from.nics, steps_between(fabric, from.node, to.node, backward));
    const auto same = [&](const FabricWay& other) {
      return std::ranges::equal(way.hops, other.hops, {}, &FabricWay::Hop::link, &FabricWay::Hop::link);
    };
    if (std::ranges::none_of(all, same)) all.push_back(std::move(way));
  }
  return all;
}

std::optional<std::int64_t> cut_off_in_torus(const Fabric& fabric) {
  const auto by = explore(fabric, 0, [](std::int64_t) { return false; });
  for (std::size_t node = 1; node < by.size(); ++node) {
    if (!by[node]) return static_cast<std::int64_t>(node);
  }
  return std::nullopt;
}

}  // namespace twinlink::platforms
