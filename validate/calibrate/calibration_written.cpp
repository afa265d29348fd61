#include "validate/calibrate/calibration_written.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "platforms/machine/platform_numbers.hpp"
#include "protocols/bench/probe/probed.hpp"

namespace twinlink::validate {
namespace {

using platforms::Piecewise;

/// How far a curve is from the differences, as a multiple of the noise, where it is furthest.
double worst(const std::vector<Piecewise::Knot>& knots, const std::vector<Difference>& differences) {
  const Piecewise curve(knots);
  double result = 0;
  for (const Difference& d : differences) {
    result = std::max(result, std::abs((curve.at(d.size) - d.longer).value()) / d.noise.value());
  }
  return result;
}

/// The line of the same job and devices whose source was at rest; null: there is none.
const Probe* line_at_rest(const bench::ProbeLine& written, std::size_t file, const ProbeSet& probes) {
  bench::Probed at_rest = bench::probed_by(written.name).value();
  at_rest.cpu_written = false;
  const std::string name = to_string(at_rest);
  const auto found = std::ranges::find_if(probes.probes, [&](const Probe& probe) {
    return probe.file == file && probe.line.name == name && probe.line.gpu == written.gpu &&
           probe.line.peer == written.peer && probe.line.size == written.size;
  });
  return found == probes.probes.end() ? nullptr : &*found;
}

Seconds deviation(const Observation& observation) { return observation.time * observation.spread; }

/// Sum over all lines of one size.
struct Sum {
  double lines = 0;
  Seconds longer{};
  Seconds noise{};
};

/// How much longer the lines of a group take than those with a source at rest, size by size.
std::vector<Difference> differences_of(const Group& group, const ProbeSet& probes) {
  std::map<Bytes, Sum> sums;
  for (const GroupedProbe& written : group.lines) {
    const Probe* rest = line_at_rest(written.probe->line, written.probe->file, probes);
    if (rest == nullptr) continue;
    const Observation after = observation_of(written);
    const Observation before = observation_of({rest, written.primitive});
    Sum& sum = sums[written.size()];
    sum.lines += 1;
    sum.longer = sum.longer + after.time - before.time;
    sum.noise = sum.noise + Seconds{std::hypot(deviation(after).value(), deviation(before).value(),
                                               after.time.value() * kTolerance)};
  }
  std::vector<Difference> differences;
  for (const auto& [size, sum] : sums) {
    const Seconds longer = sum.longer > sum.noise ? sum.longer / sum.lines : Seconds{};
    differences.push_back({size, longer, sum.noise / sum.lines});
  }
  return differences;
}

/// Does the platform have this number, or this curve?
bool has_number(const platforms::Platform& platform, const std::string& path) {
  const std::vector<platforms::NumberEntry> numbers = all_numbers(platform);
  return std::ranges::any_of(numbers, [&](const platforms::NumberEntry& number) {
    return number.path.substr(0, number.path.find('[')) == path;
  });
}

}  // namespace

Piecewise few_points(const std::vector<Difference>& differences) {
  assert(!differences.empty());
  std::vector<Piecewise::Knot> knots;
  for (const Difference& d : differences) knots.push_back({d.size, d.longer});
  while (knots.size() > 1) {
    double least = 1;
    std::vector<Piecewise::Knot> best;
    for (std::size_t i = 0; i < knots.size(); ++i) {
      std::vector<Piecewise::Knot> fewer = knots;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      const double error = worst(fewer, differences);
      if (error > least || (!best.empty() && error == least)) continue;
      least = error;
      best = std::move(fewer);
    }
    if (best.empty()) break;
    knots = std::move(best);
  }
  return Piecewise(std::move(knots));
}

void fit_written(const Group& group, const platforms::Topology& topology, const ProbeSet& probes, PlatformEdit& edit,
                 std::vector<std::string>& notes) {
  const Primitive& first = group.first();
  if (find_copy_cost(topology, first.from, first.to).cost == nullptr) {
    notes.push_back(group.path + ": neither the base nor the probes tell what the copy itself takes");
    return;
  }
  const std::vector<Difference> differences = differences_of(group, probes);
  if (differences.empty()) {
    notes.push_back(group.path +
                    ": no lines of the same job tell what memory at rest takes, at sizes that count; it stays");
    return;
  }
  const bool none = std::ranges::all_of(differences, [](const Difference& d) { return d.longer == Seconds{}; });
  if (none) {
    notes.push_back(group.path + ": the probes take no longer than with ends at rest");
    if (!has_number(topology.platform(), group.path)) return;
  }
  const Piecewise curve = none ? Piecewise{} : few_points(differences);
  set_fit(edit, group.path, curve, group, probes);
}

}  // namespace twinlink::validate
