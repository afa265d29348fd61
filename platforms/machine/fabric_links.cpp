#include "platforms/machine/fabric_links.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

namespace twinlink::platforms {
namespace {

constexpr unsigned kBits = 28;
constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1;

using Cable = CableFault::Cable;

/// How many cables have been lost that `is_one` says yes to.
template <class IsOne>
double lost(const Fabric& fabric, const IsOne& is_one) {
  double sum = 0;
  for (const CableFault& fault : fabric.faults) sum += is_one(fault) ? 1 - fault.share : 0;
  return sum;
}

}  // namespace

std::uint64_t link_number(LinkKind kind, std::int64_t a, std::int64_t b) {
  return (static_cast<std::uint64_t>(kind) << (2 * kBits)) | (static_cast<std::uint64_t>(a) << kBits) |
         static_cast<std::uint64_t>(b);
}

LinkEnds link_ends(std::uint64_t link) {
  return {static_cast<LinkKind>(link >> (2 * kBits)), static_cast<std::int64_t>((link >> kBits) & kMask),
          static_cast<std::int64_t>(link & kMask)};
}

double left_of(const Fabric& fabric, Cable cable, std::int64_t a, std::int64_t b) {
  for (const CableFault& fault : fabric.faults) {
    if (fault.cable == cable && fault.a == a && fault.b == b) return fault.share;
  }
  return 1;
}

double left_between(const Fabric& fabric, Cable cable, std::int64_t one, std::int64_t other) {
  return left_of(fabric, cable, std::min(one, other), std::max(one, other));
}

std::optional<RouterLine> line_through(const Fabric& fabric, std::int64_t one, std::int64_t other) {
  if (one == other) return std::nullopt;
  if (fabric.shape == FabricShape::dragonfly) {
    const std::int64_t routers = fabric.size[1];
    if (one / routers != other / routers) return std::nullopt;
    return RouterLine{one / routers * routers, 1, routers};
  }
  std::int64_t stride = 1;
  for (std::size_t dimension = 0; dimension + 1 < fabric.size.size(); ++dimension) {
    const std::int64_t count = fabric.size[dimension];
    const std::int64_t at = one / stride % count;
    if (at != other / stride % count) {
      const RouterLine line{one - at * stride, stride, count};
      return line.at(other / stride % count) == other ? std::optional(line) : std::nullopt;
    }
    stride *= count;
  }
  return std::nullopt;
}

namespace {

/// From a switch of the second level of one pod to its like in another.
double cores_between(const Fabric& fabric, const TreePorts& ports, std::int64_t from, std::int64_t to) {
  double sum = 0;
  for (std::int64_t core = 0; core < ports.pod_up; ++core) {
    sum += std::min(left_of(fabric, Cable::pod, from, core), left_of(fabric, Cable::pod, to, core));
  }
  return sum * fabric.core_rate().bytes_per_second();
}

}  // namespace

Rate rate_between_pods(const Fabric& fabric, int nics, std::int64_t from, std::int64_t to) {
  const TreePorts ports = fabric.ports(nics);
  double sum = 0;
  for (std::int64_t second = 0; second < ports.up; ++second) {
    sum += cores_between(fabric, ports, from * ports.up + second, to * ports.up + second);
  }
  return Rate{sum};
}

Rate rate_between_leaves(const Fabric& fabric, int nics, std::int64_t from, std::int64_t to) {
  const TreePorts ports = fabric.ports(nics);
  const std::int64_t from_pod = from / ports.pod_down;
  const std::int64_t to_pod = to / ports.pod_down;
  double sum = 0;
  for (std::int64_t second = 0; second < ports.up; ++second) {
    const double cables =
        std::min(left_of(fabric, Cable::leaf, from, second), left_of(fabric, Cable::leaf, to, second));
    double rate = cables * fabric.switch_rate().bytes_per_second();
    if (from_pod != to_pod) {
      rate = std::min(rate, cores_between(fabric, ports, from_pod * ports.up + second, to_pod * ports.up + second));
    }
    sum += rate;
  }
  return Rate{sum};
}

Rate fabric_link_rate(const Fabric& fabric, int nics, std::uint64_t link) {
  const auto [kind, a, b] = link_ends(link);
  const auto each = [](Rate rate, double count) { return Rate{rate.bytes_per_second() * count}; };
  switch (kind) {
    case LinkKind::leaf_up:
    case LinkKind::leaf_down: {
      const auto of_leaf = [&](const CableFault& fault) { return fault.cable == Cable::leaf && fault.a == a; };
      const double left =
          b == kAllLinks ? fabric.ports(nics).up - lost(fabric, of_leaf) : left_of(fabric, Cable::leaf, a, b);
      return each(fabric.switch_rate(), left);
    }
    case LinkKind::pod_up:
    case LinkKind::pod_down: {
      if (b != kAllLinks) return each(fabric.core_rate(), left_of(fabric, Cable::pod, a, b));
      const TreePorts ports = fabric.ports(nics);
      const auto of_pod = [&](const CableFault& fault) { return fault.cable == Cable::pod && fault.a / ports.up == a; };
      return each(fabric.core_rate(), static_cast<double>(ports.up) * ports.pod_up - lost(fabric, of_pod));
    }
    case LinkKind::local:
      return each(fabric.switch_rate(), left_between(fabric, Cable::routers, a, b));
    case LinkKind::global:
      return each(fabric.core_rate(),
                  (fabric.size.size() > 3 ? fabric.size[3] : 1) * left_between(fabric, Cable::groups, a, b));
    case LinkKind::router_out:
    case LinkKind::router_in: {
      const auto of_router = [&](const CableFault& fault) {
        return fault.cable == Cable::routers && (fault.a == a || fault.b == a);
      };
      return each(fabric.switch_rate(), fabric.size[1] - 1 - lost(fabric, of_router));
    }
    case LinkKind::leaf_to_leaf:
      return rate_between_leaves(fabric, nics, a, b);
    case LinkKind::pod_to_pod:
      return rate_between_pods(fabric, nics, a, b);
    case LinkKind::ring_forward:
    case LinkKind::ring_backward: {
      const bool forward = kind == LinkKind::ring_forward;
      const std::int64_t next = torus_neighbour(fabric, a, static_cast<std::size_t>(b), forward);
      return each(fabric.switch_rate(), left_between(fabric, Cable::ring, a, next));
    }
  }
  std::abort();
}

std::string fabric_link_name(std::uint64_t link) {
  const auto [kind, a, b] = link_ends(link);
  const auto up_or_down = [a = a, b = b](std::string_view of, std::string_view direction) {
    return b == kAllLinks ? fmt::format("{} {} {}, all links", of, a, direction)
                          : fmt::format("{} {} {} {}", of, a, direction, b);
  };
  const std::string_view second = b == kAllLinks ? "pod" : "pod switch";
  switch (kind) {
    case LinkKind::leaf_up:
      return up_or_down("leaf", "up");
    case LinkKind::leaf_down:
      return up_or_down("leaf", "down");
    case LinkKind::pod_up:
      return up_or_down(second, "up");
    case LinkKind::pod_down:
      return up_or_down(second, "down");
    case LinkKind::local:
      return fmt::format("router {} to {}", a, b);
    case LinkKind::global:
      return fmt::format("group {} to {}", a, b);
    case LinkKind::router_out:
      return fmt::format("router {} out, all links", a);
    case LinkKind::router_in:
      return fmt::format("router {} in, all links", a);
    case LinkKind::leaf_to_leaf:
      return fmt::format("leaf {} to {}, what their cables have in common", a, b);
    case LinkKind::pod_to_pod:
      return fmt::format("pod {} to {}, what their cables have in common", a, b);
    case LinkKind::ring_forward:
      return fmt::format("torus {} forward in dimension {}", a, b);
    case LinkKind::ring_backward:
      return fmt::format("torus {} backward in dimension {}", a, b);
  }
  std::abort();
}

}  // namespace twinlink::platforms
