#include "model/platform/topology.hpp"

#include <algorithm>
#include <cassert>
#include <deque>
#include <map>

namespace twinlink::model {
namespace {

bool is_host(Memory memory) { return memory != Memory::device; }

CopyClass host_copy_class(bool to_device, bool pageable, bool near) {
  using enum CopyClass;
  if (to_device) {
    if (pageable) return near ? pageable_to_device_near : pageable_to_device_far;
    return near ? pinned_to_device_near : pinned_to_device_far;
  }
  if (pageable) return near ? device_to_pageable_near : device_to_pageable_far;
  return near ? device_to_pinned_near : device_to_pinned_far;
}

}  // namespace

std::string staged_name(const StagedPeer& staged) {
  return "staged peer " + staged.from_domain + " -> " + staged.to_domain;
}

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

Route Topology::route(std::string_view from, std::string_view to, Across across) const {
  if (auto found = find_route(from, to, across)) return *std::move(found);
  throw InputError(platform_.file + ": error: no route from '" + std::string(from) + "' to '" + std::string(to) + "'");
}

std::optional<Route> Topology::find_route(std::string_view from, std::string_view to, Across across) const {
  const Node& node = platform_.node;
  const auto forwards = [&](std::string_view vertex) {
    return std::ranges::find(node.gpus, vertex, &Gpu::name) == node.gpus.end() &&
           std::ranges::find(node.nics, vertex) == node.nics.end() &&
           (across == Across::host_memory_too ||
            std::ranges::find(node.memories, vertex, &HostMemory::name) == node.memories.end());
  };
  // Breadth first; links are tried in the order of the file, so that equal routes are always decided the same way.
  std::map<std::string_view, Route> reached{{from, {}}};
  for (std::deque<std::string_view> frontier{from}; !frontier.empty(); frontier.pop_front()) {
    const std::string_view here = frontier.front();
    if (here == to) return reached[here];
    if (here != from && !forwards(here)) continue;
    for (std::size_t i = 0; i < node.links.size(); ++i) {
      const Link& link = node.links[i];
      if (link.from != here && link.to != here) continue;
      const bool forward = link.from == here;
      const std::string_view next = forward ? link.to : link.from;
      if (reached.contains(next)) continue;
      Route route = reached[here];
      route.push_back({i, forward});
      reached[next] = std::move(route);
      frontier.push_back(next);
    }
  }
  return std::nullopt;
}

std::optional<Rate> Topology::narrowest(const Route& route) const {
  std::optional<Rate> least;
  const auto narrow = [&](Rate rate) { least = least ? std::min(*least, rate) : rate; };
  for (const Hop& hop : route) {
    const Link& link = platform_.node.links[hop.link];
    narrow(hop.forward ? link.forward.value : link.backward.value);
    if (link.total) narrow(link.total->value);
  }
  return least;
}

Route Topology::copy_route(Location from, Location to) const {
  if (from == to) return {};
  using enum Location::Kind;
  if (from.kind == gpu && to.kind == gpu) {
    if (peer_access(from.index, to.index)) return route(name(from), name(to), Across::past_host_memory);
    const Location host{memory, memory_near(from.index)};
    Route route = copy_route(from, host);
    const Route second = copy_route(host, to);
    route.insert(route.end(), second.begin(), second.end());
    return route;
  }
  return route(name(from), name(to));
}

Route Topology::nic_route(std::string_view from, std::string_view to, bool device_memory) const {
  if (device_memory) {
    if (auto peer_to_peer = find_route(from, to, Across::past_host_memory)) return *std::move(peer_to_peer);
  }
  return route(from, to);
}

Route Topology::to_nic_route(Location from, std::string_view nic) const {
  return nic_route(name(from), nic, from.kind == Location::Kind::gpu);
}

Route Topology::from_nic_route(std::string_view nic, Location to) const {
  return nic_route(nic, name(to), to.kind == Location::Kind::gpu);
}

RdmaDistance Topology::rdma_distance(std::size_t gpu, std::string_view nic) const {
  const Node& node = platform_.node;
  const auto is_memory = [&](std::string_view vertex) {
    return std::ranges::find(node.memories, vertex, &HostMemory::name) != node.memories.end();
  };
  const auto is_root_complex = [&](std::string_view vertex) {
    return vertex != nic && std::ranges::any_of(node.links, [&](const Link& link) {
             return (link.from == vertex && is_memory(link.to)) || (link.to == vertex && is_memory(link.from));
           });
  };
  const auto passes = [&](const Route& way, const auto& what) {
    return std::ranges::count_if(way, [&](const Hop& hop) {
      const Link& link = node.links[hop.link];
      return what(hop.forward ? link.to : link.from);
    });
  };
  const std::string& from = node.gpus[gpu].name;
  const auto past_host_memory = find_route(from, nic, Across::past_host_memory);
  const auto sockets =
      past_host_memory ? passes(*past_host_memory, is_root_complex) : passes(route(from, nic), is_memory);
  if (sockets == 0) return RdmaDistance::through_switch;
  return sockets == 1 ? RdmaDistance::near : RdmaDistance::far;
}

const RdmaLimits* Topology::rdma_limits(std::size_t gpu, std::string_view nic) const {
  if (!platform_.fabric || !platform_.fabric->rdma) return nullptr;
  const Rdma& rdma = *platform_.fabric->rdma;
  const auto pointer = [](const std::optional<RdmaLimits>& limits) { return limits ? &*limits : nullptr; };
  switch (rdma_distance(gpu, nic)) {
    case RdmaDistance::through_switch:
      return pointer(rdma.through_switch);
    case RdmaDistance::near:
      return pointer(rdma.near);
    case RdmaDistance::far:
      return pointer(rdma.far);
  }
  return nullptr;
}

/// Does the adapter of a GPU read and write its memory?
Answer Topology::rdma(std::size_t gpu) const {
  const Gpu& device = platform_.node.gpus[gpu];
  const std::optional<Rdma>& described = platform_.fabric->rdma;
  if (device.capability_major < 3 && (!described || described->hypothetical.empty())) {
    return Answer::refused("Fermi has no GPUDirect RDMA: " + device.name + " (" + device.model +
                           ") has compute capability " + std::to_string(device.capability_major) + "." +
                           std::to_string(device.capability_minor) + ", and it began with 3.0");
  }
  if (!described) {
    return Answer::refused("platform '" + platform_.name + "' describes no adapter that reads or writes device memory");
  }
  const RdmaDistance way = rdma_distance(gpu, device.nic);
  if (way == RdmaDistance::through_switch || rdma_limits(gpu, device.nic) != nullptr) return Answer::granted();
  return Answer::refused("platform '" + platform_.name + "' has no 'fabric.rdma." + std::string(to_string(way)) +
                         "', and the way from " + device.name + " to " + device.nic +
                         (way == RdmaDistance::near ? " passes a root complex" : " leaves the socket"));
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
  const Gpu& first = platform_.node.gpus[a];
  const Gpu& second = platform_.node.gpus[b];
  for (const Gpu* gpu : {&first, &second}) {
    if (gpu->capability_major < 2) {
      return Answer::refused(gpu->name + " (" + gpu->model + ") has compute capability " +
                             std::to_string(gpu->capability_major) + "." + std::to_string(gpu->capability_minor) +
                             ", and peer access needs 2.0");
    }
    if (!gpu->unified_addressing) return Answer::refused(gpu->name + " has no unified addressing");
  }
  if (first.peer_domain != second.peer_domain) {
    return Answer::refused("no peer access between " + first.name + " (" + first.peer_domain + ") and " + second.name +
                           " (" + second.peer_domain +
                           "): peer-to-peer traffic is not forwarded from one to the other");
  }
  return Answer::granted();
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
  Path path{.same_node = a.node == b.node, .same_device = a == b};
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
  if (path.device_memory_on_network) path.hypothetical = platform_.fabric->rdma->hypothetical;
  return path;
}

/// The class of a kernel's copy; nothing where no kernel can do it.
std::optional<CopyClass> Topology::kernel_class(End from, End to) const {
  using enum CopyClass;
  if (from.resident || to.resident) {
    // Also into memory of its own GPU, where a peer shares that.
    const bool pushes = from.resident && !is_host(to.memory) && peer_access(from.location.index, to.location.index);
    return pushes ? std::optional(resident_push) : std::nullopt;
  }
  if (from.kernel && to.kernel) return from.location == to.location ? std::optional(kernel_local) : std::nullopt;
  const bool pinned = from.memory == Memory::pinned || from.memory == Memory::shared_pinned ||
                      to.memory == Memory::pinned || to.memory == Memory::shared_pinned;
  if (pinned) return from.kernel ? kernel_to_pinned : kernel_from_pinned;
  if (is_host(from.memory) || is_host(to.memory) || from.location == to.location) return std::nullopt;
  if (!peer_access(from.location.index, to.location.index)) return std::nullopt;
  return from.kernel ? kernel_push : kernel_pull;
}

CopyCost Topology::find_copy_cost(End from, End to) const {
  const auto of = [&](CopyClass copy_class, bool occupies_cpu) {
    const auto found = platform_.copies.find(copy_class);
    return CopyCost{.cost = found == platform_.copies.end() ? nullptr : &found->second,
                    .name = std::string(to_string(copy_class)),
                    .occupies_cpu = occupies_cpu,
                    .by_event = ends_by_event(copy_class)};
  };
  if (from.kernel || to.kernel) {
    const auto by_kernel = kernel_class(from, to);
    return by_kernel ? of(*by_kernel, false) : CopyCost{.name = "copy by a kernel that cannot reach both ends"};
  }
  if (is_host(from.memory) && is_host(to.memory)) return of(CopyClass::host_to_host, true);
  if (is_host(from.memory) || is_host(to.memory)) {
    const bool to_device = is_host(from.memory);
    const End& host = to_device ? from : to;
    const End& gpu = to_device ? to : from;
    const bool pageable = host.memory == Memory::pageable;
    const bool near = host.location.index == memory_near(gpu.location.index);
    return of(host_copy_class(to_device, pageable, near), pageable);
  }
  if (from.location == to.location) return of(CopyClass::device_to_device, false);
  if (peer_access(from.location.index, to.location.index)) {
    const bool reads = to.own && !from.own && platform_.copies.contains(CopyClass::peer_read);
    return of(reads ? CopyClass::peer_read : CopyClass::peer, false);
  }
  const std::string& from_domain = platform_.node.gpus[from.location.index].peer_domain;
  const std::string& to_domain = platform_.node.gpus[to.location.index].peer_domain;
  CopyCost staged{.name = staged_name({.from_domain = from_domain, .to_domain = to_domain})};
  for (const StagedPeer& candidate : platform_.staged_peers) {
    if (candidate.from_domain == from_domain && candidate.to_domain == to_domain) staged.cost = &candidate.cost;
  }
  return staged;
}

CopyCost Topology::copy_cost(End from, End to) const {
  CopyCost found = find_copy_cost(from, to);
  if (found.cost == nullptr) {
    throw InputError(platform_.file + ": error: the platform's costs have no '" + found.name +
                     "', which this run needs");
  }
  return found;
}

CopyEnding Topology::copy_ending(const End& from, const CopyCost& copy) const {
  if (!copy.by_event) return {.signal_with_end = from.resident};
  return {.completion = or_none(platform_.runtime.completion)};
}

CopyEnding Topology::put_ending(const End& from, const End& to, const CopyCost& copy, Bytes size) const {
  const RuntimeCosts& costs = platform_.runtime;
  CopyEnding ending = copy_ending(from, copy);
  if (!copy.by_event) return ending;
  // A kernel writes the peer's flag and a word of its own CPU together.
  if ((from.kernel || to.kernel) && costs.kernel_signal) {
    return {.raising = costs.kernel_signal->value.at(size),
            .signal_with_end = true,
            .behind_signal = or_none(costs.kernel_signal_gap)};
  }
  // Otherwise the engine's queue raises it, and goes on after that.
  ending.behind_signal = or_none(costs.signal_gap);
  return ending;
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
