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

/// What is read beside the options.
struct RunInputs {
  /// Unless it is empty: the simulated result of the first pair; those of the others are named after it, as
  /// bench::file_of_pair() does.
  std::filesystem::path expect{};
  bench::NamedFiles files{};  ///< all, for no output may be one of them
};

/// The simulated results that `expect` stands for.
bench::NamedFiles expected_files(const bench::RunOptions& options, const std::filesystem::path& expect);

/// Runs options.pairs, of which there is one at least.
ExitCode run_pairs(const JobOptions& job_options, const bench::RunOptions& options, const RunInputs& inputs);

}  // namespace twinlink::real
