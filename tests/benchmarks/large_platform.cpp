#include "tests/benchmarks/large_platform.hpp"

#include <string>

namespace twinlink::model {
namespace {

template <class T>
Sourced<T> sourced(T value) {
  return {value, {Quality::assumed, "round numbers for benchmarks"}};
}

Sourced<Piecewise> constant(Seconds latency) { return sourced(Piecewise({{Bytes{}, latency}})); }

Cost cost(Rate rate) { return {.overhead = sourced(1.0_us), .latency = constant(4.0_us), .rate = sourced(rate)}; }

Link link(const std::string& name, const std::string& from, const std::string& to, Rate rate) {
  return {.name = name, .from = from, .to = to, .forward = sourced(rate), .backward = sourced(rate)};
}

Node node_of(int gpus) {
  Node node;
  node.hubs = {{.name = "nvswitch"}, {.name = "pcie0"}, {.name = "pcie1"}};
  node.links.push_back(link("sockets", "numa0", "numa1", 40.0_GBps));
  for (const std::string socket : {"0", "1"}) {
    node.memories.push_back({.name = "numa" + socket, .copy_rate = sourced(10.0_GBps)});
    node.nics.push_back({.name = "nic" + socket});
    node.links.push_back(link("root" + socket, "pcie" + socket, "numa" + socket, 60.0_GBps));
    node.links.push_back(link("nic" + socket + "-pcie", "nic" + socket, "pcie" + socket, 25.0_GBps));
  }
  for (int i = 0; i < gpus; ++i) {
    const std::string socket = i < gpus / 2 ? "0" : "1";
    const std::string name = "gpu" + std::to_string(i);
    node.gpus.push_back({.name = name, .type = "sample", .memory_near = "numa" + socket, .nic = "nic" + socket});
    node.links.push_back(link(name + "-pcie", name, "pcie" + socket, 25.0_GBps));
    node.links.push_back(link(name + "-nvlink", name, "nvswitch", 300.0_GBps));
  }
  return node;
}

}  // namespace

Platform large_platform(int nodes, int gpus_per_node) {
  Platform platform{.name = "large", .description = "round numbers", .file = "large_platform.cpp"};
  platform.gpu_types = {{.name = "sample", .model = "Sample", .memory = sourced(40_GiB), .capability_major = 9}};
  platform.node = node_of(gpus_per_node);
  platform.node.count = nodes;
  platform.fabric = Fabric{.link = sourced(25.0_GBps)};

  using enum CopyKind;
  for (const CopyKind kind :
       {pinned_to_device, device_to_pinned, pageable_to_device, device_to_pageable, host_to_host}) {
    platform.copies[kind] = cost(12.0_GBps);
  }
  platform.copies[device_to_device] = cost(600.0_GBps);
  platform.copies[peer] = cost(250.0_GBps);

  NetworkCosts network{.send_overhead = constant(0.5_us), .receive_overhead = sourced(0.2_us)};
  network.latency = constant(1.5_us);
  network.eager_limit = sourced(8_KiB);
  network.control = sourced(1.0_us);
  platform.network = network;
  platform.intra_node = network;
  platform.intra_node.rate = sourced(8.0_GBps);

  platform.runtime.allocate_device = sourced(20.0_us);
  platform.runtime.ipc_export = sourced(1.0_us);
  platform.runtime.ipc_open = sourced(90.0_us);
  platform.runtime.ipc_close = sourced(30.0_us);
  platform.runtime.pin_base = sourced(10.0_us);
  platform.runtime.pin_per_gib = sourced(Seconds{0.1});
  return platform;
}

}  // namespace twinlink::model
