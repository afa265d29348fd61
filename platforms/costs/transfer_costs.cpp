#include "platforms/costs/transfer_costs.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace twinlink::platforms {
namespace {

bool is_host(Memory memory) { return memory != Memory::device; }

CopyKind host_copy_kind(bool to_device, bool pageable) {
  using enum CopyKind;
  if (to_device) return pageable ? pageable_to_device : pinned_to_device;
  return pageable ? device_to_pageable : device_to_pinned;
}

/// The kind of a kernel's copy; nothing where no kernel can do it.
std::optional<CopyKind> kernel_kind(const Topology& topology, const End& from, const End& to) {
  using enum CopyKind;
  if (from.resident || to.resident) {
    // Also into memory of its own GPU, where a peer shares that.
    const bool pushes =
        from.resident && !is_host(to.memory) && topology.peer_access(from.location.index, to.location.index);
    return pushes ? std::optional(resident_push) : std::nullopt;
  }
  if (from.kernel && to.kernel) return from.location == to.location ? std::optional(kernel_local) : std::nullopt;
  const bool pinned = from.memory == Memory::pinned || from.memory == Memory::shared_pinned ||
                      to.memory == Memory::pinned || to.memory == Memory::shared_pinned;
  if (pinned) return from.kernel ? kernel_to_pinned : kernel_from_pinned;
  if (is_host(from.memory) || is_host(to.memory) || from.location == to.location) return std::nullopt;
  if (!topology.peer_access(from.location.index, to.location.index)) return std::nullopt;
  return from.kernel ? kernel_push : kernel_pull;
}

/// What copies between a GPU and a host memory get at most: the engine's rate. Bytes of pageable memory the CPU copies
/// into and out of a buffer of the driver, where nothing else is said of them.
std::optional<Rate> host_copy_rate(const Topology& topology, CopyKind kind, std::size_t gpu, std::size_t memory) {
  const Cost* cost = topology.cost_of(kind, gpu);
  if (cost != nullptr && cost->rate) return cost->rate->value;
  const bool pageable = kind == CopyKind::pageable_to_device || kind == CopyKind::device_to_pageable;
  if (!pageable) return std::nullopt;
  const Cost* pinned = topology.cost_of(
      kind == CopyKind::pageable_to_device ? CopyKind::pinned_to_device : CopyKind::device_to_pinned, gpu);
  const Rate by_cpu = topology.graph().memories[memory].copy_rate.value;
  return pinned != nullptr && pinned->rate ? std::min(by_cpu, pinned->rate->value) : by_cpu;
}

/// Chunks are copied out of one GPU while the chunk before is copied into the other.
void describe_fallback(const Topology& topology, CopyCost& copy, std::size_t from, std::size_t to) {
  const Fallback& fallback = *topology.platform().fallback;
  const std::size_t bounce = topology.bounce_memory(from, to);
  const Location host{Location::Kind::memory, bounce};
  const Route way_out = topology.copy_route({Location::Kind::gpu, from}, host);
  const Route way_in = topology.copy_route(host, {Location::Kind::gpu, to});
  const auto each = [&](CopyKind kind, std::size_t gpu, bool out) {
    Rate rate = topology.narrowest(out ? way_out : way_in, out ? Reach::device_writes : Reach::device_reads)
                    .value_or(Rate{1e15});
    if (const auto own = host_copy_rate(topology, kind, gpu, bounce)) rate = std::min(rate, *own);
    return rate;
  };
  const Rate out = each(CopyKind::device_to_pinned, from, true);
  copy.rate = std::min(out, each(CopyKind::pinned_to_device, to, false));
  // Below one switch a chunk goes up the link that the one before comes down.
  for (const Hop& up : way_out) {
    const auto duplex = topology.host_duplex(up.link);
    const bool twice = std::ranges::find(way_in, up.link, &Hop::link) != way_in.end();
    if (duplex && twice) copy.rate = std::min(*copy.rate, Rate{duplex->bytes_per_second() / 2});
  }
  copy.chunks = Chunks{
      .size = fallback.chunk.value, .out = out, .each = fallback.per_chunk.value, .in_flight = fallback.in_flight};
}

/// The bytes of all memories flow beside each other: at least the slowest lets through, and none before the way of the
/// farthest.
CopyCost interleaved_copy_cost(const Topology& topology, End from, End to) {
  std::optional<CopyCost> all;
  for (const Strand& strand : topology.strands(from.location, to.location)) {
    from.location = strand.from;
    to.location = strand.to;
    const CopyCost one = find_copy_cost(topology, from, to);
    if (!all) all = one;
    all->way = std::max(all->way, one.way);
    if (one.rate) all->rate = std::min(all->rate.value_or(*one.rate), *one.rate);
  }
  return *all;
}

/// What each of so many parts gets of a rate. Of a part of one: what all get.
std::optional<Rate> over(const std::optional<Rate>& rate, double parts) {
  return rate ? std::optional(Rate{rate->bytes_per_second() / parts}) : std::nullopt;
}

std::optional<Rate> dram(const Topology& topology, Location at) {
  if (at.kind != Location::Kind::memory) return std::nullopt;
  return value_of(topology.graph().memories[at.index].bandwidth);
}

}  // namespace

Seconds Chunks::further(Bytes bytes) const {
  const auto parts = [](std::uint64_t whole, std::uint64_t part) { return (whole + part - 1) / part; };
  const std::uint64_t chunks = parts(bytes.count(), size.count());
  if (chunks <= 1) return {};
  Seconds all = each * static_cast<double>(chunks - 1);
  if (in_flight == 0) return all;
  const auto turn = static_cast<std::uint64_t>(in_flight);
  const std::uint64_t refills = parts(chunks, turn) - 1;
  if (refills == 0) return all;
  // The last turn may begin with a chunk that is not whole.
  const Bytes last = std::min(size, bytes - size * (refills * turn));
  return all + size / out * static_cast<double>(refills - 1) + last / out;
}

CopyCost find_copy_cost(const Topology& topology, End from, End to) {
  if (from.location.kind == Location::Kind::interleaved || to.location.kind == Location::Kind::interleaved) {
    return interleaved_copy_cost(topology, from, to);
  }
  const auto way = [&](CopyKind kind) {
    return topology.latency(topology.copy_route(from.location, to.location)) * (reads_far_end(kind) ? 2 : 1);
  };
  const auto of = [&](CopyKind kind, std::optional<std::size_t> gpu, bool occupies_cpu) {
    CopyCost found{.cost = topology.cost_of(kind, gpu),
                   .name = std::string(to_string(kind)),
                   .kind = kind,
                   .gpu = gpu,
                   .occupies_cpu = occupies_cpu,
                   .by_event = ends_by_event(kind)};
    const bool of_type = gpu && topology.type_of(*gpu).copies.contains(kind);
    found.path = (of_type ? "gpu_types." + topology.type_of(*gpu).name + ".copies." : "driver.copies.") + found.name;
    if (found.cost == nullptr) return found;
    found.way = way(kind);
    if (kind != CopyKind::host_to_host) found.reach = reads_far_end(kind) ? Reach::device_reads : Reach::device_writes;
    if (found.cost->rate) found.rate = found.cost->rate->value;
    return found;
  };
  const auto is_gpu = [](const End& end) { return end.location.kind == Location::Kind::gpu; };
  if (from.by_cpu || to.by_cpu) {
    const bool to_device = to.by_cpu;
    CopyCost copy = of(to_device ? CopyKind::cpu_to_device : CopyKind::cpu_from_device,
                       (to_device ? to : from).location.index, true);
    copy.reach = Reach::cpu;
    return copy;
  }
  if (from.kernel || to.kernel) {
    const auto by_kernel = kernel_kind(topology, from, to);
    return by_kernel ? of(*by_kernel, (from.kernel ? from : to).location.index, false)
                     : CopyCost{.name = "copy by a kernel that cannot reach both ends"};
  }
  if (!is_gpu(from) && !is_gpu(to)) {
    CopyCost copy = of(CopyKind::host_to_host, std::nullopt, true);
    const auto by_core = [&](const End& end) { return topology.graph().memories[end.location.index].copy_rate.value; };
    if (!copy.rate) copy.rate = std::min(by_core(from), by_core(to));
    return copy;
  }
  if (!is_gpu(from) || !is_gpu(to)) {
    const bool to_device = is_gpu(to);
    const End& host = to_device ? from : to;
    const std::size_t gpu = (to_device ? to : from).location.index;
    const bool pageable = host.memory == Memory::pageable;
    CopyCost copy = of(host_copy_kind(to_device, pageable), gpu, pageable);
    copy.rate = host_copy_rate(topology, *copy.kind, gpu, host.location.index);
    return copy;
  }
  if (from.location == to.location) return of(CopyKind::device_to_device, from.location.index, false);
  if (topology.peer_access(from.location.index, to.location.index)) {
    const bool reads = to.own && !from.own;
    const bool known = reads && topology.cost_of(CopyKind::peer_read, to.location.index) != nullptr;
    CopyCost copy = of(known ? CopyKind::peer_read : CopyKind::peer, (reads ? to : from).location.index, false);
    if (reads) {
      copy.way = way(CopyKind::peer_read);
      copy.reach = Reach::device_reads;
    }
    return copy;
  }
  CopyCost copy{.name = "fallback", .path = "driver.fallback"};
  if (!topology.platform().fallback) return copy;
  copy.cost = &topology.platform().fallback->cost;
  copy.way = way(CopyKind::peer);
  describe_fallback(topology, copy, from.location.index, to.location.index);
  return copy;
}

CopyCost copy_cost(const Topology& topology, End from, End to) {
  CopyCost found = find_copy_cost(topology, from, to);
  if (found.cost == nullptr) {
    throw InputError(topology.platform().file + ": error: the platform has no '" + found.path +
                     "', which this run needs");
  }
  return found;
}

CopyEnding copy_ending(const RuntimeCosts& costs, const End& from, const CopyCost& copy) {
  if (!copy.by_event) return {.signal_with_end = from.resident};
  return {.completion = or_none(costs.completion)};
}

CopyEnding put_ending(const RuntimeCosts& costs, const End& from, const End& to, const CopyCost& copy, Bytes size) {
  CopyEnding ending = copy_ending(costs, from, copy);
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

End seen_by(Engine engine, std::size_t own, End end, bool opened) {
  end.own = end.memory == Memory::device && end.location == Location{Location::Kind::gpu, own};
  end.kernel = (engine == Engine::kernel || engine == Engine::resident) && end.own;
  end.by_cpu = engine == Engine::cpu && end.own;
  end.resident = engine == Engine::resident && end.kernel && !opened;
  return end;
}

bool kernel_reaches(const Topology& topology, const End& from, const End& to) {
  return (from.kernel || to.kernel) && kernel_kind(topology, from, to).has_value();
}

std::optional<Rate> narrowest(const Topology& topology, const End& from, const End& to, const CopyCost& copy) {
  const Location a = from.location;
  const Location b = to.location;
  const Route route = topology.copy_route(a, b);
  const bool gpus = a.kind == Location::Kind::gpu && b.kind == Location::Kind::gpu;
  const bool bounces = gpus && a != b && !topology.peer_access(a.index, b.index);
  const bool peers = gpus && copy.kind;
  const bool to_host = !peers && a != b && copy.kind != CopyKind::host_to_host;
  std::optional<Rate> least = least_of(dram(topology, a), dram(topology, b));
  if (bounces)
    least = least_of(least, dram(topology, {Location::Kind::memory, topology.bounce_memory(a.index, b.index)}));
  least = least_of(least, topology.narrowest(route, copy.reach));
  for (const Hop& hop : route) {
    if (peers) least = least_of(least, topology.peer_rate(hop, copy.reach == Reach::device_reads));
    if (!to_host) continue;
    const auto times = std::ranges::count(route, hop.link, &Hop::link);
    least = least_of(least, over(topology.host_duplex(hop.link), static_cast<double>(times)));
  }
  return least;
}

std::optional<Rate> narrowest(const Topology& topology, Location from, Location to) {
  std::optional<Rate> least;
  for (const Strand& strand : topology.strands(from, to)) {
    std::optional<Rate> part = topology.narrowest(topology.copy_route(strand.from, strand.to), Reach::cpu);
    part = least_of(part, least_of(dram(topology, strand.from), dram(topology, strand.to)));
    least = least_of(least, over(part, strand.share));
  }
  return least;
}

std::optional<Rate> narrowest(const Topology& topology, Location from, std::span<const Adapters> adapters,
                              Location to) {
  const Fabric& fabric = *topology.platform().fabric;
  std::vector<std::pair<Route, Reach>> routes;
  std::optional<Rate> least;  // of a part
  const auto port = [&](const std::string& name) {
    const Nic& nic = *std::ranges::find(topology.graph().nics, name, &Nic::name);
    least = least_of(least, nic.link.value_or(fabric.link).value);
    if (fabric.duplex) least = least_of(least, Rate{fabric.duplex->value.bytes_per_second() * nic.port_share});
  };
  for (const Adapters& nics : adapters) {
    port(nics.from);
    port(nics.to);
    routes.emplace_back(topology.to_nic_route(from, nics.from), Reach::device_reads);
    routes.emplace_back(topology.from_nic_route(nics.to, to), Reach::device_writes);
  }
  std::map<std::tuple<std::size_t, bool, Reach>, double> parts;  // that cross a link
  for (const auto& [route, reach] : routes) {
    for (const Hop& hop : route) ++parts[{hop.link, hop.forward, reach}];
  }
  for (const auto& [crossed, count] : parts) {
    const auto& [link, forward, reach] = crossed;
    least = least_of(least, over(topology.narrowest({{link, forward}}, reach), count));
  }
  const double all = 1 / static_cast<double>(adapters.size());
  return least_of(over(least, all), least_of(dram(topology, from), dram(topology, to)));
}

Seconds latency(const Topology& topology, int from_node, Location from, std::span<const Adapters> adapters, int to_node,
                Location to, bool in_request) {
  Seconds longest{};
  for (const Adapters& nics : adapters) {
    longest = std::max(
        longest, topology.message_way(from, nics, to, in_request) + topology.fabric_latency(from_node, to_node, nics));
  }
  const auto& rdma = topology.platform().fabric->rdma;
  for (const Location& end : {from, to}) {
    if (end.kind == Location::Kind::gpu && rdma) longest += or_none(rdma->latency);
  }
  return longest;
}

}  // namespace twinlink::platforms
