#include "validate/calibrate/calibration_windows.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "protocols/bench/results/statistics.hpp"
#include "validate/primitives/cost_fit.hpp"
#include "validate/primitives/message_times.hpp"

namespace twinlink::validate {

void fit_rest(const Group& group, const platforms::Topology& topology, const ProbeSet& probes, PlatformEdit& edit,
              std::vector<std::string>& notes) {
  std::vector<double> rests;
  for (const GroupedProbe& grouped : group.lines) {
    if (const auto rest = rest_of(grouped.primitive, grouped.size(), grouped.time(), topology)) {
      rests.push_back(rest->value());
    }
  }
  if (rests.empty()) {
    notes.push_back(group.path + ": neither the base nor the probes tell what else it takes");
    return;
  }
  set_fit(edit, group.path, Seconds{std::max(0.0, bench::upper_median(rests))}, group, probes);
}

void fit_gap(const Group& group, const platforms::Topology& topology, const ProbeSet& probes, PlatformEdit& edit) {
  constexpr double kQueued = bench::kQueuedCopies;
  std::map<Bytes, std::vector<double>> gaps;
  for (const GroupedProbe& grouped : group.lines) {
    const Seconds beside = interval_beside_gap(grouped.primitive, grouped.size(), topology);
    const Seconds each =
        (grouped.time() * kQueued - beside_gaps(grouped.primitive, grouped.size(), topology)) / (kQueued - 1);
    // Where the bytes take most of it, what is left is the error of their rate. And of large messages it is what caches
    // did not hold, which depends on the memory that they lie in and not on the message before.
    constexpr double kMostly = 0.9;
    constexpr Bytes kLargest = 64_KiB;
    const bool tells = grouped.size() <= kLargest && beside < each * kMostly;
    gaps[grouped.size()].push_back(tells ? (each - beside).value() : 0);
  }
  std::vector<CostAt> ascending;
  for (const auto& [size, all] : gaps) {
    const GroupedProbe& line = *std::ranges::find(group.lines, size, &GroupedProbe::size);
    ascending.push_back({{size, Seconds{bench::upper_median(all)}}, line.time() * (2 * kTolerance)});
  }
  set_fit(edit, group.path, platforms::Piecewise(fewest_knots(ascending)), group, probes);
}

}  // namespace twinlink::validate
