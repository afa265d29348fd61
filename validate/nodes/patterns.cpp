#include "validate/nodes/patterns.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "platforms/topology/topology.hpp"
#include "protocols/bench/probe/probed.hpp"
#include "protocols/core/errors.hpp"
#include "validate/suspect/parts.hpp"

namespace twinlink::validate {
namespace {

struct Held {
  std::pair<std::size_t, Bytes> place{};
  HeldLine line{};
};

/// The line as the platform has it; nothing where it lacks its device or a number.
std::optional<HeldLine> held(const bench::ProbeLine& line, const platforms::Topology& topology) {
  try {
    std::string reason;
    const std::optional<PredictedLine> found = predict_line(line, topology, reason);
    if (!found) return std::nullopt;
    return HeldLine{.line = &line, .primitive = found->primitive, .predicted = found->time};
  } catch (const InputError&) {
    return std::nullopt;
  }
}

Pattern pattern_of(const Possible& part, const std::vector<Held>& lines, double share) {
  constexpr double kLeast = 0.02;  // of the most
  Pattern pattern{.part = fmt::format("{} '{}'", part.kind, part.part)};
  for (const std::size_t gpu : part.gpus) pattern.places.push_back(fmt::format("{}{}", kOwnPlaces, gpu));
  const IllMachine machine = part.at(share);
  double most = 0;
  for (const auto& [place, line] : lines) {
    if (!part.concerns(line)) continue;
    const double longer = std::log(machine(line).value() / line.predicted.value());
    most = std::max(most, longer);
    pattern.share[place] = longer;
  }
  std::erase_if(pattern.share, [&](auto& each) { return !(each.second > kLeast * most); });
  for (auto& [place, longer] : pattern.share) longer /= most;
  return pattern;
}

bool are_alike(const Pattern& one, const Pattern& other) {
  constexpr double kSame = 0.05;
  return std::ranges::equal(one.share, other.share, [&](const auto& a, const auto& b) {
    return a.first == b.first && std::abs(a.second - b.second) < kSame;
  });
}

}  // namespace

std::vector<Pattern> patterns_of(const platforms::Platform& base, const std::vector<CurveKey>& keys,
                                 const std::vector<std::pair<std::size_t, Bytes>>& places) {
  const platforms::Topology topology(base);
  std::deque<bench::ProbeLine> all;
  std::vector<Held> lines;
  for (const auto& place : places) {
    const CurveKey& key = keys[place.first];
    if (!bench::probed_by(key.name)) continue;
    all.push_back({.name = key.name, .gpu = key.from, .peer = key.to, .size = place.second});
    if (const auto line = held(all.back(), topology)) lines.push_back({.place = place, .line = *line});
  }
  std::vector<Pattern> patterns;
  for (const Possible& part : parts_of(base, topology)) {
    Pattern pattern = pattern_of(part, lines, 0.9);
    if (pattern.share.empty()) pattern = pattern_of(part, lines, 0.5);
    const bool known = std::ranges::any_of(patterns, [&](const Pattern& other) { return are_alike(pattern, other); });
    if (!pattern.share.empty() && !known) patterns.push_back(std::move(pattern));
  }
  return patterns;
}

}  // namespace twinlink::validate
