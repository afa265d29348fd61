// The graph of all nodes that a topology is of: several kinds, or the nodes of a domain.
#include <algorithm>
#include <cassert>
#include <optional>

#include "platforms/topology/topology.hpp"

namespace twinlink::platforms {
namespace {

/// Parts of another kind of nodes by names that no other kind has.
Node with_prefix(const NodeKind& kind) {
  Node node = kind.node;
  const auto rename = [&](std::string& name) {
    if (!name.empty()) name = kind.name + "-" + name;
  };
  const auto rename_all = [&](auto& things) {
    for (auto& thing : things) rename(thing.name);
  };
  rename_all(node.memories);
  rename_all(node.hubs);
  rename_all(node.nics);
  rename_all(node.gpus);
  rename_all(node.links);
  rename_all(node.ways);
  for (Gpu& gpu : node.gpus) {
    rename(gpu.memory_near);
    rename(gpu.nic);
    for (std::string& nic : gpu.more_nics) rename(nic);
  }
  for (Link& link : node.links) {
    rename(link.from);
    rename(link.to);
  }
  for (ForcedWay& way : node.ways) {
    rename(way.from);
    rename(way.to);
    for (std::string& part : way.via) rename(part);
  }
  if (node.peers) {
    for (auto& [first, second] : *node.peers) {
      rename(first);
      rename(second);
    }
  }
  return node;
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& things) {
  to.insert(to.end(), things.begin(), things.end());
}

/// All kinds of nodes as one graph, whose parts are not joined.
Node all_kinds(const Platform& platform) {
  Node all = platform.node;
  for (const NodeKind& kind : platform.kinds) {
    const Node node = with_prefix(kind);
    append(all.memories, node.memories);
    append(all.hubs, node.hubs);
    append(all.nics, node.nics);
    append(all.gpus, node.gpus);
    append(all.links, node.links);
    append(all.ways, node.ways);
    if (!node.peers) continue;
    if (!all.peers) all.peers.emplace();
    append(*all.peers, *node.peers);
  }
  return all;
}

}  // namespace

Topology::Topology(const Platform& platform) : platform_(platform), graph_(all_kinds(platform)) {
  nodes_ = platform.node.count;
  const auto domain = static_cast<std::size_t>(platform.node.domain);
  for (std::size_t i = 0; i < domain; ++i) {
    const auto each = [&](const auto& things) { return things.size() / domain; };
    const Node& node = platform.node;
    parts_.push_back({.first_gpu = i * each(node.gpus),
                      .gpus = each(node.gpus),
                      .first_memory = i * each(node.memories),
                      .memories = each(node.memories),
                      .first_nic = i * each(node.nics),
                      .nics = each(node.nics)});
  }
  for (const NodeKind& kind : platform.kinds) {
    const NodePart& last = parts_.back();
    parts_.push_back({.first_gpu = last.first_gpu + last.gpus,
                      .gpus = kind.node.gpus.size(),
                      .first_memory = last.first_memory + last.memories,
                      .memories = kind.node.memories.size(),
                      .first_nic = last.first_nic + last.nics,
                      .nics = kind.node.nics.size()});
    if (!kind.replaces) nodes_ += kind.node.count;
  }
  plug_in();
  if (!platform.network || platform.network->host_adapters < 2) return;
  for (std::size_t gpu = 0; gpu < graph_.gpus.size(); ++gpu) nics_of_host_.push_back(nics_of_host(gpu));
}

/// An adapter stays where it is plugged in when another one of its node dies.
void Topology::plug_in() {
  fabric_nics_ = platform_.most_nics();
  fabric_places_.resize(graph_.nics.size());
  for (const NodePart& part : parts_) {
    for (std::size_t i = 0; i < part.nics; ++i) fabric_places_[part.first_nic + i] = static_cast<int>(i);
  }
  if (platform_.failures.none()) return;
  const Topology whole(*platform_.failures.whole);
  fabric_nics_ = whole.fabric_nics_;
  const std::vector<Nic>& there = whole.graph_.nics;
  for (std::size_t nic = 0; nic < graph_.nics.size(); ++nic) {
    const auto same = std::ranges::find(there, graph_.nics[nic].name, &Nic::name);
    if (same != there.end()) fabric_places_[nic] = whole.fabric_places_[static_cast<std::size_t>(same - there.begin())];
  }
}

std::size_t Topology::kind_of(int node) const {
  const auto& kinds = platform_.kinds;
  const auto in_its_place = std::ranges::find_if(kinds, [&](const NodeKind& kind) { return kind.stands_at(node); });
  if (in_its_place != kinds.end()) return static_cast<std::size_t>(in_its_place - kinds.begin()) + 1;
  int left = node - platform_.node.count;
  std::size_t kind = 0;
  for (; left >= 0 && kind < kinds.size(); ++kind) left -= kinds[kind].replaces ? 0 : kinds[kind].node.count;
  return kind;
}

const NodePart& Topology::part_of(int node) const {
  const std::size_t kind = kind_of(node);
  return parts_[kind == 0 ? static_cast<std::size_t>(node % platform_.node.domain) : kind];
}

int Topology::copy_of(int node) const { return node / platform_.node.domain; }

std::size_t Topology::part_with(std::size_t gpu) const {
  const auto found =
      std::ranges::find_if(parts_, [&](const NodePart& part) { return gpu < part.first_gpu + part.gpus; });
  assert(found != parts_.end());
  return static_cast<std::size_t>(found - parts_.begin());
}

const Node& Topology::node_with(std::size_t gpu) const {
  const std::size_t part = platform_.kinds.empty() ? 0 : part_with(gpu);
  return part == 0 ? platform_.node : platform_.kinds[part - 1].node;
}

Node Topology::graph_of(int node) const {
  const std::size_t kind = kind_of(node);
  return kind == 0 ? platform_.node : with_prefix(platform_.kinds[kind - 1]);
}

std::size_t Topology::gpu_of(const Place& place) const {
  return part_of(place.node).first_gpu + static_cast<std::size_t>(place.gpu);
}

const GpuType& Topology::type_of(std::size_t gpu) const {
  const auto found = std::ranges::find(platform_.gpu_types, graph_.gpus[gpu].type, &GpuType::name);
  assert(found != platform_.gpu_types.end());
  return *found;
}

std::vector<Place> Topology::places() const {
  std::vector<Place> all;
  for (int node = 0; node < nodes_; ++node) {
    for (int gpu = 0; gpu < static_cast<int>(part_of(node).gpus); ++gpu) {
      const Place place{node, gpu, {}};
      if (why_gone(place).empty()) all.push_back(place);
    }
  }
  return all;
}

const std::string& Topology::why_gone(const Place& place) const {
  static const std::string there;
  const auto& gone = platform_.failures.gpus;
  if (gone.empty()) return there;
  const auto found = std::ranges::find(gone, gpu_of(place), &Failures::Gone::index);
  return found == gone.end() ? there : found->text;
}

const std::string& Topology::why_off_network(int node) const {
  static const std::string there;
  const auto found = std::ranges::find(platform_.failures.off_network, kind_of(node), &Failures::Gone::index);
  return found == platform_.failures.off_network.end() ? there : found->text;
}

}  // namespace twinlink::platforms
