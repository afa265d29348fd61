#include "platforms/topology/idle_faults.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "platforms/machine/degraded.hpp"
#include "platforms/topology/topology.hpp"

namespace twinlink::platforms {
namespace {

/// The links and memories of the graph that a job's ways may cross.
class JobWays {
 public:
  JobWays(const Topology& topology, std::span<const Place> places, const UsesGpu& uses_gpu)
      : topology_(topology), uses_gpu_(uses_gpu) {
    // Nodes that are alike are the same to the graph, and so are pairs of them.
    std::map<int, std::set<std::size_t>> by_node;
    std::map<int, std::set<std::size_t>> by_copy;
    std::set<std::size_t> all;
    for (const Place& place : places) {
      const std::size_t gpu = topology.gpu_of(place);
      by_node[place.node].insert(gpu);
      by_copy[topology.copy_of(place.node)].insert(gpu);
      all.insert(gpu);
    }
    for (const std::size_t gpu : all) add_own(gpu);
    std::set<std::set<std::size_t>> seen;
    for (const auto& [node, gpus] : by_node) {
      if (seen.insert(gpus).second) add_pairs(gpus, true);
    }
    for (const auto& [copy, gpus] : by_copy) {
      if (seen.insert(gpus).second) add_pairs(gpus, false);
    }
    const bool loopback = topology.platform().within_node.loopback;
    if (topology.platform().fabric && (by_node.size() > 1 || loopback)) {
      for (const std::size_t a : all) {
        for (const std::size_t b : all) add_through_adapters(a, b);
      }
    }
  }

  [[nodiscard]] bool cross(std::string_view part) const {
    const std::vector<std::size_t> links = links_of(topology_.graph(), part);
    return memories_.contains(std::string(part)) ||
           std::ranges::any_of(links, [&](std::size_t link) { return links_.contains(link); });
  }

 private:
  static Location gpu_at(std::size_t index) { return {Location::Kind::gpu, index}; }
  [[nodiscard]] bool uses(std::size_t gpu) const { return uses_gpu_(topology_.graph().gpus[gpu].name); }

  /// Where the host memory of a rank may lie.
  [[nodiscard]] std::vector<Location> memories_of(std::size_t gpu) const {
    std::vector<Location> all = topology_.pieces(topology_.host_buffers(gpu));
    all.push_back({Location::Kind::memory, topology_.memory_near(gpu)});
    return all;
  }
  void add(const Route& route) {
    for (const Hop& hop : route) links_.insert(hop.link);
  }
  void add_both_ways(Location a, Location b) {
    add(topology_.copy_route(a, b));
    add(topology_.copy_route(b, a));
  }
  void add_own(std::size_t gpu) {
    for (const Location& memory : memories_of(gpu)) {
      memories_.insert(topology_.name(memory));
      if (uses(gpu)) add_both_ways(gpu_at(gpu), memory);
    }
  }
  /// Within a node through host memory too; between nodes of a domain by the GPUs' own links.
  void add_pairs(const std::set<std::size_t>& gpus, bool same_node) {
    for (const std::size_t a : gpus) {
      for (const std::size_t b : gpus) {
        if (a == b) continue;
        if (uses(a) && uses(b) && (same_node || topology_.peer_access(a, b))) {
          add(topology_.copy_route(gpu_at(a), gpu_at(b)));
        }
        if (!same_node) continue;
        for (const Location& from : memories_of(a)) {
          for (const Location& to : memories_of(b)) add(topology_.copy_route(from, to));
        }
      }
    }
  }
  void add_between_hosts(std::size_t a, const Adapters& nics, std::size_t b) {
    for (const Location& end : memories_of(a)) add(topology_.to_nic_route(end, nics.from));
    for (const Location& end : memories_of(b)) add(topology_.from_nic_route(nics.to, end));
  }
  void add_through_adapters(std::size_t a, std::size_t b) {
    constexpr Bytes kLarge{std::uint64_t{1} << 40U};
    for (const Bytes size : {Bytes{}, kLarge}) {
      for (const Adapters& nics : topology_.adapters(Location::Kind::gpu, a, b, size)) {
        if (uses(a)) add(topology_.to_nic_route(gpu_at(a), nics.from));
        if (uses(b)) add(topology_.from_nic_route(nics.to, gpu_at(b)));
        add_between_hosts(a, nics, b);
      }
      for (const Adapters& nics : topology_.adapters(Location::Kind::memory, a, b, size)) add_between_hosts(a, nics, b);
    }
  }

  const Topology& topology_;
  const UsesGpu& uses_gpu_;
  std::set<std::size_t> links_;
  std::set<std::string> memories_;
};

constexpr std::string_view kOfFabric = "fabric/";

/// May a message of these ranks cross the cable if it was whole? Of a tree where a leaf, or a pod, has some of the
/// ranks and another has others; of a dragonfly where a router has, and of a cable between groups where both have, or
/// messages find their way by themselves.
bool cross_cable(const Platform& platform, std::string_view text, std::span<const Place> places) {
  const Fabric& fabric = *platform.fabric;
  const int nics = Topology(platform).fabric_nics();
  std::set<int> nodes;
  for (const Place& place : places) nodes.insert(place.node);
  const auto some_of = [&](int first, int count) {
    const auto inside = std::distance(nodes.lower_bound(first), nodes.lower_bound(first + count));
    return std::pair{inside > 0, inside < std::ssize(nodes)};
  };
  const std::string_view name = text.substr(0, text.find('='));
  return std::ranges::any_of(fabric.cables(name, 0, nics), [&](const CableFault& cable) {
    const auto both = [](std::pair<bool, bool> in_and_out) { return in_and_out.first && in_and_out.second; };
    if (fabric.is_tree()) {
      const int leaves = fabric.shape == FabricShape::rails ? nics : 1;
      const TreePorts ports = fabric.ports(nics);
      if (cable.cable == CableFault::Cable::leaf) {
        const auto [inside, outside] = some_of(cable.a / leaves * fabric.size[0], fabric.size[0]);
        return inside && (outside || (leaves > 1 && nodes.size() > 1));
      }
      const int of_pod = ports.pod_down / leaves * fabric.size[0];
      return both(some_of(cable.a / ports.up * of_pod, of_pod));
    }
    // Any ring or line may be the way of two that lie elsewhere in it, or go round.
    if (cable.cable == CableFault::Cable::ring || fabric.shape == FabricShape::hyperx) return nodes.size() > 1;
    if (cable.cable == CableFault::Cable::routers) {
      return both(some_of(cable.a * fabric.size[2], fabric.size[2])) ||
             both(some_of(cable.b * fabric.size[2], fabric.size[2]));
    }
    const int of_group = fabric.size[1] * fabric.size[2];
    const auto a = some_of(cable.a * of_group, of_group);
    const auto b = some_of(cable.b * of_group, of_group);
    return fabric.routing == FabricRouting::adaptive ? both(a) || both(b) : a.first && b.first;
  });
}

}  // namespace

bool is_cable(std::string_view part) { return part.starts_with(kOfFabric); }

std::string_view cable_name(std::string_view part) { return part.substr(kOfFabric.size()); }

bool may_cross_cable(const Platform& platform, std::string_view part, std::span<const Place> places) {
  return cross_cable(platform, cable_name(part), places);
}

namespace {

constexpr const char* kNoWay = "{} makes no difference: no way of these ranks would cross it";

/// A text stands for several parts, of which one is enough.
class ByText {
 public:
  void add(const std::string& text, std::string line, bool effective) {
    if (std::ranges::find(order_, text) == order_.end()) order_.push_back(text);
    lines_.try_emplace(text, std::move(line));
    if (effective) effective_.insert(text);
  }
  [[nodiscard]] std::vector<std::string> idle() const {
    std::vector<std::string> all;
    for (const std::string& text : order_) {
      if (!effective_.contains(text)) all.push_back(lines_.at(text));
    }
    return all;
  }

 private:
  std::vector<std::string> order_;
  std::map<std::string, std::string> lines_;
  std::set<std::string> effective_;
};

}  // namespace

std::vector<std::string> idle_failures(const Platform& platform, std::span<const Place> places,
                                       const UsesGpu& uses_gpu) {
  const Failures& failures = platform.failures;
  if (failures.none()) return {};
  Platform whole = *failures.whole;
  whole.within_node = platform.within_node;
  const Topology topology(whole);
  const JobWays ways(topology, places, uses_gpu);
  ByText lines;
  for (const auto& [part, text] : failures.parts) {
    // Ranks may have been placed elsewhere because of it: that is a difference.
    const bool takes_gpus = std::ranges::find(failures.gpus, text, &Failures::Gone::text) != failures.gpus.end();
    lines.add(text, takes_gpus ? fmt::format("{}: no rank is on what is gone", text) : fmt::format(kNoWay, text),
              !part.empty() && ways.cross(part));
  }
  return lines.idle();
}

std::vector<std::string> idle_faults(const Platform& platform, std::span<const Place> places) {
  const UsesGpu all = [](const std::string&) { return true; };
  std::vector<std::string> texts = idle_failures(platform, places, all);
  if (platform.slowed_parts.empty() && platform.later_faults.empty()) return texts;
  const Topology topology(platform);
  const JobWays ways(topology, places, all);
  ByText lines;
  for (const SlowedPart& slowed : platform.slowed_parts) {
    const bool crossed =
        is_cable(slowed.part) ? may_cross_cable(platform, slowed.part, places) : ways.cross(slowed.part);
    lines.add(slowed.text, fmt::format(kNoWay, slowed.text), crossed);
  }
  for (const LaterFault& later : platform.later_faults) {
    const bool crossed = is_cable(later.part) ? may_cross_cable(platform, later.part, places) : ways.cross(later.part);
    lines.add(later.text, fmt::format(kNoWay, later.text), crossed);
  }
  for (std::string& line : lines.idle()) texts.push_back(std::move(line));
  return texts;
}

}  // namespace twinlink::platforms
