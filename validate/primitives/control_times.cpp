#include "validate/primitives/control_times.hpp"

#include <algorithm>

#include "protocols/bench/probe/probe.hpp"
#include "validate/primitives/cost_fit.hpp"

namespace twinlink::validate {

Seconds predict_controls(const model::NetworkCosts& network) {
  constexpr double kQueued = bench::kQueuedCopies;
  const Seconds tells = network.sending_control();
  // One rank tells the other that the window is over: one of both waits for the longer of the two, and half of the
  // windows for the shorter one, too.
  const Seconds answer =
      (std::max(tells, network.receiving_control()) + std::min(tells, network.receiving_control()) / 2) / kQueued;
  return tells + std::max(network.receiving_control() + answer, (network.control.value * 2 - tells) / kQueued);
}

Seconds receiving_control_of(const model::NetworkCosts& network, Seconds time) {
  model::NetworkCosts unheard = network;
  unheard.control_receive_overhead.reset();
  // No longer than where nobody is busy with hearing: then the way of the messages decides, and tells nothing of it.
  constexpr double kMore = 1 + 5 * kTolerance;
  if (time <= predict_controls(unheard) * kMore) return {};
  // Whichever takes longer, it or telling, comes once more for the answer, and the other one for every second answer.
  constexpr double kOnceMore = 1 + 1.0 / bench::kQueuedCopies;
  constexpr double kHalfOnceMore = 1 + 0.5 / bench::kQueuedCopies;
  const Seconds tells = network.sending_control();
  const Seconds longer = (time - tells * kHalfOnceMore) / kOnceMore;
  return longer >= tells ? longer : (time - tells * kOnceMore) / kHalfOnceMore;
}

}  // namespace twinlink::validate
