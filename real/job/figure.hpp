// `twinlink-real figure`: the figures of "GPUDirect Performance on Keeneland", measured on this machine.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "protocols/bench/cli/options.hpp"
#include "protocols/core/errors.hpp"
#include "real/job/job.hpp"

namespace twinlink::real {

struct FigureOptions {
  std::vector<std::string> names{};  ///< ids of figures; empty: all
  std::filesystem::path out = "results";
  bench::RunOptions run{};  ///< sizes and rounds; each curve has the rest
};

/// Measures between ranks 0 and 1 what they have: curves between nodes need two nodes, others one. Why a curve is left
/// out is printed. An UnavailableError if nothing is left. `program` is for the results.
ExitCode measure_figures(const JobOptions& job_options, const FigureOptions& options, const std::string& program);

}  // namespace twinlink::real
