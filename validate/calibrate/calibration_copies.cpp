#include "validate/calibrate/calibration_copies.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <ranges>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "protocols/bench/probe/probed.hpp"
#include "protocols/bench/results/statistics.hpp"
#include "validate/primitives/cost_fit.hpp"
#include "validate/primitives/primitive.hpp"

namespace twinlink::validate {
namespace {

using platforms::Topology;
using Kind = Primitive::Kind;

/// Where the rate is not told, what is left of a time at the known rate is the latency only if the bytes take little of
/// it: otherwise it is the error of that rate. Latencies of copies and messages are microseconds.
bool tells_latency(std::span<const Observation> observations, std::optional<Rate> known) {
  constexpr Seconds kLittle = 50.0_us;
  return !known || std::ranges::any_of(observations, [&](const Observation& o) { return o.size / *known < kLittle; });
}

bool by_kernel(const Group& group) { return group.first().from.kernel || group.first().to.kernel; }

/// What queued messages get: of the lines of which bytes are all that counts, the middle. Smaller ones may be faster,
/// in the caches that a CPU has for itself; where there are no others, the fastest of them.
Rate rate_of_queues(const Group& queues) {
  std::vector<double> large;
  double most = 0;
  for (const GroupedProbe& grouped : queues.lines) {
    const double rate = (grouped.size() / grouped.time()).bytes_per_second();
    if (grouped.size() >= kBytesDecide) large.push_back(rate);
    most = std::max(most, rate);
  }
  return Rate{large.empty() ? most : bench::upper_median(large)};
}

/// A small difference of times, in seconds: the middle of what was found at `size`. What the rounds of its line spread
/// is no more than noise.
CostAt middle_at(const Group& group, Bytes size, const std::vector<double>& found) {
  const GroupedProbe& line = *std::ranges::find(group.lines, size, &GroupedProbe::size);
  const double noise = std::max(2 * kTolerance, observation_of(line).spread);
  return {{size, Seconds{bench::upper_median(found)}}, line.time() * noise};
}

std::map<Bytes, CostAt> middles_at(const Group& group, const std::map<Bytes, std::vector<double>>& found) {
  std::map<Bytes, CostAt> costs;
  for (const auto& [size, all] : found) costs[size] = middle_at(group, size, all);
  return costs;
}

std::string source_alike(std::string_view path) {
  return fmt::format("that of {}: the same engine, and no probe tells this one", path);
}

/// Where the host's own copies were measured.
std::set<std::string> memories_of(const Group& group, const Topology& topology) {
  std::set<std::string> names;
  for (const GroupedProbe& grouped : group.lines) names.insert(topology.name(grouped.primitive.from.location));
  return names;
}

}  // namespace

CopyFits::CopyFits(const ProbeSet& probes, const std::vector<Group>& groups, const Topology& base, PlatformEdit& edit,
                   std::vector<std::string>& notes)
    : probes_(probes), groups_(groups), base_(base), edit_(edit), notes_(notes) {}

void CopyFits::fit_cpu() {
  for (const Group& group : groups_) fit_share(group);
  for (const Group& group : groups_) limit_host(group);
}

/// A part of a copy has its place only where the base or the probes have the copy.
bool CopyFits::has_copy(const Group& group) {
  const Primitive& first = group.first();
  const std::string path = copy_path(first, base_);
  if (find_copy_cost(base_, first.from, first.to).cost != nullptr || find_group(groups_, path) != nullptr) return true;
  notes_.push_back(group.path + ": neither the base nor the probes tell what the copy itself takes");
  return false;
}

void CopyFits::fit_share(const Group& group) {
  const Primitive& first = group.first();
  const bool of_cpu = first.kind == Kind::finish || (first.is_cpus_part() && has_copy(group));
  if (!of_cpu) return;
  const Seconds time = fit_constant(observations_of(group));
  set_fit(edit_, group.path, time, group, probes_);
  measured_[group.path] = time;
}

/// Queued kernels and queued puts with signals take no less than the CPU needs to start them: starting them one after
/// the other can take less than starting one after the CPU has done other things.
void CopyFits::limit_host(const Group& group) {
  const std::optional<Seconds> most = most_to_start(group);
  if (!most || *most <= Seconds{}) return;
  const auto overhead = measured_.find(copy_path(group.first(), base_) + ".overhead");
  if (overhead == measured_.end() || overhead->second <= *most) return;
  overhead->second = *most;
  edit_.set(
      overhead->first, *most, platforms::Quality::derived,
      fmt::format("what '{}' leaves for each; the start of one alone is longer", group.lines.front().probe->line.name));
}

/// What a queue leaves of each for its start. Of puts with signals the first takes as long as one alone; by the
/// tolerance less, so that what lies behind signals is still told by such puts and not hidden by the start. The answer
/// behind the last is not taken off: where the CPU decides, nothing may be. Nothing of other queues.
std::optional<Seconds> CopyFits::most_to_start(const Group& group) const {
  constexpr double kQueued = bench::kQueuedCopies;
  const Primitive& first = group.first();
  if (first.kind == Kind::queued && by_kernel(group)) return group.shortest();
  if (first.kind != Kind::queued_signal && first.kind != Kind::queued_kernel_signal) return std::nullopt;
  const bool by_engine = first.kind == Kind::queued_signal;
  const Group* const alone = find_group(groups_, by_engine ? "driver.runtime.signal" : "driver.runtime.kernel_signal");
  if (alone == nullptr) return std::nullopt;
  return (group.shortest() * kQueued - alone->shortest()) / (kQueued - 1) * (1 - kTolerance);
}

/// What was measured of `overhead` of the copy at `path`, or of one that is alike; then the source says so.
std::optional<Seconds> CopyFits::host_or_alike(const std::string& path) {
  const std::string overhead = path + ".overhead";
  if (const auto own = measured_.find(overhead); own != measured_.end()) return own->second;
  const std::optional<std::string> alike = path_alike(path);
  if (!alike) return std::nullopt;
  const std::string probed = *alike + ".overhead";
  const auto other = measured_.find(probed);
  if (other == measured_.end()) return std::nullopt;
  edit_.set(overhead, other->second, platforms::Quality::derived, source_alike(probed));
  return other->second;
}

/// What the CPU does to start a copy, `overhead`, unless all takes less. Beside it there is `other`.
Seconds CopyFits::overhead_share(const Group& group, const std::string& path, Seconds overhead, Seconds other) {
  const Seconds shortest = std::max(group.shortest() - other, Seconds{});
  if (overhead <= shortest) return overhead;
  notes_.push_back(fmt::format("{}: {} {}, but all takes only {}", path, format_seconds(overhead),
                               measured_.contains(path) ? "measured" : "in the base", format_seconds(shortest)));
  edit_.set(path, shortest, platforms::Quality::derived, "no more than the shortest probe takes as a whole");
  return shortest;
}

void CopyFits::fit(const Group& group) {
  const Primitive& first = group.first();
  const platforms::CopyCost found = find_copy_cost(base_, first.from, first.to);
  const platforms::Cost* cost = found.cost;
  if (cost != nullptr && found.path != group.path) begin_as(group.path, found);
  const Seconds other = completion_of(first);
  std::optional<Seconds> overhead = host_or_alike(group.path);
  if (!overhead && cost != nullptr) overhead = cost->overhead.value;
  if (!overhead) {
    edit_.set(group.path + ".overhead", Seconds{}, platforms::Quality::assumed,
              "a probe does not tell it from the latency");
  }
  const Seconds busy = overhead_share(group, group.path + ".overhead", overhead.value_or(Seconds{}), other) + other;
  std::optional<Rate> known = narrowest_link(first, {}, base_);
  if (found.rate) known = found.rate;
  if (!found.kind) return fit_fallback(group, busy);
  const std::optional<Rate> rate = fit_latency(group, observations_beside_way(group), {.busy = busy, .base = known},
                                               group.path + ".rate", probes_, edit_, notes_);
  if (!rate || found.kind != platforms::CopyKind::host_to_host) return;
  for (const std::string& memory : memories_of(group, base_)) {
    set_fit(edit_, fmt::format("nodes.memories.{}.copy_rate", memory), *rate, group, probes_);
  }
}

/// The bytes' way is in no number of the copy.
std::vector<Observation> CopyFits::observations_beside_way(const Group& group) const {
  std::vector<Observation> observations;
  for (const GroupedProbe& grouped : group.lines) {
    observations.push_back(observation_of(grouped));
    observations.back().busy = find_copy_cost(base_, grouped.primitive.from, grouped.primitive.to).way;
  }
  return observations;
}

/// What each chunk but the first takes beside its two copies, which the parts tell: the two largest messages differ by
/// so many chunks. What that leaves is the latency.
void CopyFits::fit_fallback(const Group& group, Seconds busy) {
  platforms::Platform platform = base_.platform();
  platform.fallback->per_chunk.value = {};
  const Topology without(platform);
  const auto chunk = static_cast<double>(platform.fallback->chunk.value.count());
  struct Line {
    double further = 0;  ///< chunks behind the first
    Seconds beside{};    ///< what is no copy, and no latency of the way
  };
  std::vector<Line> lines;
  std::vector<Observation> observations = observations_beside_way(group);
  for (std::size_t i = 0; i < observations.size(); ++i) {
    const Primitive& primitive = group.lines[i].primitive;
    Observation& seen = observations[i];
    const platforms::CopyCost copy = copy_cost(without, primitive.from, primitive.to);
    seen.busy += seen.size / copy.rate.value() + copy.in_chunks(seen.size);
    lines.push_back(
        {std::max(std::ceil(static_cast<double>(seen.size.count()) / chunk) - 1, 0.0), seen.time - seen.busy});
  }
  std::vector<Line> by_chunks = lines;
  std::ranges::stable_sort(by_chunks, std::ranges::greater{}, &Line::further);
  const auto fewer =
      std::ranges::find_if(by_chunks, [&](const Line& line) { return line.further < by_chunks.front().further; });
  if (fewer == by_chunks.end()) {
    notes_.push_back(group.path + ".per_chunk: the sizes of the probes do not tell it; it stays");
  } else {
    const double chunks = by_chunks.front().further - fewer->further;
    const Seconds each = std::max((by_chunks.front().beside - fewer->beside) / chunks, Seconds{});
    set_fit(edit_, group.path + ".per_chunk", each, group, probes_);
    for (std::size_t i = 0; i < lines.size(); ++i) observations[i].busy += each * lines[i].further;
  }
  static_cast<void>(fit_latency(group, observations, {.busy = busy, .base = std::nullopt}, "", probes_, edit_, notes_));
}

/// A kind that the base has under another's name begins as that one; the probes replace what they tell.
void CopyFits::begin_as(const std::string& path, const platforms::CopyCost& other) {
  const std::string source = source_alike(other.path);
  const auto derive = [&](const std::string& key, const auto& value) {
    if (!measured_.contains(path + key)) edit_.set(path + key, value, platforms::Quality::derived, source);
  };
  derive(".overhead", other.cost->overhead.value);
  derive(".latency", other.cost->latency.value);
  if (other.cost->rate) derive(".rate", other.cost->rate->value);
  if (other.cost->gap) derive(".gap", other.cost->gap->value);
}

/// What the CPU does to learn that such a copy has ended.
Seconds CopyFits::completion_of(const Primitive& copy) const {
  if (!find_copy_cost(base_, copy.from, copy.to).by_event) return {};
  const auto measured = measured_.find("driver.runtime.completion");
  if (measured != measured_.end()) return measured->second;
  return or_none(base_.platform().runtime.completion);
}

void CopyFits::fit_gap(const Group& group, const Topology& topology) {
  constexpr double kTooLong = 16;
  constexpr double kQueued = bench::kQueuedCopies;
  const Seconds started = group.shortest();
  std::map<Bytes, std::vector<double>> gaps;
  for (const GroupedProbe& grouped : group.lines) {
    const Seconds flow = flow_alone(grouped.primitive, grouped.size(), topology);
    const std::optional<Seconds> first = predict_below(grouped.primitive, grouped.size(), topology);
    if (!first || flow > started * kTooLong) continue;
    // The first takes what one takes alone.
    const Seconds each = (grouped.time() * kQueued - *first) / (kQueued - 1);
    gaps[grouped.size()].push_back(std::max((each - flow).value(), 0.0));
  }
  std::map<Bytes, CostAt> costs;
  Seconds most = started * kTooLong;
  for (const auto& [size, all] : gaps | std::views::reverse) {
    CostAt cost = middle_at(group, size, all);
    cost.knot.cost = most = std::min(most, cost.knot.cost);
    costs[size] = cost;
  }
  if (costs.empty()) {
    notes_.push_back(group.path + ": at all sizes of the probes the bytes take much longer; it stays");
    return;
  }
  const platforms::Piecewise gap = curve_of(costs);
  set_fit(edit_, group.path, gap, group, probes_);
  gaps_.emplace(group.path, gap);
}

void CopyFits::fit_gaps_alike(const Topology& topology) {
  for (const std::string& path : copy_paths(topology.platform())) {
    const std::optional<std::string> alike = path_alike(path);
    if (gaps_.contains(path + ".gap") || !alike) continue;
    const auto other = gaps_.find(*alike + ".gap");
    if (other == gaps_.end()) continue;
    edit_.set(path + ".gap", other->second, platforms::Quality::derived, source_alike(other->first));
  }
}

/// Where it takes none it is zero: without the number the simulation would charge the copy engine's.
void CopyFits::fit_kernel_signal(const Group& group, const Topology& topology) {
  std::map<Bytes, std::vector<double>> rests;
  for (const GroupedProbe& grouped : group.lines) {
    const std::optional<Seconds> put = put_alone(grouped, topology);
    if (put) rests[grouped.size()].push_back(std::max((grouped.time() - *put).value(), 0.0));
  }
  const std::map<Bytes, CostAt> costs = middles_at(group, rests);
  if (costs.empty()) {
    notes_.push_back(group.path + ": neither the base nor the probes tell what the put itself takes; it stays");
    return;
  }
  set_fit(edit_, group.path, curve_of(costs), group, probes_);
}

std::optional<Seconds> CopyFits::put_alone(const GroupedProbe& signal, const Topology& topology) const {
  const std::optional<Seconds> measured = measured_put(signal);
  return measured ? measured : predict_below(signal.primitive, signal.size(), topology);
}

/// The same puts as those with a signal, there and back without it, measured in the same job. The peer goes on while
/// the sender learns of the end.
std::optional<Seconds> CopyFits::measured_put(const GroupedProbe& signal) const {
  const bench::ProbeLine& line = signal.probe->line;
  const Engine engine = signal.primitive.kind == Kind::kernel_signal ? Engine::kernel : Engine::dma;
  const auto name = [engine](bool direct) {
    return to_string(bench::Probed{.engine = engine, .peer = bench::Probed::Peer::write, .direct = direct});
  };
  const std::array names{name(true), name(false)};
  const auto write = [&](const std::string& from, const std::string& to) -> std::optional<Seconds> {
    const auto found = std::ranges::find_if(probes_.probes, [&](const Probe& probe) {
      return probe.file == signal.probe->file && std::ranges::find(names, probe.line.name) != names.end() &&
             probe.line.gpu == from && probe.line.peer == to && probe.line.size == line.size;
    });
    if (found == probes_.probes.end()) return std::nullopt;
    return Seconds{found->line.time_us.median * 1e-6};
  };
  const auto there = write(line.gpu, line.peer);
  const auto back = write(line.peer, line.gpu);
  if (!there || !back) return std::nullopt;
  const Seconds put = (*there + *back) / 2;
  const Seconds completion = completion_of(signal.primitive);
  return put > completion ? put - completion : Seconds{};
}

std::optional<Rate> fit_latency(const Group& group, std::span<const Observation> observations,
                                const KnownOfLatency& known, const std::string& rate_path, const ProbeSet& probes,
                                PlatformEdit& edit, std::vector<std::string>& notes) {
  CurveFit curve = fit_curve(observations, known.busy, known.base);
  bool queues_tell = curve.rate && known.queues != nullptr && rate_of_queues(*known.queues) > *curve.rate;
  if (queues_tell && known.most && rate_of_queues(*known.queues) > *known.most) {
    notes.push_back(fmt::format("{}: windows show {}, and CPUs copy no more than {}: those alone tell it", group.path,
                                format_rate(rate_of_queues(*known.queues)), format_rate(*known.most)));
    queues_tell = false;
  }
  if (queues_tell) curve = fit_beside_rate(observations, known.busy, rate_of_queues(*known.queues));
  if (curve.rate || tells_latency(observations, known.base)) {
    set_fit(edit, group.path + ".latency", platforms::Piecewise(curve.latency), group, probes);
  } else {
    notes.push_back(group.path + ".latency: the bytes of these sizes take longer; it stays");
  }
  if (rate_path.empty()) return curve.rate;
  if (curve.rate) {
    set_fit(edit, rate_path, Rate{curve.rate->bytes_per_second() / known.parts}, queues_tell ? *known.queues : group,
            probes);
  } else {
    notes.push_back(fmt::format("{}: the sizes of the probes do not tell it; it stays", rate_path));
  }
  return curve.rate;
}

}  // namespace twinlink::validate
