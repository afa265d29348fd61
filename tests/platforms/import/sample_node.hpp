// A node as facts, and what tests ask of the platform that is made of them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "platforms/import/gpu_models.hpp"
#include "platforms/import/node_description.hpp"
#include "platforms/machine/platform.hpp"
#include "platforms/topology/topology.hpp"

namespace twinlink::platforms {

inline Sourced<Rate> told(double gigabytes) { return {Rate{gigabytes * 1e9}, {Quality::derived, "told"}}; }

inline GpuFacts gpu(const std::string& bus_id) {
  return {.model = "Test GPU",
          .uuid = "GPU-" + bus_id,
          .bus_id = bus_id,
          .memory = {{80_GiB, {Quality::measured, "as NVML tells"}}},
          .capability = {{9, 0}},
          .pcie = pcie_rate(5, 16, "as NVML tells")};
}

/// Two sockets; on the first a switch with GPUs a and b and an InfiniBand adapter; on the second GPU c and a network
/// card.
inline NodeDescription sample_node() {
  NodeDescription node{.origin = "NVML", .name = "sample.host"};
  node.sockets = {{"Test CPU"}, {"Test CPU"}};
  node.memories = {{0, {0}}, {1, {1}}};
  node.pci = {{.kind = PciFacts::Kind::host_bridge},
              {.kind = PciFacts::Kind::bridge, .bus_id = "0000:10:00.0", .parent = 0, .link = told(31.5)},
              {.kind = PciFacts::Kind::gpu, .bus_id = "0000:1a:00.0", .parent = 1},
              {.kind = PciFacts::Kind::gpu, .bus_id = "0000:1b:00.0", .parent = 1},
              {.kind = PciFacts::Kind::adapter,
               .bus_id = "0000:1c:00.0",
               .name = "mlx5_0",
               .parent = 1,
               .link = told(31.5),
               .infiniband = true},
              {.kind = PciFacts::Kind::host_bridge, .socket = 1, .numa = 1},
              {.kind = PciFacts::Kind::gpu, .bus_id = "0000:8c:00.0", .parent = 5, .socket = 1, .numa = 1},
              {.kind = PciFacts::Kind::adapter,
               .bus_id = "0000:8d:00.0",
               .name = "eth 0.7",
               .parent = 5,
               .socket = 1,
               .numa = 1,
               .link = told(7.88)}};
  node.gpus = {gpu("0000:1a:00.0"), gpu("0000:1b:00.0"), gpu("0000:8c:00.0")};
  node.peer_access.assign(3, std::vector<std::string>(3));
  return node;
}

inline const Link* link(const Platform& platform, const std::string& name) {
  const auto found = std::ranges::find(platform.node.links, name, &Link::name);
  return found == platform.node.links.end() ? nullptr : &*found;
}

inline double GBps(const Platform& platform, const std::string& name) {
  const Link* const found = link(platform, name);
  return found == nullptr ? 0 : found->forward.value.bytes_per_second() / 1e9;
}

/// "01 02" of those that reach each other.
inline std::string peers(const Platform& platform) {
  const Topology topology(platform);
  std::string pairs;
  for (std::size_t a = 0; a < platform.node.gpus.size(); ++a) {
    for (std::size_t b = a + 1; b < platform.node.gpus.size(); ++b) {
      if (topology.peer_access(a, b)) pairs += (pairs.empty() ? "" : " ") + std::to_string(a) + std::to_string(b);
    }
  }
  return pairs;
}

}  // namespace twinlink::platforms
