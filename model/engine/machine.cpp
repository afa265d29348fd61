#include "model/engine/machine.hpp"

#include <simgrid/version.h>

#include <algorithm>
#include <array>
#include <utility>

namespace twinlink::model {
namespace {

// The slots of one link of the platform, or of one adapter, in the table of a node's links.
enum Slot : std::size_t { forward_slot, backward_slot, total_slot, slots_per_link };
enum NicSlot : std::size_t { out_slot, in_slot, duplex_slot, slots_per_nic };
// What an adapter gets from and to the memory of one GPU: for each adapter with each GPU.
enum RdmaSlot : std::size_t { read_slot, write_slot, slots_per_rdma };

std::size_t slot_of_link(std::size_t link, Slot slot) { return link * slots_per_link + slot; }

/// What `table` has for `key`; what `make` gives, if that is asked for for the first time.
template <class Key, class Value, class Make>
const Value& remembered(std::map<Key, Value>& table, const Key& key, Make make) {
  const auto known = table.find(key);
  return known != table.end() ? known->second : table.emplace(key, make()).first->second;
}

std::optional<Rate> value_of(const std::optional<Sourced<Rate>>& rate) {
  return rate ? std::optional(rate->value) : std::nullopt;
}

}  // namespace

std::span<const SimGridSetting> simgrid_settings() {
  static const std::array<SimGridSetting, 5> settings{{
      {"network/model", "CM02"},       // bandwidth shared evenly, no TCP window, no factors
      {"network/TCP-gamma", "0"},      // no cap by window size over latency
      {"network/crosstraffic", "no"},  // acknowledgements take no bandwidth
      {"surf/precision", "1e-12"},     // picoseconds; the default of 10 us is longer than most messages
      {"network/optim", "Lazy"},       // "Full" is over thirty times slower with messages of unequal size
  }};
  return settings;
}

std::string simgrid_version() {
  int major = 0;
  int minor = 0;
  int patch = 0;
  sg_version_get(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor);
}

Machine::Machine(simgrid::s4u::Engine& engine, const Topology& topology, std::span<const Place> places)
    : topology_(topology), network_(engine), rates_(rates_by_slot()) {
  for (const Place& place : places) topology.require(place);
}

std::size_t Machine::slot_of_nic(const std::string& nic) const {
  const Node& node = topology_.platform().node;
  const auto index = static_cast<std::size_t>(std::ranges::find(node.nics, nic) - node.nics.begin());
  return node.links.size() * slots_per_link + index * slots_per_nic;
}

std::size_t Machine::slot_of_rdma(const std::string& nic, std::size_t gpu) const {
  const Node& node = topology_.platform().node;
  const auto index = static_cast<std::size_t>(std::ranges::find(node.nics, nic) - node.nics.begin());
  return node.links.size() * slots_per_link + node.nics.size() * slots_per_nic +
         (index * node.gpus.size() + gpu) * slots_per_rdma;
}

std::size_t Machine::slot_of_no_link() const {
  const Node& node = topology_.platform().node;
  return node.links.size() * slots_per_link + node.nics.size() * (slots_per_nic + node.gpus.size() * slots_per_rdma);
}

/// Zero where the platform has no such link.
std::vector<Rate> Machine::rates_by_slot() const {
  const Platform& platform = topology_.platform();
  std::vector<Rate> rates(slot_of_no_link());
  for (std::size_t i = 0; i < platform.node.links.size(); ++i) {
    const Link& link = platform.node.links[i];
    rates[slot_of_link(i, forward_slot)] = link.forward.value;
    rates[slot_of_link(i, backward_slot)] = link.backward.value;
    if (link.total) rates[slot_of_link(i, total_slot)] = link.total->value;
  }
  if (!platform.fabric) return rates;
  for (const std::string& nic : platform.node.nics) {
    rates[slot_of_nic(nic) + out_slot] = rates[slot_of_nic(nic) + in_slot] = platform.fabric->link.value;
    if (platform.fabric->duplex) rates[slot_of_nic(nic) + duplex_slot] = platform.fabric->duplex->value;
    for (std::size_t gpu = 0; gpu < platform.node.gpus.size(); ++gpu) {
      const RdmaLimits* limits = topology_.rdma_limits(gpu, nic);
      if (limits == nullptr) continue;
      rates[slot_of_rdma(nic, gpu) + read_slot] = limits->read.value;
      rates[slot_of_rdma(nic, gpu) + write_slot] = limits->write.value;
    }
  }
  return rates;
}

simgrid::s4u::Link* Machine::make_link(int node, std::size_t slot) {
  // Nobody reads the names: short ones take less memory.
  const std::string name = std::to_string(node) + "/" + std::to_string(slot);
  return slot == slot_of_no_link() ? network_.add_open_link(name) : network_.add_link(name, rates_[slot]);
}

Machine::LinkSlots Machine::slots_of(const Route& route) const {
  LinkSlots slots;
  const auto add = [&](std::size_t slot) {
    // The way through host memory may cross a link's total twice.
    if (std::ranges::find(slots, slot) == slots.end()) slots.push_back(slot);
  };
  for (const Hop& hop : route) {
    add(slot_of_link(hop.link, hop.forward ? forward_slot : backward_slot));
    if (topology_.platform().node.links[hop.link].total) add(slot_of_link(hop.link, total_slot));
  }
  return slots;
}

const Machine::LinkSlots& Machine::copy_slots(Location from, Location to) {
  return remembered(copy_slots_, {from, to}, [&] {
    LinkSlots slots = slots_of(topology_.copy_route(from, to));
    if (slots.empty()) slots.push_back(slot_of_no_link());
    return slots;
  });
}

const Machine::LinkSlots& Machine::slots_out(Location from, const std::string& nic) {
  return remembered(slots_out_, {from, nic}, [&] {
    LinkSlots slots = slots_of(topology_.to_nic_route(from, nic));
    slots.push_back(slot_of_nic(nic) + out_slot);
    if (topology_.platform().fabric->duplex) slots.push_back(slot_of_nic(nic) + duplex_slot);
    if (is_limited(from, nic)) slots.push_back(slot_of_rdma(nic, from.index) + read_slot);
    return slots;
  });
}

const Machine::LinkSlots& Machine::slots_in(const std::string& nic, Location to) {
  return remembered(slots_in_, {nic, to}, [&] {
    LinkSlots slots = slots_of(topology_.from_nic_route(nic, to));
    slots.push_back(slot_of_nic(nic) + in_slot);
    if (topology_.platform().fabric->duplex) slots.push_back(slot_of_nic(nic) + duplex_slot);
    if (is_limited(to, nic)) slots.push_back(slot_of_rdma(nic, to.index) + write_slot);
    return slots;
  });
}

/// Is there a limit to what the adapter reads and writes there?
bool Machine::is_limited(Location location, const std::string& nic) const {
  return location.kind == Location::Kind::gpu && topology_.rdma_limits(location.index, nic) != nullptr;
}

void Machine::append(FlowRoute& route, int node, const LinkSlots& slots) {
  NodeLinks& links = nodes_.try_emplace(node, slot_of_no_link() + 1, nullptr).first->second;
  for (const std::size_t slot : slots) {
    if (links[slot] == nullptr) links[slot] = make_link(node, slot);
    route.links.emplace_back(links[slot]);
  }
}

FlowRoute Machine::copy(int node, End from, End to) {
  FlowRoute route{.limit = value_of(topology_.copy_cost(from, to).cost->rate)};
  append(route, node, copy_slots(from.location, to.location));
  return route;
}

FlowRoute Machine::message(int node, Location from, Location to, std::span<const RankId> copying) {
  FlowRoute route{.limit = value_of(topology_.platform().intra_node.rate)};
  append(route, node, copy_slots(from, to));
  for (const RankId rank : copying) route.links.emplace_back(&cpu_of(rank));
  return route;
}

simgrid::s4u::Link& Machine::cpu_of(RankId rank) {
  simgrid::s4u::Link*& cpu = cpus_[rank.value];
  if (cpu == nullptr) {
    cpu = network_.add_link("cpu" + std::to_string(rank.value), topology_.platform().intra_node.rate.value().value);
  }
  return *cpu;
}

void Machine::leave_messages(RankId rank) {
  if (cpus_copy()) network_.rest(cpu_of(rank));
}

void Machine::return_to_messages(RankId rank) {
  if (cpus_copy()) network_.go_on(cpu_of(rank));
}

FlowRoute Machine::transfer(Site from, const std::string& from_nic, Site to, const std::string& to_nic) {
  FlowRoute route{.limit = value_of(topology_.platform().network->rate)};
  append(route, from.node, slots_out(from.location, from_nic));
  append(route, to.node, slots_in(to_nic, to.location));
  if (const auto& duplex = topology_.platform().fabric->duplex; duplex && from.node == to.node && from_nic == to_nic) {
    // In loopback every byte passes the adapter both ways, and SimGrid counts a link of a route once.
    const Rate half{duplex->value.bytes_per_second() / 2};
    route.limit = route.limit ? std::min(*route.limit, half) : half;
  }
  return route;
}

}  // namespace twinlink::model
