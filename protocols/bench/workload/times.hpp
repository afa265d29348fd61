// Times of all ranks of a job, iteration by iteration.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "protocols/bench/measure/collectives.hpp"
#include "protocols/bench/workload/measure_workload.hpp"

namespace twinlink::bench {

struct Times {
  std::vector<std::vector<double>> by_rank{};  ///< us

  /// Of each iteration what `which` says of its ranks.
  [[nodiscard]] std::vector<double> of(const std::function<double(const std::vector<double>&)>& which) const;
};

/// For of(): of the slowest rank.
double slowest(const std::vector<double>& ranks);

/// Enters the times, the spread, and who was slowest most often.
void take_times(WorkloadPoint& point, const Times& times);

}  // namespace twinlink::bench
