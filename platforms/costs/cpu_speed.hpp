// What software takes on a processor: the work of driver and library, whose parts say how long it takes on the one on
// which it was measured, over the speed of the processor that runs it.
#pragma once

#include <cstddef>

#include "platforms/topology/topology.hpp"

namespace twinlink::model {

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

}  // namespace twinlink::model
