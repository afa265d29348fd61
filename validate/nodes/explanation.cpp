#include "validate/nodes/explanation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "platforms/machine/degraded.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/bench/probe/probed.hpp"
#include "protocols/core/errors.hpp"
#include "validate/compare/spread.hpp"
#include "validate/nodes/slower.hpp"
#include "validate/primitives/primitive.hpp"

namespace twinlink::validate {
namespace {

std::string whole_percent(double fraction) { return fmt::format("{:.0f} %", fraction * 100); }

/// What a CPU does; the rest of a node only waits for it.
bool is_of_cpu(const std::string& test) {
  static const std::set<std::string> tests{
      "calls of the CPU", "messages within", "messages between nodes", "memory and handles", "copies by the CPU",
      "pageable copies",  "signals"};
  return tests.contains(test);
}

bench::Statistics with_deviation(double log_us, double deviation) {
  constexpr double kTo95 = 1.645;
  const double us = std::exp(log_us);
  return {.n = 2,
          .median = us,
          .min = us,
          .max = us,
          .p5 = std::exp(log_us - kTo95 * deviation),
          .p95 = std::exp(log_us + kTo95 * deviation)};
}

ProbeSet empty_set(const std::string& name) {
  ProbeSet set;
  set.files.push_back({.file = name, .date = "", .program = "", .machine = "", .platform = "", .devices = {}});
  return set;
}

/// The node's probes, as `topology` would have them were it exactly like the node's equals: of its days, where what
/// stands out most is of those, else of the newest.
ProbeSet scaled_probes(const Equals& equals, const HeldNode& node, const platforms::Topology& topology) {
  ProbeSet set = empty_set("node");
  const auto surest = std::ranges::max_element(node.slower, {}, &Slower::sure);
  const bool of_days = surest != node.slower.end() && surest->days > 1;
  for (const HeldCurve& held : node.curves) {
    if (!held.file->probes) continue;
    for (std::size_t i = 0; i < held.off.size(); ++i) {
      if (!held.off[i]) continue;
      const bool mean = of_days && held.of_days[i];
      const double scatter = mean ? std::sqrt(scatter_of_mean(held.days_of[i])) : 1;
      const NodePoint& point = held.curve->points[i];
      bench::ProbeLine line{
          .name = held.curve->name, .gpu = held.curve->from, .peer = held.curve->to, .size = point.size};
      std::string reason;
      const std::optional<PredictedLine> found = predict_line(line, topology, reason);
      if (!found) continue;
      const auto deviation = equals.deviation.find({held.key, point.size});
      line.time_us = with_deviation(std::log(found->time.microseconds()) + *(mean ? held.of_days : held.off)[i],
                                    deviation == equals.deviation.end() ? 0 : deviation->second * scatter);
      set.probes.push_back({.line = std::move(line), .file = 0});
    }
  }
  return set;
}

/// The GPUs at whose side a part stands: those that one of its links ends at.
std::vector<std::string> places_at(const platforms::Platform& platform, const std::string& part) {
  const platforms::Node& node = platform.node;
  std::vector<std::string> places;
  for (const std::size_t link : platforms::links_of(node, part)) {
    for (const std::string& end : {node.links[link].from, node.links[link].to}) {
      const auto gpu = std::ranges::find(node.gpus, end, &platforms::Gpu::name);
      if (gpu != node.gpus.end()) places.push_back(fmt::format("0/{}", gpu - node.gpus.begin()));
    }
  }
  std::ranges::sort(places);
  places.erase(std::ranges::unique(places).begin(), places.end());
  return places;
}

std::vector<platforms::Crossing> crossings_at(const platforms::Platform& platform, const std::string& part) {
  std::vector<platforms::Crossing> way;
  for (const std::size_t index : platforms::links_of(platform.node, part)) {
    const platforms::Link& link = platform.node.links[index];
    way.push_back({.from = {.node = 0, .name = link.from}, .to = {.node = 0, .name = link.to}});
  }
  return way;
}

/// Missing lines of direct copies beside lines through the host.
std::optional<Explanation> without_peers(const Equals& equals, const HeldNode& node) {
  std::set<std::string> places;
  std::size_t count = 0;
  for (const std::size_t key : node.missing) {
    const CurveKey& missing = equals.keys[key];
    const std::optional<bench::Probed> probed = bench::probed_by(missing.name);
    if (!probed || probed->peer == bench::Probed::Peer::none || !probed->direct) continue;
    ++count;
    places.insert(missing.from);
  }
  const bool staged = std::ranges::any_of(
      node.extra, [&](std::size_t key) { return equals.keys[key].name.find(" staged") != std::string::npos; });
  if (count == 0 || !staged) return std::nullopt;
  return Explanation{.text = "GPUs do not reach each other's memory: copies go through the host",
                     .places = {places.begin(), places.end()}};
}

/// Are the CPU's calls what has grown most, and do bytes flow as fast as ever?
bool begins_at_cpu(const HeldNode& node) {
  const auto of_test = [](const Slower& each) { return each.of == Slower::Of::test; };
  const auto worst = std::ranges::find_if(node.slower, of_test);
  return worst != node.slower.end() && worst->test == "calls of the CPU" &&
         std::ranges::none_of(node.slower,
                              [&](const Slower& each) { return of_test(each) && each.band == Band::large; });
}

/// Is it about messages out of host memory to another node?
bool is_host_message(const Slower& slower) {
  const auto elsewhere = [](const std::string& place) { return !place.starts_with(kOwnPlaces); };
  return slower.test == "messages between nodes" ||
         (slower.test == "host" && std::ranges::any_of(slower.places, elsewhere));
}

/// Between nodes messages out of GPU memory are slow: the adapter is where those out of host memory are as well, and
/// else what lies between it and the GPU.
std::optional<Explanation> way_to_adapter(const HeldNode& node) {
  const auto is_rdma = [](const Slower& each) { return each.test == "gpudirect-v3"; };
  const auto worst = std::ranges::find_if(node.slower, is_rdma);
  if (worst == node.slower.end()) return std::nullopt;
  const bool host = std::ranges::any_of(node.slower, is_host_message);
  const bool more =
      std::ranges::any_of(node.slower, [&](const Slower& each) { return !is_rdma(each) && !is_host_message(each); });
  if (host && more) return std::nullopt;
  return Explanation{
      .text = fmt::format("{}: {} +{} ({})",
                          host ? "an adapter, its cable or its slot, for messages out of host memory are slow as well"
                               : "the way between a GPU and its adapter, which is a far one or is read across sockets",
                          worst->test, whole_percent(worst->slower), to_string(worst->band)),
      .places = worst->places.empty() ? std::vector<std::string>{} : std::vector<std::string>{worst->places.front()}};
}

/// What of a GPU is common to all that is slower; empty: they have no GPU in common.
std::vector<std::string> common_place(const std::vector<Slower>& slower) {
  const auto worst = std::ranges::find(slower, Slower::Of::gpu, &Slower::of);
  if (worst == slower.end()) return {};
  // Peers of an ill GPU are slower as well, but a fraction of it only.
  for (const Slower& each : slower) {
    const bool other = each.of == Slower::Of::gpu && each.places != worst->places;
    if (other && each.test == worst->test && each.slower > worst->slower / 2) return {};
  }
  return worst->places;
}

std::string list_of(const std::vector<Slower>& slower, Slower::Of of, const std::vector<std::string>& places = {}) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> parts;
  std::set<std::string> named;
  for (const Slower& each : slower) {
    if (each.of != of || (!places.empty() && each.places != places)) continue;
    const std::string& what = of == Slower::Of::curve ? each.curve : each.test;
    if (!named.insert(what).second) continue;
    if (parts.size() < kMost)
      parts.push_back(fmt::format("{} +{} ({})", what, whole_percent(each.slower), to_string(each.band)));
  }
  if (named.size() > parts.size()) parts.push_back(fmt::format("{} more", named.size() - parts.size()));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Each test by the mean of all its curves where that is slower; one of a single curve by that.
std::string list_of_tests(std::vector<Slower> slower) {
  std::set<std::string> means;
  for (const Slower& each : slower) {
    if (each.of == Slower::Of::test) means.insert(each.test);
  }
  if (means.empty()) return list_of(slower, Slower::Of::test);
  std::erase_if(slower, [&](const Slower& each) {
    return each.of == Slower::Of::gpu || (each.of == Slower::Of::curve && means.contains(each.test));
  });
  for (Slower& each : slower) each.of = Slower::Of::test;
  return list_of(slower, Slower::Of::test);
}

/// The part whose pattern stands out of the noise by more than any curve, GPU or test does.
std::optional<Explanation> by_pattern(const HeldNode& node) {
  const auto best = std::ranges::max_element(node.slower, {}, &Slower::sure);
  if (best == node.slower.end() || best->of != Slower::Of::part) return std::nullopt;
  return Explanation{
      .text = fmt::format("{}: what crosses it takes up to {} longer", best->curve, whole_percent(best->slower)),
      .places = best->places};
}

std::vector<std::string> places_of(const Suspect& suspect, const platforms::Platform& platform) {
  std::vector<std::string> places;
  for (const std::size_t gpu : suspect.gpus) places.push_back(fmt::format("{}{}", kOwnPlaces, gpu));
  return suspect.kind == "link" ? places_at(platform, suspect.part) : places;
}

}  // namespace

bool lacks_peers(const Equals& equals, const HeldNode& node) { return without_peers(equals, node).has_value(); }

Explanation explain_by_tests(const Equals& equals, const HeldNode& whole) {
  HeldNode node = whole;
  std::erase_if(node.slower, [](const Slower& each) { return each.of == Slower::Of::part; });
  if (auto peers = without_peers(equals, node)) return *peers;
  if (node.slower.empty()) {
    return node.missing.empty()
               ? Explanation{}
               : Explanation{.text = fmt::format("lacks {} measurements that its equals have", node.missing.size())};
  }
  if (const auto way = way_to_adapter(node)) return *way;
  const bool all_cpu = std::ranges::all_of(node.slower, [](const Slower& each) { return is_of_cpu(each.test); });
  const std::string tests = list_of_tests(node.slower);
  if ((all_cpu || begins_at_cpu(node)) && !tests.empty())
    return {.text = "the host, its CPU or what runs beside: " + tests};
  if (const auto place = common_place(node.slower); !place.empty()) {
    return {.text = fmt::format("what GPU {} alone has: {}", place.front().substr(place.front().find('/') + 1),
                                list_of(node.slower, Slower::Of::gpu, place)),
            .places = place};
  }
  if (!tests.empty()) return {.text = tests};
  const Slower& worst = node.slower.front();
  return {.text = list_of(node.slower, worst.of), .places = worst.places};
}

ProbeSet middle_probes(const Equals& equals, const std::string& kind) {
  ProbeSet set = empty_set("the middle of all nodes");
  for (const auto& [place, middle] : equals.middle) {
    const CurveKey& key = equals.keys[place.first];
    if (key.kind != kind || !bench::probed_by(key.name)) continue;
    bench::ProbeLine line{.name = key.name, .gpu = key.from, .peer = key.to, .size = place.second};
    line.time_us = with_deviation(middle, 0);
    set.probes.push_back({.line = std::move(line), .file = 0});
  }
  return set;
}

Explanation explain(const Equals& equals, const HeldNode& node, const std::filesystem::path& base, double tolerance) {
  if (auto peers = without_peers(equals, node)) return *peers;
  Explanation by_tests = explain_by_tests(equals, node);
  const platforms::Platform platform = platforms::read_platform(base);
  const platforms::Topology topology(platform);
  const ProbeSet probes = scaled_probes(equals, node, topology);
  if (probes.probes.empty()) return by_tests;
  Suspicion suspicion;
  try {
    suspicion = find_suspects(probes, base, tolerance, true);
  } catch (const InputError&) {
    return by_tests;  // the probes are of what the platform has no number of
  }
  if (suspicion.verdict != Suspicion::Verdict::one_part) {
    const auto part = by_pattern(node);
    return part ? *part : by_tests;
  }
  const Suspect& first = suspicion.suspects.front();
  const std::string alike = first.alike.empty() ? "" : fmt::format("; not told from {}", fmt::join(first.alike, ", "));
  return {.text = in_words(first) + alike,
          .part = first.has_share() ? first.part : "",
          .share = first.share,
          .places = places_of(first, platform),
          .way = first.degradable ? crossings_at(platform, first.part) : std::vector<platforms::Crossing>{}};
}

}  // namespace twinlink::validate
