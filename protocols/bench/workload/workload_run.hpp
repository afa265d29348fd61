// Times of a workload of any kind: schedules, a recorded job, work on an array.
#pragma once

#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/core/measured_rank.hpp"

namespace twinlink::bench {

/// What stands against the plan on this rank, before anything is sent: a UsageError for an algorithm that cannot do
/// this shape, an UnavailableError for a pair that its protocol refuses.
void require_possible(const Rank& rank, const WorkloadPlan& plan);

/// Every rank of the job calls it with the same plan. Rank 0 gets the series, the others an empty one. A CheckError for
/// wrong bytes, or names rank, step and peer of what failed.
WorkloadSeries measure_workload(MeasuredRank& rank, const WorkloadPlan& plan);

}  // namespace twinlink::bench
