#include "protocols/bench/measure/expectation.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/json_members.hpp"
#include "protocols/bench/results/settings_text.hpp"

namespace twinlink::bench {
namespace {

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw InputError(fmt::format("{}: error: {}", file, why));
}

std::string options_text(const Settings& settings, const RunFacts& facts) {
  std::map<std::string, std::string> options = settings.options;
  options.merge(named(facts));
  std::string text;
  for (const auto& [name, value] : options) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text.empty() ? "defaults" : text;
}

void require_same(const std::string& file, std::string_view what, std::string_view expected, std::string_view planned) {
  if (expected == planned) return;
  refuse(file, fmt::format("no expectation of this run: {} is {} there and {} here", what, expected, planned));
}

/// Without places, as everywhere in this file.
std::string beside_text(std::vector<std::string> pairs) {
  std::ranges::sort(pairs);
  return pairs.empty() ? "nothing" : fmt::format("{}", fmt::join(pairs, ", "));
}

std::string beside_text(const std::vector<OtherPair>& pairs) {
  std::vector<std::string> texts;
  for (const OtherPair& pair : pairs) texts.push_back(pair.what());
  return beside_text(std::move(texts));
}

std::string beside_text(const std::vector<Companion>& pairs) {
  std::vector<std::string> texts;
  for (const Companion& pair : pairs) {
    texts.push_back(OtherPair{.protocol = pair.protocol, .settings = pair.settings}.what());
  }
  return beside_text(std::move(texts));
}

void require_curve(const std::string& file, const Series& expected, std::string_view protocol, const Plan& plan) {
  const Settings& settings = plan.settings;
  require_same(file, "the protocol", expected.protocol, protocol);
  require_same(file, "the pattern", to_string(expected.pattern), to_string(plan.pattern));
  require_same(file, "the window", std::to_string(expected.window), std::to_string(plan.window));
  require_same(file, "the chunk", chunk_text(expected.settings.chunk), chunk_text(settings.chunk));
  require_same(file, "the depth", depth_text(expected.settings.depth), depth_text(settings.depth));
  require_same(file, "what runs beside it", beside_text(expected.beside), beside_text(plan.beside));
  require_same(file, "the set of options", options_text(expected.settings, expected.facts),
               options_text(settings, plan.facts));
}

}  // namespace

const ExpectedTime* Expectation::find(Bytes size) const {
  const auto found = std::ranges::find(points, size, &ExpectedTime::size);
  return found == points.end() ? nullptr : &*found;
}

Expectation read_expectation(const std::filesystem::path& file, std::string_view protocol, const Plan& plan) {
  const std::string name = file.string();
  const Result simulated = read_json(file);
  if (simulated.world != "simulated") refuse(name, "only a simulated result is an expectation; this one is measured");
  require_curve(name, simulated.series, protocol, plan);
  Expectation expectation{.file = name,
                          .platform = Members(simulated.environment, name, "environment").text("platform")};
  for (const Point& point : simulated.series.points) {
    const double time_us = point.time_us.median;
    if (!(time_us > 0)) refuse(name, fmt::format("{}: {} us is no time", format_size(point.size), time_us));
    expectation.points.push_back({point.size, time_us});
  }
  const auto expected = [&](Bytes size) { return expectation.find(size) != nullptr; };
  if (!std::ranges::any_of(plan.sizes, expected)) refuse(name, "holds none of the sizes of this run");
  return expectation;
}

nlohmann::json to_json(const Expectation& expectation) {
  nlohmann::json points = nlohmann::json::array();
  for (const ExpectedTime& point : expectation.points) {
    points.push_back(nlohmann::json::array({point.size.count(), point.time_us}));
  }
  return {{"file", expectation.file}, {"platform", expectation.platform}, {"points", std::move(points)}};
}

std::optional<Expectation> expectation_of(const nlohmann::json& environment, const std::string& origin) {
  if (!environment.contains(std::string(kExpectedMember))) return std::nullopt;
  Members expected = Members(environment, origin, "environment").members(kExpectedMember);
  Expectation expectation{.file = expected.text("file"), .platform = expected.text("platform")};
  for (const nlohmann::json& point : expected.array("points")) {
    if (!point.is_array() || point.size() != 2 || !point[0].is_number_unsigned() || !point[1].is_number() ||
        !(point[1].get<double>() > 0)) {
      expected.fail("points", "holds something that is no pair of a size and a positive time");
    }
    expectation.points.push_back({Bytes{point[0].get<std::uint64_t>()}, point[1].get<double>()});
  }
  expected.done();
  return expectation;
}

}  // namespace twinlink::bench
