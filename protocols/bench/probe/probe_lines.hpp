// The findings of probes as JSON: what a probe file holds, and what the ranks send to rank 0.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "protocols/bench/probe/probe.hpp"
#include "protocols/bench/results/json_members.hpp"
#include "protocols/bench/results/json_statistics.hpp"

namespace twinlink::bench {

/// The members "notes" and "lines".
nlohmann::json to_json(const ProbeFindings& findings);
ProbeFindings read_findings(Members& members, Provenance provenance = Provenance::own);

}  // namespace twinlink::bench
