#include "validate/primitives/queue_times.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "platforms/costs/transfer_costs.hpp"
#include "protocols/bench/probe/probe.hpp"

namespace twinlink::validate {

Seconds share_of_queue(const CopyTimes& copy, Seconds look) {
  std::array<Seconds, bench::kQueuedCopies> ends{};
  Seconds cpu{};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    cpu += copy.overhead;
    const Seconds ready = cpu + copy.latency;
    ends[i] =
        (i == 0 ? ready : std::max(ready, platforms::turn_behind(ends[i - 1], ends[i - 1], copy.gap))) + copy.flow;
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

}  // namespace twinlink::validate
