#include "platforms/costs/kernel_costs.hpp"

#include <algorithm>

namespace twinlink::platforms {

std::optional<Seconds> launching(const Topology& topology, std::size_t gpu, bool as_graph) {
  const RuntimeCosts& costs = topology.platform().runtime;
  const double speed = speed_near(topology, gpu);
  const auto& call = as_graph && costs.graph_launch ? costs.graph_launch : costs.program_launch;
  if (call) return on_cpu(call->value, speed);
  const CopyCost copy = find_copy_cost(topology, kernel_on(gpu), kernel_on(gpu));
  return copy.cost == nullptr ? std::nullopt : std::optional(copy.starting(speed));
}

std::optional<Seconds> starting_blocks(const Topology& topology, std::size_t gpu, bool as_graph) {
  const BlockCosts& costs = topology.type_of(gpu).blocks.value();
  const auto& start = as_graph && costs.graph_start ? costs.graph_start : costs.start;
  if (start) return start->value;
  const CopyCost copy = find_copy_cost(topology, kernel_on(gpu), kernel_on(gpu));
  return copy.cost == nullptr ? std::nullopt : std::optional(copy.latency(Bytes{}));
}

Seconds loading(const Topology& topology, Location slots, Location own) {
  return slots == own ? Seconds{} : topology.latency(slots, own) * 2;
}

/// What the shared memory of a block holds of complex numbers of 16 B: 64 KiB.
constexpr std::uint64_t kInOnePass = 4096;

int passes_of(std::uint64_t length) {
  int passes = 1;
  for (std::uint64_t held = kInOnePass; held < length && passes < 8; held *= kInOnePass) ++passes;
  return passes;
}

Seconds transform_time(const TransformCosts& costs, const Transform& transform) {
  std::uint64_t passes = 0;
  for (int i = 0; i < transform.dimensions; ++i) {
    passes += static_cast<std::uint64_t>(passes_of(transform.lengths[static_cast<std::size_t>(i)]));
  }
  const Seconds memory = transform.bytes() * (2 * passes) / costs.memory.value;
  const Seconds compute{transform.operations() / costs.compute.value.per_second};
  return std::max(memory, compute);
}

}  // namespace twinlink::platforms
