#include "platforms/import/assumed_costs.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace twinlink::model {
namespace {

const char* const kAsH200 = "as measured beside an H200 with CUDA 12, rounded; a guess for this machine";
const char* const kAsOpenMpi = "as measured with Open MPI 4.1 in shared memory, rounded; a guess for this machine";
const char* const kAsUcx = "as Open MPI with UCX on 200 Gbit/s InfiniBand, rounded; a guess for this machine";
const char* const kAsUcxConstants = "UCX's constants for registering memory; a guess for this machine";

Sourced<Piecewise> curve(Seconds value, const char* why) { return assumed(Piecewise(value), why); }

/// Without a rate of its own a copy is as fast as the links let it be.
Cost cost(Seconds overhead, Seconds latency, std::optional<Rate> rate = std::nullopt) {
  Cost result{.overhead = assumed(overhead, kAsH200), .latency = curve(latency, kAsH200)};
  if (rate) result.rate = assumed(*rate, kAsH200);
  return result;
}

void assume_copies(Platform& platform) {
  using enum CopyKind;
  CopyCosts& copies = platform.copies;
  copies[pinned_to_device] = cost(1.6_us, 3.5_us);
  copies[device_to_pinned] = cost(1.5_us, 4.3_us);
  copies[pageable_to_device] = cost(1.6_us, 6.0_us);
  copies[device_to_pageable] = cost(1.5_us, 9.0_us);
  copies[device_to_device] = cost(1.7_us, 3.0_us, 500.0_GBps);
  copies[peer] = copies[peer_read] = cost(1.7_us, 3.4_us);
  copies[host_to_host] = cost(0.1_us, 0.0_us);
  copies[kernel_push] = copies[kernel_pull] = cost(3.5_us, 4.2_us);
  copies[kernel_local] = cost(3.5_us, 3.0_us, 500.0_GBps);
  copies[kernel_to_pinned] = copies[kernel_from_pinned] = cost(3.5_us, 5.0_us);
  copies[resident_push] = cost(0.1_us, 4.4_us, 45.0_GBps);
  constexpr int kInFlight = 32;
  platform.fallback = Fallback{.cost = cost(1.7_us, 13.0_us),
                               .through = "source",
                               .chunk = assumed(512_KiB, kAsH200),
                               .per_chunk = assumed(2.4_us, kAsH200),
                               .in_flight = kInFlight};
}

RuntimeCosts assumed_runtime() {
  return {.allocate_device = assumed(80.0_us, kAsH200),
          .ipc_export = assumed(0.05_us, kAsH200),
          .ipc_open = assumed(900.0_us, kAsH200),
          .ipc_close = assumed(35.0_us, kAsH200),
          .pin_base = assumed(45.0_us, kAsH200),
          .pin_per_gib = assumed(Seconds{0.2}, kAsH200),
          .engine_block = assumed(9.0_ns, kAsH200),
          .kernel_block = assumed(7.0_ns, kAsH200),
          .signal = assumed(1.6_us, kAsH200),
          .register_base = assumed(16.0_us, kAsUcxConstants),
          .register_per_gib = assumed(Seconds{0.064}, kAsUcxConstants),
          .deregister = assumed(16.0_us, kAsUcxConstants)};
}

NetworkCosts assumed_shared_memory() {
  return {.send_overhead = curve(0.1_us, kAsOpenMpi),
          .receive_overhead = assumed(0.1_us, kAsOpenMpi),
          .latency = assumed(Piecewise({{1_KiB, 0.35_us}, {16_KiB, 2.1_us}}), kAsOpenMpi),
          .rate = assumed(10.0_GBps, kAsOpenMpi),
          .eager_limit = assumed(4040_B, kAsOpenMpi),
          .control = assumed(0.25_us, kAsOpenMpi),
          .copied_by = CopiedBy::both,
          .fragment = assumed(32_KiB, kAsOpenMpi)};
}

NetworkCosts assumed_network() {
  return {.send_overhead = curve(0.3_us, kAsUcx),
          .receive_overhead = assumed(0.2_us, kAsUcx),
          .latency = assumed(Piecewise({{1_B, 0.9_us}, {256_B, 1.6_us}, {4_KiB, 2.6_us}, {64_KiB, 6.0_us}}), kAsUcx),
          .eager_limit = assumed(8_KiB, kAsUcx),
          .control = assumed(1.2_us, kAsUcx)};
}

}  // namespace

void assume_costs(Platform& platform) {
  for (HostMemory& memory : platform.node.memories) {
    memory.copy_rate = assumed(10.0_GBps, "one core's memcpy on servers of 2018 to 2024: 8 to 15 GB/s");
  }
  assume_copies(platform);
  platform.runtime = assumed_runtime();
  platform.intra_node = assumed_shared_memory();
  if (platform.fabric) platform.network = assumed_network();
}

}  // namespace twinlink::model
