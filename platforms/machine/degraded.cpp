#include "platforms/machine/degraded.hpp"

#include <algorithm>
#include <optional>

namespace twinlink::platforms {
namespace {

class Degradation {
 public:
  Degradation(double share, const std::string& why, std::set<const void*>& shrunk)
      : share_(share), why_(why), shrunk_(shrunk) {}

  /// What one transfer gets is its device's doing, and stays.
  void shrink(Link& link) const {
    shrink(link.forward);
    shrink(link.backward);
    for (const auto& [key, rate] : shared_rates(link)) shrink(*rate);
  }
  void shrink(Hub& hub) const {
    shrink(hub.passing.peer_read);
    shrink(hub.passing.peer_write);
    shrink(hub.passing.duplex);
    shrink(hub.reduces);
  }
  /// What hangs at its port, and not what joins it to its node.
  void shrink_port(Nic& nic, const Fabric& fabric) const {
    if (!nic.link) nic.link = fabric.link;
    if (shrunk_.contains(&*nic.link)) return;
    shrink(*nic.link);
    nic.port_share *= share_;
  }
  void shrink(HostMemory& memory) const {
    shrink(memory.copy_rate);
    shrink(memory.bandwidth);
  }

 private:
  void shrink(Sourced<Rate>& rate) const {
    if (!shrunk_.insert(&rate).second) return;
    rate.value = Rate{rate.value.bytes_per_second() * share_};
    rate.source = {Quality::assumed, why_};
  }
  void shrink(std::optional<Sourced<Rate>>& rate) const {
    if (rate) shrink(*rate);
  }

  double share_;
  const std::string& why_;
  std::set<const void*>& shrunk_;
};

template <class T>
T* find_named(std::vector<T>& things, std::string_view name) {
  const auto found = std::ranges::find(things, name, &T::name);
  return found == things.end() ? nullptr : &*found;
}

bool degrade_node(Node& node, const std::optional<Fabric>& fabric, std::string_view part,
                  const Degradation& degradation) {
  if (Link* link = find_named(node.links, part)) {
    degradation.shrink(*link);
    return true;
  }
  if (HostMemory* memory = find_named(node.memories, part)) {
    degradation.shrink(*memory);
    return true;
  }
  Hub* const hub = find_named(node.hubs, part);
  Nic* const nic = find_named(node.nics, part);
  if (hub == nullptr && nic == nullptr && find_named(node.gpus, part) == nullptr) return false;
  if (nic != nullptr && fabric) {
    degradation.shrink_port(*nic, *fabric);
    return true;
  }
  if (hub != nullptr) degradation.shrink(*hub);
  for (const std::size_t link : links_of(node, part)) degradation.shrink(node.links[link]);
  return true;
}

}  // namespace

std::vector<std::string> degradable_parts(const Platform& platform) {
  std::vector<std::string> names;
  const auto add_all = [&](const Node& node, const std::string& prefix) {
    for (const Link& link : node.links) names.push_back(prefix + link.name);
    for (const Gpu& gpu : node.gpus) names.push_back(prefix + gpu.name);
    for (const Nic& nic : node.nics) names.push_back(prefix + nic.name);
    for (const Hub& hub : node.hubs) names.push_back(prefix + hub.name);
    for (const HostMemory& memory : node.memories) names.push_back(prefix + memory.name);
  };
  add_all(platform.node, "");
  for (const NodeKind& kind : platform.kinds) add_all(kind.node, kind.name + "-");
  return names;
}

std::vector<std::size_t> links_of(const Node& node, std::string_view part) {
  std::vector<std::size_t> by_name;
  std::vector<std::size_t> by_end;
  const bool is_end = std::ranges::find(node.gpus, part, &Gpu::name) != node.gpus.end() ||
                      std::ranges::find(node.nics, part, &Nic::name) != node.nics.end() ||
                      std::ranges::find(node.hubs, part, &Hub::name) != node.hubs.end();
  for (std::size_t i = 0; i < node.links.size(); ++i) {
    const Link& link = node.links[i];
    if (link.name == part) by_name.push_back(i);
    if (is_end && (link.from == part || link.to == part)) by_end.push_back(i);
  }
  return by_name.empty() ? by_end : by_name;
}

bool degrade(Platform& platform, std::string_view part, double share, const std::string& why) {
  std::set<const void*> shrunk;
  return degrade(platform, part, share, why, shrunk);
}

bool degrade(Platform& platform, std::string_view part, double share, const std::string& why,
             std::set<const void*>& shrunk) {
  const Degradation degradation(share, why, shrunk);
  if (degrade_node(platform.node, platform.fabric, part, degradation)) return true;
  return std::ranges::any_of(platform.kinds, [&](NodeKind& kind) {
    const std::string prefix = kind.name + "-";
    return part.starts_with(prefix) &&
           degrade_node(kind.node, platform.fabric, part.substr(prefix.size()), degradation);
  });
}

}  // namespace twinlink::platforms
