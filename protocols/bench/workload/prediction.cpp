// What a schedule takes by the times of single messages.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "protocols/bench/workload/measure_workload.hpp"

namespace twinlink::bench {

using workloads::Algorithm;
using workloads::bytes_of;
using workloads::Schedule;
using workloads::Shape;

namespace {

/// Of the step of one rank.
double step_us(const workloads::Step& step, int node, int per_node, const StepCosts& costs) {
  struct Traffic {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
  };
  Traffic within;
  Traffic between;
  for (const workloads::Transfer& transfer : step.transfers) {
    Traffic& traffic = transfer.peer / per_node == node ? within : between;
    traffic.sent += transfer.send.length;
    traffic.received += transfer.receive.length;
  }
  const auto time_of = [](const Traffic& traffic, const LinearCost& cost) {
    const std::uint64_t elements = std::max(traffic.sent, traffic.received);
    return elements == 0 ? 0 : cost.of(bytes_of(elements));
  };
  double time_us = std::max(time_of(within, costs.within), time_of(between, costs.between));
  for (const workloads::Local& each : step.locals) {
    if (each.to.length > 0) time_us += costs.local.of(bytes_of(each.to.length));
  }
  return time_us;
}

}  // namespace

double predicted_us(const Algorithm& algorithm, const Shape& shape, std::uint64_t elements, const StepCosts& costs) {
  std::vector<double> steps;
  for (int rank = 0; rank < shape.per_node; ++rank) {
    const Schedule schedule = algorithm.schedule(shape, rank, elements);
    steps.resize(std::max(steps.size(), schedule.steps.size()));
    for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
      steps[i] = std::max(steps[i], step_us(schedule.steps[i], 0, shape.per_node, costs));
    }
  }
  return std::accumulate(steps.begin(), steps.end(), 0.0);
}

}  // namespace twinlink::bench
