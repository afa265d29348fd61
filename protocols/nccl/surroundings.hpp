// Surroundings: what a job's ranks make of what they have agreed on, all alike: how they stand in rings and trees, and
// the ground on which the rule chooses.
#pragma once

#include "protocols/core/rank.hpp"
#include "protocols/nccl/agreement.hpp"
#include "protocols/nccl/formation.hpp"
#include "protocols/nccl/nccl_options.hpp"

namespace twinlink::nccl {

/// Fills in the ground and the channels of `options`, whose levels are settled. An UnavailableError where the user
/// wants nothing but switches, and they do not join the ranks.
Formation look_around(const Rank& rank, const Agreement& all, Options& options);

}  // namespace twinlink::nccl
