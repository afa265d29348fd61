// The measuring driver: the same code measures on the simulator's clock and on the host's.
#pragma once

#include <vector>

#include "protocols/bench/measure/check_error.hpp"
#include "protocols/bench/measure/plan.hpp"
#include "protocols/core/measured_rank.hpp"
#include "protocols/core/protocol.hpp"

namespace twinlink::bench {

/// Sizes from `begin` to `end`, each `factor` times the one before; `end` is included if it is reached. A UsageError
/// for a factor below 2 or an empty range.
std::vector<Bytes> size_sweep(Bytes begin, Bytes end, int factor);

/// Runs `plan` with `protocol`; every rank of the job calls it with the same arguments, but those of another pair
/// beside it with that pair's. Ranks other than plan.first and plan.second return at once with an empty series. The
/// series is complete on plan.first; on plan.second only its own checks have been made. A payload that did not arrive
/// as sent and an exchange that was not delivered are a CheckError; a plan that makes no sense is a UsageError.
Series measure(MeasuredRank& rank, const Protocol& protocol, const Plan& plan);

/// Pattern::copy: device to host memory of `kind` and back, on plan.first alone. Other ranks return at once.
Series measure_copy(MeasuredRank& rank, Memory kind, Locality locality, const Plan& plan);

}  // namespace twinlink::bench
