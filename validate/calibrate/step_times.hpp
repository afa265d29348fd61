// What control messages take that go both ways, bench::kQueuedCopies each way, by themselves and as steps of a lane.
// All times are the share of one.
#pragma once

#include "model/platform/platform.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::validate {

/// Each CPU tells all, and then hears all, each as a step of a protocol. The answer that ends a round lets the peer
/// begin the next one before the rank that it goes to, so that nobody waits, unless messages take longer than steps:
/// the last one there, and the answer. One of them is busy to answer meanwhile, and the other to hear it.
Seconds predict_steps(const model::NetworkCosts& network, Seconds step);
/// The step that predict_steps() makes `time` of.
Seconds step_of(const model::NetworkCosts& network, Seconds time);
/// Where there are no steps: what the CPU does to await a control message and take it in. Zero where the way of the
/// messages decides.
Seconds hearing_of(const model::NetworkCosts& network, Seconds time);

}  // namespace twinlink::validate
