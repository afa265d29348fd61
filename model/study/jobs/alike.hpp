// Which ranks of a job do the same at the same time, so that some of them, simulated, stand for all.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/engine/flows/folding.hpp"
#include "model/engine/flows/platform_names.hpp"
#include "platforms/machine/platform.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/core/path.hpp"

namespace twinlink::model {

/// What was found of a job.
struct Alike {
  std::shared_ptr<const Folding> folding{};  ///< null: each rank is simulated
  std::string why_all{};                     ///< then; empty: some stand for all
};

/// The fewest ranks that may stand for all, nodes first and then ranks of each: of a plan whose shape() is that of its
/// places. What is looked at, for every rank and whom it has messages with: that its schedules are those of the rank
/// that stands for it, moved, with the same lengths at every size and the same contents; that messages that can be
/// moved onto each other pass as many switches, and at each place of their ways links of one rate that all of these
/// cross equally often. So what is simulated is what each rank and each link has in the job as it is. Protocols do the
/// same for every pair of ranks on such places, where their numbers decide nothing. It takes no longer than listing all
/// messages.
Alike find_alike(const Platform& platform, const std::vector<Place>& places, const bench::WorkloadPlan& plan);

}  // namespace twinlink::model
