#include "validate/calibrate/control_times.hpp"

#include <algorithm>

#include "protocols/bench/probe/probe.hpp"
#include "validate/calibrate/cost_fit.hpp"

namespace twinlink::validate {

Seconds predict_controls(const model::NetworkCosts& network) {
  constexpr double kQueued = bench::kQueuedCopies;
  const Seconds tells = network.telling();
  const Seconds answer = std::max(tells, network.hearing()) / kQueued;
  return tells + std::max(network.hearing() + answer, (network.control.value * 2 - tells) / kQueued);
}

Seconds hearing_of(const model::NetworkCosts& network, Seconds time) {
  model::NetworkCosts unheard = network;
  unheard.control_receive_host.reset();
  // No longer than where nobody is busy with hearing: then the way of the messages decides, and tells nothing of it.
  constexpr double kMore = 1 + 5 * kTolerance;
  if (time <= predict_controls(unheard) * kMore) return {};
  // Whichever takes longer, it or telling, comes once more for the answer.
  constexpr double kOnceMore = 1 + 1.0 / bench::kQueuedCopies;
  const Seconds tells = network.telling();
  const Seconds longer = (time - tells) / kOnceMore;
  return longer >= tells ? longer : time - tells * kOnceMore;
}

}  // namespace twinlink::validate
