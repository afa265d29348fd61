// Where the messages of the two ends of a measurement lie: both in the memory that the protocol takes, or one or both
// of them in host memory.
#pragma once

#include "protocols/bench/measure/plan.hpp"

namespace twinlink::bench {

/// Where the messages of this end lie.
[[nodiscard]] Memory message_memory(const Protocol& protocol, const Plan& plan, bool leading);
/// The plan's settings, with what this end knows of the other's messages.
[[nodiscard]] Settings settings_of_end(const Protocol& protocol, const Plan& plan, bool leading);
/// A UsageError with the reason where `protocol` does not take messages that lie so.
void check_ends(const Protocol& protocol, const Plan& plan);

}  // namespace twinlink::bench
