#include "validate/primitives/primitive.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "validate/primitives/control_times.hpp"
#include "validate/primitives/message_times.hpp"
#include "validate/primitives/queue_times.hpp"

namespace twinlink::validate {
namespace {

constexpr double kInARow = bench::kQueuedCopies;

using model::Platform;
using model::Sourced;
using model::Topology;
using Kind = Primitive::Kind;

void narrow(std::optional<Rate>& narrowest, Rate rate) {
  if (!narrowest || rate < *narrowest) narrowest = rate;
}

void narrow(std::optional<Rate>& narrowest, const std::optional<Rate>& rate) {
  if (rate) narrow(narrowest, *rate);
}

bool is_memory(const model::End& end) { return end.location.kind == model::Location::Kind::memory; }

/// What the DRAM gives that a copy reads or writes, the bounce buffer of the driver's fallback included.
std::optional<Rate> slowest_memory(const Primitive& primitive, const Topology& topology) {
  const auto& memories = topology.graph().memories;
  std::optional<Rate> slowest;
  const auto pass = [&](std::size_t memory) {
    if (const auto& bandwidth = memories[memory].bandwidth) narrow(slowest, bandwidth->value);
  };
  const auto& [from, to] = std::pair(primitive.from.location, primitive.to.location);
  for (const model::End* end : {&primitive.from, &primitive.to}) {
    if (is_memory(*end)) pass(end->location.index);
  }
  const bool between_gpus = !is_memory(primitive.from) && !is_memory(primitive.to) && from != to;
  if (between_gpus && !topology.peer_access(from.index, to.index)) pass(topology.bounce_memory(from.index, to.index));
  return slowest;
}

/// What lies between the links of a way between GPUs lets peer traffic have.
std::optional<Rate> slowest_forwarding(const model::Route& route, bool reads, const Topology& topology) {
  std::optional<Rate> slowest;
  for (std::size_t i = 0; i + 1 < route.size(); ++i) {
    const model::Link& link = topology.graph().links[route[i].link];
    const model::Passing* passing = topology.ways().passing(route[i].forward ? link.to : link.from);
    if (passing == nullptr) continue;
    if (const auto& rate = reads ? passing->peer_read : passing->peer_write) narrow(slowest, rate->value);
  }
  return slowest;
}

std::optional<Seconds> value_of(const std::optional<Sourced<Seconds>>& time) {
  return time ? std::optional(time->value) : std::nullopt;
}

/// From the last byte of a kernel's put until its signal is seen, and its own CPU told.
std::optional<Seconds> kernel_signal(const model::RuntimeCosts& runtime, Bytes size) {
  return runtime.kernel_signal ? std::optional(runtime.kernel_signal->value.at(size)) : std::nullopt;
}

std::optional<Seconds> plus(std::optional<Seconds> time, std::optional<Seconds> each, double count) {
  if (!time || !each) return std::nullopt;
  return *time + *each * count;
}
std::optional<Seconds> plus(std::optional<Seconds> time, const std::optional<Sourced<Seconds>>& each, double count) {
  return plus(time, value_of(each), count);
}

/// The bytes of a copy. Where a CPU copies what the caches do not hold, all of it takes as long as those of a message.
Seconds flow_of_copy(const Primitive& primitive, Bytes size, const model::CopyCost& copy, const Topology& topology) {
  const Seconds flow = flow_time(size, narrowest_link(primitive, topology), copy.rate);
  const auto& uncached = topology.platform().intra_node.uncached;
  if (copy.kind != model::CopyKind::host_to_host || !uncached || primitive.kind != Kind::copy) return flow;
  if (!lacks_in_caches(primitive, size, topology)) return flow;
  return std::max(flow, size / uncached->value - copy.latency(size));
}

std::optional<CopyTimes> copy_times(const Primitive& primitive, Bytes size, const Topology& topology) {
  const model::CopyCost found = topology.find_copy_cost(primitive.from, primitive.to);
  if (found.cost == nullptr) return std::nullopt;
  return CopyTimes{.overhead = found.cost->overhead.value,
                   .latency = found.latency(size),
                   .flow = flow_of_copy(primitive, size, found, topology),
                   .completion = topology.copy_ending(primitive.from, found).completion,
                   .by_event = found.by_event,
                   .gap = found.cost->gap ? found.cost->gap->value.at(size) : Seconds{}};
}

std::optional<Seconds> predict_copy(const Primitive& primitive, Bytes size, const Topology& topology) {
  const auto times = copy_times(primitive, size, topology);
  return times ? std::optional(times->total()) : std::nullopt;
}

/// Half of a round trip: the two ways need not cost the same. The peer goes on while the sender learns of the end. Each
/// end writes, so that the kernel, if there is one, is at the source both times.
std::optional<Seconds> predict_put(const Primitive& primitive, Bytes size, const Topology& topology) {
  const auto there = copy_times(primitive, size, topology);
  Primitive back = primitive;
  std::swap(back.from.location, back.to.location);
  const auto answer = copy_times(back, size, topology);
  if (!there || !answer) return std::nullopt;
  return (there->until_there() + answer->until_there()) / 2;
}

std::optional<Seconds> predict_queued(const Primitive& primitive, Bytes size, const Topology& topology) {
  const auto times = copy_times(primitive, size, topology);
  if (!times) return std::nullopt;
  return share_of_queue(*times, times->by_event ? or_none(topology.platform().runtime.failed_poll) : Seconds{});
}

/// Of a queue of puts with signals, what comes beside the intervals between them: the first until it is there, and the
/// answer to the last signal, unless the sender takes longer to learn that its put has ended; a kernel that raises the
/// signal tells it by itself.
Seconds beside_signals(const Primitive& primitive, const CopyTimes& times, Seconds signal, const Topology& topology) {
  const Seconds answered = signal + network_of(primitive, topology).control.value;
  return times.until_there() + (primitive.from.kernel ? answered : std::max(times.completion, answered));
}

/// The queue goes on when the signal has been raised, and the engine, or the next kernel, has had its turn; unless the
/// CPU takes longer to start the next one.
std::optional<Seconds> predict_queued_signal(const Primitive& primitive, Bytes size, const Topology& topology,
                                             std::optional<Seconds> signal,
                                             const std::optional<Sourced<Seconds>>& signal_gap) {
  const auto times = copy_times(primitive, size, topology);
  if (!times || !signal) return std::nullopt;
  const Seconds interval = times->flow + times->gap + *signal + or_none(signal_gap);
  const Seconds beside = beside_signals(primitive, *times, *signal, topology);
  return (beside + std::max(times->overhead, interval) * (kInARow - 1)) / kInARow;
}

std::optional<Seconds> predict_written_copy(const Primitive& primitive, Bytes size, const Topology& topology) {
  const std::optional<Seconds> alone = predict_copy(primitive, size, topology);
  if (!alone) return std::nullopt;
  const auto& cost = topology.find_copy_cost(primitive.from, primitive.to).cost->cpu_written;
  return cost ? *alone + cost->value.at(size) : *alone;
}

std::optional<Seconds> predict_start(const Primitive& primitive, const Topology& topology) {
  const auto times = copy_times(primitive, Bytes{}, topology);
  return times ? std::optional(times->overhead) : std::nullopt;
}

}  // namespace

KindFacts facts_of(const Primitive& primitive) {
  switch (primitive.kind) {
    case Kind::copy:
      if (primitive.from.kernel || primitive.to.kernel) return {"copies by kernels", 0.03};
      return {"copies", 0.06};
    case Kind::engine_block:
    case Kind::kernel_block:
      return {"copies of blocks", 0.24};
    case Kind::signal:
    case Kind::kernel_signal:
      return {"puts with signals", 0.01};
    case Kind::written_copy:
      return {"copies of what was just written", 0.06};
    case Kind::start:
    case Kind::finish:
    case Kind::look:
      return {"calls for copies", 0.07};
    case Kind::queued:
      return {"queues of copies", 0.08};
    case Kind::queued_signal:
    case Kind::queued_kernel_signal:
      return {"queues of puts with signals", 0.01};
    case Kind::message:
      return {"messages", 0.04};
    case Kind::start_message:
    case Kind::start_receive:
      return {"calls for messages", 0.01};
    case Kind::gap:
    case Kind::completion:
      return {"windows of messages", 0.06};
    case Kind::control:
    case Kind::queued_control:
      return {"control messages", 0.01};
    case Kind::allocate_device:
    case Kind::pin:
      return {"allocations", 0.54};
    case Kind::ipc_export:
    case Kind::ipc_open:
    case Kind::ipc_close:
      return {"handles", 0.12};
  }
  return {};
}

model::NetworkCosts network_of(const Primitive& primitive, const Topology& topology) {
  const Platform& platform = topology.platform();
  model::NetworkCosts costs = primitive.same_node ? platform.intra_node : platform.network.value();
  if (!primitive.messages()) return costs;
  const Seconds way = message_way(primitive, topology);
  if (way == Seconds{}) return costs;
  std::vector<model::Piecewise::Knot> knots = costs.latency.value.knots();
  for (auto& knot : knots) knot.cost += way;
  costs.latency.value = model::Piecewise(std::move(knots));
  costs.control.value += way;
  return costs;
}

Seconds message_way(const Primitive& primitive, const Topology& topology) {
  if (primitive.same_node) return topology.message_way(primitive.from.location, primitive.to.location);
  const auto nic = [&](std::size_t gpu) -> const std::string& { return topology.graph().gpus[gpu].nic; };
  return topology.message_way(primitive.from.location, {nic(primitive.gpu), nic(primitive.peer_gpu)},
                              primitive.to.location);
}

Seconds flow_time(Bytes size, std::optional<Rate> narrowest, std::optional<Rate> rate) {
  narrow(narrowest, rate);
  return narrowest ? size / *narrowest : Seconds{};
}

std::string copy_path(const Primitive& primitive, const Topology& topology) {
  std::string path = topology.find_copy_cost(primitive.from, primitive.to).path;
  // A base that does not tell reads from writes still gets a number of their own.
  const bool reads = primitive.to.own && !primitive.from.own;
  if (reads && path.ends_with(".peer")) path += "-read";
  return path;
}

std::string cost_path(const Primitive& primitive, const Topology& topology) {
  const std::string_view network = primitive.same_node ? "mpi.intra_node" : "mpi.network";
  switch (primitive.kind) {
    case Kind::copy:
      return copy_path(primitive, topology);
    case Kind::engine_block:
      return "driver.runtime.engine_block";
    case Kind::kernel_block:
      return "driver.runtime.kernel_block";
    case Kind::signal:
      return "driver.runtime.signal";
    case Kind::kernel_signal:
      return "driver.runtime.kernel_signal";
    case Kind::written_copy:
      return copy_path(primitive, topology) + ".cpu_written";
    case Kind::start:
      return copy_path(primitive, topology) + ".overhead";
    case Kind::queued:
      return copy_path(primitive, topology) + ".gap";
    case Kind::queued_signal:
      return "driver.runtime.signal_gap";
    case Kind::queued_kernel_signal:
      return "driver.runtime.kernel_signal_gap";
    case Kind::finish:
      return "driver.runtime.completion";
    case Kind::look:
      return "driver.runtime.failed_poll";
    case Kind::message:
      return std::string(network);
    case Kind::start_message:
      return fmt::format("{}.send_overhead", network);
    case Kind::start_receive:
      return fmt::format("{}.receive_overhead", network);
    case Kind::gap:
      return fmt::format("{}.gap", network);
    case Kind::completion:
      return fmt::format("{}.completion", network);
    case Kind::control:
      return fmt::format("{}.control", network);
    case Kind::queued_control:
      return fmt::format("{}.control_receive_overhead", network);
    case Kind::allocate_device:
      return "driver.runtime.allocate_device";
    case Kind::pin:
      return "driver.runtime.pin_base";
    case Kind::ipc_export:
      return "driver.runtime.ipc_export";
    case Kind::ipc_open:
      return "driver.runtime.ipc_open";
    case Kind::ipc_close:
      return "driver.runtime.ipc_close";
  }
  return {};
}

std::optional<Rate> narrowest_link(const Primitive& primitive, const Topology& topology) {
  using model::Reach;
  const Platform& platform = topology.platform();
  if (primitive.same_node) {
    const model::Route route = topology.copy_route(primitive.from.location, primitive.to.location);
    if (!primitive.copies()) return topology.narrowest(route, Reach::cpu);
    const model::CopyCost copy = topology.find_copy_cost(primitive.from, primitive.to);
    std::optional<Rate> narrowest = topology.narrowest(route, copy.reach);
    narrow(narrowest, slowest_memory(primitive, topology));
    const bool peers = !is_memory(primitive.from) && !is_memory(primitive.to) && copy.kind;
    if (peers) narrow(narrowest, slowest_forwarding(route, copy.reach == Reach::device_reads, topology));
    return narrowest;
  }
  const auto nic = [&](std::size_t gpu) -> const std::string& { return topology.graph().gpus[gpu].nic; };
  std::optional<Rate> narrowest =
      topology.narrowest(topology.to_nic_route(primitive.from.location, nic(primitive.gpu)), Reach::device_reads);
  narrow(narrowest, topology.narrowest(topology.from_nic_route(nic(primitive.peer_gpu), primitive.to.location),
                                       Reach::device_writes));
  narrow(narrowest, platform.fabric->link.value);
  if (platform.fabric->duplex) narrow(narrowest, platform.fabric->duplex->value);
  return narrowest;
}

std::optional<Seconds> rest_of(const Primitive& primitive, Bytes size, Seconds time, const Topology& topology) {
  const model::RuntimeCosts& runtime = topology.platform().runtime;
  const auto times = copy_times(primitive, size, topology);
  const auto signal =
      primitive.kind == Primitive::Kind::queued_signal ? value_of(runtime.signal) : kernel_signal(runtime, size);
  if (!times || !signal) return std::nullopt;
  const Seconds beside = beside_signals(primitive, *times, *signal, topology);
  const Seconds each = (time * kInARow - beside) / (kInARow - 1);
  return each - times->flow - times->gap - *signal;
}

Seconds flow_alone(const Primitive& primitive, Bytes size, const Topology& topology) {
  const auto times = copy_times(primitive, size, topology);
  return times ? times->flow : Seconds{};
}

std::optional<Seconds> predict_below(const Primitive& primitive, Bytes size, const Topology& topology) {
  return primitive.signals() ? predict_put(primitive, size, topology) : predict_copy(primitive, size, topology);
}

std::optional<Seconds> predict(const Primitive& primitive, Bytes size, const Topology& topology) {
  const Platform& platform = topology.platform();
  const model::RuntimeCosts& runtime = platform.runtime;
  const model::NetworkCosts network = network_of(primitive, topology);
  switch (primitive.kind) {
    case Kind::copy:
      return predict_copy(primitive, size, topology);
    case Kind::engine_block:
      return plus(predict_below(primitive, size, topology), runtime.engine_block, primitive.blocks);
    case Kind::kernel_block:
      return plus(predict_below(primitive, size, topology), runtime.kernel_block, primitive.blocks);
    case Kind::signal:
      return plus(predict_below(primitive, size, topology), runtime.signal, 1);
    case Kind::kernel_signal:
      return plus(predict_below(primitive, size, topology),
                  runtime.kernel_signal ? kernel_signal(runtime, size) : value_of(runtime.signal), 1);
    case Kind::written_copy:
      return predict_written_copy(primitive, size, topology);
    case Kind::start:
      return predict_start(primitive, topology);
    case Kind::queued:
      return predict_queued(primitive, size, topology);
    case Kind::queued_signal:
      return predict_queued_signal(primitive, size, topology, value_of(runtime.signal), runtime.signal_gap);
    case Kind::queued_kernel_signal:
      return predict_queued_signal(primitive, size, topology, kernel_signal(runtime, size), runtime.kernel_signal_gap);
    case Kind::finish:
      return plus(Seconds{}, runtime.completion, 1);
    case Kind::look:
      return plus(Seconds{}, runtime.failed_poll, 1);
    case Kind::message:
      return predict_message(primitive, size, topology);
    case Kind::start_message:
      return network.posting(size);
    case Kind::start_receive:
      return network.receive_overhead.value;
    case Kind::gap:
      return predict_window(primitive, size, topology);
    case Kind::completion:
      return predict_both_ways(primitive, size, topology);
    case Kind::control:
      return network.control.value;
    case Kind::queued_control:
      return predict_controls(network);
    case Kind::allocate_device:
      return runtime.allocate_device.value;
    case Kind::pin:
      return runtime.pin_base.value +
             runtime.pin_per_gib.value * (static_cast<double>(size.count()) / static_cast<double>((1_GiB).count()));
    case Kind::ipc_export:
      return runtime.ipc_export.value;
    case Kind::ipc_open:
      return runtime.ipc_open.value;
    case Kind::ipc_close:
      return runtime.ipc_close.value;
  }
  return std::nullopt;
}

}  // namespace twinlink::validate
