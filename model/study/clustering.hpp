// Several jobs at once on one machine: what each loses by the others.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "model/engine/flows/platform_names.hpp"
#include "model/engine/simulation.hpp"
#include "platforms/machine/platform.hpp"
#include "protocols/bench/workload/measure_workload.hpp"

namespace twinlink::model {

/// Jobs of the same workload with as many ranks each, one behind the other in the list of places; behind them traffic
/// in the background.
struct Cluster {
  int jobs = 1;
  int ranks = 2;  ///< of each job
  std::vector<Place> places{};
  /// What the places that are left do until all jobs have ended. Empty: nothing. Its first algorithm, with the jobs'
  /// sizes; 1 MiB beside a trace.
  const workloads::Workload* background = nullptr;
};

/// Gives each job a place in turn, and so the background, instead of all of one and then all of the next: so they share
/// nodes.
void deal_places(Cluster& cluster);

struct JobTimes {
  std::string algorithm{};
  double alone_us = 0;     ///< the others stand by
  double together_us = 0;  ///< of an iteration while all others are at work; medians, until the slowest rank is through

  [[nodiscard]] double slower() const { return together_us / alone_us; }
};

struct ClusterPoint {
  Bytes size{};
  std::vector<JobTimes> jobs{};
};

/// Each job first runs alone, then all at once, in one simulation. Whoever has done its iterations goes on until all
/// have. A UsageError for plans of several algorithms, and as measure_workload(). With SimGrid's flows once per
/// process.
std::vector<ClusterPoint> measure_cluster(const Platform& platform, const bench::WorkloadPlan& plan,
                                          const Cluster& cluster,
                                          const std::function<void(const ClusterPoint&)>& on_point,
                                          const SimulationOptions& options = {});

void print_heading(const bench::WorkloadPlan& plan, const Cluster& cluster, std::ostream& out);
void print_point(const ClusterPoint& point, std::ostream& out);
nlohmann::json to_json(const bench::WorkloadPlan& plan, const Cluster& cluster,
                       const std::vector<ClusterPoint>& points);
std::string to_csv(const std::vector<ClusterPoint>& points);

}  // namespace twinlink::model
