#include "platforms/costs/rates.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace twinlink::model {
namespace {

/// What each of so many parts gets of a rate. Of a part of one: what all get.
std::optional<Rate> over(const std::optional<Rate>& rate, double parts) {
  return rate ? std::optional(Rate{rate->bytes_per_second() / parts}) : std::nullopt;
}

std::optional<Rate> dram(const Topology& topology, Location at) {
  if (at.kind != Location::Kind::memory) return std::nullopt;
  return value_of(topology.graph().memories[at.index].bandwidth);
}

}  // namespace

std::optional<Rate> narrowest(const Topology& topology, const End& from, const End& to, const CopyCost& copy) {
  const Location a = from.location;
  const Location b = to.location;
  const Route route = topology.copy_route(a, b);
  const bool gpus = a.kind == Location::Kind::gpu && b.kind == Location::Kind::gpu;
  const bool bounces = gpus && a != b && !topology.peer_access(a.index, b.index);
  const bool peers = gpus && copy.kind;
  const bool to_host = !peers && a != b && copy.kind != CopyKind::host_to_host;
  std::optional<Rate> least = least_of(dram(topology, a), dram(topology, b));
  if (bounces)
    least = least_of(least, dram(topology, {Location::Kind::memory, topology.bounce_memory(a.index, b.index)}));
  least = least_of(least, topology.narrowest(route, copy.reach));
  for (const Hop& hop : route) {
    if (peers) least = least_of(least, topology.peer_rate(hop, copy.reach == Reach::device_reads));
    if (!to_host) continue;
    const auto times = std::ranges::count(route, hop.link, &Hop::link);
    least = least_of(least, over(topology.host_duplex(hop.link), static_cast<double>(times)));
  }
  return least;
}

std::optional<Rate> narrowest(const Topology& topology, Location from, Location to) {
  std::optional<Rate> least;
  for (const Strand& strand : topology.strands(from, to)) {
    std::optional<Rate> part = topology.narrowest(topology.copy_route(strand.from, strand.to), Reach::cpu);
    part = least_of(part, least_of(dram(topology, strand.from), dram(topology, strand.to)));
    least = least_of(least, over(part, strand.share));
  }
  return least;
}

std::optional<Rate> narrowest(const Topology& topology, Location from, std::span<const Adapters> adapters,
                              Location to) {
  const Fabric& fabric = *topology.platform().fabric;
  std::vector<std::pair<Route, Reach>> routes;
  std::optional<Rate> least;  // of a part
  const auto port = [&](const std::string& name) {
    const Nic& nic = *std::ranges::find(topology.graph().nics, name, &Nic::name);
    least = least_of(least, nic.link.value_or(fabric.link).value);
    if (fabric.duplex) least = least_of(least, Rate{fabric.duplex->value.bytes_per_second() * nic.port_share});
  };
  for (const Adapters& nics : adapters) {
    port(nics.from);
    port(nics.to);
    routes.emplace_back(topology.to_nic_route(from, nics.from), Reach::device_reads);
    routes.emplace_back(topology.from_nic_route(nics.to, to), Reach::device_writes);
  }
  std::map<std::tuple<std::size_t, bool, Reach>, double> parts;  // that cross a link
  for (const auto& [route, reach] : routes) {
    for (const Hop& hop : route) ++parts[{hop.link, hop.forward, reach}];
  }
  for (const auto& [crossed, count] : parts) {
    const auto& [link, forward, reach] = crossed;
    least = least_of(least, over(topology.narrowest({{link, forward}}, reach), count));
  }
  const double all = 1 / static_cast<double>(adapters.size());
  return least_of(over(least, all), least_of(dram(topology, from), dram(topology, to)));
}

Seconds latency(const Topology& topology, int from_node, Location from, std::span<const Adapters> adapters, int to_node,
                Location to) {
  Seconds longest{};
  for (const Adapters& nics : adapters) {
    longest =
        std::max(longest, topology.message_way(from, nics, to) + topology.fabric_latency(from_node, to_node, nics));
  }
  const auto& rdma = topology.platform().fabric->rdma;
  for (const Location& end : {from, to}) {
    if (end.kind == Location::Kind::gpu && rdma) longest += or_none(rdma->latency);
  }
  return longest;
}

}  // namespace twinlink::model
