// The options of every command that starts a job: on which devices, bound how.
#pragma once

#include "real/job/job.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace twinlink::real {

/// `options` must live until the command line has been parsed.
void add_job_options(CLI::App& command, JobOptions& options);

}  // namespace twinlink::real
