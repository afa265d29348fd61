// What each rank should have of an array, by what its GPU and its way out of it can do.
#pragma once

#include <vector>

#include "model/engine/flows/platform_names.hpp"
#include "platforms/machine/platform.hpp"
#include "protocols/bench/workload/array_job.hpp"
#include "protocols/core/path.hpp"

namespace twinlink::model {

/// In proportion to how many elements a rank is through with in a second: its passes over the GPU's memory, and the way
/// of what it sends through its GPU's links, and through an adapter that ranks of its node share. An InputError where
/// the platform does not say what transforms take.
std::vector<double> shares_by_machine(const Platform& platform, const std::vector<Place>& places,
                                      const bench::ArrayJob& job);

}  // namespace twinlink::model
