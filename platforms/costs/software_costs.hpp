// What software takes on a processor: the work of driver and library, whose parts say how long it takes on the one on
// which it was measured, over the speed of the processor that runs it.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "platforms/topology/topology.hpp"

namespace twinlink::platforms {

/// How fast the CPUs of a memory run the code of driver and library: 1 where nothing is said.
inline double cpu_speed(const HostMemory& memory) { return memory.speed ? memory.speed->value.of_one : 1; }
/// The same of those that ranks on a GPU run on.
inline double speed_near(const Topology& topology, std::size_t gpu) {
  return cpu_speed(topology.graph().memories[topology.memory_near(gpu)]);
}

/// What takes `work` where `speed` is 1.
inline Seconds on_cpu(Seconds work, double speed) { return work / speed; }
/// What the CPU pays of messages, and that as a part of control messages. Latencies and rates stay: they are those of
/// adapters, caches and copies.
NetworkCosts on_cpu(NetworkCosts costs, double speed);
/// What the CPU pays of driver calls. What the GPU's engines and kernels take stays.
RuntimeCosts on_cpu(RuntimeCosts costs, double speed);
/// What the CPU pays to start copies.
CopyCosts on_cpu(CopyCosts costs, double speed);

/// A number of the driver that not every platform has. An InputError that names it.
Seconds needed(const Platform& platform, const std::optional<Sourced<Seconds>>& cost, std::string_view name);

// `costs` are those of the CPU that calls; an InputError where the platform does not say them.

/// Page-locking `size`.
Seconds pinning(const RuntimeCosts& costs, Bytes size);
/// The adapter learns of `size`.
Seconds registering(const Platform& platform, const RuntimeCosts& costs, Bytes size);
/// What `blocks` that lie apart add to a copy.
Seconds blocks_apart(const Platform& platform, const RuntimeCosts& costs, Engine engine, std::size_t blocks);

}  // namespace twinlink::platforms
