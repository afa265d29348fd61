#include "model/study/jobs/seats.hpp"

#include <algorithm>
#include <array>

#include "model/study/jobs/link_classes.hpp"
#include "platforms/costs/transfer_costs.hpp"

namespace twinlink::model {
namespace {

double number(const std::optional<Rate>& rate) { return rate ? rate->bytes_per_second() : -1; }
double number(const Answer& answer) { return answer ? 1 : 0; }

}  // namespace

std::vector<Adapters> all_adapters(const Topology& topology, std::size_t from, std::size_t to) {
  std::vector<Adapters> all;
  for (const Location::Kind kind : {Location::Kind::gpu, Location::Kind::memory}) {
    for (const Bytes size : {Bytes{}, 1_TiB}) {
      for (const Adapters& each : topology.adapters(kind, from, to, size)) {
        if (std::ranges::find(all, each) == all.end()) all.push_back(each);
      }
    }
  }
  return all;
}

Seats::Seats(const Topology& topology, std::span<const Place> places)
    : topology_(topology),
      places_(places.begin(), places.end()),
      nodes_(places.back().node - places.front().node + 1),
      machine_(network_, topology, places) {
  for (const Place& at : places) {
    const std::size_t gpu = topology.gpu_of(at);
    seats_.push_back(
        {.gpu = gpu, .near = topology.host_buffers(gpu), .far = {Location::Kind::memory, topology.memory_far(gpu)}});
  }
}

/// Its GPU and memories, the one of its CPU last.
std::vector<Location> Seats::locations(int rank) const {
  const Folding::Seat& seat = seats_[static_cast<std::size_t>(rank)];
  return {
      {Location::Kind::gpu, seat.gpu}, seat.near, seat.far, {Location::Kind::memory, topology_.memory_near(seat.gpu)}};
}

/// Caches and adapters' turns are no links, and the driver's way between GPUs without peers is one for each two.
bool Seats::may_be_alike() const {
  const Node& node = topology_.graph();
  if (std::ranges::any_of(node.memories, [](const HostMemory& memory) { return memory.cache.has_value(); })) {
    return false;
  }
  const bool turns = std::ranges::any_of(node.nics, [](const Nic& nic) { return nic.gap.has_value(); });
  std::vector<std::string> used;
  for (std::size_t rank = 0; rank < seats_.size(); ++rank) {
    for (std::size_t other = 0; other < rank; ++other) {
      if (seats_[rank].gpu == seats_[other].gpu) return false;
      if (!topology_.peer_access(seats_[rank].gpu, seats_[other].gpu)) return false;
    }
    if (!topology_.platform().fabric || !turns) continue;
    const std::string own = all_adapters(topology_, seats_[rank].gpu, seats_[rank].gpu).front().from;
    for (const Folding::Seat& other : seats_) {
      const std::vector<Adapters> adapters = all_adapters(topology_, seats_[rank].gpu, other.gpu);
      if (adapters.size() != 1 || adapters.front().from != own) return false;
    }
    if (std::ranges::find(used, own) != used.end()) return false;
    used.push_back(own);
  }
  return true;
}

Seats::Facts Seats::own(int rank) const {
  Facts facts{.things = {&topology_.type_of(gpu(rank))}};
  if (topology_.platform().fabric) {
    for (const Adapters& each : all_adapters(topology_, gpu(rank), gpu(rank))) {
      const std::optional<Seconds> gap =
          value_of(std::ranges::find(topology_.graph().nics, each.from, &Nic::name)->gap);
      facts.numbers.push_back(gap ? gap->value() : -1);
    }
  }
  for (const Location& at : locations(rank)) {
    if (at.kind == Location::Kind::gpu) continue;
    for (const Location& piece : topology_.pieces(at)) {
      const HostMemory& memory = topology_.graph().memories[piece.index];
      facts.numbers.push_back(memory.copy_rate.value.bytes_per_second());
      facts.numbers.push_back(cpu_speed(memory));
      facts.numbers.push_back(number(value_of(memory.bandwidth)));
    }
  }
  return facts;
}

/// Of all engines that the first may have make a copy between what is next to it and what is next to the other.
void Seats::add_copies(Facts& facts, int from, int to) const {
  const std::size_t own = gpu(from);
  const auto ends = [](Location at) {
    return at.kind == Location::Kind::gpu ? std::vector{End{.location = at}}
                                          : std::vector{End{.location = at, .memory = Memory::pinned},
                                                        End{.location = at, .memory = Memory::pageable}};
  };
  const auto add = [&](const End& one, const End& other) {
    const CopyCost cost = find_copy_cost(topology_, one, other);
    facts.things.push_back(cost.cost);
    facts.numbers.insert(facts.numbers.end(),
                         {cost.way.value(), number(cost.rate), static_cast<double>(cost.reach),
                          cost.kind ? static_cast<double>(*cost.kind) : -1, cost.occupies_cpu ? 1.0 : 0.0,
                          cost.by_event ? 1.0 : 0.0, cost.chunks ? 1.0 : 0.0});
  };
  for (const Engine engine : {Engine::dma, Engine::kernel, Engine::cpu}) {
    for (const Location& mine : locations(from)) {
      for (const Location& theirs : locations(to)) {
        for (const End& one : ends(mine)) {
          for (const End& other : ends(theirs)) {
            const End here = seen_by(engine, own, one);
            const End there = seen_by(engine, own, other, from != to);
            add(here, there);
            add(there, here);
          }
        }
      }
    }
  }
}

void Seats::add_path(Facts& facts, const Path& path) {
  facts.numbers.insert(
      facts.numbers.end(),
      {number(path.peer_access), number(path.device_mapping), number(path.one_sided),
       number(path.device_memory_on_network), number(path.shared_buffers), number(path.cpu_reaches_device),
       number(path.cuda_aware_mpi), static_cast<double>(path.links), path.switched ? 1.0 : 0.0,
       path.peer_rate.bytes_per_second(), path.adapter_rate.bytes_per_second()});
}

/// What a single transfer gets on its way, by whoever reads and writes.
void Seats::add_each_rates(Facts& facts, const Route& route) const {
  for (const Reach reach : {Reach::cpu, Reach::device_reads, Reach::device_writes}) {
    facts.numbers.push_back(number(topology_.each_rate(route, reach)));
  }
}

Seats::Facts Seats::between(int from, int to) const {
  Facts facts;
  add_path(facts, topology_.path(place(from), place(to)));
  Place beyond = place(to);
  beyond.node += nodes_;
  if (beyond.node < topology_.nodes()) add_path(facts, topology_.path(place(from), beyond));
  const bool one_node = place(from).node == place(to).node;
  for (const Location& here : locations(from)) {
    for (const Location& there : locations(to)) {
      if (one_node) facts.numbers.push_back(topology_.latency(here, there).value());
      if (!topology_.platform().fabric) continue;
      for (const Adapters& each : all_adapters(topology_, gpu(from), gpu(to))) {
        facts.numbers.push_back(topology_.message_way(here, each, there).value());
      }
    }
  }
  for (const Route& route : routes(from, to)) add_each_rates(facts, route);
  if (one_node) add_copies(facts, from, to);
  return facts;
}

/// Those of all bytes between two ranks, also where the second is that of another node.
std::vector<Route> Seats::routes(int from, int to) const {
  std::vector<Route> routes;
  const auto add = [&](Location one, Location other) {
    for (const Strand& strand : topology_.strands(one, other)) {
      routes.push_back(topology_.copy_route(strand.from, strand.to));
    }
  };
  const std::vector<Location> here = locations(from);
  const std::vector<Location> there = locations(to);
  if (place(from).node == place(to).node) {
    for (const Location& one : here) {
      for (const Location& other : there) {
        add(one, other);
        add(other, one);
      }
    }
  } else {
    add(here.front(), there.front());
  }
  if (!topology_.platform().fabric) return routes;
  for (const Adapters& each : all_adapters(topology_, gpu(from), gpu(to))) {
    for (const Location& at : here) {
      for (const Location& piece : topology_.pieces(at)) routes.push_back(topology_.to_nic_route(piece, each.from));
    }
    for (const Location& at : there) {
      for (const Location& piece : topology_.pieces(at)) routes.push_back(topology_.from_nic_route(each.to, piece));
    }
  }
  return routes;
}

/// What these share, and what is shared at their ends.
std::vector<FabricWay> Seats::ways(int from, int to) const {
  std::vector<FabricWay> ways;
  if (from == to) {
    for (const Location& at : locations(from)) {
      for (const Location& piece : topology_.pieces(at)) ways.push_back({.hops = machine_.shared_at(piece)});
    }
  }
  if (topology_.platform().fabric) {
    for (const Adapters& each : all_adapters(topology_, gpu(from), gpu(to))) {
      ways.push_back({.hops = machine_.shared_at(each.from)});
      ways.push_back({.hops = machine_.shared_at(each.to)});
    }
  }
  for (const Route& route : routes(from, to)) ways.push_back({.hops = machine_.shared_along(route)});
  return ways;
}

std::optional<Folding::Within> Seats::within(const Folding::Moves& by) const {
  const auto moved = [&](int rank, int move) {
    return rank / by.all * by.all + by.moved(rank % by.all, move * by.stride);
  };
  LinkClasses classes;
  const auto ranks = static_cast<int>(seats_.size());
  for (int from = 0; from < ranks; ++from) {
    if (from % by.all / by.stride % by.count != 0) continue;  // another stands for it
    for (int to = 0; to < ranks; ++to) {
      const Facts facts = between(from, to);
      std::vector<std::vector<FabricWay>> all{ways(from, to)};
      for (int move = 1; move < by.count; ++move) {
        const int other = moved(from, move);
        if (from == to && own(other) != own(from)) return std::nullopt;
        if (between(other, moved(to, move)) != facts) return std::nullopt;
        all.push_back(ways(other, moved(to, move)));
      }
      if (!classes.add(all)) return std::nullopt;
    }
  }
  const auto links = classes.classes(by.count);
  if (!links) return std::nullopt;
  Folding::Within found{.seats = seats_, .links = std::vector<Folding::Link>(machine_.slots(), {.share = 0})};
  for (const auto& [slot, link] : *links) found.links[slot] = link;
  return found;
}

}  // namespace twinlink::model
