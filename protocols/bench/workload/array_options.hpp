// The options of workloads on arrays.
#pragma once

#include "protocols/bench/workload/array_job.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace twinlink::bench {

/// `options` must live until the command line has been parsed.
void add_array_options(CLI::App& app, ArrayOptions& options);

}  // namespace twinlink::bench
