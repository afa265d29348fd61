// Referee: holds what was simulated or predicted of a job against what the machine's wires let through. A time below
// that is a fault of ours, and no answer.
#pragma once

#include <vector>

#include "model/engine/flows/platform_names.hpp"
#include "platforms/machine/platform.hpp"
#include "platforms/topology/bounds.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/bench/results/results.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/core/path.hpp"

namespace twinlink::model {

class Referee {
 public:
  /// `platform` must outlive this object. A workload that is asked of must be on all of `places`, in the order of the
  /// ranks.
  explicit Referee(const Platform& platform, std::vector<Place> places = {});

  /// What bounds a row of the plan; nothing where the bytes of the workload are not known before.
  [[nodiscard]] Bound bound_of(const bench::WorkloadPlan& plan, const bench::WorkloadPoint& point) const;
  /// A std::logic_error where the row's time is below its bound: it names the wires. A prediction below it becomes the
  /// bound.
  void judge(const bench::WorkloadPlan& plan, bench::WorkloadPoint& point) const;

  /// The least time of a message between the places of a series, as its pattern counts it: half of there and back, one
  /// way, or both ways at once. No other places are asked.
  [[nodiscard]] Bound bound_of(const bench::Series& series, Bytes size) const;
  /// The same std::logic_error where a point of the series, or any of them, is below its bound.
  void judge(const bench::Series& series, const bench::Point& point) const;
  void judge(const bench::Series& series) const;

 private:
  Topology topology_;
  std::vector<Place> places_;
};

}  // namespace twinlink::model
