#include "model/engine/rank/routes.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "platforms/costs/transfer_costs.hpp"

namespace twinlink::model {
namespace {

/// What flows at `rate` in that time.
Bytes flowing_in(Seconds time, Rate rate) {
  return Bytes{static_cast<std::uint64_t>(std::llround(time.value() * rate.bytes_per_second()))};
}

}  // namespace

const std::vector<FlowRoute>& Routes::of(Operation& operation) {
  const Site& from = operation.from.site();
  if (operation.is_copy() && !operation.by_adapter) {
    const std::tuple key{from.node, operation.from_end, operation.to_end, operation.lacking * 2 < operation.size};
    const auto known = copies_.find(key);
    if (known != copies_.end()) return known->second;
    return copies_.emplace(key, std::apply([&](auto... of) { return world_.machine.copy(of...); }, key)).first->second;
  }
  const Location target = ways_.target(operation);
  if (ways_.by_shared_memory(operation.peer)) {
    if (world_.observer) operation.report.route = world_.topology.describe(from.location, target);
    const auto& copying = operation.stages[operation.stage].copying;
    return by_cpus_ = world_.machine.message(from.node, from.location, target, {copying.data(), copying.size()});
  }
  const auto nics = [&] {
    return ways_.adapters(operation.peer, from.location, target, operation.size, operation.turn);
  };
  if (world_.observer) operation.report.route = world_.topology.describe(from.location, nics(), target);
  const std::tuple key{operation.peer, from.location, target, ways_.costs(operation.peer).is_striped(operation.size),
                       operation.turn};
  if (std::exchange(fabric_changes_, world_.machine.fabric_changes()) != fabric_changes_) transfers_.clear();
  std::vector<FlowRoute>& routes = transfers_[key];
  if (routes.empty()) routes = world_.machine.transfer(from, nics(), {world_.place(operation.peer).node, target});
  return routes;
}

bool Routes::are_cut(Operation& operation) {
  if (!world_.machine.any_cut()) return false;
  return std::ranges::any_of(of(operation), [&](const FlowRoute& route) { return world_.machine.is_cut(route); });
}

Bytes Routes::copied_in(Seconds time, const Operation& message) const {
  return flowing_in(time, rate_of_cpus(message));
}

/// At what rate the bytes of a message flow that CPUs copy and nobody disturbs.
Rate Routes::rate_of_cpus(const Operation& message) const {
  const Location from = message.from.site().location;
  return *least_of(world_.platform().intra_node.rate->value, narrowest(world_.topology, from, ways_.target(message)));
}

Bytes Routes::bytes_of(Operation& operation) {
  const Part& to = operation.partner ? operation.partner->to : operation.to;
  operation.lacking = world_.go_through_caches({&operation.from, &to}, operation.size);
  if (operation.by_adapter) return operation.size;
  if (operation.is_copy()) {
    if (const CopyCost& cost = world_.copy_cost(operation.from_end, operation.to_end); cost.chunks) {
      return operation.size + flowing_in(cost.chunks->further(operation.size), *cost.rate);
    }
  }
  const auto& uncached = world_.platform().intra_node.uncached;
  if (operation.lacking == Bytes{} || !uncached) return operation.size;
  Seconds longer{};
  Rate rate{};
  if (operation.is_copy()) {
    const bool by_cpu = operation.occupies_cpu && !operation.by_event;
    if (!by_cpu) return operation.size;
    // What such a copy takes by its size may hold some of that time already.
    rate = *world_.copy_cost(operation.from_end, operation.to_end).rate;
    const Seconds held = operation.report.latency + operation.size / rate;
    longer = operation.lacking / uncached->value - held * share_of(operation.lacking, operation.size);
    if (longer <= Seconds{}) return operation.size;
  } else {
    if (!ways_.by_shared_memory(operation.peer)) return operation.size;
    rate = rate_of_cpus(operation);
    longer = operation.lacking / std::min(uncached->value, rate) - operation.lacking / rate;
  }
  return operation.size + flowing_in(longer, rate);
}

}  // namespace twinlink::model
