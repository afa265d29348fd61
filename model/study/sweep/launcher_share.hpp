// Which part of a study a process of a launcher does.
#pragma once

namespace twinlink::model {

/// This process's number among all that a launcher started.
struct Share {
  int rank = 0;
  int ranks = 1;
};

/// By the variables of mpirun (Open MPI, and those with Hydra), of srun, and of a job array of Slurm. Of a launcher
/// that started one process the next one counts: a task of an array may start itself by srun. A UsageError for
/// variables that name no share.
Share share_of_launcher();

}  // namespace twinlink::model
