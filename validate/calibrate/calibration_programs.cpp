#include "validate/calibrate/calibration_programs.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "protocols/bench/results/statistics.hpp"
#include "protocols/gpu/work.hpp"
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

/// A line over what there are so many of in each.
std::optional<LineFit> fit_over(const Group& group, const auto& count) {
  std::vector<Observation> observations;
  for (const GroupedProbe& grouped : group.lines) {
    Observation seen = observation_of(grouped);
    seen.size = Bytes{static_cast<std::uint64_t>(count(grouped.primitive))};
    observations.push_back(seen);
  }
  return fit_line(observations);
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
  const auto line = fit_over(group, [](const Primitive& graph) { return graph.blocks - 1; });
  if (!line) {
    notes.push_back(group.path + ": the graphs of the probes do not tell it; it stays");
    return;
  }
  set_fit(edit, group.path, line->per_byte, group, probes);
  const std::string owner = group.path.substr(0, group.path.rfind('.'));
  const Seconds beside = beside_start(group.first(), topology).value_or(Seconds{});
  set_fit(edit, owner + ".graph_start", std::max(line->base - beside, Seconds{}), group, probes);
}

void fit_passing(const Group& group, const platforms::Topology& topology, const ProbeSet& probes, PlatformEdit& edit,
                 std::vector<std::string>& notes) {
  std::vector<double> rates;
  for (const GroupedProbe& grouped : group.lines) {
    const Primitive& hop = grouped.primitive;
    const gpu::LineFormat format = format_of(hop);
    const bool whole = format == gpu::LineFormat::simple;
    const Seconds one = hop_of_ring(hop, topology);
    const Seconds bytes = whole ? grouped.time() - one : grouped.time() * 2;
    if (bytes <= Seconds{} || (!whole && grouped.time() <= one)) continue;
    rates.push_back((Bytes{gpu::stored(format, grouped.size().count())} / bytes).bytes_per_second());
  }
  if (rates.empty()) {
    notes.push_back(group.path + ": slots that are passed on take no longer than their hops; it stays");
    return;
  }
  set_fit(edit, group.path, Rate{bench::upper_median(rates)}, group, probes);
}

void fit_ring(const Group& group, const platforms::Topology& topology, const ProbeSet& probes, PlatformEdit& edit) {
  const Primitive& first = group.first();
  const std::string owner = group.path.substr(0, group.path.rfind('.'));
  const gpu::LineFormat format = format_of(first);
  Seconds hop = hop_of_ring(first, topology);
  if (const auto line = fit_over(group, hops_of)) {
    hop = line->per_byte;
    const Seconds way = beside_line(first, {}, topology);
    set_fit(edit, fmt::format("{}.{}", owner, gpu::to_string(format)), std::max(hop - way, Seconds{}), group, probes);
  }
  const Seconds next = or_none(topology.type_of(first.gpu).blocks->next);
  const Seconds rest =
      rest_of_all(group, [&](const GroupedProbe& grouped) { return next + hop * hops_of(grouped.primitive); });
  set_fit(edit, group.path, rest, group, probes);
}

void fit_cold(const Group& group, const platforms::Topology& topology, const ProbeSet& probes, PlatformEdit& edit) {
  const Seconds known = or_none(topology.type_of(group.first().gpu).blocks->cold);
  const auto beside = [&](const GroupedProbe& grouped) {
    return predict_cold(grouped.primitive, grouped.size(), topology).value_or(grouped.time()) - known;
  };
  set_fit(edit, group.path, rest_of_all(group, beside), group, probes);
}

}  // namespace twinlink::validate
