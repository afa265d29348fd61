// The trace of a run: what both ranks do for one message, in the same words on a simulated machine and on a real one.
#pragma once

#include <string>

#include "protocols/bench/measure/driver.hpp"
#include "protocols/core/measured_rank.hpp"
#include "protocols/core/protocol.hpp"

namespace twinlink::bench {

/// Opens a connection of its own between plan.first and plan.second, sends a message of the smallest size of `plan`
/// there and one back, the same again until it is warm, and closes the connection. Rank 0 gets the text: for
/// each of the two ranks what it did in each of these parts, as list_by_step(). It depends on the protocol, its
/// settings and the path, and on no time, so that the traces of two worlds can be compared line by line. With `times`,
/// each line begins with when, in microseconds since the beginning of its part.
///
/// All ranks of the job call it, with the same arguments; all but rank 0 get an empty text. A transfer that fails is a
/// CheckError.
std::string trace(MeasuredRank& rank, const Protocol& protocol, const Plan& plan, bool times);

}  // namespace twinlink::bench
