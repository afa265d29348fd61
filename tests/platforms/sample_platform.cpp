#include "tests/platforms/sample_platform.hpp"

namespace twinlink::platforms::testing {
namespace {

template <class T>
Sourced<T> sourced(T value) {
  return {value, {Quality::assumed, "round numbers for tests"}};
}

Cost cost(Rate rate) {
  return {.overhead = sourced(kHost), .latency = sourced(Piecewise({{Bytes{}, kLatency}})), .rate = sourced(rate)};
}

Gpu gpu(const std::string& name, const std::string& memory) {
  return {.name = name, .type = "sample", .memory_near = memory, .nic = "nic0"};
}

/// The first chunk at kStagedPeer on an idle machine.
Fallback fallback() {
  constexpr Bytes kChunk = 1_MiB;
  return {.cost = {.overhead = sourced(kHost), .latency = sourced(Piecewise({{Bytes{}, kLatency}}))},
          .through = "source",
          .chunk = sourced(kChunk),
          .per_chunk = sourced(kPerChunk)};
}

Link link(const std::string& name, const std::string& from, const std::string& to, Rate rate) {
  return {.name = name, .from = from, .to = to, .forward = sourced(rate), .backward = sourced(rate)};
}

}  // namespace

Platform sample_platform() {
  Platform platform{.name = "sample", .description = "round numbers", .file = "sample.yaml"};
  Node& node = platform.node;
  node.count = 4;
  platform.gpu_types = {{.name = "sample", .model = "Sample", .memory = sourced(6_GiB), .capability_major = 2}};
  node.memories = {{.name = "memory0", .copy_rate = sourced(Rate{8e9})},
                   {.name = "memory1", .copy_rate = sourced(Rate{8e9})}};
  node.gpus = {gpu("gpu0", "memory0"), gpu("gpu1", "memory1"), gpu("gpu2", "memory1")};
  node.nics = {{.name = "nic0"}};
  node.hubs = {{.name = "hub0"}, {.name = "hub1"}};
  node.links = {link("sockets", "memory0", "memory1", Rate{20e9}),
                link("up0", "hub0", "memory0", kHub),
                link("up1", "hub1", "memory1", kHub),
                link("bus0", "gpu0", "hub0", Rate{8e9}),
                link("bus1", "gpu1", "hub1", Rate{8e9}),
                link("bus2", "gpu2", "hub1", Rate{8e9}),
                link("nic", "nic0", "hub0", Rate{8e9})};
  platform.fabric = Fabric{.link = sourced(kWire)};

  using enum CopyKind;
  for (const CopyKind c : {pinned_to_device, pageable_to_device}) platform.copies[c] = cost(kDown);
  for (const CopyKind c : {device_to_pinned, device_to_pageable}) platform.copies[c] = cost(kUp);
  platform.copies[device_to_device] = cost(Rate{50e9});
  platform.copies[peer] = cost(kPeer);
  platform.copies[host_to_host] = cost(Rate{8e9});
  platform.copies[kernel_push] = cost(kKernelPush);
  platform.copies[kernel_pull] = cost(kKernelPull);
  platform.copies[resident_push] = cost(kResidentPush);
  platform.copies[kernel_local] = cost(Rate{50e9});
  platform.copies[kernel_to_pinned] = cost(kUp);
  platform.copies[kernel_from_pinned] = cost(kDown);
  platform.fallback = fallback();

  NetworkCosts network{.send_overhead = sourced(Piecewise({{Bytes{}, kHost}})), .receive_overhead = sourced(Seconds{})};
  network.latency = sourced(Piecewise({{Bytes{}, kLatency}}));
  network.eager_limit = sourced(kEager);
  network.control = sourced(kControl);
  platform.network = network;
  platform.intra_node = network;
  platform.intra_node.rate = sourced(Rate{3e9});
  RuntimeCosts& runtime = platform.runtime;
  runtime.ipc_export = sourced(kExport);
  runtime.ipc_open = sourced(kOpen);
  runtime.ipc_close = sourced(kClose);
  runtime.engine_block = sourced(kEngineBlock);
  runtime.kernel_block = sourced(kKernelBlock);
  runtime.signal = sourced(kSignal);
  runtime.register_base = sourced(kRegister);
  runtime.register_per_gib = sourced(kRegisterPerGib);
  runtime.deregister = sourced(kDeregister);
  return platform;
}

Platform sample_platform_with_rdma() {
  Platform platform = sample_platform();
  platform.gpu_types.front().capability_major = 3;
  for (Hub& hub : platform.node.hubs) {
    hub.passing.peer_read = sourced(kNearRead);
    hub.passing.peer_write = sourced(kNearWrite);
  }
  for (HostMemory& memory : platform.node.memories) {
    memory.passing = {.forwards = Forwards::adapters, .peer_read = sourced(kFarRead), .peer_write = sourced(kFarWrite)};
  }
  platform.node.links.front().latency = sourced(kSocketHop);
  platform.fabric.value().rdma = Rdma{.latency = sourced(kRdmaExtra)};
  return platform;
}

}  // namespace twinlink::platforms::testing
