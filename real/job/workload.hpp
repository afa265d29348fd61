// `twinlink-real workload`: collectives and patterns over all ranks of the job.
#pragma once

#include <filesystem>
#include <string>

#include "protocols/bench/workload/workload_options.hpp"
#include "protocols/core/errors.hpp"
#include "real/job/job.hpp"

namespace twinlink::real {

/// Prints and stores what rank 0 has measured. An UnavailableError where a protocol refuses a pair.
ExitCode measure_workload(const JobOptions& job_options, const bench::WorkloadOptions& options,
                          const std::filesystem::path& timeline, const std::string& program);

}  // namespace twinlink::real
