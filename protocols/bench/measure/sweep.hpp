// What every kind of curve has in common: its sizes, passes, rounds and points.
#pragma once

#include <functional>
#include <optional>

#include "protocols/bench/measure/plan.hpp"
#include "protocols/core/measured_rank.hpp"

namespace twinlink::bench {

/// A UsageError for a plan that makes no sense. Of a curve without a peer, plan.second need not exist.
void check_plan(const Rank& rank, const Plan& plan, bool has_peer);

[[nodiscard]] const Repeats& repeats_of(const Plan& plan, Bytes size);

/// What a rank's CPU has spent since this began.
class CpuTime {
 public:
  explicit CpuTime(const MeasuredRank& rank) : rank_(rank), start_(rank.cpu_time()) {}
  /// On each of `messages`, in microseconds.
  [[nodiscard]] std::optional<double> on_each(double messages) const;

 private:
  const MeasuredRank& rank_;
  std::optional<Seconds> start_;
};

/// All sizes, once for every pass. `directions` go at the same time; `tell` adds what is known of the size just
/// measured. `telling`: as plan.first, which tells of every point.
void sweep(const Plan& plan, bool telling, Series& series, double directions,
           const std::function<Rounds(Bytes)>& measure_size, const std::function<void(Point&)>& tell);

}  // namespace twinlink::bench
