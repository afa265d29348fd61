#include "validate/step_times.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "protocols/bench/probe.hpp"
#include "validate/cost_fit.hpp"

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

Seconds predict_steps_beside(const StepsBesideCopies& costs) {
  constexpr int kQueued = bench::kQueuedCopies;
  const Seconds tells = costs.network.telling();
  Seconds cpu{};
  std::array<Seconds, kQueued> ends{};
  for (std::size_t i = 0; i < kQueued; ++i) {
    cpu += costs.copy.host + (i == 0 ? costs.step + costs.copy.marking : costs.beside);
    const Seconds ready = cpu + costs.copy.latency;
    ends[i] = (i == 0 ? ready : std::max(ready, ends[i - 1] + costs.copy.turnaround)) + costs.copy.flow;
  }
  cpu += (costs.beside + costs.network.hearing()) * kQueued;
  for (auto next = ends.begin(); next != ends.end();) {
    cpu = std::max(cpu, *next);
    const auto first = std::exchange(next, std::upper_bound(next, ends.end(), cpu));
    const auto ended = static_cast<double>(next - first);
    const bool all = next == ends.end();
    if (!all) cpu += costs.look;
    if (first == ends.begin()) cpu += costs.copy.completion_alone - costs.copy.completion;
    cpu += (costs.copy.completion + (all ? costs.step : costs.beside) + tells) * ended;
  }
  // The last one there, and the answer that ends the round.
  const Seconds answer = std::max(tells, costs.network.hearing());
  return (cpu + std::max(answer, costs.network.control.value * 2 - tells)) / kQueued;
}

std::optional<Seconds> step_beside_of(StepsBesideCopies costs, Seconds time) {
  costs.beside = costs.step;
  if (predict_steps_beside(costs) * (1 + kTolerance) >= time) return std::nullopt;
  Seconds most = time;
  constexpr int kHalvings = 50;
  for (int i = 0; i < kHalvings; ++i) {
    const Seconds middle = (costs.beside + most) / 2;
    Seconds& end =
        predict_steps_beside({costs.network, costs.copy, costs.look, costs.step, middle}) < time ? costs.beside : most;
    end = middle;
  }
  return costs.beside;
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
