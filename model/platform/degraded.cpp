#include "model/platform/degraded.hpp"

#include <algorithm>
#include <optional>

namespace twinlink::model {
namespace {

class Degradation {
 public:
  Degradation(double share, const std::string& why) : share_(share), why_(why) {}

  void shrink(Link& link) const {
    shrink(link.forward);
    shrink(link.backward);
    for (auto* rate : {&link.total, &link.dma_read, &link.dma_write}) shrink(*rate);
  }
  void shrink(Passing& passing) const {
    shrink(passing.peer_read);
    shrink(passing.peer_write);
  }
  void shrink(HostMemory& memory) const {
    shrink(memory.copy_rate);
    shrink(memory.bandwidth);
  }

 private:
  void shrink(Sourced<Rate>& rate) const {
    rate.value = Rate{rate.value.bytes_per_second() * share_};
    rate.source = {Quality::assumed, why_};
  }
  void shrink(std::optional<Sourced<Rate>>& rate) const {
    if (rate) shrink(*rate);
  }

  double share_;
  const std::string& why_;
};

template <class T>
T* find_named(std::vector<T>& things, std::string_view name) {
  const auto found = std::ranges::find(things, name, &T::name);
  return found == things.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string> degradable_parts(const Node& node) {
  std::vector<std::string> names;
  for (const Link& link : node.links) names.push_back(link.name);
  for (const Nic& nic : node.nics) names.push_back(nic.name);
  for (const Hub& hub : node.hubs) names.push_back(hub.name);
  for (const HostMemory& memory : node.memories) names.push_back(memory.name);
  return names;
}

bool degrade(Platform& platform, std::string_view part, double share, const std::string& why) {
  const Degradation degradation(share, why);
  Node& node = platform.node;
  if (Link* link = find_named(node.links, part)) {
    degradation.shrink(*link);
    return true;
  }
  if (HostMemory* memory = find_named(node.memories, part)) {
    degradation.shrink(*memory);
    return true;
  }
  Hub* const hub = find_named(node.hubs, part);
  if (hub == nullptr && find_named(node.nics, part) == nullptr) return false;
  if (hub != nullptr) degradation.shrink(hub->passing);
  for (Link& link : node.links) {
    if (link.from == part || link.to == part) degradation.shrink(link);
  }
  return true;
}

}  // namespace twinlink::model
