// A result and probes with different values everywhere, so that a mixed-up member shows.
#pragma once

#include "protocols/bench/probe/probe.hpp"
#include "protocols/bench/results/results.hpp"

namespace twinlink::bench {

Result sample_result();
ProbeFile sample_probes();

/// A curve of another tool, with no more than such a file tells: one size, 1 KiB in 2 us.
Result imported_result();

}  // namespace twinlink::bench
