#include "platforms/costs/block_costs.hpp"

namespace twinlink::model {

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

}  // namespace twinlink::model
