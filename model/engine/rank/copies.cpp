#include "model/engine/rank/copies.hpp"

#include <algorithm>

#include "platforms/costs/software_costs.hpp"

namespace twinlink::model {
namespace {

bool in_one_copy_of_the_graph(const Topology& topology, const Operation& copy) {
  return topology.copy_of(copy.to.site().node) == topology.copy_of(copy.from.site().node);
}

/// Memory of another node is reached by the adapter only, unless it is mapped: device memory of peers in a domain.
void require_one_node(const Topology& topology, const Operation& copy) {
  const Site& there = copy.to.site();
  const Site& here = copy.from.site();
  if (there.node == here.node) return;
  const bool devices = there.location.kind == Location::Kind::gpu && here.location.kind == Location::Kind::gpu;
  if (devices && in_one_copy_of_the_graph(topology, copy)) return;
  throw UsageError("a copy does not leave its node: put() by the copy engine writes into memory of another one");
}

/// The CPU moves bytes between its own GPU's memory and host memory of its node.
void require_mapped(const Topology& topology, const Operation& copy) {
  require_one_node(topology, copy);
  const auto on_host = [](const End& end) { return end.memory != Memory::device; };
  const bool between = (copy.from_end.by_cpu && on_host(copy.to_end)) || (copy.to_end.by_cpu && on_host(copy.from_end));
  if (between && copy.kind != Operation::Kind::put) return;
  throw UsageError("a CPU copies by itself between its own GPU's memory and host memory, and puts nothing");
}

}  // namespace

void require_registered(const Part& part) {
  if (part.allocation->registrations > 0) return;
  throw UsageError("the network adapter does not know this device memory: register_memory() comes first");
}

void require_reach(const Topology& topology, const Operation& copy) {
  if (copy.engine == Engine::dma) return;
  if (copy.engine == Engine::cpu) return require_mapped(topology, copy);
  const bool reaches = kernel_reaches(topology, copy.from_end, copy.to_end);
  if (copy.engine == Engine::resident) {
    if (in_one_copy_of_the_graph(topology, copy) && copy.from_end.resident && copy.to.opening && reaches) return;
    throw UsageError("a resident kernel only writes into memory of peers");
  }
  require_one_node(topology, copy);
  if (reaches) return;
  throw UsageError("a kernel reaches device memory of its peers and page-locked memory, and a copy by it needs both");
}

Seconds until_signal(const SimWorld& world) {
  return needed(world.platform(), world.platform().runtime.signal, "signal");
}

void take_copy_cost(SimWorld& world, Operation& operation) {
  const Topology& topology = world.topology;
  require_reach(topology, operation);
  require_one_node(topology, operation);
  const End& from = operation.from_end;
  const End& to = operation.to_end;
  const CopyCost& cost = world.copy_cost(from, to);
  if (world.observer) {
    operation.report.cost = cost.name;
    const bool by_cpu = operation.engine == Engine::cpu || !cost.gpu;
    operation.report.engine = by_cpu ? "CPU" : operation.engine != Engine::dma ? "kernel" : "copy engine";
    operation.report.route = topology.describe(from.location, to.location);
  }
  operation.report.overhead = cost.starting(world.costs(operation.report.rank).speed);
  operation.report.latency = cost.latency(operation.size);
  const RuntimeCosts& runtime = world.costs(operation.report.rank).runtime;
  const CopyEnding ending =
      operation.signal ? put_ending(runtime, from, to, cost, operation.size) : copy_ending(runtime, from, cost);
  operation.unhidden += ending.raising;
  if (cost.chunks) operation.unhidden += cost.chunks->filling(operation.size);
  operation.by_event = cost.by_event && !ending.signal_with_end;
  operation.report.completion = ending.completion;
  if (operation.signal && !ending.signal_with_end) operation.until_signal = until_signal(world);
  operation.until_next = operation.until_signal + ending.behind_signal;
  // The event stands behind the value that the engine's queue writes.
  if (operation.signal && operation.by_event && !from.kernel && !to.kernel)
    operation.until_event = operation.until_next;
  operation.occupies_cpu = cost.occupies_cpu;
  operation.gap = cost.gap(operation.size);
  if (cost.cost->cpu_written) operation.written = &cost.cost->cpu_written->value;
}

Seconds time_to_fetch(SimWorld& world, RankId rank, Bytes size) {
  const End from{world.memory_near(rank), Memory::pinned};
  const End to{.location = {Location::Kind::gpu, world.gpu_of(rank)}, .memory = Memory::device, .own = true};
  const CopyCost& copy = world.copy_cost(from, to);
  Seconds bytes{};  // alone on their way
  for (const FlowRoute& route : world.machine.copy(world.place(rank).node, from, to, true)) {
    bytes = std::max(bytes, Seconds{static_cast<double>(size.count()) * route.share / route.rate_alone()});
  }
  const CpuCosts& cpu = world.costs(rank);
  return copy.starting(cpu.speed) + copy_ending(cpu.runtime, from, copy).completion + copy.latency(size) + bytes;
}

}  // namespace twinlink::model
