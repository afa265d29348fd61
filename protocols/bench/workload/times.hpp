// Times of all ranks of a job, iteration by iteration.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "protocols/bench/measure/collectives.hpp"
#include "protocols/bench/measure/warm_up.hpp"
#include "protocols/bench/workload/measure_workload.hpp"

namespace twinlink::bench {

struct Times {
  std::vector<std::vector<double>> by_rank{};  ///< us

  /// What `which` says of the ranks of each iteration.
  [[nodiscard]] std::vector<double> of(const std::function<double(const std::vector<double>&)>& which) const;
};

/// For of(): of the slowest rank.
double slowest(const std::vector<double>& ranks);

/// Enters the times, the spread, and who was slowest most often.
void take_times(WorkloadPoint& point, const Times& times);

/// The rounds of one size: `round(counts)` warms up, is timed, and goes on beside others; `verify()` before and after.
template <typename Verify, typename Round>
void run_rounds(const WorkloadPlan& plan, WarmUp& warm_up, Verify verify, Round round) {
  if (plan.verify) verify();
  warm_up(plan.warmup, [&] { round(false); });
  if (plan.company.meet) plan.company.meet();
  for (int i = 0; i < plan.iterations; ++i) round(true);
  if (plan.company.meet) {
    for (std::size_t i = 0; plan.company.goes_on(i); ++i) round(false);
  }
  if (plan.verify) verify();
}

}  // namespace twinlink::bench
