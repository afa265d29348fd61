#include "platforms/tools/remains.hpp"

#include <algorithm>
#include <deque>
#include <map>

#include "platforms/machine/degraded.hpp"

namespace twinlink::platforms {
namespace {

void lose(std::size_t gpu, const std::string& text, Failures& failures) {
  if (std::ranges::find(failures.gpus, gpu, &Failures::Gone::index) != failures.gpus.end()) return;
  failures.gpus.push_back({gpu, text});
}

}  // namespace

void Remains::settle(const std::vector<Fault>& failed, Failures& failures) {
  for (const Fault& fault : failed) {
    if (!fault.node) continue;
    const NodePart& part = topology_.part_of(*fault.node);
    for (std::size_t i = 0; i < part.gpus; ++i) lose(part.first_gpu + i, "--fail " + fault.typed, failures);
  }
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < node_.gpus.size(); ++i) {
    if (!way_to_memory(node_.gpus[i].name, links_).empty() || touching(node_.gpus[i].name, failed).empty()) continue;
    lose(i, touching(node_.gpus[i].name, failed), failures);
    kept.push_back(node_.gpus[i].name);
  }
  std::size_t first = 0;
  const std::size_t kinds = topology_.platform().kinds.size() + 1;  // nodes of a domain are of one kind
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    const std::size_t count = nics_of(kind);
    std::set<std::string> dead;
    std::string text;
    for (std::size_t i = first; i < first + count; ++i) {
      const std::string& nic = node_.nics[i].name;
      if (!way_to_memory(nic, links_).empty()) continue;
      dead.insert(nic);
      text = touching(nic, failed);
    }
    first += count;
    if (dead.empty() || text.empty()) continue;
    if (dead.size() < count || !topology_.platform().fabric) {
      adapters_.insert(dead.begin(), dead.end());
      continue;
    }
    failures.off_network.push_back({kind, text});
    kept.insert(kept.end(), dead.begin(), dead.end());
  }
  // Whoever is left has no use for these: they lead to what is gone alone.
  for (const std::string& name : kept) {
    for (const std::string& link : way_to_memory(name, {})) links_.erase(link);
  }
}

std::size_t Remains::nics_of(std::size_t kind) const {
  const Platform& platform = topology_.platform();
  return (kind == 0 ? platform.node : platform.kinds[kind - 1].node).nics.size();
}

std::vector<std::string> Remains::way_to_memory(const std::string& device, const std::set<std::string>& gone) const {
  std::map<std::string, const Link*> reached_by{{device, nullptr}};
  std::deque<std::string> left{device};
  while (!left.empty()) {
    const std::string here = left.front();
    left.pop_front();
    if (std::ranges::find(node_.memories, here, &HostMemory::name) != node_.memories.end()) {
      std::vector<std::string> way;
      for (std::string at = here; at != device;) {
        const Link* const link = reached_by.at(at);
        way.push_back(link->name);
        at = link->from == at ? link->to : link->from;
      }
      return way;
    }
    const bool hub = std::ranges::find(node_.hubs, here, &Hub::name) != node_.hubs.end();
    if (here != device && !hub) continue;
    for (const Link& link : node_.links) {
      if (gone.contains(link.name) || (link.from != here && link.to != here)) continue;
      const std::string& there = link.from == here ? link.to : link.from;
      if (reached_by.try_emplace(there, &link).second) left.push_back(there);
    }
  }
  return {};
}

std::string Remains::touching(const std::string& device, const std::vector<Fault>& failed) const {
  const std::vector<std::string> way = way_to_memory(device, {});
  for (const Fault& fault : failed) {
    if (fault.node) continue;
    for (const std::size_t link : links_of(node_, fault.text)) {
      if (std::ranges::find(way, node_.links[link].name) != way.end()) return "--fail " + fault.typed;
    }
  }
  return {};
}

}  // namespace twinlink::platforms
