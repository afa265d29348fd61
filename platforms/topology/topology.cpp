#include "platforms/topology/topology.hpp"

#include <algorithm>
#include <cassert>
#include <tuple>

namespace twinlink::platforms {
namespace {

template <class T>
const T* find_named(const std::vector<T>& things, std::string_view name) {
  const auto found = std::ranges::find(things, name, &T::name);
  return found == things.end() ? nullptr : &*found;
}

}  // namespace

std::size_t Topology::memory_index(std::string_view name) const {
  const auto& memories = graph_.memories;
  const auto found = std::ranges::find(memories, name, &HostMemory::name);
  assert(found != memories.end());
  return static_cast<std::size_t>(found - memories.begin());
}

std::size_t Topology::memory_near(std::size_t gpu) const { return memory_index(graph_.gpus[gpu].memory_near); }

std::size_t Topology::memory_far(std::size_t gpu) const {
  std::size_t farthest = memory_near(gpu);
  std::size_t most_hops = 0;
  const NodePart& part = parts_[part_with(gpu)];
  for (std::size_t memory = part.first_memory; memory < part.first_memory + part.memories; ++memory) {
    if (memory == memory_near(gpu)) continue;
    const std::size_t hops = route(graph_.gpus[gpu].name, graph_.memories[memory].name).size();
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
    const Link& link = graph_.links[hop.link];
    Rate rate = link_width(link, hop.forward);
    if (reach == Reach::device_reads && link.dma_read) rate = std::min(rate, link.dma_read->value);
    if (reach == Reach::device_writes && link.dma_write) rate = std::min(rate, link.dma_write->value);
    least = least_of(least, rate);
  }
  return least_of(least, each_rate(route, reach));
}

std::optional<Rate> Topology::each_rate(const Route& route, Reach reach) const {
  std::optional<Rate> least;
  for (const Hop& hop : route) {
    const Link& link = graph_.links[hop.link];
    const auto& each = reach == Reach::device_reads ? link.each_read : link.each_write;
    if (reach != Reach::cpu) least = least_of(least, value_of(each));
  }
  return least;
}

std::optional<Rate> Topology::peer_rate(const Hop& hop, bool reads) const {
  const Link& link = graph_.links[hop.link];
  const std::optional<Rate> own = value_of(reads ? link.peer_read : link.peer_write);
  const Passing* passing = ways_.passing(hop.forward ? link.to : link.from);
  return passing == nullptr ? own : least_of(own, value_of(reads ? passing->peer_read : passing->peer_write));
}

std::optional<Rate> Topology::host_duplex(std::size_t link) const {
  const auto at = [&](const std::string& here, const std::string& beyond) -> std::optional<Rate> {
    const Passing* passing = ways_.passing(here);
    if (passing == nullptr || !passing->duplex) return std::nullopt;
    const bool to_memory = std::ranges::find(graph_.memories, beyond, &HostMemory::name) != graph_.memories.end();
    const Passing* next = ways_.passing(beyond);
    if (to_memory || (next != nullptr && next->duplex)) return std::nullopt;
    return passing->duplex->value;
  };
  const Link& both = graph_.links[link];
  const auto found = at(both.from, both.to);
  return found ? found : at(both.to, both.from);
}

const Cost* Topology::cost_of(CopyKind kind, std::optional<std::size_t> gpu) const {
  if (gpu) {
    const CopyCosts& own = type_of(*gpu).copies;
    if (const auto found = own.find(kind); found != own.end()) return &found->second;
  }
  const auto found = platform_.copies.find(kind);
  return found == platform_.copies.end() ? nullptr : &found->second;
}

Seconds Topology::latency(const Route& route) const {
  Seconds sum{};
  for (std::size_t i = 0; i < route.size(); ++i) {
    const Link& link = graph_.links[route[i].link];
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
  if (through == "source" || through.empty()) return memory_near(from);
  if (part_with(from) == 0 || platform_.kinds.empty()) return memory_index(through);
  // Nodes of another kind may have one of that name.
  const std::string name = platform_.kinds[part_with(from) - 1].name + "-" + through;
  const bool there = std::ranges::find(graph_.memories, name, &HostMemory::name) != graph_.memories.end();
  return there ? memory_index(name) : memory_near(from);
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

Seconds Topology::message_way(Location from, const Adapters& adapters, Location to, bool in_request) const {
  const auto passing_it = [&](std::string_view nic) { return or_none(find_named(graph_.nics, nic)->latency); };
  Seconds longest{};
  for (const Strand& strand : strands(from, to)) {
    longest = std::max(longest, latency(to_nic_route(strand.from, adapters.from)) * (in_request ? 1 : 2) +
                                    latency(from_nic_route(adapters.to, strand.to)));
  }
  return longest + passing_it(adapters.from) + passing_it(adapters.to);
}

FabricPort Topology::port_of(int node, std::string_view nic) const {
  const std::vector<Nic>& nics = graph_.nics;
  const auto index = std::ranges::find(nics, nic, &Nic::name) - nics.begin();
  return {.node = node, .nic = fabric_places_[static_cast<std::size_t>(index)], .nics = fabric_nics_};
}

FabricWay Topology::fabric_way(int from_node, int to_node, const Adapters& adapters) const {
  return fabric_way(platform_.fabric.value(), from_node, to_node, adapters);
}

FabricWay Topology::fabric_way(const Fabric& now, int from_node, int to_node, const Adapters& adapters) const {
  if (from_node == to_node || now.shape == FabricShape::one_switch) return {};
  return platforms::fabric_way(now, port_of(from_node, adapters.from), port_of(to_node, adapters.to));
}

std::vector<FabricWay> Topology::fabric_ways(const Fabric& now, int from_node, int to_node,
                                             const Adapters& adapters) const {
  if (from_node == to_node || now.shape != FabricShape::torus) return {fabric_way(now, from_node, to_node, adapters)};
  return platforms::fabric_ways(now, port_of(from_node, adapters.from), port_of(to_node, adapters.to));
}

Seconds Topology::fabric_latency(int from_node, int to_node, const Adapters& adapters) const {
  if (!platform_.fabric->latency) return {};
  return platform_.fabric->latency->value * (fabric_way(from_node, to_node, adapters).switches - 1);
}

Seconds Topology::latency(Location from, Location to) const {
  Seconds longest{};
  for (const Strand& strand : strands(from, to))
    longest = std::max(longest, latency(copy_route(strand.from, strand.to)));
  return longest;
}

Location Topology::host_buffers(std::size_t gpu) const {
  switch (node_with(gpu).host_buffers) {
    case HostBuffers::near:
      break;
    case HostBuffers::far:
      return {Location::Kind::memory, memory_far(gpu)};
    case HostBuffers::interleaved:
      if (parts_[part_with(gpu)].memories > 1) return {Location::Kind::interleaved, part_with(gpu)};
  }
  return {Location::Kind::memory, memory_near(gpu)};
}

std::vector<Location> Topology::pieces(Location location) const {
  if (location.kind != Location::Kind::interleaved) return {location};
  std::vector<Location> memories;
  const NodePart& part = parts_[location.index];
  for (std::size_t i = 0; i < part.memories; ++i) memories.push_back({Location::Kind::memory, part.first_memory + i});
  return memories;
}

std::vector<Strand> Topology::strands(Location from, Location to) const {
  const std::vector<Location> sources = pieces(from);
  const std::vector<Location> targets = pieces(to);
  std::vector<Strand> strands;
  const double share = 1.0 / static_cast<double>(sources.size() * targets.size());
  for (const Location& source : sources) {
    for (const Location& target : targets) strands.push_back({source, target, share});
  }
  return strands;
}

std::string Topology::nic_of_rail(std::string_view nic, std::size_t from_gpu, std::size_t to_gpu) const {
  const auto index = std::ranges::find(graph_.nics, nic, &Nic::name) - graph_.nics.begin();
  const NodePart& target = parts_[part_with(to_gpu)];
  const std::size_t rail = static_cast<std::size_t>(index) - parts_[part_with(from_gpu)].first_nic;
  return graph_.nics[target.first_nic + rail % target.nics].name;
}

/// The GPU's own, then as many as host memory takes: those with the fewest hops, of these those that share the fewest
/// links with the GPU's; and of them each adapter and its neighbour take each other, so that adapters are in use alike.
std::vector<std::string> Topology::nics_of_host(std::size_t gpu) const {
  std::vector<std::string> all = graph_.gpus[gpu].more_nics;
  const std::string& memory = graph_.gpus[gpu].memory_near;  // empty while a file is being read
  const NodePart& part = parts_[part_with(gpu)];
  const auto found = std::ranges::find(graph_.nics, graph_.gpus[gpu].nic, &Nic::name);
  const std::size_t own = static_cast<std::size_t>(found - graph_.nics.begin()) - part.first_nic;
  const Way* const own_way = ways_.find(memory, graph_.gpus[gpu].nic, Traffic::host);
  const auto shared = [&](const Route& route) {
    return std::ranges::count_if(route, [&](const Hop& hop) {
      return own_way != nullptr && std::ranges::find(own_way->route, hop.link, &Hop::link) != own_way->route.end();
    });
  };
  std::vector<std::tuple<std::size_t, std::ptrdiff_t, std::size_t, std::string>> others;
  for (std::size_t i = 0; i < part.nics; ++i) {
    const std::string& name = graph_.nics[part.first_nic + i].name;
    if (i == own || std::ranges::find(all, name) != all.end()) continue;
    if (const Way* way = ways_.find(memory, name, Traffic::host)) {
      others.emplace_back(way->route.size(), shared(way->route), own ^ i, name);
    }
  }
  std::ranges::sort(others);
  const auto beside = static_cast<std::size_t>(platform_.network->host_adapters) - 1;
  for (std::size_t i = 0; all.size() < beside && i < others.size(); ++i) all.push_back(std::get<3>(others[i]));
  return all;
}

std::vector<Adapters> Topology::adapters(Location::Kind ends, std::size_t from_gpu, std::size_t to_gpu,
                                         Bytes size) const {
  const Gpu& from = graph_.gpus[from_gpu];
  const Gpu& to = graph_.gpus[to_gpu];
  std::vector<Adapters> all{{from.nic, to.nic}};
  const bool of_host = ends != Location::Kind::gpu && !nics_of_host_.empty();
  const std::vector<std::string>& more_from = of_host ? nics_of_host_[from_gpu] : from.more_nics;
  const std::vector<std::string>& more_to = of_host ? nics_of_host_[to_gpu] : to.more_nics;
  const bool striped = platform_.network && platform_.network->is_striped(size);
  for (std::size_t i = 0; striped && i < std::min(more_from.size(), more_to.size()); ++i) {
    all.push_back({more_from[i], more_to[i]});
  }
  if (platform_.fabric && platform_.fabric->shape == FabricShape::rail_only) {
    for (Adapters& nics : all) nics.to = nic_of_rail(nics.from, from_gpu, to_gpu);
  }
  return all;
}

/// Does the adapter of a GPU read and write its memory?
Answer Topology::rdma(std::size_t gpu) const {
  const Gpu& device = graph_.gpus[gpu];
  const GpuType& type = type_of(gpu);
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
  std::vector<std::string> nics = device.more_nics;
  nics.push_back(device.nic);
  if (platform_.fabric->shape == FabricShape::rail_only) {  // what comes in comes by the sender's rail
    const NodePart& part = parts_[part_with(gpu)];
    nics.clear();
    for (std::size_t i = 0; i < part.nics; ++i) nics.push_back(graph_.nics[part.first_nic + i].name);
  }
  for (const std::string& nic : nics) {
    if (ways_.find(device.name, nic, Traffic::adapter) != nullptr) continue;
    for (const Hop& hop : route(device.name, nic)) {
      const Link& link = graph_.links[hop.link];
      const std::string& next = hop.forward ? link.to : link.from;
      if (next == nic || ways_.forwards(next, Traffic::adapter)) continue;
      return Answer::refused("the way from " + device.name + " to " + nic + " leads through " + next +
                             ", which forwards no peer traffic on platform '" + platform_.name + "'");
    }
  }
  return Answer::granted();
}

Answer Topology::device_memory_on_network(const Place& a, const Place& b) const {
  if (!platform_.fabric) return Answer::refused("platform '" + platform_.name + "' has no network adapter");
  for (const Place* place : {&a, &b}) {
    if (Answer answer = rdma(gpu_of(*place)); !answer) return answer;
  }
  if (a.node == b.node && !platform_.within_node.loopback) {
    return Answer::refused("messages within a node pass through shared memory, not through the adapter in loopback");
  }
  return Answer::granted();
}

Answer Topology::peer_access(std::size_t a, std::size_t b) const {
  const Node& node = graph_;
  const std::string& first = node.gpus[a].name;
  const std::string& second = node.gpus[b].name;
  for (const std::size_t gpu : {a, b}) {
    const GpuType& type = type_of(gpu);
    if (type.capability_major < 2) {
      return Answer::refused(node.gpus[gpu].name + " (" + type.model + ") has compute capability " +
                             std::to_string(type.capability_major) + "." + std::to_string(type.capability_minor) +
                             ", and peer access needs 2.0");
    }
    if (!type.unified_addressing) return Answer::refused(node.gpus[gpu].name + " has no unified addressing");
  }
  if (a == b) return Answer::granted();
  if (Answer versions = platform_.software.peer_access(); !versions) return versions;
  if (node_with(a).peers) {
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
  const bool is_node = place.node >= 0 && place.node < nodes_;
  const auto gpus = static_cast<int>(part_of(is_node ? place.node : 0).gpus);
  if (is_node && place.gpu >= 0 && place.gpu < gpus) {
    const std::string& failure = why_gone(place);
    if (failure.empty()) return;
    throw UsageError(to_string(place) + " is gone: " + failure);
  }
  throw UsageError("there is no device " + to_string(place) + " on platform '" + platform_.name + "': nodes are 0 to " +
                   std::to_string(nodes_ - 1) + ", GPUs 0 to " + std::to_string(gpus - 1) + " (NODE/GPU)");
}

/// They meet in memory of a GPU, or within a node in host memory, or CPUs carry their slots over the network.
Answer Topology::gpu_programs(const Path& path, std::size_t a, std::size_t b) const {
  for (const std::size_t gpu : {a, b}) {
    if (type_of(gpu).blocks) continue;
    return Answer::refused("the platform does not say what thread blocks do of the GPU type '" + type_of(gpu).name +
                           "' (" + type_of(gpu).model + "): it has no 'blocks'");
  }
  if (path.same_node || path.peer_access || platform_.fabric) return Answer::granted();
  return Answer::refused("thread blocks on different nodes reach no memory of each other, and there is no network");
}

Answer Topology::gpu_drives_adapter(const Path& path) const {
  if (!path.device_memory_on_network) return path.device_memory_on_network;
  if (!platform_.fabric->rdma->by_gpu.empty()) return Answer::granted();
  return Answer::refused("the platform names nothing by which GPUs drive their adapters: 'fabric.rdma.by_gpu'");
}

const Hub* Topology::reducing_hub(std::size_t a, std::size_t b) const {
  if (a == b || !peer_access(a, b)) return nullptr;
  const Route route = copy_route({Location::Kind::gpu, a}, {Location::Kind::gpu, b});
  if (route.size() != 2) return nullptr;
  const Link& link = graph_.links[route.front().link];
  const auto hub = std::ranges::find(graph_.hubs, route.front().forward ? link.to : link.from, &Hub::name);
  return hub != graph_.hubs.end() && hub->reduces ? &*hub : nullptr;
}

Answer Topology::switch_reduces(std::size_t a, std::size_t b) const {
  if (reducing_hub(a, b) != nullptr) return Answer::granted();
  return Answer::refused("no switch that joins " + graph_.gpus[a].name + " and " + graph_.gpus[b].name +
                         " adds up: the platform says that of a hub by 'reduces'");
}

void Topology::set_rates(Path& path, std::size_t a, std::size_t b) const {
  if (path.peer_access && a != b) {
    const Route route = copy_route({Location::Kind::gpu, a}, {Location::Kind::gpu, b});
    path.peer_rate = narrowest(route, Reach::device_writes).value_or(Rate{});
  }
  if (path.same_node || !platform_.fabric) return;
  const auto rate_of = [&](std::size_t gpu) {
    const auto nic = std::ranges::find(graph_.nics, graph_.gpus[gpu].nic, &Nic::name);
    return nic != graph_.nics.end() && nic->link ? nic->link->value : platform_.fabric->link.value;
  };
  path.adapter_rate = std::min(rate_of(a), rate_of(b));
}

Path Topology::path(const Place& a, const Place& b) const {
  require(a);
  require(b);
  for (const Place& place : {a, b}) {
    const std::string& failure = why_off_network(place.node);
    if ((a.node == b.node && !platform_.within_node.loopback) || failure.empty()) continue;
    throw UsageError("node " + std::to_string(place.node) + " has no adapter left: " + failure);
  }
  Path path{.same_node = a.node == b.node,
            .same_device = a == b,
            .loopback = a.node == b.node && platform_.within_node.loopback};
  // Two ranks that share a GPU or sit on one node see each other's memory through the driver of that node.
  if (path.same_node) {
    path.peer_access = peer_access(gpu_of(a), gpu_of(b));
    path.device_mapping = Answer::granted();
  } else if (copy_of(a.node) == copy_of(b.node)) {
    // Nodes of one domain: what one maps of another it reaches by its own links, or not at all.
    path.peer_access = path.device_mapping = peer_access(gpu_of(a), gpu_of(b));
  } else {
    path.peer_access = Answer::refused("the GPUs are on different nodes");
    path.device_mapping = Answer::refused("the GPUs are on different nodes");
  }
  path.device_memory_on_network = device_memory_on_network(a, b);
  path.one_sided = path.same_node || path.device_mapping ? path.device_mapping : path.device_memory_on_network;
  if (!path.same_node || platform_.within_node.loopback) path.shared_buffers = platform_.software.shared_buffers();
  path.gpu_programs = gpu_programs(path, gpu_of(a), gpu_of(b));
  path.gpu_drives_adapter = gpu_drives_adapter(path);
  path.fabric_reduces =
      !platform_.fabric || !platform_.fabric->reduces
          ? Answer::refused("no switch of the fabric adds up: the platform says that by 'fabric.reduces'")
      : path.same_node ? Answer::refused("the GPUs are on one node, and switches of the fabric add up between nodes")
                       : Answer::granted();
  path.switch_reduces = copy_of(a.node) == copy_of(b.node)
                            ? switch_reduces(gpu_of(a), gpu_of(b))
                            : Answer::refused("the GPUs are on different nodes, which no switch that adds up joins");
  const auto mapped = [&](const Place& place) {
    return cost_of(CopyKind::cpu_to_device, gpu_of(place)) != nullptr &&
           cost_of(CopyKind::cpu_from_device, gpu_of(place)) != nullptr;
  };
  path.cpu_reaches_device = mapped(a) && mapped(b)
                                ? Answer::granted()
                                : Answer::refused(
                                      "the platform does not say what a CPU's own copies of device memory "
                                      "cost: 'cpu-to-device' and 'cpu-from-device'");
  set_rates(path, gpu_of(a), gpu_of(b));
  if (copy_of(a.node) == copy_of(b.node)) set_level(path, gpu_of(a), gpu_of(b));
  path.cuda_aware_mpi = platform_.software.cuda_aware_mpi();
  if (path.device_memory_on_network) path.hypothetical = platform_.fabric->rdma->hypothetical;
  return path;
}

const std::string& Topology::name(Location location) const {
  const Node& node = graph_;
  return location.kind == Location::Kind::gpu ? node.gpus[location.index].name : node.memories[location.index].name;
}

std::string Topology::describe(std::string_view from, const Route& route) const {
  std::string text(from);
  for (const Hop& hop : route) {
    const Link& link = graph_.links[hop.link];
    text += " -> " + (hop.forward ? link.to : link.from);
  }
  return text;
}

std::string Topology::describe(Location from, Location to) const {
  std::string text;
  for (const Strand& strand : strands(from, to)) {
    if (!text.empty()) text += kBesides;
    text += describe(name(strand.from), copy_route(strand.from, strand.to));
  }
  return text;
}

std::string Topology::describe(Location from, std::span<const Adapters> adapters, Location to) const {
  std::string text;
  for (const Adapters& nics : adapters) {
    for (const Strand& strand : strands(from, to)) {
      if (!text.empty()) text += kBesides;
      text += describe(name(strand.from), to_nic_route(strand.from, nics.from)) + " => " +
              describe(nics.to, from_nic_route(nics.to, strand.to));
    }
  }
  return text;
}

}  // namespace twinlink::platforms
