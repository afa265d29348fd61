// One job of `workload` on a simulated machine: what it is told, what it runs, and how long that takes.
#pragma once

#include <string>
#include <vector>

#include "model/engine/flows/platform_names.hpp"
#include "model/engine/simulation.hpp"
#include "model/study/jobs/alike.hpp"
#include "model/study/jobs/protocol_choice.hpp"
#include "model/study/message_times.hpp"
#include "platforms/machine/platform.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/bench/workload/workload_options.hpp"
#include "protocols/core/path.hpp"

namespace twinlink::model {

/// What `workload` is told of a job, besides the machine.
struct SimulatedJob {
  bench::WorkloadOptions workload{};
  std::string place = "packed";  ///< "packed", "spread", or a file
  int ranks = 0;                 ///< 0: all places
  /// Some ranks may stand for all where the job has so many at least: below that all take no second.
  int alike_from = 64;
  SimulationOptions simulation{};
};

/// The protocols where the user names none: the shortest ways between `places`. What is named stands.
ChosenProtocols choose_protocols(bench::WorkloadOptions& workload, const Platform& platform,
                                 const std::vector<Place>& places);

/// What each rank has of its GPU's memory.
std::function<Bytes(RankId)> room_of(const Platform& platform, const std::vector<Place>& places);

/// A job on its places, ready to be measured.
struct ReadyJob {
  bench::WorkloadPlan plan{};
  std::vector<Place> places{};
  Alike alike{};  ///< the plan and the simulation take it as it is

  /// Each rank is simulated after all, and each iteration of a recorded job.
  void take_all(std::string why);
};

/// The options know which library runs on the platform: its presets, and by whose rules it chooses.
void tell_library(bench::WorkloadOptions& options, const Platform& platform);
/// A job whose protocols are chosen, on a platform that was read for them, which must outlive the job: a Referee judges
/// its rows. A UsageError or InputError for what does not go together.
ReadyJob ready_job(const Platform& platform, SimulatedJob job);

/// Faults count from the first timed iteration, for nobody knows how long what comes before it takes. `begins` is set
/// by the simulation, and outlives it.
void let_faults_begin(bench::WorkloadPlan& plan, SimulationOptions& simulation, std::function<void()>& begins);

/// Times of the job on a platform, by size, with the algorithm of each. With SimGrid's flows once per process.
MessageTimes simulate_job(const Platform& platform, const SimulatedJob& job);

/// simulate_job() in processes of their own.
Timed timed(const SimulatedJob& job, int at_once, bench::OnProgress on_progress);

}  // namespace twinlink::model
