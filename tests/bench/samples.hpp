// A result and probes with different values everywhere, so that a mixed-up member shows.
#pragma once

#include "protocols/bench/probe.hpp"
#include "protocols/bench/results.hpp"

namespace twinlink::bench {

Result sample_result();
ProbeFile sample_probes();

}  // namespace twinlink::bench
