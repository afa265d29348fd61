// What control messages take that go both ways, bench::kQueuedCopies each way. All times are the share of one.
#pragma once

#include "platforms/machine/platform.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::validate {

/// Each CPU sends all, and then awaits all. The answer that ends a round lets the peer begin the next one before the
/// rank that it goes to, so that nobody waits, unless messages take longer than CPUs: the last one there, and the
/// answer. One of them is busy to answer meanwhile, and the other to take it in.
Seconds predict_controls(const model::NetworkCosts& network);
/// What the CPU does to await a control message and take it in, of which predict_controls() makes `time`. Zero where
/// the way of the messages decides.
Seconds receiving_control_of(const model::NetworkCosts& network, Seconds time);

}  // namespace twinlink::validate
