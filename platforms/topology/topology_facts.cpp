// What libraries find out about GPUs and what is around them, from the wiring.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "platforms/topology/topology.hpp"

namespace twinlink::platforms {
namespace {

/// No slot of today carries more each way than PCIe Gen6 x16.
constexpr Rate kWidestSlot{128e9};
constexpr Rate kNoRate{};

/// Links that a file draws as one: it has more than twice what one of that generation carries.
int links_in(const Link& link, int capability) {
  constexpr int kBlackwell = 100;
  constexpr double kOld = 25e9;
  constexpr double kNew = 50e9;
  if (link.count > 1) return link.count;
  const double each = link_width(link, true).bytes_per_second() / (capability >= kBlackwell ? kNew : kOld);
  return each > 2.2 ? static_cast<int>(std::lround(each)) : 1;
}

/// Where it leads.
const std::string& behind(const Node& node, const Hop& hop) {
  const Link& link = node.links[hop.link];
  return hop.forward ? link.to : link.from;
}

bool is_memory(const Node& node, std::string_view name) {
  return std::ranges::find(node.memories, name, &HostMemory::name) != node.memories.end();
}

/// Is a hub a part of a CPU? A memory is beside it, or a hub beside a memory by a link that carries more than what is
/// plugged into it: a root complex. What has as much as a slot is a switch.
bool is_of_cpu(const Node& node, std::string_view hub) {
  if (is_memory(node, hub)) return true;
  Rate up{};
  Rate down{};
  for (const Link& link : node.links) {
    if (link.from != hub && link.to != hub) continue;
    const std::string& other = link.from == hub ? link.to : link.from;
    if (is_memory(node, other)) return true;
    const Rate width = link_width(link, true);
    const bool to_hub = std::ranges::find(node.hubs, other, &Hub::name) != node.hubs.end();
    Rate& widest = to_hub ? up : down;
    widest = std::max(widest, width);
  }
  constexpr double kMore = 1.5;
  return down > kNoRate && up.bytes_per_second() > kMore * down.bytes_per_second();
}

}  // namespace

/// Links that GPUs have with nothing but GPUs, by what they join.
bool Topology::joins_gpus(const Hop& hop) const {
  const Link& link = graph_.links[hop.link];
  return std::ranges::all_of(std::array{&link.from, &link.to}, [&](const std::string* end) {
    return !ways_.is_near_host(*end) || std::ranges::find(graph_.gpus, *end, &Gpu::name) != graph_.gpus.end();
  });
}

Level Topology::level_of(const Route& route) const {
  if (route.empty()) return Level::loc;
  if (std::ranges::all_of(route, [&](const Hop& hop) { return joins_gpus(hop); })) return Level::nvl;
  int switches = 0;
  std::set<std::size_t> cpus;  // by the memory that is nearest
  for (std::size_t i = 0; i + 1 < route.size(); ++i) {
    const std::string& here = behind(graph_, route[i]);
    if (!is_of_cpu(graph_, here)) {
      ++switches;
      continue;
    }
    const auto hops = ways_.hops_from(here);
    std::size_t nearest = 0;
    std::size_t fewest = graph_.links.size() + 1;
    for (std::size_t memory = 0; memory < graph_.memories.size(); ++memory) {
      const auto found = hops.find(graph_.memories[memory].name);
      const std::size_t count = graph_.memories[memory].name == here ? 0 : found == hops.end() ? fewest : found->second;
      if (count >= fewest) continue;
      fewest = count;
      nearest = memory;
    }
    cpus.insert(nearest);
  }
  if (cpus.empty()) return switches <= 1 ? Level::pix : Level::pxb;
  return cpus.size() == 1 ? Level::phb : Level::sys;
}

Level Topology::level_between(std::size_t a, std::size_t b) const {
  if (a == b) return Level::loc;
  const std::string& first = graph_.gpus[a].name;
  const std::string& second = graph_.gpus[b].name;
  if (peer_access(a, b)) return level_of(copy_route({Location::Kind::gpu, a}, {Location::Kind::gpu, b}));
  const Way* const way = ways_.find(first, second, Traffic::host);
  return way == nullptr ? Level::sys : level_of(way->route);
}

/// Coherent links leave no slot beside them: they carry more, or are several.
Rate Topology::slot_of(std::size_t gpu) const {
  Rate widest{};
  for (std::size_t i = 0; i < graph_.links.size(); ++i) {
    const Link& link = graph_.links[i];
    const std::string& name = graph_.gpus[gpu].name;
    if ((link.from != name && link.to != name) || joins_gpus({i, true})) continue;
    const Rate width = link_width(link, true);
    if (link.count == 1 && width <= kWidestSlot) widest = std::max(widest, width);
  }
  return widest;
}

DeviceFacts Topology::facts_of(const Place& place) const {
  const std::size_t gpu = gpu_of(place);
  const GpuType& type = type_of(gpu);
  constexpr int kOfFirst = 10;
  DeviceFacts facts{.capability = kOfFirst * type.capability_major + type.capability_minor,
                    .pcie = slot_of(gpu),
                    .cpu = node_with(gpu).cpu};
  const std::string& name = graph_.gpus[gpu].name;
  for (std::size_t i = 0; i < graph_.links.size(); ++i) {
    const Link& link = graph_.links[i];
    if ((link.from == name || link.to == name) && joins_gpus({i, true})) {
      facts.links += links_in(link, facts.capability);
    }
  }
  const auto nic = std::ranges::find(graph_.nics, graph_.gpus[gpu].nic, &Nic::name);
  if (nic == graph_.nics.end() || !platform_.fabric) return facts;
  facts.adapter = static_cast<int>(nic - graph_.nics.begin());
  facts.adapter_rate = nic->link ? nic->link->value : platform_.fabric->link.value;
  const Way* way = ways_.find(name, nic->name, Traffic::adapter);
  if (way == nullptr) way = ways_.find(name, nic->name, Traffic::host);
  if (way == nullptr) return facts;
  facts.adapter_level = level_of(way->route);
  const bool coherent = facts.pcie == kNoRate && way->route.size() > 1;
  if (coherent && link_width(graph_.links[way->route.front().link], true) > kWidestSlot &&
      facts.adapter_level == Level::phb) {
    facts.adapter_level = Level::c2c;
  }
  return facts;
}

void Topology::set_level(Path& path, std::size_t a, std::size_t b) const {
  path.level = level_between(a, b);
  if (path.level != Level::nvl) return;
  const Route route = copy_route({Location::Kind::gpu, a}, {Location::Kind::gpu, b});
  constexpr int kOfFirst = 10;
  const int capability = kOfFirst * type_of(a).capability_major + type_of(a).capability_minor;
  path.switched = route.size() > 1;
  for (const Hop& hop : route) {
    const int links = links_in(graph_.links[hop.link], capability);
    path.links = path.links == 0 ? links : std::min(path.links, links);
  }
}

}  // namespace twinlink::platforms
