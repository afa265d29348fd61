#include "validate/calibration_windows.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "validate/cost_fit.hpp"
#include "validate/primitive.hpp"

namespace twinlink::validate {

void fit_rest(const Group& group, const model::Topology& topology, const ProbeSet& probes, PlatformEdit& edit,
              std::vector<std::string>& notes) {
  std::vector<double> rests;
  for (const Meant& meant : group.lines) {
    if (const auto rest = rest_of(meant.primitive, meant.size(), meant.time(), topology)) {
      rests.push_back(rest->value());
    }
  }
  if (rests.empty()) {
    notes.push_back(group.path + ": neither the base nor the probes tell what else it takes");
    return;
  }
  set_fit(edit, group.path, Seconds{std::max(0.0, middle(rests))}, group, probes);
}

namespace {

/// The middle of the lines of this size.
std::optional<Seconds> time_at(const Group& group, Bytes size) {
  std::vector<double> times;
  for (const Meant& meant : group.lines) {
    if (meant.size() == size) times.push_back(meant.time().value());
  }
  return times.empty() ? std::nullopt : std::optional(Seconds{middle(times)});
}

/// The shortest line of this size.
std::optional<Seconds> shortest_at(const Group& group, Bytes size) {
  std::optional<Seconds> shortest;
  for (const Meant& meant : group.lines) {
    if (meant.size() == size && (!shortest || meant.time() < *shortest)) shortest = meant.time();
  }
  return shortest;
}

/// Not empty.
model::Piecewise curve_of(const std::map<Bytes, CostAt>& costs) {
  std::vector<CostAt> ascending;
  for (const auto& [size, cost] : costs) ascending.push_back(cost);
  const CostAt& any = ascending[ascending.size() / 2];
  const bool constant = std::ranges::all_of(ascending, [&](const CostAt& other) {
    return std::abs((other.knot.cost - any.knot.cost).value()) <= other.tolerance.value();
  });
  return constant ? model::Piecewise({any.knot}) : model::Piecewise(fewest_knots(ascending));
}

}  // namespace

model::Piecewise fit_posting(const Group& group) {
  std::map<Bytes, CostAt> costs;
  for (const Meant& meant : group.lines) {
    const Seconds time = *time_at(group, meant.size());
    costs[meant.size()] = {{meant.size(), time}, time * (2 * kTolerance)};
  }
  return curve_of(costs);
}

std::optional<model::Piecewise> fit_completion(const Group& both_ways, const Group& messages, const Group& one_way,
                                               const model::NetworkCosts& costs, const model::Topology& topology) {
  std::map<Bytes, CostAt> ascending;
  for (const Meant& meant : both_ways.lines) {
    const auto together = time_at(both_ways, meant.size());
    const auto alone = shortest_at(messages, meant.size());
    const auto window = time_at(one_way, meant.size());
    if (!alone || !window) continue;
    const EagerTimes times{.alone = *alone,
                           .one_way = *window,
                           .both_ways = *together,
                           .flow = flow_of_message(meant.primitive, meant.size(), topology)};
    const Seconds completion = completion_of(costs, meant.size(), times);
    ascending[meant.size()] = {{meant.size(), completion}, *together * kTolerance};
  }
  return ascending.empty() ? std::nullopt : std::optional(curve_of(ascending));
}

void fit_gap(const Group& group, const model::Topology& topology, const ProbeSet& probes, PlatformEdit& edit) {
  constexpr double kQueued = bench::kQueuedCopies;
  std::map<Bytes, std::vector<double>> gaps;
  for (const Meant& meant : group.lines) {
    const Seconds bytes = flow_of_message(meant.primitive, meant.size(), topology);
    const Seconds each =
        (meant.time() * kQueued - beside_gaps(meant.primitive, meant.size(), topology)) / (kQueued - 1);
    // Where the bytes take most of it, what is left is the error of their rate.
    constexpr double kMostly = 0.9;
    gaps[meant.size()].push_back(bytes < each * kMostly ? (each - bytes).value() : 0);
  }
  std::vector<CostAt> ascending;
  for (const auto& [size, all] : gaps) {
    const Meant& line = *std::ranges::find(group.lines, size, &Meant::size);
    ascending.push_back({{size, Seconds{middle(all)}}, line.time() * (2 * kTolerance)});
  }
  set_fit(edit, group.path, model::Piecewise(fewest_knots(ascending)), group, probes);
}

}  // namespace twinlink::validate
