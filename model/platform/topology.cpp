#include "model/platform/topology.hpp"

#include <algorithm>
#include <cassert>

namespace twinlink::model {
namespace {

template <class T>
const T* find_named(const std::vector<T>& things, std::string_view name) {
  const auto found = std::ranges::find(things, name, &T::name);
  return found == things.end() ? nullptr : &*found;
}

}  // namespace

Topology::Topology(const Platform& platform) : platform_(platform) {}

std::size_t Topology::memory_index(std::string_view name) const {
  const auto& memories = platform_.node.memories;
  const auto found = std::ranges::find(memories, name, &HostMemory::name);
  assert(found != memories.end());
  return static_cast<std::size_t>(found - memories.begin());
}

std::size_t Topology::memory_near(std::size_t gpu) const { return memory_index(platform_.node.gpus[gpu].memory_near); }

std::size_t Topology::memory_far(std::size_t gpu) const {
  std::size_t farthest = memory_near(gpu);
  std::size_t most_hops = 0;
  for (std::size_t memory = 0; memory < platform_.node.memories.size(); ++memory) {
    if (memory == memory_near(gpu)) continue;
    const std::size_t hops = route(platform_.node.gpus[gpu].name, platform_.node.memories[memory].name).size();
    if (hops > most_hops) {
      most_hops = hops;
      farthest = memory;
    }
  }
  return farthest;
}

Route Topology::route(std::string_view from, std::string_view to, Traffic traffic) const {
  if (const Way* found = ways_.find(from, to, traffic)) return found->route;
  throw InputError(platform_.file + ": error: no route from '" + std::string(from) + "' to '" + std::string(to) + "'");
}

std::optional<Rate> Topology::narrowest(const Route& route, Reach reach) const {
  std::optional<Rate> least;
  for (const Hop& hop : route) {
    const Link& link = platform_.node.links[hop.link];
    Rate rate = link_width(link, hop.forward);
    if (reach == Reach::device_reads && link.dma_read) rate = std::min(rate, link.dma_read->value);
    if (reach == Reach::device_writes && link.dma_write) rate = std::min(rate, link.dma_write->value);
    least = least ? std::min(*least, rate) : rate;
  }
  return least;
}

Seconds Topology::latency(const Route& route) const {
  Seconds sum{};
  for (std::size_t i = 0; i < route.size(); ++i) {
    const Link& link = platform_.node.links[route[i].link];
    sum += or_none(link.latency);
    if (i + 1 == route.size()) break;
    if (const Passing* between = ways_.passing(route[i].forward ? link.to : link.from))
      sum += or_none(between->latency);
  }
  return sum;
}

std::size_t Topology::bounce_memory(std::size_t from, std::size_t to) const {
  const std::string through = platform_.fallback ? platform_.fallback->through : "source";
  if (through == "target") return memory_near(to);
  return through == "source" || through.empty() ? memory_near(from) : memory_index(through);
}

Route Topology::copy_route(Location from, Location to) const {
  if (from == to) return {};
  using enum Location::Kind;
  if (from.kind == gpu && to.kind == gpu) {
    if (peer_access(from.index, to.index)) {
      if (const Way* found = ways_.find(name(from), name(to), Traffic::peers)) return found->route;
      return route(name(from), name(to));  // the file names these two as peers
    }
    const Location host{memory, bounce_memory(from.index, to.index)};
    Route route = copy_route(from, host);
    const Route second = copy_route(host, to);
    route.insert(route.end(), second.begin(), second.end());
    return route;
  }
  return route(name(from), name(to));
}

Route Topology::nic_route(std::string_view from, std::string_view to, bool device_memory) const {
  if (device_memory) {
    if (const Way* peer_to_peer = ways_.find(from, to, Traffic::adapter)) return peer_to_peer->route;
  }
  return route(from, to);
}

Route Topology::to_nic_route(Location from, std::string_view nic) const {
  return nic_route(name(from), nic, from.kind == Location::Kind::gpu);
}

Route Topology::from_nic_route(std::string_view nic, Location to) const {
  return nic_route(nic, name(to), to.kind == Location::Kind::gpu);
}

Seconds Topology::message_way(Location from, std::string_view from_nic, std::string_view to_nic, Location to) const {
  const auto passing_it = [&](std::string_view nic) { return or_none(find_named(platform_.node.nics, nic)->latency); };
  return latency(to_nic_route(from, from_nic)) * 2 + passing_it(from_nic) + passing_it(to_nic) +
         latency(from_nic_route(to_nic, to));
}

FabricWay Topology::fabric_way(int from_node, std::string_view from_nic, int to_node, std::string_view to_nic) const {
  if (from_node == to_node || platform_.fabric->shape == FabricShape::one_switch) return {};
  const std::vector<Nic>& nics = platform_.node.nics;
  const auto port = [&](int node, std::string_view nic) {
    const auto index = std::ranges::find(nics, nic, &Nic::name) - nics.begin();
    return FabricPort{.node = node, .nic = static_cast<int>(index), .nics = static_cast<int>(nics.size())};
  };
  return model::fabric_way(platform_.fabric.value(), port(from_node, from_nic), port(to_node, to_nic));
}

Seconds Topology::fabric_latency(int from_node, std::string_view from_nic, int to_node, std::string_view to_nic) const {
  if (!platform_.fabric->latency) return {};
  return platform_.fabric->latency->value * (fabric_way(from_node, from_nic, to_node, to_nic).switches - 1);
}

Seconds Topology::message_way(Location from, Location to) const { return latency(copy_route(from, to)); }

/// Does the adapter of a GPU read and write its memory?
Answer Topology::rdma(std::size_t gpu) const {
  const Gpu& device = platform_.node.gpus[gpu];
  const GpuType& type = platform_.type_of(gpu);
  const std::optional<Rdma>& described = platform_.fabric->rdma;
  if (type.capability_major < 3 && (!described || described->hypothetical.empty())) {
    return Answer::refused("Fermi has no GPUDirect RDMA: " + device.name + " (" + type.model +
                           ") has compute capability " + std::to_string(type.capability_major) + "." +
                           std::to_string(type.capability_minor) + ", and it began with 3.0");
  }
  if (Answer versions = platform_.software.rdma(); !versions) return versions;
  if (!described) {
    return Answer::refused("platform '" + platform_.name + "' describes no adapter that reads or writes device memory");
  }
  if (ways_.find(device.name, device.nic, Traffic::adapter) != nullptr) return Answer::granted();
  for (const Hop& hop : route(device.name, device.nic)) {
    const Link& link = platform_.node.links[hop.link];
    const std::string& next = hop.forward ? link.to : link.from;
    if (next == device.nic || ways_.forwards(next, Traffic::adapter)) continue;
    return Answer::refused("the way from " + device.name + " to " + device.nic + " leads through " + next +
                           ", which forwards no peer traffic on platform '" + platform_.name + "'");
  }
  return Answer::granted();
}

Answer Topology::device_memory_on_network(const Place& a, const Place& b) const {
  if (!platform_.fabric) return Answer::refused("platform '" + platform_.name + "' has no network adapter");
  for (const Place* place : {&a, &b}) {
    if (Answer answer = rdma(static_cast<std::size_t>(place->gpu)); !answer) return answer;
  }
  if (a.node == b.node && !platform_.within_node.loopback) {
    return Answer::refused("messages within a node pass through shared memory, not through the adapter in loopback");
  }
  return Answer::granted();
}

Answer Topology::peer_access(std::size_t a, std::size_t b) const {
  const Node& node = platform_.node;
  const std::string& first = node.gpus[a].name;
  const std::string& second = node.gpus[b].name;
  for (const std::size_t gpu : {a, b}) {
    const GpuType& type = platform_.type_of(gpu);
    if (type.capability_major < 2) {
      return Answer::refused(node.gpus[gpu].name + " (" + type.model + ") has compute capability " +
                             std::to_string(type.capability_major) + "." + std::to_string(type.capability_minor) +
                             ", and peer access needs 2.0");
    }
    if (!type.unified_addressing) return Answer::refused(node.gpus[gpu].name + " has no unified addressing");
  }
  if (a == b) return Answer::granted();
  if (Answer versions = platform_.software.peer_access(); !versions) return versions;
  if (node.peers) {
    if (std::ranges::find(*node.peers, std::pair(first, second)) != node.peers->end() ||
        std::ranges::find(*node.peers, std::pair(second, first)) != node.peers->end()) {
      return Answer::granted();
    }
    return Answer::refused("no peer access between " + first + " and " + second + ": they are not among the 'peers'");
  }
  if (ways_.find(first, second, Traffic::peers) != nullptr) return Answer::granted();
  return Answer::refused("no peer access between " + first + " and " + second +
                         ": no way past host memory forwards peer-to-peer traffic from one to the other");
}

void Topology::require(const Place& place) const {
  const Node& node = platform_.node;
  const auto gpus = static_cast<int>(node.gpus.size());
  if (place.node < 0 || place.node >= node.count || place.gpu < 0 || place.gpu >= gpus) {
    throw UsageError("there is no device " + to_string(place) + " on platform '" + platform_.name +
                     "': nodes are 0 to " + std::to_string(node.count - 1) + ", GPUs 0 to " + std::to_string(gpus - 1) +
                     " (NODE/GPU)");
  }
}

Path Topology::path(const Place& a, const Place& b) const {
  require(a);
  require(b);
  Path path{.same_node = a.node == b.node,
            .same_device = a == b,
            .loopback = a.node == b.node && platform_.within_node.loopback};
  // Two ranks that share a GPU or sit on one node see each other's memory through the driver of that node.
  if (path.same_node) {
    path.peer_access = peer_access(static_cast<std::size_t>(a.gpu), static_cast<std::size_t>(b.gpu));
    path.device_mapping = Answer::granted();
  } else {
    path.peer_access = Answer::refused("the GPUs are on different nodes");
    path.device_mapping = Answer::refused("the GPUs are on different nodes");
  }
  path.device_memory_on_network = device_memory_on_network(a, b);
  path.one_sided = path.same_node ? path.device_mapping : path.device_memory_on_network;
  if (!path.same_node || platform_.within_node.loopback) path.shared_buffers = platform_.software.shared_buffers();
  path.cuda_aware_mpi = platform_.software.cuda_aware_mpi();
  if (path.device_memory_on_network) path.hypothetical = platform_.fabric->rdma->hypothetical;
  return path;
}

const std::string& Topology::name(Location location) const {
  const Node& node = platform_.node;
  return location.kind == Location::Kind::gpu ? node.gpus[location.index].name : node.memories[location.index].name;
}

std::string Topology::describe(std::string_view from, const Route& route) const {
  std::string text(from);
  for (const Hop& hop : route) {
    const Link& link = platform_.node.links[hop.link];
    text += " -> " + (hop.forward ? link.to : link.from);
  }
  return text;
}

std::string Topology::describe_transfer(Location from, const std::string& from_nic, Location to,
                                        const std::string& to_nic, bool same_node) const {
  if (same_node) return describe(name(from), copy_route(from, to));
  return describe(name(from), to_nic_route(from, from_nic)) + " => " + describe(to_nic, from_nic_route(to_nic, to));
}

}  // namespace twinlink::model
