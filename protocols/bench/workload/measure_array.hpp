// Times of a reshape or a Fourier transform of an array that is shared out, in both worlds.
#pragma once

#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/core/measured_rank.hpp"

namespace twinlink::bench {

/// require_possible() and measure_workload() of a plan with an array.
void require_array(const Rank& rank, const WorkloadPlan& plan);
WorkloadSeries measure_array(MeasuredRank& rank, const WorkloadPlan& plan);

}  // namespace twinlink::bench
