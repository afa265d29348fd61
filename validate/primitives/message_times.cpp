#include "validate/primitives/message_times.hpp"

#include <algorithm>

#include "protocols/bench/probe/probe.hpp"
#include "validate/primitives/cost_fit.hpp"

namespace twinlink::validate {
namespace {

using platforms::Topology;
using platforms::value_of;
using Kind = Primitive::Kind;

constexpr double kQueued = bench::kQueuedCopies;

/// What the sender's CPU has a part in. The rest it has copied when it posted the message.
Seconds flow_from_sender(const Primitive& primitive, Bytes size, const Topology& topology) {
  const Bytes posted = network_of(primitive, size, topology).first_part(size);
  return flow_of_message(primitive, size, topology) * (1 - share_of(posted, size));
}

/// What it does for a message beside that.
Seconds sending(const platforms::NetworkCosts& network, Bytes size) {
  return network.posting(size) + or_none(network.send_completion);
}

/// What each CPU starts for one message each way.
Seconds starting(const platforms::NetworkCosts& network, Bytes size) {
  return network.posting(size) + network.receive_overhead.value;
}

/// A round trip of control messages, which lie in the memories next to the GPUs wherever the message lies.
Seconds asking(Primitive primitive, const Topology& topology) {
  primitive.kind = Kind::control;
  primitive.from.location = {platforms::Location::Kind::memory, topology.memory_near(primitive.gpu)};
  primitive.to.location = {platforms::Location::Kind::memory, topology.memory_near(primitive.peer_gpu)};
  return network_of(primitive, {}, topology).control.value * 2;
}

}  // namespace

Bytes memory_of_round(const Primitive& primitive, Bytes size) {
  const std::uint64_t stretches = primitive.kind == Kind::copy      ? 1
                                  : primitive.kind == Kind::message ? 2
                                                                    : bench::kQueuedCopies;
  const std::uint64_t ends = primitive.from.location == primitive.to.location ? 2 : 1;
  return size * stretches * ends;
}

bool lacks_in_caches(const Primitive& primitive, Bytes size, const Topology& topology) {
  const auto lacks = [&](platforms::Location memory) {
    const auto& cache = topology.graph().memories[memory.index].cache;
    return cache && memory_of_round(primitive, size) > cache->value;
  };
  return primitive.same_node && (lacks(primitive.from.location) || lacks(primitive.to.location));
}

Seconds flow_of_message(const Primitive& primitive, Bytes size, const Topology& topology) {
  const platforms::NetworkCosts network = network_of(primitive, size, topology);
  const bool uncached = network.uncached && lacks_in_caches(primitive, size, topology);
  std::optional<Rate> rate = value_of(uncached ? network.uncached : network.rate);
  if (rate) rate = Rate{rate->bytes_per_second() * adapters_of(primitive, size, topology)};
  return flow_time(size, narrowest_link(primitive, size, topology), rate);
}

Seconds predict_message(const Primitive& primitive, Bytes size, const Topology& topology) {
  const platforms::NetworkCosts network = network_of(primitive, size, topology);
  const Seconds last = flow_of_message(primitive, size, topology) * share_of(network.last_fragment(size), size);
  const bool of_device = primitive.from.location.kind == platforms::Location::Kind::gpu;
  return network.posting(size) + network.latency_asking(size, asking(primitive, topology), of_device) +
         flow_from_sender(primitive, size, topology) + last + network.taking_in(size);
}

Seconds beside_gaps(const Primitive& primitive, Bytes size, const Topology& topology) {
  const platforms::NetworkCosts network = network_of(primitive, size, topology);
  // A CPU that copies in pieces posts all messages first, and the latency of the first one hides behind that.
  const bool by_sender = network.last_fragment(size) > Bytes{};
  const Seconds hidden =
      by_sender ? std::min(network.latency.value.at(size), network.posting(size) * (kQueued - 1)) : Seconds{};
  return predict_message(primitive, size, topology) - hidden + network.control.value;
}

Seconds interval_beside_gap(const Primitive& primitive, Bytes size, const Topology& topology) {
  const platforms::NetworkCosts network = network_of(primitive, size, topology);
  const bool by_sender = network.last_fragment(size) > Bytes{};
  return flow_from_sender(primitive, size, topology) + (by_sender ? sending(network, size) : Seconds{});
}

Seconds predict_window(const Primitive& primitive, Bytes size, const Topology& topology) {
  const platforms::NetworkCosts network = network_of(primitive, size, topology);
  const Seconds each =
      std::max(network.posting(size), interval_beside_gap(primitive, size, topology) + or_none(network.gap, size));
  const Seconds sent = sending(network, size) * kQueued + network.receiving_control();
  const Seconds taken_in = (network.receive_overhead.value + network.taking_in(size)) * kQueued + network.control.value;
  // Where CPUs copy the bytes, and nothing else has that in it, the receiver's does so when it has posted its receives.
  // The next window begins for it when it has told the sender.
  const bool copies = network.copied_by != platforms::CopiedBy::none && !(network.is_eager(size) && network.completion);
  const Seconds copied = network.receive_overhead.value + flow_of_message(primitive, size, topology);
  const Seconds receiver = copies ? copied * kQueued + network.sending_control() : Seconds{};
  return std::max({beside_gaps(primitive, size, topology) + each * (kQueued - 1), sent, taken_in, receiver}) / kQueued;
}

std::optional<Seconds> predict_both_ways(const Primitive& primitive, Bytes size, const Topology& topology) {
  const platforms::NetworkCosts network = network_of(primitive, size, topology);
  if (!network.completion) return std::nullopt;
  const Seconds completion = network.taking_in(size);
  const Seconds comes = predict_message(primitive, size, topology) - network.posting(size) - completion;
  const Seconds taken_in = (std::max(completion * (kQueued - 1), comes) + completion + network.control.value) / kQueued;
  const Seconds cpu = starting(network, size) + or_none(network.send_completion) + taken_in;
  return std::max(cpu, predict_window(primitive, size, topology));
}

Seconds completion_of(const platforms::NetworkCosts& costs, Bytes size, const EagerTimes& times) {
  const Seconds comes = times.alone - costs.posting(size);
  const Seconds rest = (times.both_ways - starting(costs, size)) * kQueued - costs.control.value;
  // The way of the last one, or the bytes of both directions, which share the CPUs where no completion has them in it,
  // take as long as this: then the CPU waits for messages, and not they for it.
  constexpr double kMore = 1 + 5 * kTolerance;
  const Seconds shared = costs.completion ? Seconds{} : times.flow;
  if (rest <= comes * kMore || times.both_ways <= (times.one_way + shared) * kMore) return {};
  const Seconds one_way = times.one_way - costs.receive_overhead.value - costs.control.value / kQueued;
  return std::max(std::min({rest / kQueued, one_way, comes}), Seconds{});
}

Seconds send_completion_of(const platforms::NetworkCosts& costs, Bytes size, Seconds both_ways) {
  return both_ways - starting(costs, size) - costs.taking_in(size) - costs.control.value / kQueued;
}

Seconds predict_controls(const platforms::NetworkCosts& network) {
  const Seconds tells = network.sending_control();
  // One rank tells the other that the window is over: one of both waits for the longer of the two, and half of the
  // windows for the shorter one, too.
  const Seconds answer =
      (std::max(tells, network.receiving_control()) + std::min(tells, network.receiving_control()) / 2) / kQueued;
  return tells + std::max(network.receiving_control() + answer, (network.control.value * 2 - tells) / kQueued);
}

Seconds receiving_control_of(const platforms::NetworkCosts& network, Seconds time) {
  platforms::NetworkCosts unheard = network;
  unheard.control_receive_overhead.reset();
  // No longer than where nobody is busy with hearing: then the way of the messages decides, and tells nothing of it.
  constexpr double kMore = 1 + 5 * kTolerance;
  if (time <= predict_controls(unheard) * kMore) return {};
  // Whichever takes longer, it or telling, comes once more for the answer, and the other one for every second answer.
  constexpr double kOnceMore = 1 + 1.0 / bench::kQueuedCopies;
  constexpr double kHalfOnceMore = 1 + 0.5 / bench::kQueuedCopies;
  const Seconds tells = network.sending_control();
  const Seconds longer = (time - tells * kHalfOnceMore) / kOnceMore;
  return longer >= tells ? longer : (time - tells * kOnceMore) / kHalfOnceMore;
}

}  // namespace twinlink::validate
