#include "validate/calibrate/calibration_programs.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "protocols/bench/results/statistics.hpp"
#include "protocols/gpu/program.hpp"
#include "validate/primitives/cost_fit.hpp"
#include "validate/primitives/program_times.hpp"

namespace twinlink::validate {
namespace {

/// The closest to what is left of all times; nothing of them may be left.
Seconds rest_of_all(const Group& group, const auto& beside) {
  std::vector<Observation> rests;
  for (const GroupedProbe& grouped : group.lines) {
    Observation rest = observation_of(grouped);
    const Seconds left = rest.time - beside(grouped);
    if (left <= Seconds{}) continue;
    rest.spread *= rest.time.value() / left.value();
    rest.time = left;
    rests.push_back(rest);
  }
  return rests.empty() ? Seconds{} : fit_constant(rests);
}

}  // namespace

void fit_hop(const Group& group, const platforms::Topology& base, const ProbeSet& probes, PlatformEdit& edit) {
  const auto beside = [&](const GroupedProbe& grouped) { return beside_line(grouped.primitive, grouped.size(), base); };
  set_fit(edit, group.path, rest_of_all(group, beside), group, probes);
}

void fit_rate_of_blocks(const Group& group, const ProbeSet& probes, PlatformEdit& edit) {
  const auto blocks_of = [](const GroupedProbe& grouped) { return grouped.primitive.blocks; };
  const double fewest = blocks_of(std::ranges::min(group.lines, {}, blocks_of));
  std::vector<double> rates;
  for (const GroupedProbe& grouped : group.lines) {
    if (grouped.primitive.blocks != fewest) continue;
    const Bytes stored{gpu::stored(format_of(grouped.primitive), grouped.size().count())};
    rates.push_back((stored / grouped.time()).bytes_per_second() / fewest);
  }
  set_fit(edit, group.path, Rate{bench::upper_median(rates)}, group, probes);
}

void fit_launch(const Group& group, const platforms::Topology& topology, const ProbeSet& probes, PlatformEdit& edit) {
  const auto beside = [&](const GroupedProbe& grouped) {
    return beside_start(grouped.primitive, topology).value_or(Seconds{});
  };
  set_fit(edit, group.path, rest_of_all(group, beside), group, probes);
}

void fit_graph(const Group& group, const platforms::Topology& topology, const ProbeSet& probes, PlatformEdit& edit,
               std::vector<std::string>& notes) {
  std::vector<Observation> observations;
  for (const GroupedProbe& grouped : group.lines) {
    Observation seen = observation_of(grouped);
    seen.size = Bytes{static_cast<std::uint64_t>(grouped.primitive.blocks) - 1};
    observations.push_back(seen);
  }
  const std::optional<LineFit> line = fit_line(observations);
  if (!line) {
    notes.push_back(group.path + ": the graphs of the probes do not tell it; it stays");
    return;
  }
  set_fit(edit, group.path, line->per_byte, group, probes);
  const std::string owner = group.path.substr(0, group.path.rfind('.'));
  const Seconds beside = beside_start(group.first(), topology).value_or(Seconds{});
  set_fit(edit, owner + ".graph_start", std::max(line->base - beside, Seconds{}), group, probes);
}

}  // namespace twinlink::validate
