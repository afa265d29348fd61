#include "real/job/surroundings.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <vector>

#include "platforms/import/node_sketch.hpp"
#include "platforms/topology/topology.hpp"
#include "real/discover/discover.hpp"

namespace twinlink::real {
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// The GPU of a bus id among those that were described, which are the sketch's in their order.
std::optional<int> number_of(const platforms::NodeDescription& node, const std::string& bus_id) {
  const auto found =
      std::ranges::find(node.gpus, lower(bus_id), [](const platforms::GpuFacts& gpu) { return lower(gpu.bus_id); });
  if (found == node.gpus.end()) return std::nullopt;
  return static_cast<int>(found - node.gpus.begin());
}

/// Puts what joins this rank's GPU to others of the node into their paths.
DeviceFacts look_within(Neighbours& neighbours, std::size_t self) {
  try {
    const platforms::NodeDescription node = describe_this_machine();
    const platforms::Platform platform = platforms::sketch(node, "").platform;
    const platforms::Topology topology(platform);
    const std::optional<int> own = number_of(node, neighbours.ranks[self].device.pci_bus_id);
    if (!own) return {};
    for (Neighbour& rank : neighbours.ranks) {
      const std::optional<int> other = number_of(node, rank.device.pci_bus_id);
      if (!rank.path.same_node || !other) continue;
      const Path path = topology.path({.gpu = *own}, {.gpu = *other});
      rank.path.level = path.level;
      rank.path.links = path.links;
      rank.path.switched = path.switched;
    }
    return topology.facts_of({.gpu = *own});
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

void look_around(const Mpi& mpi, Neighbours& neighbours) {
  constexpr int kOfFirst = 10;
  const auto self = static_cast<std::size_t>(mpi.rank());
  const std::vector<DeviceFacts> facts = mpi.all_gather_values(look_within(neighbours, self));
  for (std::size_t r = 0; r < facts.size(); ++r) {
    neighbours.places[r].facts = facts[r];
    const DeviceInfo& device = neighbours.ranks[r].device;
    neighbours.places[r].facts.capability = kOfFirst * device.capability_major + device.capability_minor;
  }
}

}  // namespace twinlink::real
