#include "model/engine/flows/machine.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "model/engine/flows/flow_pool.hpp"
#include "model/engine/flows/machine_slots.hpp"
#include "model/engine/flows/simgrid_versions.hpp"
#include "platforms/costs/transfer_costs.hpp"
#include "platforms/machine/degraded.hpp"

namespace twinlink::model {
namespace {

template <class T>
std::size_t index_of(const std::vector<T>& things, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(things, name, &T::name) - things.begin());
}

/// What `table` has for `key`; what `make` gives, if that is asked for for the first time. Never null; a reference g++
/// 14 would take for one to its temporary arguments.
template <class Key, class Value, class Make>
const Value* remembered(std::map<Key, Value>& table, Key key, Make make) {
  const auto known = table.find(key);
  return &(known != table.end() ? known : table.emplace(std::move(key), make()).first)->second;
}

/// What one of several flows has of a limit of all.
std::optional<Rate> part_of(const std::optional<Rate>& limit, double share) {
  return limit ? std::optional(Rate{limit->bytes_per_second() * share}) : std::nullopt;
}

/// Each link once, for that is how SimGrid counts them, and none that never limits anybody.
void tidy(std::vector<std::size_t>& slots, const std::vector<std::optional<Rate>>& rates) {
  std::vector<std::size_t> kept;
  for (const std::size_t slot : slots) {
    if (rates[slot] && std::ranges::find(kept, slot) == kept.end()) kept.push_back(slot);
  }
  slots = std::move(kept);
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

Machine::Machine(FlowNetwork& network, const Topology& topology, std::span<const Place> places, const Folding* folding)
    : topology_(topology),
      network_(network),
      folding_(folding),
      fabric_(topology.platform().fabric),
      cpus_(places.size()) {
  for (const Place& place : places) topology.require(place);
  lay_out_slots();
}

/// The slots of what a link's bytes enter at its end: how much of them passes there as peer traffic.
std::size_t Machine::port_of(const Hop& hop) const {
  return first_port_ + (hop.link * kPortsPerLink + (hop.forward ? 0 : 1)) * slots_per_port;
}

std::size_t Machine::engine_of(std::size_t gpu, CopyKind kind) const {
  return first_engine_ + gpu * kSlotsPerGpu + static_cast<std::size_t>(kind);
}

SharedLink& Machine::make_link(std::size_t slot, double share) {
  if (slot == no_link_) return network_.add_open_link();
  SharedLink& link = network_.add_link(Rate{rates_[slot].value().bytes_per_second() * share});
  link.share = share;
  if (slot < first_nic_ && cut_[slot / slots_per_link]) cut_links_.insert(&link);
  return link;
}

/// Which stands for it, where ranks of a node stand for others.
SharedLink& Machine::link_at(NodeLinks& links, std::size_t slot) {
  if (links[slot] != nullptr) return *links[slot];
  if (folding_ == nullptr || !folding_->is_within() || slot == no_link_) return *(links[slot] = &make_link(slot, 1));
  const auto& [stands, share] = folding_->slot(slot);
  SharedLink*& link = links[static_cast<std::size_t>(stands)];
  if (link == nullptr) link = &make_link(slot, share);
  return *link;
}

std::string Machine::name_of(std::size_t slot) const {
  const Node& node = topology_.graph();
  const auto part = [&](std::size_t first, std::size_t each) { return (slot - first) / each; };
  if (slot < first_nic_) {
    static constexpr std::array kWays{"forward", "backward", "both ways", "read by devices", "written by devices"};
    return fmt::format("{} {}", node.links[part(0, slots_per_link)].name, kWays.at(slot % slots_per_link));
  }
  if (slot < first_port_) {
    static constexpr std::array kWays{"out", "in", "both ways"};
    return fmt::format("{} {}", node.nics[part(first_nic_, slots_per_nic)].name,
                       kWays.at((slot - first_nic_) % slots_per_nic));
  }
  if (slot < first_memory_) {
    const std::size_t port = part(first_port_, slots_per_port);
    const Link& link = node.links[port / kPortsPerLink];
    const bool reads = (slot - first_port_) % slots_per_port == peer_read_slot;
    return fmt::format("{} peer {} from {}", port % kPortsPerLink == 0 ? link.to : link.from,
                       reads ? "reads" : "writes", link.name);
  }
  if (slot < first_engine_) {
    const bool reads = (slot - first_memory_) % slots_per_memory == read_slot;
    return fmt::format("{} {}", node.memories[part(first_memory_, slots_per_memory)].name, reads ? "read" : "written");
  }
  if (slot >= first_host_) {
    const bool twice = (slot - first_host_) % slots_per_host == twice_slot;
    return fmt::format("{} host memory{}", node.links[part(first_host_, slots_per_host)].name,
                       twice ? " and back" : "");
  }
  return fmt::format("{} {}", node.gpus[part(first_engine_, kSlotsPerGpu)].name,
                     to_string(static_cast<CopyKind>((slot - first_engine_) % kSlotsPerGpu)));
}

std::vector<LinkUse> Machine::link_use() const {
  network_.settle_detours();
  std::vector<LinkUse> all;
  const auto add = [&](std::string name, const SharedLink* link) {
    if (link == nullptr || link->open || link->carried <= 0) return;
    all.push_back({link, std::move(name), Rate{link->rate}, link->carried});
  };
  const std::map sorted(nodes_.begin(), nodes_.end());
  for (const auto& [node, links] : sorted) {
    for (std::size_t slot = 0; slot < no_link_; ++slot) {
      if (links[slot] != nullptr) add(fmt::format("node {} {}", node, name_of(slot)), links[slot]);
    }
  }
  for (const auto& [ends, link] : drivers_) {
    const auto& [node, a, b] = ends;
    const std::vector<Gpu>& gpus = topology_.graph().gpus;
    add(fmt::format("node {} driver between {} and {}", node, gpus[a].name, gpus[b].name), link);
  }
  for (const auto& [place, link] : added_up_) {
    const auto& [node, gpu, to_switch] = place;
    add(fmt::format("node {} {} sums {} the switch", node, topology_.graph().gpus[gpu].name, to_switch ? "to" : "from"),
        link);
  }
  for (const auto& [place, link] : summed_) add(fmt::format("node {} {} sums", place.first, place.second), link);
  const std::map fabric(between_switches_.begin(), between_switches_.end());
  for (const auto& [number, link] : fabric) add(fabric_link_name(number), link);
  for (std::size_t rank = 0; rank < cpus_.size(); ++rank) add(fmt::format("CPU of rank {}", rank), cpus_[rank]);
  return all;
}

std::optional<Machine::Carried> Machine::carried(std::string_view part) const {
  const Node& node = topology_.graph();
  std::vector<std::size_t> slots;
  for (const std::size_t link : links_of(node, part)) {
    for (std::size_t slot = link * slots_per_link; slot < (link + 1) * slots_per_link; ++slot) slots.push_back(slot);
  }
  if (const std::size_t memory = index_of(node.memories, part); slots.empty() && memory < node.memories.size()) {
    if (!node.memories[memory].bandwidth) return std::nullopt;
    const std::size_t first = first_memory_ + memory * slots_per_memory;
    slots = {first + read_slot, first + write_slot};
  }
  Carried all;
  for (const auto& [number, links] : nodes_) {
    for (const std::size_t slot : slots) {
      if (links[slot] == nullptr) continue;
      all.bytes += links[slot]->carried;
      all.under_way = all.under_way || !links[slot]->crossing.empty();
    }
  }
  return all;
}

/// The links of a way, what they let devices have, and what the vertices between its ends let peer traffic have.
void Machine::add_route(LinkSlots& slots, const Route& route, Reach reach, bool peers, bool to_host) const {
  const bool reads = reach == Reach::device_reads;
  for (const Hop& hop : route) {
    if (peers) slots.push_back(port_of(hop) + (reads ? peer_read_slot : peer_write_slot));
    const std::size_t link = hop.link * slots_per_link;
    slots.push_back(link + (hop.forward ? forward_slot : backward_slot));
    slots.push_back(link + total_slot);
    if (reach != Reach::cpu) slots.push_back(link + (reads ? dma_read_slot : dma_write_slot));
    if (to_host) {
      const bool twice = std::ranges::count(route, hop.link, &Hop::link) > 1;
      slots.push_back(first_host_ + hop.link * slots_per_host + once_slot);
      if (twice) slots.push_back(first_host_ + hop.link * slots_per_host + twice_slot);
    }
  }
}

void Machine::add_memory(LinkSlots& slots, std::size_t memory, bool reads, bool writes) const {
  if (reads) slots.push_back(first_memory_ + memory * slots_per_memory + read_slot);
  if (writes) slots.push_back(first_memory_ + memory * slots_per_memory + write_slot);
}

/// Pageable bytes the CPU copies into or out of a buffer of the driver: memory reads and writes them once more.
void Machine::add_copy_memories(LinkSlots& slots, End from, End to, bool cached) const {
  using enum Location::Kind;
  if (from.location.kind == gpu && to.location.kind == gpu) {
    const bool bounces = from.location != to.location && !topology_.peer_access(from.location.index, to.location.index);
    if (bounces) add_memory(slots, topology_.bounce_memory(from.location.index, to.location.index), true, true);
    return;
  }
  const bool host_to_host = from.location.kind == memory && to.location.kind == memory;
  for (const End* end : {&from, &to}) {
    if (end->location.kind != memory) continue;
    if (cached && topology_.graph().memories[end->location.index].cache) continue;
    const bool bounces = end->memory == Memory::pageable && !host_to_host;
    add_memory(slots, end->location.index, end == &from || bounces, end == &to || bounces);
  }
}

Machine::CopySlots Machine::make_copy_slots(End from, End to, bool cached) const {
  const CopyCost copy = copy_cost(topology_, from, to);
  CopySlots result{.limit = copy.rate};
  const bool peers = from.location.kind == Location::Kind::gpu && to.location.kind == Location::Kind::gpu && copy.kind;
  const bool within = from.location == to.location;
  const bool to_host = !peers && !within && copy.kind != CopyKind::host_to_host;
  add_route(result.slots, topology_.copy_route(from.location, to.location), copy.reach, peers, to_host);
  add_copy_memories(result.slots, from, to, cached);
  if (copy.kind && copy.gpu) {
    using enum CopyKind;
    const bool pageable = *copy.kind == pageable_to_device || *copy.kind == device_to_pageable;
    const bool reads = copy.reach == Reach::device_reads;
    const CopyKind engine = *copy.kind == pageable_to_device   ? pinned_to_device
                            : *copy.kind == device_to_pageable ? device_to_pinned
                            : *copy.kind == peer && reads      ? peer_read
                                                               : *copy.kind;
    const std::size_t slot = engine_of(*copy.gpu, engine);
    result.slots.push_back(slot);
    if (!pageable && rates_[slot]) result.limit.reset();
    result.each = topology_.each_rate(topology_.copy_route(from.location, to.location), copy.reach);
  }
  if (const auto& fallback = topology_.platform().fallback; copy.chunks && fallback->both_ways) {
    const Rate back = copy_cost(topology_, to, from).rate.value();
    const double mean = (copy.rate->bytes_per_second() + back.bytes_per_second()) / 2;
    result.both_ways = Rate{mean * fallback->both_ways->value.of_one};
  }
  tidy(result.slots, rates_);
  if (result.slots.empty()) result.slots.push_back(no_link_);
  return result;
}

/// Within a node, through host memory: the sender's CPU writes the bytes, and the receiver's reads them.
const Machine::LinkSlots& Machine::message_slots(Location from, Location to) {
  return *remembered(message_slots_, {from, to}, [&] {
    LinkSlots slots;
    add_route(slots, topology_.copy_route(from, to), Reach::cpu, false);
    if (from.kind == Location::Kind::memory) add_memory(slots, from.index, true, false);
    if (to.kind == Location::Kind::memory) add_memory(slots, to.index, false, true);
    tidy(slots, rates_);
    if (slots.empty()) slots.push_back(no_link_);
    return slots;
  });
}

const Machine::LinkSlots& Machine::slots_out(Location from, const std::string& nic) {
  return *remembered(slots_out_, {from, nic}, [&] {
    LinkSlots slots;
    const bool host = from.kind == Location::Kind::memory;
    add_route(slots, topology_.to_nic_route(from, nic), Reach::device_reads, !host);
    if (host) add_memory(slots, from.index, true, false);
    const std::size_t own = first_nic_ + index_of(topology_.graph().nics, nic) * slots_per_nic;
    slots.push_back(own + out_slot);
    slots.push_back(own + duplex_slot);
    tidy(slots, rates_);
    return slots;
  });
}

const Machine::LinkSlots& Machine::slots_in(const std::string& nic, Location to) {
  return *remembered(slots_in_, {nic, to}, [&] {
    LinkSlots slots;
    const bool host = to.kind == Location::Kind::memory;
    add_route(slots, topology_.from_nic_route(nic, to), Reach::device_writes, !host);
    if (host) add_memory(slots, to.index, false, true);
    const std::size_t own = first_nic_ + index_of(topology_.graph().nics, nic) * slots_per_nic;
    slots.push_back(own + in_slot);
    slots.push_back(own + duplex_slot);
    tidy(slots, rates_);
    return slots;
  });
}

Rate Machine::adding_up(const Topology& topology, std::size_t gpu) {
  for (std::size_t other = 0; other < topology.graph().gpus.size(); ++other) {
    if (const Hub* const hub = topology.reducing_hub(gpu, other)) return hub->reduces->value;
  }
  assert(false && "asked of a GPU without such a switch");
  return {};
}

FlowRoute Machine::through_switch(int node, std::size_t gpu, std::span<const std::size_t> others, bool reads,
                                  Rate rate) {
  const auto at = [](std::size_t which) { return Location{Location::Kind::gpu, which}; };
  LinkSlots slots;
  const auto add = [&](const Hop& hop) {
    slots.push_back(hop.link * slots_per_link + (hop.forward ? forward_slot : backward_slot));
    slots.push_back(hop.link * slots_per_link + total_slot);
  };
  // A GPU that reads sends its own part to the switch, too, and gets its own part of what it stores.
  for (const std::size_t other : others) {
    const Route there = topology_.copy_route(at(gpu), at(other));
    const Route back = topology_.copy_route(at(other), at(gpu));
    add(reads ? there.front() : there.back());
    add(reads ? back.front() : back.back());
    add(reads ? back.back() : there.front());
  }
  tidy(slots, rates_);
  FlowRoute route{.limit = rate};
  append(route, node, slots);
  const Rate most = slowed_ != nullptr ? adding_up(Topology(*slowed_), gpu) : adding_up(topology_, gpu);
  const auto cross = [&](std::size_t which, bool to_switch) {
    SharedLink*& shared = added_up_[{copy_of(node), which, to_switch}];
    if (shared == nullptr) shared = &network_.add_link(most);
    route.links.push_back(shared);
  };
  for (const std::size_t other : others) cross(other, reads);
  cross(gpu, true);
  cross(gpu, false);
  return route;
}

FlowRoute Machine::through_fabric(std::span<const SummedEnd> ends) {
  FlowRoute route{.limit = value_of(topology_.platform().network->rate)};
  for (const SummedEnd& end : ends) {
    const int node = end.from.node;
    append(route, node, slots_out(end.from.location, end.nic));
    append(route, node, slots_in(end.nic, end.to));
    SharedLink*& summed = summed_[{copy_of(node), end.nic}];
    if (summed == nullptr) summed = &network_.add_link(fabric_->reduces.value().value);
    route.links.push_back(summed);
    for (const auto& [from, to] : {std::pair(&ends.front(), &end), std::pair(&end, &ends.front())}) {
      append(route, topology_.fabric_way(*fabric_, from->from.node, to->from.node, {from->nic, to->nic}));
    }
  }
  // Each carries the sum once, whoever it is for; a byte passes an adapter both ways.
  std::vector<SharedLink*> once;
  for (SharedLink* link : route.links) {
    if (std::ranges::find(once, link) == once.end()) once.push_back(link);
  }
  route.links = std::move(once);
  if (fabric_->duplex) route.limit = least_of(route.limit, Rate{fabric_->duplex->value.bytes_per_second() / 2});
  return route;
}

void Machine::append(FlowRoute& route, int node, const LinkSlots& slots) {
  const int copy = copy_of(node);
  NodeLinks& links = nodes_.try_emplace(copy, no_link_ + 1, nullptr).first->second;
  for (const std::size_t slot : slots) route.links.emplace_back(&link_at(links, slot));
}

int Machine::copy_of(int node) const { return topology_.copy_of(folding_ == nullptr ? node : folding_->node(node)); }

SharedLink& Machine::between_switches(const FabricWay::Hop& hop) {
  const Folding::Link of = folding_ == nullptr ? Folding::Link{hop.link} : folding_->link(hop.link);
  SharedLink*& link = between_switches_[of.link];
  if (link == nullptr) {
    link = &network_.add_link(Rate{hop.rate.bytes_per_second() * of.share});
    link->share = of.share;
  }
  return *link;
}

void Machine::append(FlowRoute& route, const FabricWay& way) {
  for (const FabricWay::Hop& hop : way.hops) {
    SharedLink& link = between_switches(hop);
    route.links.emplace_back(&link);
    if (!link.detours.empty()) continue;
    std::vector<std::array<SharedLink*, 2>> detours;
    for (const auto& [there, on] : fabric_detours(*fabric_, hop.link)) {
      detours.push_back({&between_switches(there), &between_switches(on)});
    }
    if (!detours.empty()) network_.add_detours(link, std::move(detours));
  }
}

std::vector<FlowRoute> Machine::copy(int node, End from, End to, bool cached) {
  std::vector<FlowRoute> routes;
  for (const Strand& strand : topology_.strands(from.location, to.location)) {
    from.location = strand.from;
    to.location = strand.to;
    const CopySlots& known =
        *remembered(copy_slots_, {from, to, cached}, [&] { return make_copy_slots(from, to, cached); });
    routes.push_back({.limit = least_of(part_of(known.limit, strand.share), known.each), .share = strand.share});
    append(routes.back(), node, known.slots);
    if (known.both_ways) {
      const auto [first, last] = std::minmax(from.location.index, to.location.index);
      routes.back().links.emplace_back(&driver_between(copy_of(node), first, last, *known.both_ways));
    }
  }
  return routes;
}

std::vector<FlowRoute> Machine::block(int node, End from, End to, std::optional<Rate> rate) {
  SharedLink* kernel = nullptr;
  const CopyCost cost = find_copy_cost(topology_, from, to);
  if (cost.rate && cost.kind && cost.gpu) {
    SharedLink*& shared = kernels_[{copy_of(node), *cost.gpu, *cost.kind}];
    if (shared == nullptr) shared = &network_.add_link(*cost.rate);
    kernel = shared;
  }
  std::vector<FlowRoute> routes;
  const bool gpus = from.location.kind == Location::Kind::gpu && to.location.kind == Location::Kind::gpu;
  for (const Strand& strand : topology_.strands(from.location, to.location)) {
    LinkSlots slots;
    add_route(slots, topology_.copy_route(strand.from, strand.to),
              from.own ? Reach::device_writes : Reach::device_reads, gpus, !gpus);
    add_copy_memories(slots, {strand.from, from.memory}, {strand.to, to.memory}, false);
    tidy(slots, rates_);
    if (slots.empty() && kernel == nullptr) slots.push_back(no_link_);
    routes.push_back({.limit = part_of(rate, strand.share), .share = strand.share});
    append(routes.back(), node, slots);
    if (kernel != nullptr) routes.back().links.push_back(kernel);
  }
  return routes;
}

SharedLink& Machine::driver_between(int node, std::size_t a, std::size_t b, Rate both_ways) {
  SharedLink*& driver = drivers_[{node, a, b}];
  if (driver == nullptr) driver = &network_.add_link(both_ways);
  return *driver;
}

std::vector<FlowRoute> Machine::message(int node, Location from, Location to, std::span<const RankId> copying) {
  std::vector<FlowRoute> routes;
  for (const Strand& strand : topology_.strands(from, to)) {
    routes.push_back(
        {.limit = part_of(value_of(topology_.platform().intra_node.rate), strand.share), .share = strand.share});
    append(routes.back(), node, message_slots(strand.from, strand.to));
    for (const RankId rank : copying) routes.back().links.emplace_back(&cpu_of(rank));
  }
  return routes;
}

SharedLink& Machine::cpu_of(RankId rank) {
  SharedLink*& cpu = cpus_[static_cast<std::size_t>((folding_ == nullptr ? rank : folding_->standing_for(rank)).value)];
  if (cpu == nullptr) {
    cpu = &network_.add_link(topology_.platform().intra_node.rate.value().value);
  }
  return *cpu;
}

void Machine::leave_messages(RankId rank) {
  if (cpus_copy()) network_.rest(cpu_of(rank));
}

void Machine::return_to_messages(RankId rank) {
  if (cpus_copy()) network_.go_on(cpu_of(rank));
}

std::vector<FlowRoute> Machine::transfer(Site from, std::span<const Adapters> adapters, Site to) {
  std::vector<FlowRoute> routes;
  for (const Adapters& nics : adapters) {
    for (const Strand& strand : topology_.strands(from.location, to.location)) {
      const std::vector<FabricWay> ways = topology_.fabric_ways(*fabric_, from.node, to.node, nics);
      for (const FabricWay& way : ways) {
        const double part = 1 / static_cast<double>(ways.size());
        const double share = strand.share * part;
        FlowRoute route = transfer({from.node, strand.from}, nics, way, {to.node, strand.to});
        route.limit = least_of(part_of(route.limit, share), part_of(each_of(strand, nics), part));
        route.share = share / static_cast<double>(adapters.size());
        routes.push_back(std::move(route));
      }
    }
  }
  return routes;
}

/// What one message gets at most on its way to the adapters and from them, whatever others there are.
std::optional<Rate> Machine::each_of(const Strand& strand, const Adapters& adapters) const {
  if (!limits_each_) return std::nullopt;
  return least_of(topology_.each_rate(topology_.to_nic_route(strand.from, adapters.from), Reach::device_reads),
                  topology_.each_rate(topology_.from_nic_route(adapters.to, strand.to), Reach::device_writes));
}

FlowRoute Machine::transfer(Site from, const Adapters& adapters, const FabricWay& way, Site to) {
  FlowRoute route{.limit = value_of(topology_.platform().network->rate)};
  append(route, from.node, slots_out(from.location, adapters.from));
  append(route, way);
  append(route, to.node, slots_in(adapters.to, to.location));
  if (const auto& duplex = topology_.platform().fabric->duplex;
      duplex && from.node == to.node && adapters.from == adapters.to) {
    // In loopback every byte passes the adapter both ways, and SimGrid counts a link of a route once.
    const Rate half{duplex->value.bytes_per_second() / 2};
    route.limit = route.limit ? std::min(*route.limit, half) : half;
  }
  return route;
}

}  // namespace twinlink::model
