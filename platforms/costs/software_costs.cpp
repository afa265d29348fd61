#include "platforms/costs/software_costs.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace twinlink::platforms {
namespace {

void scale(Sourced<Seconds>& cost, double speed) { cost.value = on_cpu(cost.value, speed); }

void scale(Sourced<Piecewise>& cost, double speed) {
  std::vector<Piecewise::Knot> knots = cost.value.knots();
  for (Piecewise::Knot& knot : knots) knot.cost = on_cpu(knot.cost, speed);
  cost.value = Piecewise(std::move(knots));
}

template <class Cost>
void scale(std::optional<Cost>& cost, double speed) {
  if (cost) scale(*cost, speed);
}

/// A cost with a share that grows with the size.
Seconds per_gib(Seconds base, Seconds share, Bytes size) {
  return base + share * (static_cast<double>(size.count()) / static_cast<double>((1_GiB).count()));
}

}  // namespace

NetworkCosts on_cpu(NetworkCosts costs, double speed) {
  const Seconds sending = costs.sending_control();
  scale(costs.send_overhead, speed);
  costs.control.value += on_cpu(sending, speed) - sending;
  scale(costs.receive_overhead, speed);
  scale(costs.control_receive_overhead, speed);
  scale(costs.gap, speed);
  scale(costs.completion, speed);
  scale(costs.device_pointer, speed);
  scale(costs.send_completion, speed);
  return costs;
}

RuntimeCosts on_cpu(RuntimeCosts costs, double speed) {
  for (Sourced<Seconds>* const cost : {&costs.allocate_device, &costs.ipc_export, &costs.ipc_open, &costs.ipc_close,
                                       &costs.pin_base, &costs.pin_per_gib}) {
    scale(*cost, speed);
  }
  for (std::optional<Sourced<Seconds>>* const cost :
       {&costs.register_base, &costs.register_per_gib, &costs.deregister, &costs.completion, &costs.failed_poll,
        &costs.program_launch, &costs.graph_launch, &costs.peer_check}) {
    scale(*cost, speed);
  }
  return costs;
}

CopyCosts on_cpu(CopyCosts costs, double speed) {
  for (auto& [kind, cost] : costs) scale(cost.overhead, speed);
  return costs;
}

Seconds needed(const Platform& platform, const std::optional<Sourced<Seconds>>& cost, std::string_view name) {
  if (cost) return cost->value;
  throw InputError(platform.file + ": error: the platform has no 'driver.runtime." + std::string(name) +
                   "', which this run needs");
}

Seconds pinning(const RuntimeCosts& costs, Bytes size) {
  return per_gib(costs.pin_base.value, costs.pin_per_gib.value, size);
}

Seconds registering(const Platform& platform, const RuntimeCosts& costs, Bytes size) {
  return per_gib(needed(platform, costs.register_base, "register_base"),
                 needed(platform, costs.register_per_gib, "register_per_gib"), size);
}

Seconds blocks_apart(const Platform& platform, const RuntimeCosts& costs, Engine engine, std::size_t blocks) {
  const Seconds each = engine == Engine::kernel ? needed(platform, costs.kernel_block, "kernel_block")
                                                : needed(platform, costs.engine_block, "engine_block");
  return each * static_cast<double>(blocks);
}

}  // namespace twinlink::platforms
