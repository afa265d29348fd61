#include "platforms/import/peer_access.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>

#include "platforms/topology/topology.hpp"

namespace twinlink::platforms {
namespace {

/// The driver's reason; empty: they reach each other.
const std::string& refusal(const NodeDescription& node, std::size_t a, std::size_t b) {
  const std::string& there = node.peer_access[a][b];
  return there.empty() ? node.peer_access[b][a] : there;
}

std::string way_of(const Platform& platform, const Topology& topology, std::size_t from, std::size_t to) {
  const std::vector<Gpu>& gpus = platform.node.gpus;
  if (!topology.peer_access(from, to)) return "PCIe";
  const Route route = topology.route(gpus[from].name, gpus[to].name, Traffic::peers);
  const Link& first = platform.node.links[route.front().link];
  const bool direct = route.size() == 1;
  if (!direct && !std::string_view(first.name).ends_with("-nvlink")) return "PCIe";
  return fmt::format("{} NVLink{}{}", first.count, first.count == 1 ? "" : "s", direct ? "" : " to NVSwitch");
}

}  // namespace

void add_peers(const NodeDescription& node, Platform& platform, std::vector<std::string>& remarks) {
  if (node.peer_access.size() < 2) return;
  const std::vector<Gpu>& gpus = platform.node.gpus;
  const Topology topology(platform);
  std::vector<std::pair<std::string, std::string>> peers;
  bool follows = true;
  for (std::size_t a = 0; a < gpus.size(); ++a) {
    std::vector<std::string> reached;
    std::vector<std::string> refused;
    for (std::size_t b = 0; b < gpus.size(); ++b) {
      if (a == b) continue;
      const std::string& why = refusal(node, a, b);
      (why.empty() ? reached : refused)
          .push_back(fmt::format("{} ({})", gpus[b].name, why.empty() ? way_of(platform, topology, a, b) : why));
      if (a > b) continue;
      if (why.empty()) peers.emplace_back(gpus[a].name, gpus[b].name);
      follows = follows && why.empty() == topology.peer_access(a, b).yes;
    }
    remarks.push_back(fmt::format("{} reaches: {}{}{}", gpus[a].name,
                                  reached.empty() ? "nobody" : fmt::format("{}", fmt::join(reached, ", ")),
                                  refused.empty() ? "" : "; not ", fmt::join(refused, ", ")));
  }
  if (!follows) platform.node.peers = std::move(peers);
}

}  // namespace twinlink::platforms
