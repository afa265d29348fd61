// What a plan may run, and what each rank does of it.
#pragma once

#include <string>
#include <vector>

#include "protocols/bench/workload/measure_workload.hpp"

namespace twinlink::bench {

/// Why the algorithm cannot do the work; empty: it can.
std::string refusal_of(const Scheduled& work, const workloads::Algorithm& algorithm, const workloads::Shape& shape);

/// Of a plan with schedules: the one that the user or the MPI library chose, or all that the shape allows; a UsageError
/// where there is none. Of a training step that is split nothing is predicted, and rings are taken where nobody
/// chooses.
std::vector<const workloads::Algorithm*> candidates(const WorkloadPlan& plan, const workloads::Shape& shape,
                                                    Bytes size);

// Of a plan with schedules.

/// What its MPI library takes: of a plan that is tuned. A UsageError as from workloads::mpi::choose().
workloads::mpi::Choice chosen_by_library(const WorkloadPlan& plan, const workloads::Shape& shape, Bytes size);
/// On which the ranks of the job lie.
int nodes_of(const Rank& rank);
workloads::Shape shape_for(const Rank& rank, const WorkloadPlan& plan);
workloads::Schedule schedule_of(const Scheduled& work, const workloads::Algorithm& algorithm,
                                const workloads::Shape& shape, int rank, Bytes size,
                                const workloads::TrainingParts& parts = {});
/// Why protocols refuse this rank's messages; empty: none does.
std::string refusal_of(const WorkloadPlan& plan, const Rank& rank, const workloads::Schedule& schedule);

}  // namespace twinlink::bench
