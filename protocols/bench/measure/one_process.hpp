// Copies between two GPUs that one process drives: cudaMemcpyPeerAsync, without MPI, handles or a handshake.
//
//   1. copy: device -> the other device, by the copy engine; the driver goes through host memory where the two are no
//      peers
//   2. wait for its end
//
// A ping-pong copies there and back, each awaited; bandwidth awaits a window of copies, bidirectional one each way.
// Both streams are of the first GPU: one of its engines writes into the other GPU, and another one reads from it.
#pragma once

#include <string>

#include "protocols/bench/measure/plan.hpp"
#include "protocols/core/measured_rank.hpp"
#include "protocols/core/protocol.hpp"

namespace twinlink::bench {

/// A UsageError for a plan that is more than such copies.
void check_one_process(const Protocol& protocol, const Plan& plan);

/// measure() of plan.facts.one_process: copies between two GPUs that one process drives. On plan.first alone; other
/// ranks return at once. A UsageError for a protocol or options that are more than such a copy.
Series measure_in_one_process(MeasuredRank& rank, const Protocol& protocol, const Plan& plan);

/// The trace of one copy there and one back, first and warm, in the form of trace(). On plan.first.
std::string trace_in_one_process(MeasuredRank& rank, const Plan& plan, bool times);

}  // namespace twinlink::bench
