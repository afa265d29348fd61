#include "validate/calibrate/step_times.hpp"

#include <algorithm>

#include "protocols/bench/probe/probe.hpp"
#include "validate/calibrate/cost_fit.hpp"

namespace twinlink::validate {

Seconds predict_steps(const model::NetworkCosts& network, Seconds step) {
  constexpr double kQueued = bench::kQueuedCopies;
  const Seconds tells = network.telling();
  const Seconds answer = std::max(tells, network.hearing()) / kQueued;
  const Seconds hears = network.hearing() + step;
  return tells + step + std::max(hears + answer, (network.control.value * 2 - tells) / kQueued);
}

Seconds step_of(const model::NetworkCosts& network, Seconds time) {
  constexpr double kQueued = bench::kQueuedCopies;
  const Seconds tells = network.telling();
  const Seconds answer = std::max(tells, network.hearing()) / kQueued;
  const Seconds steps = time - tells;
  return std::min((steps - network.hearing() - answer) / 2, steps - (network.control.value * 2 - tells) / kQueued);
}

Seconds hearing_of(const model::NetworkCosts& network, Seconds time) {
  model::NetworkCosts unheard = network;
  unheard.control_receive_host.reset();
  // No longer than where nobody is busy with hearing: then the way of the messages decides, and tells nothing of it.
  constexpr double kMore = 1 + 5 * kTolerance;
  if (time <= predict_steps(unheard, Seconds{}) * kMore) return {};
  // Whichever takes longer, it or telling, comes once more for the answer.
  constexpr double kOnceMore = 1 + 1.0 / bench::kQueuedCopies;
  const Seconds tells = network.telling();
  const Seconds longer = (time - tells) / kOnceMore;
  return longer >= tells ? longer : time - tells * kOnceMore;
}

}  // namespace twinlink::validate
