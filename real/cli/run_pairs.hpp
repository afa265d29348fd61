// `twinlink-real run --pairs`: several pairs of ranks at once.
#pragma once

#include <filesystem>
#include <string>

#include "protocols/bench/cli/options.hpp"
#include "protocols/core/protocol.hpp"
#include "real/job/job.hpp"

namespace twinlink::real {

/// An UnavailableError where `protocol` does not support `path`. A way that it falls back to is noted on standard
/// error.
void require_path(const Protocol& protocol, const Path& path);

/// Runs options.pairs, of which there is one at least. `expect`, unless it is empty, is the simulated result of the
/// first pair; those of the others are named after it, as bench::file_of_pair() does.
ExitCode run_pairs(const JobOptions& job_options, const bench::RunOptions& options,
                   const std::filesystem::path& expect);

}  // namespace twinlink::real
