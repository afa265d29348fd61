// Surroundings: what joins the GPUs of a job, by the system, for libraries of collectives to choose by.
#pragma once

#include "real/rank/neighbours.hpp"
#include "real/system/mpi.hpp"

namespace twinlink::real {

/// Puts what NVML and hwloc tell of this node into the facts of the places, and into the levels of the paths to ranks
/// of this node. What they do not tell is left as nobody knows it. Collective.
void look_around(const Mpi& mpi, Neighbours& neighbours);

}  // namespace twinlink::real
