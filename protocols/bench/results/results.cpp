#include "protocols/bench/results/results.hpp"

#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/frame.hpp"
#include "protocols/bench/results/json_members.hpp"
#include "protocols/bench/results/json_statistics.hpp"
#include "protocols/core/enum_table.hpp"

namespace twinlink::bench {
namespace {

constexpr Words<Pattern> kPatterns{"pingpong", "bandwidth", "bidirectional", "copy"};
constexpr auto kMostInt = static_cast<std::uint64_t>(std::numeric_limits<int>::max());

nlohmann::json to_json(const Point& point, Provenance provenance) {
  nlohmann::json json{
      {"bytes", point.size.count()}, {"bandwidth_MBps", point.bandwidth_MBps}, {"verified", point.verified}};
  write_text(json, "path", point.path, provenance);
  if (point.cpu_us) json["cpu_us"] = *point.cpu_us;
  write_statistics(json, point.time_us);
  write_samples(json, point.samples_us);
  if (!point.links->is_null()) json["links"] = point.links;
  if (!point.critical_path->is_null()) json["critical_path"] = point.critical_path;
  return json;
}

Point read_point(Members members, Provenance provenance) {
  Point point{.size = Bytes{members.count("bytes", kMostBytes)},
              .time_us = read_statistics(members, provenance),
              .bandwidth_MBps = members.number("bandwidth_MBps"),
              .cpu_us = members.has("cpu_us") ? std::optional(members.number("cpu_us")) : std::nullopt,
              .path = read_text(members, "path", provenance),
              .verified = members.flag("verified"),
              .samples_us = read_samples(members)};
  if (members.has("links")) point.links = nlohmann::json(members.array("links"));
  if (members.has("critical_path")) point.critical_path = nlohmann::json(members.array("critical_path"));
  members.done();
  return point;
}

Pattern read_pattern(Members& members) {
  try {
    return find_pattern(members.text("pattern"));
  } catch (const InputError&) {
    throw;
  } catch (const UsageError& error) {
    members.fail("pattern", fmt::format("is wrong: {}", error.what()));
  }
}

/// The options of the file are the protocol's and the run's.
std::pair<Settings, RunFacts> read_settings(Members members) {
  Settings settings;
  if (!members.is_null("chunk_bytes")) settings.chunk = Bytes{members.count("chunk_bytes", kMostBytes)};
  if (!members.is_null("depth")) settings.depth = static_cast<int>(members.count("depth", kMostInt));
  settings.timeout = Seconds{members.number("timeout_s")};
  if (members.has("options")) settings.options = members.texts("options");
  members.done();
  try {
    RunFacts facts = take_run_facts(settings.options);
    return {std::move(settings), std::move(facts)};
  } catch (const UsageError& error) {
    members.fail("options", fmt::format("is wrong: {}", error.what()));
  }
}

nlohmann::json to_json(const Settings& settings, const RunFacts& facts) {
  nlohmann::json json{{"chunk_bytes", nullptr}, {"depth", nullptr}, {"timeout_s", settings.timeout.value()}};
  if (settings.chunk) json["chunk_bytes"] = settings.chunk->count();
  if (settings.depth) json["depth"] = *settings.depth;
  if (!settings.options.empty()) json["options"] = settings.options;
  for (const auto& [name, value] : named(facts)) json["options"][name] = value;
  return json;
}

std::vector<OtherPair> read_beside(Members& members) {
  std::vector<OtherPair> pairs;
  for (const nlohmann::json& entry : members.array("beside")) {
    Members pair(entry, members.origin(), fmt::format("beside[{}]", pairs.size()));
    auto [settings, facts] = read_settings(pair.members("settings"));
    pairs.push_back({.protocol = pair.text("protocol"),
                     .settings = std::move(settings),
                     .facts = std::move(facts),
                     .from = pair.text("from"),
                     .to = pair.text("to")});
    pair.done();
  }
  return pairs;
}

/// A list of objects with one member each: JSON's own objects would not keep the order.
std::vector<Counter> read_counters(Members& members) {
  std::vector<Counter> counters;
  for (const nlohmann::json& entry : members.array("counters")) {
    if (!entry.is_object() || entry.size() != 1) members.fail("counters", "holds something that is no counter");
    const std::string name = entry.begin().key();
    Members counter(entry, members.origin(), members.path("counters"));
    counters.push_back({name, counter.count(name)});
  }
  return counters;
}

}  // namespace

std::string OtherPair::what() const {
  std::string text = protocol;
  if (settings.chunk) text += fmt::format(":chunk={}", format_size(*settings.chunk));
  if (settings.depth) text += fmt::format(":depth={}", *settings.depth);
  for (const auto& [name, value] : settings.options) text += fmt::format(":{}={}", name, value);
  return text;
}

std::string OtherPair::where_and_what() const { return fmt::format("{}-{}:{}", from, to, what()); }

std::string_view to_string(Pattern pattern) { return kPatterns[pattern]; }

Pattern find_pattern(std::string_view name) { return value_named(kPatterns, name, "pattern"); }

std::string heading_world(const std::string& world, const JsonValue& environment) {
  if (world != "measured" || !environment->is_object()) return world;
  if (environment->contains("pace")) return "paced";
  const auto emulated = environment->find("emulated_devices");
  return emulated != environment->end() && *emulated == true ? "emulated" : world;
}

nlohmann::json to_json(const Result& result) {
  const Series& series = result.series;
  const Provenance provenance = provenance_of(result.environment);
  nlohmann::json points = nlohmann::json::array();
  for (const Point& point : series.points) points.push_back(to_json(point, provenance));
  nlohmann::json json = frame_of(result, kResultKind, kResultSchema);
  json["label"] = series.label;
  json["pattern"] = to_string(series.pattern);
  json["points"] = std::move(points);
  write_text(json, "protocol", series.protocol, provenance);
  write_text(json, "from", series.from, provenance);
  write_text(json, "to", series.to, provenance);
  write_text(json, "clock", series.clock, provenance);
  if (!series.preset.empty()) json["preset"] = series.preset;
  if (series.told.settings) json["settings"] = to_json(series.settings, series.facts);
  if (series.told.window) json["window"] = series.window;
  if (series.told.cold_us) json["cold_us"] = series.cold_us;
  if (!result.notes.empty()) json["notes"] = result.notes;
  for (const OtherPair& pair : series.beside) {
    json["beside"].push_back({{"protocol", pair.protocol},
                              {"from", pair.from},
                              {"to", pair.to},
                              {"settings", to_json(pair.settings, pair.facts)}});
  }
  for (const Counter& counter : series.counters) json["counters"].push_back({{counter.name, counter.value}});
  return json;
}

Result result_from_json(const nlohmann::json& json, const std::string& origin) {
  Members members(json, origin);
  Result result;
  const Provenance provenance = read_frame(members, kResultKind, kResultSchema, result);
  result.series = {.label = members.text("label"), .pattern = read_pattern(members)};
  const auto told = [&](const char* name) { return provenance == Provenance::own || members.has(name); };
  if (members.has("notes")) result.notes = members.text_list("notes");
  Series& series = result.series;
  series.protocol = read_text(members, "protocol", provenance);
  if (members.has("preset")) series.preset = members.text("preset");
  series.from = read_text(members, "from", provenance);
  series.to = read_text(members, "to", provenance);
  series.clock = read_text(members, "clock", provenance);
  series.told = {.settings = told("settings"), .window = told("window"), .cold_us = told("cold_us")};
  if (series.told.settings) std::tie(series.settings, series.facts) = read_settings(members.members("settings"));
  if (series.told.window) series.window = static_cast<int>(members.count("window", kMostInt));
  if (series.told.cold_us) series.cold_us = members.number("cold_us");
  if (members.has("beside")) series.beside = read_beside(members);
  if (members.has("counters")) series.counters = read_counters(members);
  for (const nlohmann::json& point : members.array("points")) {
    series.points.push_back(read_point({point, origin, fmt::format("points[{}]", series.points.size())}, provenance));
  }
  members.done();
  return result;
}

void write_json(const Result& result, const std::filesystem::path& file) { write_json_file(file, to_json(result)); }

Result read_json(const std::filesystem::path& file) { return result_from_json(read_json_file(file), file.string()); }

}  // namespace twinlink::bench
