#include "validate/primitives/queue_times.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "protocols/bench/probe/probe.hpp"
#include "validate/primitives/cost_fit.hpp"

namespace twinlink::validate {

Seconds share_of_queue(const CopyTimes& copy, Seconds look) {
  std::array<Seconds, bench::kQueuedCopies> ends{};
  Seconds cpu{};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    cpu += copy.overhead;
    const Seconds ready = cpu + copy.latency;
    ends[i] = (i == 0 ? ready : std::max(ready, ends[i - 1] + copy.gap)) + copy.flow;
  }
  // As a rank does that waits for one after the other: see model/TIMING.md, and RealRank::poll_copies().
  for (auto left = std::span<const Seconds>(ends); !left.empty();) {
    if (left.front() > cpu) {
      cpu = std::max(cpu + look, left.front());
      continue;
    }
    cpu += copy.completion;
    left = left.subspan(1);
    if (left.size() >= 2) {
      const bool all = left.back() <= cpu;
      cpu += all ? copy.completion : look;
      if (all) break;
    }
    if (!left.empty() && left.front() > cpu) cpu += look;
  }
  return cpu / static_cast<double>(bench::kQueuedCopies);
}

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
