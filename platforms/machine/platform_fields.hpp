// Which numbers the structs of a platform hold, each under its key in the file: `visit(key, field)`, where a field is a
// number, a part with numbers of its own, or either of them in an optional. Things with names of their own and words
// are left out.
#pragma once

#include <concepts>
#include <type_traits>

#include "platforms/machine/platform.hpp"

namespace twinlink::platforms {

/// A part to read, or one to change.
template <class T, class Part>
concept Either = std::same_as<std::remove_const_t<T>, Part>;

void each_field(Either<Passing> auto& passing, const auto& visit) {
  visit("latency", passing.latency);
  visit("peer_read", passing.peer_read);
  visit("peer_write", passing.peer_write);
  visit("duplex", passing.duplex);
}

void each_field(Either<HostMemory> auto& memory, const auto& visit) {
  visit("copy_rate", memory.copy_rate);
  visit("speed", memory.speed);
  visit("bandwidth", memory.bandwidth);
  visit("cache", memory.cache);
  each_field(memory.passing, visit);
}

void each_field(Either<Hub> auto& hub, const auto& visit) {
  visit("reduces", hub.reduces);
  each_field(hub.passing, visit);
}

/// Rates as they are of all links in parallel.
void each_field(Either<Link> auto& link, const auto& visit) {
  visit("forward", link.forward);
  visit("backward", link.backward);
  for (const auto& [key, rate] : shared_rates(link)) visit(key, *rate);
  for (const auto& [key, rate] : single_rates(link)) visit(key, *rate);
  visit("latency", link.latency);
}

void each_field(Either<Nic> auto& nic, const auto& visit) {
  visit("latency", nic.latency);
  visit("gap", nic.gap);
  visit("link", nic.link);
}

void each_field(Either<BlockCosts> auto& blocks, const auto& visit) {
  visit("rate", blocks.rate);
  visit("ll_rate", blocks.ll_rate);
  visit("ll128_rate", blocks.ll128_rate);
  visit("ll", blocks.ll);
  visit("ll128", blocks.ll128);
  visit("simple", blocks.simple);
  visit("start", blocks.start);
  visit("graph_start", blocks.graph_start);
  visit("next", blocks.next);
  visit("passing", blocks.passing);
  visit("ll_passing", blocks.ll_passing);
  visit("ll128_passing", blocks.ll128_passing);
  visit("fetch", blocks.fetch);
  visit("ll128_fetch", blocks.ll128_fetch);
  visit("simple_fetch", blocks.simple_fetch);
  visit("cold", blocks.cold);
}

void each_field(Either<TransformCosts> auto& transforms, const auto& visit) {
  visit("memory", transforms.memory);
  visit("compute", transforms.compute);
}

void each_field(Either<GpuType> auto& type, const auto& visit) {
  visit("memory", type.memory);
  visit("blocks", type.blocks);
  visit("library_blocks", type.library_blocks);
  visit("transforms", type.transforms);
}

void each_field(Either<Rdma> auto& rdma, const auto& visit) { visit("latency", rdma.latency); }

void each_field(Either<Fabric> auto& fabric, const auto& visit) {
  visit("link", fabric.link);
  visit("switch_link", fabric.switch_link);
  visit("core_link", fabric.core_link);
  visit("duplex", fabric.duplex);
  visit("latency", fabric.latency);
  visit("reduces", fabric.reduces);
  visit("rdma", fabric.rdma);
}

void each_field(Either<Cost> auto& cost, const auto& visit) {
  visit("overhead", cost.overhead);
  visit("latency", cost.latency);
  visit("rate", cost.rate);
  visit("gap", cost.gap);
  visit("cpu_written", cost.cpu_written);
}

void each_field(Either<Fallback> auto& fallback, const auto& visit) {
  visit("overhead", fallback.cost.overhead);
  visit("latency", fallback.cost.latency);
  visit("gap", fallback.cost.gap);
  visit("chunk", fallback.chunk);
  visit("per_chunk", fallback.per_chunk);
  visit("both_ways", fallback.both_ways);
}

void each_field(Either<NetworkCosts> auto& costs, const auto& visit) {
  visit("send_overhead", costs.send_overhead);
  visit("receive_overhead", costs.receive_overhead);
  visit("latency", costs.latency);
  visit("rate", costs.rate);
  visit("uncached", costs.uncached);
  visit("eager_limit", costs.eager_limit);
  visit("latency_limit", costs.latency_limit);
  visit("inline_limit", costs.inline_limit);
  visit("striped_from", costs.striped_from);
  visit("fragment", costs.fragment);
  visit("control", costs.control);
  visit("control_receive_overhead", costs.control_receive_overhead);
  visit("gap", costs.gap);
  visit("device_pointer", costs.device_pointer);
  visit("completion", costs.completion);
  visit("send_completion", costs.send_completion);
}

void each_field(Either<RuntimeCosts> auto& costs, const auto& visit) {
  visit("allocate_device", costs.allocate_device);
  visit("ipc_export", costs.ipc_export);
  visit("ipc_open", costs.ipc_open);
  visit("ipc_close", costs.ipc_close);
  visit("pin_base", costs.pin_base);
  visit("pin_per_gib", costs.pin_per_gib);
  visit("engine_block", costs.engine_block);
  visit("kernel_block", costs.kernel_block);
  visit("signal", costs.signal);
  visit("kernel_signal", costs.kernel_signal);
  visit("signal_gap", costs.signal_gap);
  visit("kernel_signal_gap", costs.kernel_signal_gap);
  visit("register_base", costs.register_base);
  visit("register_per_gib", costs.register_per_gib);
  visit("deregister", costs.deregister);
  visit("completion", costs.completion);
  visit("failed_poll", costs.failed_poll);
  visit("program_launch", costs.program_launch);
  visit("graph_launch", costs.graph_launch);
  visit("peer_check", costs.peer_check);
}

template <class T>
concept HasFields = requires(const T& part) { each_field(part, [](std::string_view, const auto&) {}); };

}  // namespace twinlink::platforms
