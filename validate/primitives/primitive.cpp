#include "validate/primitives/primitive.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "protocols/core/enum_table.hpp"
#include "validate/primitives/message_times.hpp"
#include "validate/primitives/program_times.hpp"
#include "validate/primitives/queue_times.hpp"

namespace twinlink::validate {
namespace {

constexpr double kInARow = bench::kQueuedCopies;

using platforms::Platform;
using platforms::Topology;
using platforms::value_of;
using Kind = Primitive::Kind;

std::vector<platforms::Adapters> nics_of(const Primitive& primitive, Bytes size, const Topology& topology) {
  return topology.adapters(primitive.from.location.kind, primitive.gpu, primitive.peer_gpu, size);
}

/// The bytes of a copy. Where a CPU copies what the caches do not hold, all of it takes as long as those of a message.
Seconds flow_of_copy(const Primitive& primitive, Bytes size, const platforms::CopyCost& copy,
                     const Topology& topology) {
  const Seconds flow = flow_time(size, narrowest_link(primitive, size, topology), copy.rate);
  const auto& uncached = topology.platform().intra_node.uncached;
  if (copy.kind != platforms::CopyKind::host_to_host || !uncached || primitive.kind != Kind::copy) return flow;
  if (!lacks_in_caches(primitive, size, topology)) return flow;
  return std::max(flow, size / uncached->value - copy.latency(size));
}

std::optional<CopyTimes> copy_times(const Primitive& primitive, Bytes size, const Topology& topology) {
  const platforms::CopyCost found = find_copy_cost(topology, primitive.from, primitive.to);
  if (found.cost == nullptr) return std::nullopt;
  return CopyTimes{.overhead = found.starting(platforms::speed_near(topology, primitive.gpu)),
                   .latency = found.latency(size),
                   .flow = flow_of_copy(primitive, size, found, topology) + found.in_chunks(size),
                   .completion = copy_ending(runtime_of(primitive, topology), primitive.from, found).completion,
                   .by_event = found.by_event,
                   .gap = found.gap(size)};
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
  return share_of_queue(*times, times->by_event ? or_none(runtime_of(primitive, topology).failed_poll) : Seconds{});
}

/// Time of a queue of puts with signals beside the intervals between them: the first until it is there, and the
/// answer to the last signal, unless the sender takes longer to learn that its put has ended. The event of that stands
/// behind the signal in the engine's queue; a kernel that raises the signal tells the sender by itself.
Seconds beside_signals(const Primitive& primitive, const CopyTimes& times, Seconds signal, Seconds signal_gap,
                       const Topology& topology) {
  const Seconds answered = signal + network_of(primitive, {}, topology).control.value;
  const Seconds known = signal + signal_gap + times.completion;
  return times.until_there() + (primitive.from.kernel ? answered : std::max(known, answered));
}

/// From the last byte of a put until its signal is seen.
std::optional<Seconds> signal_of(const Primitive& primitive, Bytes size, const platforms::RuntimeCosts& runtime) {
  const bool raised = primitive.from.kernel && runtime.kernel_signal;
  return raised ? std::optional(runtime.kernel_signal->value.at(size)) : value_of(runtime.signal);
}

/// The queue goes on when a kernel has raised its signal; where there is a gap, when any has been raised and the
/// engine, or the next kernel, has had its turn; unless the CPU takes longer to start the next one.
std::optional<Seconds> predict_queued_signal(const Primitive& primitive, Bytes size, const Topology& topology) {
  const platforms::RuntimeCosts& runtime = topology.platform().runtime;
  const auto times = copy_times(primitive, size, topology);
  const auto signal = signal_of(primitive, size, runtime);
  if (!times || !signal || (primitive.from.kernel && !runtime.kernel_signal)) return std::nullopt;
  const Seconds behind = or_none(primitive.from.kernel ? runtime.kernel_signal_gap : runtime.signal_gap);
  const Seconds ended = primitive.from.kernel ? times->flow + *signal : times->flow;
  const Seconds interval = platforms::turn_behind(ended, times->flow + *signal + behind, times->gap);
  const Seconds beside = beside_signals(primitive, *times, *signal, behind, topology);
  return (beside + std::max(times->overhead, interval) * (kInARow - 1)) / kInARow;
}

std::optional<Seconds> predict_written_copy(const Primitive& primitive, Bytes size, const Topology& topology) {
  const platforms::CopyCost copy = find_copy_cost(topology, primitive.from, primitive.to);
  if (copy.cost == nullptr) return std::nullopt;
  return plus(predict_copy(primitive, size, topology), or_none(copy.cost->cpu_written, size), 1);
}

}  // namespace

std::optional<Seconds> plus(std::optional<Seconds> time, std::optional<Seconds> each, double count) {
  return time && each ? std::optional(*time + *each * count) : std::nullopt;
}

platforms::RuntimeCosts runtime_of(const Primitive& primitive, const Topology& topology) {
  return platforms::on_cpu(topology.platform().runtime, platforms::speed_near(topology, primitive.gpu));
}

platforms::NetworkCosts network_of(const Primitive& primitive, Bytes size, const Topology& topology) {
  const Platform& platform = topology.platform();
  platforms::NetworkCosts costs =
      platforms::on_cpu(primitive.same_node ? platform.intra_node : platform.network.value(),
                        platforms::speed_near(topology, primitive.gpu));
  if (!primitive.messages()) return costs;
  std::vector<platforms::Piecewise::Knot> knots = costs.latency.value.knots();
  const Seconds way = message_way(primitive, size, topology);
  for (auto& knot : knots) knot.cost += way;
  costs.latency.value = platforms::Piecewise(std::move(knots));
  costs.control.value += message_way(primitive, {}, topology);
  return costs;
}

double adapters_of(const Primitive& primitive, Bytes size, const Topology& topology) {
  return primitive.same_node ? 1 : static_cast<double>(nics_of(primitive, size, topology).size());
}

Seconds message_way(const Primitive& primitive, Bytes size, const Topology& topology) {
  const auto& [from, to] = std::pair(primitive.from.location, primitive.to.location);
  if (primitive.same_node) return topology.latency(from, to);
  const bool in_request = from.kind != platforms::Location::Kind::gpu && topology.platform().network->is_inline(size);
  return platforms::latency(topology, primitive.node, from, nics_of(primitive, size, topology), primitive.peer_node, to,
                            in_request);
}

Seconds flow_time(Bytes size, std::optional<Rate> narrowest, std::optional<Rate> rate) {
  narrowest = platforms::least_of(narrowest, rate);
  return narrowest ? size / *narrowest : Seconds{};
}

std::string copy_path(const Primitive& primitive, const Topology& topology) {
  std::string path = find_copy_cost(topology, primitive.from, primitive.to).path;
  // A base that does not tell reads from writes still gets a number of their own.
  const bool reads = primitive.to.own && !primitive.from.own;
  if (reads && path.ends_with(".peer")) path += "-read";
  return path;
}

std::string cost_path(const Primitive& primitive, const Topology& topology) {
  const KindFacts& facts = facts_of(primitive.kind);
  std::string path = facts.owner == KindFacts::Owner::copy      ? copy_path(primitive, topology)
                     : facts.owner == KindFacts::Owner::runtime ? "driver.runtime"
                     : facts.owner == KindFacts::Owner::blocks
                         ? fmt::format("gpu_types.{}.blocks", topology.type_of(primitive.gpu).name)
                     : primitive.same_node ? "mpi.intra_node"
                                           : "mpi.network";
  if (!facts.number.empty()) path += fmt::format(".{}", facts.number);
  return path;
}

std::optional<Rate> narrowest_link(const Primitive& primitive, Bytes size, const Topology& topology) {
  const platforms::Location from = primitive.from.location;
  const platforms::Location to = primitive.to.location;
  if (primitive.same_node && primitive.copies()) {
    return platforms::narrowest(topology, primitive.from, primitive.to,
                                find_copy_cost(topology, primitive.from, primitive.to));
  }
  if (primitive.same_node) return platforms::narrowest(topology, from, to);
  return platforms::narrowest(topology, from, nics_of(primitive, size, topology), to);
}

std::optional<Seconds> rest_of(const Primitive& primitive, Bytes size, Seconds time, const Topology& topology) {
  const platforms::RuntimeCosts& runtime = topology.platform().runtime;
  const auto times = copy_times(primitive, size, topology);
  const auto signal = signal_of(primitive, size, runtime);
  const bool raised = !primitive.from.kernel || runtime.kernel_signal;
  if (!times || !signal || !raised || times->gap <= Seconds{}) return std::nullopt;
  const Seconds each = times->flow + times->gap + *signal;
  const auto gap_of = [&](Seconds beside, double gaps) {
    return (time * kInARow - beside - each * (kInARow - 1)) / gaps;
  };
  const Seconds answered = gap_of(beside_signals(primitive, *times, *signal, {}, topology), kInARow - 1);
  if (primitive.from.kernel) return answered;
  // Where the sender learns of its last put later than of the answer, that is behind a gap too.
  const Seconds known = gap_of(times->until_there() + *signal + times->completion, kInARow);
  const Seconds control = network_of(primitive, {}, topology).control.value;
  return known + times->completion > control ? known : answered;
}

Seconds flow_alone(const Primitive& primitive, Bytes size, const Topology& topology) {
  const auto times = copy_times(primitive, size, topology);
  return times ? times->flow : Seconds{};
}

std::optional<Seconds> predict_below(const Primitive& primitive, Bytes size, const Topology& topology) {
  return primitive.signals() ? predict_put(primitive, size, topology) : predict_copy(primitive, size, topology);
}

namespace {

using Fit = KindFacts::Fit;
using Owner = KindFacts::Owner;

/// A number of the driver, whatever the size, which a platform may lack.
template <auto number>
std::optional<Seconds> known_of(const Primitive& primitive, Bytes, const Topology& topology) {
  return value_of(std::optional(runtime_of(primitive, topology).*number));
}

template <auto each>
std::optional<Seconds> predict_blocks(const Primitive& primitive, Bytes size, const Topology& topology) {
  return plus(predict_below(primitive, size, topology), value_of(topology.platform().runtime.*each), primitive.blocks);
}

std::optional<Seconds> predict_signal(const Primitive& primitive, Bytes size, const Topology& topology) {
  return plus(predict_below(primitive, size, topology), signal_of(primitive, size, topology.platform().runtime), 1);
}

std::optional<Seconds> predict_pinning(const Primitive& primitive, Bytes size, const Topology& topology) {
  return pinning(runtime_of(primitive, topology), size);
}

/// What a function of the network alone says.
template <auto part>
std::optional<Seconds> predict_of_network(const Primitive& primitive, Bytes size, const Topology& topology) {
  return part(network_of(primitive, size, topology), size);
}
template <auto whole>
std::optional<Seconds> as_optional(const Primitive& primitive, Bytes size, const Topology& topology) {
  return whole(primitive, size, topology);
}

constexpr auto kPosting = [](const platforms::NetworkCosts& network, Bytes size) { return network.posting(size); };
constexpr auto kAwaiting = [](const platforms::NetworkCosts& network, Bytes) { return network.receive_overhead.value; };
constexpr auto kControl = [](const platforms::NetworkCosts& network, Bytes) { return network.control.value; };
constexpr auto kControls = [](const platforms::NetworkCosts& network, Bytes) { return predict_controls(network); };
constexpr auto kStart = [](const Primitive& primitive, Bytes, const Topology& topology) {
  const auto times = copy_times(primitive, Bytes{}, topology);
  return times ? std::optional(times->overhead) : std::nullopt;
};

/// An own error that sizes do not change.
constexpr std::array<double, 3> everywhere(double error) { return {error, error, error}; }

/// Of many blocks each has a slot or two of a message, so that they fill a fast link less than the closed form says: up
/// to 11 % less on a GB200, as it is simulated.
constexpr auto kOwnErrorOfBlocks = everywhere(0.15);

/// One number stands for the kernels of all formats, whose texts differ.
constexpr auto kOwnErrorOfLaunches = everywhere(0.1);

using Costs = platforms::RuntimeCosts;

// clang-format off
constexpr std::array kKinds{
    KindFacts{Kind::copy, "copies", {0.06, 0.25, 0.13}, Owner::copy, "", Fit::latency_of_copies, predict_copy},
    KindFacts{Kind::engine_block, "copies of blocks", {0.26, 0.14, 0.19}, Owner::runtime, "engine_block", Fit::share_of_blocks, predict_blocks<&Costs::engine_block>},
    KindFacts{Kind::kernel_block, "copies of blocks", {0.13, 0.16, 0.02}, Owner::runtime, "kernel_block", Fit::share_of_blocks, predict_blocks<&Costs::kernel_block>},
    KindFacts{Kind::signal, "puts with signals", everywhere(0.01), Owner::runtime, "signal", Fit::share_of_signals, predict_signal},
    KindFacts{Kind::kernel_signal, "puts with signals", {0.01, 0.02, 0.03}, Owner::runtime, "kernel_signal", Fit::signal_by_size, predict_signal},
    KindFacts{Kind::written_copy, "copies of what was just written", {0.04, 0.02, 0.13}, Owner::copy, "cpu_written", Fit::written, predict_written_copy},
    KindFacts{Kind::start, "calls for copies", {0.07, 0.07, 0.02}, Owner::copy, "overhead", Fit::cpus_part, kStart},
    KindFacts{Kind::queued, "queues of copies", {0.10, 0.12, 0.03}, Owner::copy, "gap", Fit::gap_of_copies, predict_queued},
    KindFacts{Kind::queued_signal, "queues of puts with signals", everywhere(0.01), Owner::runtime, "signal_gap", Fit::rest, predict_queued_signal},
    KindFacts{Kind::queued_kernel_signal, "queues of puts with signals", everywhere(0.01), Owner::runtime, "kernel_signal_gap", Fit::rest, predict_queued_signal},
    KindFacts{Kind::finish, "calls for copies", {0.07, 0.07, 0.02}, Owner::runtime, "completion", Fit::cpus_part, known_of<&Costs::completion>},
    KindFacts{Kind::look, "calls for copies", {0.07, 0.07, 0.02}, Owner::runtime, "failed_poll", Fit::constant, known_of<&Costs::failed_poll>},
    KindFacts{Kind::message, "messages", {0.04, 0.05, 0.03}, Owner::network, "", Fit::latency_of_messages, as_optional<predict_message>},
    KindFacts{Kind::start_message, "calls for messages", everywhere(0.01), Owner::network, "send_overhead", Fit::cpus_part, predict_of_network<kPosting>},
    KindFacts{Kind::start_receive, "calls for messages", everywhere(0.01), Owner::network, "receive_overhead", Fit::cpus_part, predict_of_network<kAwaiting>},
    KindFacts{Kind::gap, "windows of messages", {0.06, 0.08, 0.06}, Owner::network, "gap", Fit::gap_of_messages, as_optional<predict_window>},
    KindFacts{Kind::completion, "windows of messages", everywhere(0.06), Owner::network, "completion", Fit::cpus_part, predict_both_ways},
    KindFacts{Kind::control, "control messages", everywhere(0.01), Owner::network, "control", Fit::constant_beside_way, predict_of_network<kControl>},
    KindFacts{Kind::queued_control, "control messages", everywhere(0.01), Owner::network, "control_receive_overhead", Fit::cpus_part, predict_of_network<kControls>},
    KindFacts{Kind::allocate_device, "allocations", {0.29, 0.56, 0.68}, Owner::runtime, "allocate_device", Fit::constant, known_of<&Costs::allocate_device>},
    KindFacts{Kind::pin, "allocations", {0.29, 0.56, 0.68}, Owner::runtime, "pin_base", Fit::line_over_size, predict_pinning},
    KindFacts{Kind::ipc_export, "handles", everywhere(0.12), Owner::runtime, "ipc_export", Fit::constant, known_of<&Costs::ipc_export>},
    KindFacts{Kind::ipc_open, "handles", everywhere(0.12), Owner::runtime, "ipc_open", Fit::constant, known_of<&Costs::ipc_open>},
    KindFacts{Kind::ipc_close, "handles", everywhere(0.12), Owner::runtime, "ipc_close", Fit::constant, known_of<&Costs::ipc_close>},
    KindFacts{Kind::start_program, "launches of programs", everywhere(0.06), Owner::runtime, "program_launch", Fit::constant, predict_call},
    KindFacts{Kind::program, "launches of programs", everywhere(0.06), Owner::blocks, "start", Fit::launch, predict_program},
    KindFacts{Kind::start_graph, "launches of programs", everywhere(0.06), Owner::runtime, "graph_launch", Fit::constant, predict_call},
    KindFacts{Kind::graph, "launches of programs", everywhere(0.06), Owner::blocks, "next", Fit::graph, predict_graph},
    KindFacts{Kind::hop_simple, "hops between blocks", everywhere(0.06), Owner::blocks, "simple", Fit::hop_of_blocks, predict_hop},
    KindFacts{Kind::hop_ll, "hops between blocks", everywhere(0.06), Owner::blocks, "ll", Fit::hop_of_blocks, predict_hop},
    KindFacts{Kind::hop_ll128, "hops between blocks", everywhere(0.06), Owner::blocks, "ll128", Fit::hop_of_blocks, predict_hop},
    KindFacts{Kind::blocks_simple, "messages by blocks", kOwnErrorOfBlocks, Owner::blocks, "rate", Fit::rate_of_blocks, predict_moving},
    KindFacts{Kind::blocks_ll, "messages by blocks", kOwnErrorOfBlocks, Owner::blocks, "ll_rate", Fit::rate_of_blocks, predict_moving},
    KindFacts{Kind::blocks_ll128, "messages by blocks", kOwnErrorOfBlocks, Owner::blocks, "ll128_rate", Fit::rate_of_blocks, predict_moving},
    KindFacts{Kind::pass_simple, "slots passed on", kOwnErrorOfBlocks, Owner::blocks, "passing", Fit::passing, predict_pass},
    KindFacts{Kind::pass_ll, "slots passed on", kOwnErrorOfBlocks, Owner::blocks, "ll_passing", Fit::passing, predict_pass},
    KindFacts{Kind::pass_ll128, "slots passed on", kOwnErrorOfBlocks, Owner::blocks, "ll128_passing", Fit::passing, predict_pass},
    KindFacts{Kind::ring_simple, "rings of blocks", everywhere(0.06), Owner::blocks, "simple_fetch", Fit::ring, predict_ring},
    KindFacts{Kind::ring_ll, "rings of blocks", everywhere(0.06), Owner::blocks, "fetch", Fit::ring, predict_ring},
    KindFacts{Kind::ring_ll128, "rings of blocks", everywhere(0.06), Owner::blocks, "ll128_fetch", Fit::ring, predict_ring},
    KindFacts{Kind::cold_simple, "launches of rings", kOwnErrorOfLaunches, Owner::blocks, "cold", Fit::cold, predict_cold},
    KindFacts{Kind::cold_ll, "launches of rings", kOwnErrorOfLaunches, Owner::blocks, "cold", Fit::cold, predict_cold},
    KindFacts{Kind::cold_ll128, "launches of rings", kOwnErrorOfLaunches, Owner::blocks, "cold", Fit::cold, predict_cold}};
// clang-format on
static_assert(std::ranges::is_sorted(kKinds, {}, &KindFacts::kind) && kKinds.size() == count_of<Kind>());

}  // namespace

const KindFacts& facts_of(Kind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }

std::string_view plural_of(const Primitive& primitive) {
  const bool by_kernel = primitive.from.kernel || primitive.to.kernel;
  return primitive.kind == Kind::copy && by_kernel ? "copies by kernels" : facts_of(primitive.kind).plural;
}

std::optional<Seconds> predict(const Primitive& primitive, Bytes size, const Topology& topology) {
  return facts_of(primitive.kind).predict(primitive, size, topology);
}

std::optional<PredictedLine> predict_line(const bench::ProbeLine& line, const Topology& topology, std::string& reason) {
  const std::optional<Primitive> primitive = find_primitive(line, topology, reason);
  if (!primitive) return std::nullopt;
  const std::optional<Seconds> time = predict(*primitive, line.size, topology);
  if (time && *time > Seconds{}) return PredictedLine{*primitive, *time};
  reason = time ? "on the platform it takes no time" : "the platform lacks a number of it";
  return std::nullopt;
}

}  // namespace twinlink::validate
