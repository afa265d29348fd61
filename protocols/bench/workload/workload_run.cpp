#include "protocols/bench/workload/workload_run.hpp"

#include "protocols/bench/workload/measure_array.hpp"
#include "protocols/bench/workload/measure_trace.hpp"

namespace twinlink::bench {

void require_possible(const Rank& rank, const WorkloadPlan& plan) {
  if (plan.array() != nullptr) return require_array(rank, plan);
  plan.trace() != nullptr ? require_playable(rank, plan) : require_schedules(rank, plan);
}

WorkloadSeries measure_workload(MeasuredRank& rank, const WorkloadPlan& plan) {
  if (plan.array() != nullptr) return measure_array(rank, plan);
  return plan.trace() != nullptr ? measure_trace(rank, plan) : measure_schedules(rank, plan);
}

}  // namespace twinlink::bench
