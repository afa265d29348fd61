// What the launcher tells a process before MPI_Init.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace twinlink::real {

/// std::getenv, or a test's stand-in.
using Environ = std::function<const char*(const char*)>;
Environ process_environ();

/// The number of this process on its node, from the first of OMPI_COMM_WORLD_LOCAL_RANK, MV2_COMM_WORLD_LOCAL_RANK,
/// MVP_COMM_WORLD_LOCAL_RANK, MPI_LOCALRANKID, SLURM_LOCALID and LOCAL_RANK that is set; 0 without a launcher. A
/// UsageError names a variable that holds no such number.
int local_rank(const Environ& environ = process_environ());

/// The number of processes of this job on this node, from OMPI_COMM_WORLD_LOCAL_SIZE and its like. Empty: the launcher
/// does not say.
std::optional<int> local_ranks(const Environ& environ = process_environ());

/// The number of this process in the job, by the launcher's variables. Empty: there is no launcher.
std::optional<int> launcher_rank(const Environ& environ = process_environ());

std::string host_name();

}  // namespace twinlink::real
