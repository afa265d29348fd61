// What the links of a machine let through: from the start, and when parts become slow or break.
#include <algorithm>
#include <cassert>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "model/engine/flows/flow_pool.hpp"
#include "model/engine/flows/machine.hpp"
#include "model/engine/flows/machine_slots.hpp"
#include "platforms/machine/degraded.hpp"
#include "platforms/machine/fabric_links.hpp"

namespace twinlink::model {
namespace {

/// Copies of one kind by the engines of one GPU share what these have. What kernels and CPUs move, each moves at its
/// own rate.
bool shares_engine(CopyKind kind) {
  using enum CopyKind;
  return kind == pinned_to_device || kind == device_to_pinned || kind == peer || kind == peer_read ||
         kind == device_to_device;
}

}  // namespace

void Machine::lay_out_slots() {
  const Node& node = topology_.graph();
  first_nic_ = node.links.size() * slots_per_link;
  first_port_ = first_nic_ + node.nics.size() * slots_per_nic;
  first_memory_ = first_port_ + node.links.size() * kPortsPerLink * slots_per_port;
  first_engine_ = first_memory_ + node.memories.size() * slots_per_memory;
  first_host_ = first_engine_ + node.gpus.size() * kSlotsPerGpu;
  no_link_ = first_host_ + node.links.size() * slots_per_host;
  cut_.resize(node.links.size());
  limits_each_ = std::ranges::any_of(node.links, [](const Link& link) { return link.each_read || link.each_write; });
  rates_ = rates_of(topology_);
}

/// By slot, of a platform with the same parts.
std::vector<std::optional<Rate>> Machine::rates_of(const Topology& topology) const {
  const Platform& platform = topology.platform();
  const Node& node = topology.graph();
  std::vector<std::optional<Rate>> rates(no_link_);
  for (std::size_t i = 0; i < node.links.size(); ++i) {
    rates[i * slots_per_link + forward_slot] = node.links[i].forward.value;
    rates[i * slots_per_link + backward_slot] = node.links[i].backward.value;
    rates[i * slots_per_link + total_slot] = value_of(node.links[i].total);
    rates[i * slots_per_link + dma_read_slot] = value_of(node.links[i].dma_read);
    rates[i * slots_per_link + dma_write_slot] = value_of(node.links[i].dma_write);
  }
  for (std::size_t i = 0; platform.fabric && i < node.nics.size(); ++i) {
    const std::size_t nic = first_nic_ + i * slots_per_nic;
    rates[nic + out_slot] = rates[nic + in_slot] = value_of(node.nics[i].link).value_or(platform.fabric->link.value);
    if (const auto& duplex = platform.fabric->duplex) {
      rates[nic + duplex_slot] = Rate{duplex->value.bytes_per_second() * node.nics[i].port_share};
    }
  }
  for (std::size_t i = 0; i < node.links.size(); ++i) {
    for (const bool forward : {true, false}) {
      rates[port_of({i, forward}) + peer_read_slot] = topology.peer_rate({i, forward}, true);
      rates[port_of({i, forward}) + peer_write_slot] = topology.peer_rate({i, forward}, false);
    }
  }
  for (std::size_t i = 0; i < node.memories.size(); ++i) {
    const std::size_t memory = first_memory_ + i * slots_per_memory;
    rates[memory + read_slot] = rates[memory + write_slot] = value_of(node.memories[i].bandwidth);
  }
  for (std::size_t i = 0; i < node.links.size(); ++i) {
    const auto duplex = topology.host_duplex(i);
    if (!duplex) continue;
    rates[first_host_ + i * slots_per_host + once_slot] = duplex;
    rates[first_host_ + i * slots_per_host + twice_slot] = Rate{duplex->bytes_per_second() / 2};
  }
  for (std::size_t gpu = 0; gpu < node.gpus.size(); ++gpu) {
    for (int i = 0; i < kCopyKinds; ++i) {
      const auto kind = static_cast<CopyKind>(i);
      const Cost* cost = topology.cost_of(kind, gpu);
      if (cost == nullptr || !shares_engine(kind)) continue;
      rates[engine_of(gpu, kind)] = value_of(cost->rate);
    }
    // What reads a peer is another engine than what writes into it, also where both cost the same.
    if (topology.cost_of(CopyKind::peer_read, gpu) == nullptr) {
      rates[engine_of(gpu, CopyKind::peer_read)] = rates[engine_of(gpu, CopyKind::peer)];
    }
  }
  return rates;
}

Machine::Shared Machine::shared_in(std::initializer_list<std::pair<std::size_t, std::size_t>> slots) const {
  Shared all;
  for (const auto& [first, count] : slots) {
    for (std::size_t slot = first; slot < first + count; ++slot) {
      if (rates_[slot]) all.push_back({slot, *rates_[slot]});
    }
  }
  return all;
}

Machine::Shared Machine::shared_along(const Route& route) const {
  Shared all;
  for (const Hop& hop : route) {
    const std::size_t link = hop.link * slots_per_link;
    const Shared here = shared_in({{link + (hop.forward ? forward_slot : backward_slot), 1},
                                   {link + total_slot, slots_per_link - total_slot},
                                   {port_of(hop), slots_per_port},
                                   {first_host_ + hop.link * slots_per_host, slots_per_host}});
    all.insert(all.end(), here.begin(), here.end());
  }
  return all;
}

Machine::Shared Machine::shared_at(Location at) const {
  if (at.kind == Location::Kind::gpu) return shared_in({{first_engine_ + at.index * kSlotsPerGpu, kSlotsPerGpu}});
  return shared_in({{first_memory_ + at.index * slots_per_memory, slots_per_memory}});
}

Machine::Shared Machine::shared_at(std::string_view nic) const {
  const std::vector<Nic>& nics = topology_.graph().nics;
  const auto index = static_cast<std::size_t>(std::ranges::find(nics, nic, &Nic::name) - nics.begin());
  return shared_in({{first_nic_ + index * slots_per_nic, slots_per_nic}});
}

void Machine::shrink(std::string_view part, double share) {
  if (share > 0) return slow(part, share);
  for (const std::size_t link : links_of(topology_.graph(), part)) {
    any_cut_ = cut_[link] = true;
    for (std::size_t slot = link * slots_per_link; slot < (link + 1) * slots_per_link; ++slot) {
      for (const auto& [copy, links] : nodes_) {
        if (links[slot] == nullptr) continue;
        cut_links_.insert(links[slot]);
        network_.set_rate(*links[slot], Rate{});
      }
    }
  }
}

/// All that the part has less of, as if it had been slow from the start: also what peers have of a link.
void Machine::slow(std::string_view part, double share) {
  if (slowed_ == nullptr) slowed_ = std::make_unique<Platform>(topology_.platform());
  [[maybe_unused]] const bool known = degrade(*slowed_, part, share, "since then");
  assert(known);
  const Topology slowed(*slowed_);
  for (const auto& [place, link] : added_up_) network_.set_rate(*link, adding_up(slowed, std::get<1>(place)));
  const std::vector<std::optional<Rate>> rates = rates_of(slowed);
  for (std::size_t slot = 0; slot < no_link_; ++slot) {
    if (!rates[slot] || rates[slot] == rates_[slot]) continue;
    rates_[slot] = rates[slot];
    for (const auto& [copy, links] : nodes_) {
      if (links[slot] != nullptr && !cut_links_.contains(links[slot])) network_.set_rate(*links[slot], *rates[slot]);
    }
  }
}

void Machine::shrink_cable(std::string_view name, double share) {
  const int nics = topology_.fabric_nics();
  for (const CableFault& fault : fabric_->cables(name, share, nics)) fabric_->add_fault(fault);
  for (const auto& [number, link] : between_switches_) {
    const Rate rate = fabric_link_rate(*fabric_, nics, number);
    if (rate.bytes_per_second() == link->rate) continue;
    network_.set_rate(*link, rate);
    if (rate.bytes_per_second() <= 0) gone_cables_.insert(link);
  }
  ++fabric_changes_;
}

bool Machine::is_stranded(const FlowId& flow) const {
  if (flow.flow == nullptr || flow.flow->number != flow.number) return false;
  return std::ranges::any_of(flow.flow->legs, [&](const Flow::Leg& leg) { return gone_cables_.contains(leg.link); });
}

bool Machine::is_cut(const FlowRoute& route) const {
  return std::ranges::any_of(route.links, [&](const SharedLink* link) { return cut_links_.contains(link); });
}

bool Machine::is_cut(const Route& route) const {
  return std::ranges::any_of(route, [&](const Hop& hop) { return cut_[hop.link]; });
}

}  // namespace twinlink::model
