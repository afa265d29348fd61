#include "validate/suspect/parts.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "platforms/costs/transfer_costs.hpp"
#include "platforms/machine/degraded.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::validate {
namespace {

using platforms::CopyKind;
using platforms::Location;
using platforms::Platform;
using platforms::Topology;

constexpr std::string_view kBandwidth = "bandwidth";

/// A changed platform with its ways, which cannot move.
struct Machine {
  explicit Machine(Platform changed) : platform(std::move(changed)), topology(platform) {}
  Platform platform;
  Topology topology;
};

/// What a line takes on a machine whose ends are where they were.
IllMachine same_ends_on(Platform platform) {
  return [machine = std::make_shared<const Machine>(std::move(platform))](const HeldLine& line) {
    return predict(line.primitive, line.line->size, machine->topology).value_or(line.predicted);
  };
}

/// On one where the line's ends may lie elsewhere.
IllMachine other_ends_on(Platform platform) {
  return [machine = std::make_shared<const Machine>(std::move(platform))](const HeldLine& line) {
    std::string reason;
    const auto primitive = find_primitive(*line.line, machine->topology, reason);
    return primitive ? predict(*primitive, line.line->size, machine->topology).value_or(line.predicted)
                     : line.predicted;
  };
}

void shrink(platforms::Sourced<Rate>& rate, double share) { rate.value = Rate{rate.value.bytes_per_second() * share}; }

Possible graph_part(const Platform& base, const std::string& name, std::string kind) {
  return {.part = name,
          .kind = std::move(kind),
          .of_what = std::string(kBandwidth),
          .degradable = true,
          .concerns = &HeldLine::tells_parts,
          .at = [&base, name](double share) {
            Platform platform = base;
            platforms::degrade(platform, name, share, "a suspect");
            return same_ends_on(std::move(platform));
          }};
}

Possible fabric_of(const Platform& base) {
  return {.part = "fabric",
          .kind = "fabric",
          .of_what = std::string(kBandwidth),
          .concerns = &HeldLine::tells_parts,
          .at = [&base](double share) {
            Platform platform = base;
            shrink(platform.fabric->link, share);
            if (auto& duplex = platform.fabric->duplex) shrink(*duplex, share);
            return same_ends_on(std::move(platform));
          }};
}

/// Which copies a part of a GPU makes, of those of this GPU's rank.
enum class EngineOf { inbound, outbound, all };

bool is_at(const platforms::End& end, std::size_t gpu) { return end.location == Location{Location::Kind::gpu, gpu}; }

/// Copies within a GPU go through its memory alone.
bool is_within(const Primitive& primitive, std::size_t gpu) {
  return primitive.kind == Primitive::Kind::copy && is_at(primitive.from, gpu) && is_at(primitive.to, gpu);
}

bool is_by_engine(const Primitive& primitive, std::size_t gpu, EngineOf which) {
  const bool kernel = primitive.from.kernel || primitive.to.kernel;
  if (primitive.kind != Primitive::Kind::copy || kernel || primitive.gpu != gpu || is_within(primitive, gpu)) {
    return false;
  }
  const bool from = primitive.from.memory == Memory::device;
  const bool to = primitive.to.memory == Memory::device;
  if (which == EngineOf::all) return from || to;
  const bool pinned = primitive.from.memory != Memory::pageable && primitive.to.memory != Memory::pageable;
  return pinned && (which == EngineOf::outbound ? from && !to : to && !from);
}

/// What takes longer by so much for each share that is gone: `longer` at half of it. Worked out once for each line.
class Stretch {
 public:
  explicit Stretch(std::function<Seconds(const HeldLine&)> longer) : longer_(std::move(longer)) {}

  [[nodiscard]] Seconds at(double share, const HeldLine& line) {
    const auto [place, is_new] = known_.try_emplace(line.line);
    if (is_new) place->second = longer_(line);
    return line.predicted + place->second * (1 / share - 1);
  }

 private:
  std::function<Seconds(const HeldLine&)> longer_;
  std::unordered_map<const bench::ProbeLine*, Seconds> known_{};
};

std::function<IllMachine(double)> stretched(std::function<Seconds(const HeldLine&)> longer) {
  return [stretch = std::make_shared<Stretch>(std::move(longer))](double share) -> IllMachine {
    return [stretch, share](const HeldLine& line) { return stretch->at(share, line); };
  };
}

/// A part that alone moves the bytes of some copies: these take longer, and nothing else.
Possible mover(const Topology& topology, std::size_t gpu, std::string kind,
               const std::function<bool(const Primitive&)>& moves) {
  return {.part = topology.graph().gpus[gpu].name,
          .kind = std::move(kind),
          .of_what = std::string(kBandwidth),
          .gpus = {gpu},
          .concerns = [moves](const HeldLine& line) { return moves(line.primitive); },
          .at = stretched([&topology, moves](const HeldLine& line) {
            return moves(line.primitive) ? flow_alone(line.primitive, line.line->size, topology) : Seconds{};
          })};
}

void add_gpus(std::vector<Possible>& all, const Topology& topology) {
  for (std::size_t gpu = 0; gpu < topology.graph().gpus.size(); ++gpu) {
    all.push_back(mover(topology, gpu, "memory of GPU", [gpu](const Primitive& each) { return is_within(each, gpu); }));
    for (const auto& [which, kind] :
         {std::pair(EngineOf::outbound, "outbound copy engine of"),
          std::pair(EngineOf::inbound, "inbound copy engine of"), std::pair(EngineOf::all, "copy engines of")}) {
      all.push_back(mover(topology, gpu, kind,
                          [gpu, which = which](const Primitive& each) { return is_by_engine(each, gpu, which); }));
    }
  }
}

/// The CPUs of these memories, by index, run all code so slowly.
Possible processors(const Platform& base, std::string name, const std::vector<std::size_t>& memories) {
  Platform halved = base;
  for (const std::size_t memory : memories) {
    auto& speed = halved.node.memories[memory].speed;
    const double was = speed ? speed->value.of_one : 1;
    speed.emplace();
    speed->value.of_one = was / 2;
  }
  return {.part = std::move(name),
          .kind = memories.size() > 1 ? "processors" : "processor",
          .of_what = "speed",
          .concerns = [](const HeldLine&) { return true; },
          .at = stretched([machine = same_ends_on(std::move(halved))](const HeldLine& line) {
            return machine(line) - line.predicted;
          })};
}

void add_processors(std::vector<Possible>& all, const Platform& base) {
  std::vector<std::size_t> memories;
  for (std::size_t i = 0; i < base.node.memories.size(); ++i) {
    const auto& name = base.node.memories[i].name;
    if (std::ranges::find(base.node.gpus, name, &platforms::Gpu::memory_near) == base.node.gpus.end()) continue;
    all.push_back(processors(base, name, {i}));
    memories.push_back(i);
  }
  if (memories.size() < 2) return;
  all.push_back(processors(base, "of all sockets", memories));
}

/// The vertices between two ends of a route.
std::vector<std::string> inner_of(const platforms::Node& graph, const platforms::Route& route) {
  std::vector<std::string> names;
  for (const platforms::Hop& hop : route) {
    const platforms::Link& link = graph.links[hop.link];
    names.push_back(hop.forward ? link.to : link.from);
  }
  if (!names.empty()) names.pop_back();
  return names;
}

/// The way of two GPUs that a PCIe switch joins, by the part of the node above it; nothing: no such switch joins them.
std::optional<platforms::ForcedWay> by_root(const Topology& topology, std::size_t a, std::size_t b) {
  const auto& graph = topology.graph();
  if (!topology.peer_access(a, b).yes) return std::nullopt;
  const std::string& one = graph.gpus[a].name;
  const std::string& other = graph.gpus[b].name;
  const platforms::Way* const way = topology.ways().find(one, other, platforms::Traffic::peers);
  if (way == nullptr) return std::nullopt;
  const std::vector<std::string> direct = inner_of(graph, way->route);
  const auto up = [&](std::size_t gpu) {
    const std::string& memory = graph.memories[topology.memory_near(gpu)].name;
    std::vector<std::string> names = inner_of(graph, topology.route(graph.gpus[gpu].name, memory));
    names.push_back(memory);
    return names;
  };
  const std::vector<std::string> from = up(a);
  const std::vector<std::string> to = up(b);
  // The switch is where both ways up meet, and where the peers' way turns.
  const auto meet =
      std::ranges::find_if(from, [&](const std::string& name) { return std::ranges::find(to, name) != to.end(); });
  if (meet == from.end() || meet + 1 == from.end()) return std::nullopt;
  if (std::ranges::find(direct, *meet) == direct.end()) return std::nullopt;
  std::vector<std::string> via(from.begin(), meet + 2);
  const auto there = std::ranges::find(to, *meet);
  std::vector<std::string> down(to.begin(), there + 1);
  via.insert(via.end(), down.rbegin(), down.rend());
  return platforms::ForcedWay{
      .name = fmt::format("{} to {} by the root", one, other), .from = one, .to = other, .via = via};
}

void add_root(std::vector<Possible>& all, const Platform& base, const Topology& topology) {
  if (!base.kinds.empty() || base.node.domain > 1) return;
  Platform changed = base;
  std::set<std::size_t> gpus;
  for (std::size_t a = 0; a < base.node.gpus.size(); ++a) {
    for (std::size_t b = a + 1; b < base.node.gpus.size(); ++b) {
      auto way = by_root(topology, a, b);
      if (!way || !platforms::follow(changed.node, *way).wrong.empty()) continue;
      for (const std::string& name : way->via) {
        const auto memory = std::ranges::find(changed.node.memories, name, &platforms::HostMemory::name);
        if (memory != changed.node.memories.end()) memory->passing.forwards = platforms::Forwards::all;
      }
      changed.node.ways.push_back(std::move(*way));
      gpus.insert({a, b});
    }
  }
  if (gpus.empty()) return;
  all.push_back({.part = "peers go by the root of PCIe and not by the switch that joins them, as ACS makes them",
                 .kind = "way",
                 .gpus = {gpus.begin(), gpus.end()},
                 .concerns = &HeldLine::tells_parts,
                 .at = [changed = std::move(changed)](double) { return same_ends_on(changed); }});
}

void add_adapters(std::vector<Possible>& all, const Platform& base) {
  for (std::size_t gpu = 0; gpu < base.node.gpus.size(); ++gpu) {
    for (const platforms::Nic& nic : base.node.nics) {
      const std::string& own = base.node.gpus[gpu].nic;
      if (nic.name == own || own.empty()) continue;
      all.push_back(
          {.part = fmt::format("messages of GPU {} take the way of the far adapter '{}' and not of its own '{}'", gpu,
                               nic.name, own),
           .kind = "way",
           .gpus = {gpu},
           .concerns =
               [gpu](const HeldLine& line) {
                 return line.primitive.messages() && !line.primitive.same_node && line.primitive.gpu == gpu;
               },
           .at =
               [&base, gpu, name = nic.name](double) {
                 Platform changed = base;
                 changed.node.gpus[gpu].nic = name;
                 return same_ends_on(std::move(changed));
               }});
    }
  }
}

Possible bound(const Platform& base, std::vector<std::size_t> gpus, const std::string& memory, std::string who) {
  return {
      .part = fmt::format("host buffers of {} lie in '{}' and not in the memory next to them, as a process bound to "
                          "another NUMA domain has them",
                          who, memory),
      .kind = "binding",
      .gpus = gpus,
      .concerns = [gpus](const HeldLine& line) { return std::ranges::find(gpus, line.primitive.gpu) != gpus.end(); },
      .at =
          [&base, gpus, memory](double) {
            Platform changed = base;
            for (const std::size_t gpu : gpus) changed.node.gpus[gpu].memory_near = memory;
            return other_ends_on(std::move(changed));
          }};
}

/// Each GPU by itself, all of a memory, and all of the node.
void add_bindings(std::vector<Possible>& all, const Platform& base) {
  for (const platforms::HostMemory& memory : base.node.memories) {
    std::map<std::string, std::vector<std::size_t>> others;
    std::vector<std::size_t> together;
    for (std::size_t gpu = 0; gpu < base.node.gpus.size(); ++gpu) {
      if (base.node.gpus[gpu].memory_near == memory.name) continue;
      others[base.node.gpus[gpu].memory_near].push_back(gpu);
      together.push_back(gpu);
      all.push_back(bound(base, {gpu}, memory.name, fmt::format("GPU {}", gpu)));
    }
    const auto several = [&](const std::vector<std::size_t>& gpus) {
      if (gpus.size() < 2) return;
      all.push_back(bound(base, gpus, memory.name, fmt::format("GPUs {}", fmt::join(gpus, ", "))));
    };
    for (const auto& [near, gpus] : others) several(gpus);
    if (others.size() > 1) several(together);
  }
}

}  // namespace

std::vector<Possible> parts_of(const Platform& base, const Topology& topology) {
  std::vector<Possible> all;
  const platforms::Node& graph = topology.graph();
  for (const auto& link : graph.links) all.push_back(graph_part(base, link.name, "link"));
  for (const auto& memory : graph.memories) all.push_back(graph_part(base, memory.name, "memory"));
  for (const auto& hub : graph.hubs) all.push_back(graph_part(base, hub.name, "hub"));
  for (const auto& nic : graph.nics) all.push_back(graph_part(base, nic.name, "adapter"));
  // --degrade takes a link for whatever has the same name.
  std::set<std::string> names;
  std::erase_if(all, [&](const Possible& each) { return !names.insert(each.part).second; });
  if (base.fabric && names.insert("fabric").second) all.push_back(fabric_of(base));
  add_gpus(all, topology);
  add_processors(all, base);
  return all;
}

std::vector<Possible> ways_of(const Platform& base, const Topology& topology) {
  std::vector<Possible> all;
  add_root(all, base, topology);
  add_bindings(all, base);
  add_adapters(all, base);
  return all;
}

}  // namespace twinlink::validate
