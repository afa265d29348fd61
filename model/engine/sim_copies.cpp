// SimRank's copies: whole views, blocks that lie apart, and one-sided puts with their signals.
#include <string>

#include "model/engine/sim_operation.hpp"
#include "protocols/core/blocks.hpp"

namespace twinlink::model {
namespace {

/// Signals come through the same queues as control messages, each tag beside the one of its number.
constexpr int kSignalTags = 1 << 28;

Tag signal_tag(Tag tag) { return Tag{tag.value + kSignalTags}; }

/// Memory of another node is reached by the adapter only, unless it is mapped: device memory of peers in a domain.
void require_one_node(const Topology& topology, const Part& to, const Part& from) {
  const Site& there = to.allocation->site;
  const Site& here = from.allocation->site;
  if (there.node == here.node) return;
  const bool devices = there.location.kind == Location::Kind::gpu && here.location.kind == Location::Kind::gpu;
  if (devices && topology.copy_of(there.node) == topology.copy_of(here.node)) return;
  throw UsageError("a copy does not leave its node: put() by the copy engine writes into memory of another one");
}

}  // namespace

/// One end of a copy, with the kernel on this rank's GPU where there is one. One that stays there only pushes, so it is
/// never at an end that was opened, not even where a peer shares the GPU.
End SimRank::end_of(const Part& part, Engine engine) const {
  End end = part.end();
  const Location own{Location::Kind::gpu, gpu_of(id_)};
  end.own = end.memory == Memory::device && end.location == own;
  end.kernel = engine != Engine::dma && end.own;
  end.resident = engine == Engine::resident && end.kernel && !part.opening;
  return end;
}

void SimRank::require_reach(const Operation& copy) const {
  if (copy.engine == Engine::dma) return;
  const Topology& topology = world_.topology;
  const bool one_node =
      topology.copy_of(copy.to.allocation->site.node) == topology.copy_of(copy.from.allocation->site.node);
  const End from = end_of(copy.from, copy.engine);
  const End to = end_of(copy.to, copy.engine);
  if (copy.engine == Engine::resident) {
    if (one_node && from.resident && copy.to.opening && world_.topology.kernel_reaches(from, to)) return;
    throw UsageError("a resident kernel only writes into memory of peers");
  }
  require_one_node(world_.topology, copy.to, copy.from);
  if (world_.topology.kernel_reaches(from, to)) return;
  throw UsageError("a kernel reaches device memory of its peers and page-locked memory, and a copy by it needs both");
}

SimRank::OperationPtr SimRank::make_copy(View to, View from, Stream stream, Engine engine) {
  const Part source = memory_.part(from);
  const Part target = memory_.part(to);
  OperationPtr operation = make("copy");
  operation->from = source;
  operation->to = target;
  operation->engine = engine;
  operation->queue = &streams_[stream.index];
  operation->size = operation->report.size = source.length;
  operation->report.stream = stream.index;
  return operation;
}

/// From here on the operation is under way: first the CPU starts it, then its latency runs, then its bytes flow.
void SimRank::get_under_way(const OperationPtr& operation, Seconds latency) {
  operation->from.hold();
  operation->to.hold();
  operation->report.latency = latency;
  be_busy(operation->report.overhead);
  operation->queue->operations.push_back(operation);
  delay(operation, now() + latency);
}

/// What the platform says about a copy by the engine or a kernel; the part of the blocks comes on top.
void SimRank::take_copy_cost(Operation& operation) {
  require_reach(operation);
  require_one_node(world_.topology, operation.to, operation.from);
  const End from = end_of(operation.from, operation.engine);
  const End to = end_of(operation.to, operation.engine);
  const CopyCost& cost = world_.copy_cost(from, to);
  if (world_.observer) {
    operation.report.cost = cost.name;
    operation.report.engine = operation.engine != Engine::dma ? "kernel" : cost.gpu ? "copy engine" : "CPU";
  }
  operation.report.overhead = cost.cost->overhead.value;
  const CopyEnding ending = operation.signal ? world_.topology.put_ending(from, to, cost, operation.size)
                                             : world_.topology.copy_ending(from, cost);
  operation.report.latency = cost.latency(operation.size);
  operation.unhidden += ending.raising;
  operation.by_event = cost.by_event && !ending.signal_with_end;
  operation.report.completion = ending.completion;
  if (operation.signal && !ending.signal_with_end) operation.until_signal = until_signal();
  operation.until_next = operation.until_signal + ending.behind_signal;
  if (world_.observer) {
    operation.report.route = world_.topology.describe(from.location, to.location);
  }
  operation.occupies_cpu = cost.occupies_cpu;
  if (cost.cost->gap) operation.gap = cost.cost->gap->value.at(operation.size);
  if (cost.cost->cpu_written) operation.written = &cost.cost->cpu_written->value;
}

Op SimRank::start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) {
  const OperationPtr operation = make_copy(to, from, stream, engine);
  if (blocks.empty()) return run_copy(operation);
  operation->blocks.assign(blocks.begin(), blocks.end());
  operation->size = operation->report.size = total_length(blocks);
  const RuntimeCosts& costs = world_.topology.platform().runtime;
  const Seconds each = engine == Engine::kernel ? needed(costs.kernel_block, "kernel_block")
                                                : needed(costs.engine_block, "engine_block");
  operation->unhidden = each * static_cast<double>(blocks.size());
  return run_copy(operation);
}

/// A copy moves each byte twice through the GPU's memory; this reads two and writes one.
Op SimRank::start_add(View to, View from, Stream stream) {
  const OperationPtr operation = make_copy(to, from, stream, Engine::kernel);
  if (operation->from.opening || operation->to.opening) throw UsageError("a GPU adds up its own memory only");
  operation->report.verb = "add";
  operation->adds = true;
  operation->size = Bytes{operation->size.count() * 3 / 2};
  return run_copy(operation);
}

/// A kernel that copies nothing, and takes as long as it computes.
Op SimRank::compute(Seconds duration, Stream stream) {
  require_compute(duration, stream);
  if (nothing_.id == 0) {
    nothing_ = memory_.allocate(Memory::device, Bytes{}, {place(id_).node, {Location::Kind::gpu, gpu_of(id_)}});
  }
  const OperationPtr operation = make_copy(View(nothing_), View(nothing_), stream, Engine::kernel);
  operation->report.verb = "compute";
  operation->unhidden = duration;
  return run_copy(operation);
}

Op SimRank::run_copy(const OperationPtr& operation) {
  take_copy_cost(*operation);
  get_under_way(operation, operation->report.latency);
  if (operation->occupies_cpu) {
    world_.machine.leave_messages(id_);
    begin_work();
    wait_until_ended(*operation);
    end_work();
    world_.machine.return_to_messages(id_);
  }
  return operation->op;
}

Op SimRank::put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) {
  require_transfer(to, from, stream);
  const OperationPtr operation = make_copy(to, from, stream, engine);
  const RankId owner = operation->to.allocation->owner;
  if (!memory_.opened(to.buffer)) throw UsageError("put() writes into memory that was opened from a peer");
  if (signal) require_signal(*signal);
  operation->kind = Operation::Kind::put;
  operation->report.verb = "put";
  operation->peer = owner;
  operation->signal = signal;
  if (signal) {
    operation->report.peer = owner;
    operation->report.tag = signal_tag(signal->tag);
  }
  if (path_to(owner).device_mapping) return run_copy(operation);
  require_reach(*operation);
  for (const Part* end : {&operation->from, &operation->to}) {
    if (end->allocation->memory == Memory::device) require_registered(*end);
  }
  if (signal) operation->until_signal = until_signal();
  const NetworkCosts& costs = network_to(owner);
  operation->report.cost = "network";
  operation->report.overhead = costs.posting(Bytes{});  // the adapter reads the bytes
  get_under_way(operation,
                costs.latency.value.at(operation->size) + way_of(*operation) + adapter_turn(owner, operation->size));
  return operation->op;
}

Seconds SimRank::until_signal() const { return needed(world_.topology.platform().runtime.signal, "signal"); }

void SimRank::raise(const Operation& put) {
  const Seconds arrival = now() + put.until_signal;
  rank_object(put.peer).post(id_, signal_tag(put.signal->tag), {arrival, ControlMessage(put.signal->value)});
}

Op SimRank::await_signal(RankId peer, Tag tag, std::uint64_t& value) {
  require_peer(peer);
  require_signal({tag, 0});
  const OperationPtr operation = make("await signal");
  operation->signal_value = &value;
  return await_next_arrival(operation, peer, signal_tag(tag));
}

}  // namespace twinlink::model
