#include "validate/calibrate/probe_set.hpp"

#include <cassert>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/gpu_health.hpp"
#include "protocols/bench/results/results.hpp"
#include "validate/compare/join.hpp"

namespace twinlink::validate {
namespace {

bench::ProbeFile read_probe_file(const std::string& file) {
  const nlohmann::json content = bench::read_json_file(file);
  if (content.is_object() && content.value("kind", nlohmann::json{}) == bench::kResultKind) {
    throw InputError(file +
                     ": error: the result of a protocol; a platform is calibrated from probes only, for a fit to a "
                     "protocol's own curve could predict nothing");
  }
  return bench::probes_from_json(content, file);
}

/// A text of the environment, which any program may have written; empty if it is not there.
std::string text_of(const nlohmann::json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

/// Why `text` names no device; empty: it names one.
std::string why_no_place(const std::string& text) {
  try {
    static_cast<void>(parse_place(text));
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

std::map<std::string, std::string> devices_of(const nlohmann::json& environment, const std::string& file) {
  std::map<std::string, std::string> devices;
  const auto ranks = environment.find("ranks");
  if (ranks == environment.end() || !ranks->is_array()) return devices;
  for (const nlohmann::json& rank : *ranks) {
    const auto device = rank.is_object() ? rank.find("device") : rank.end();
    if (device == rank.end()) continue;
    const std::string place = text_of(rank, "place");
    const std::string model = text_of(*device, "name");
    if (place.empty() || model.empty()) continue;
    if (const std::string why = why_no_place(place); !why.empty()) {
      throw InputError(fmt::format("{}: error: member 'environment.ranks[].place': {}", file, why));
    }
    devices[place] = model;
  }
  return devices;
}

std::string describe_machine(const ProbeOrigin& origin) {
  if (!origin.platform.empty()) return "simulated " + origin.platform;
  std::map<std::string, int> models;
  for (const auto& [place, model] : origin.devices) ++models[model];
  std::string text;
  for (const auto& [model, count] : models) text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", count, model);
  return text;
}

ProbeOrigin origin_of(const bench::ProbeFile& probes, const std::string& file) {
  constexpr std::size_t kDateLength = std::string_view{"2026-11-21"}.size();
  ProbeOrigin origin{.file = file,
                     .date = text_of(probes.environment, "date").substr(0, kDateLength),
                     .program = probes.program,
                     .platform = text_of(probes.environment, "platform"),
                     .devices = devices_of(probes.environment, file)};
  origin.machine = describe_machine(origin);
  origin.health = bench::health_findings_of(probes.environment);
  return origin;
}

bool is_range(double low, double high) { return low >= 0 && low <= high && high <= bench::kMostTime; }

/// What is wrong with the lines of one file.
std::vector<std::string> check_lines(const std::vector<bench::ProbeLine>& lines, const std::string& file) {
  std::vector<std::string> findings;
  std::set<Key> seen;
  for (const bench::ProbeLine& line : lines) {
    const Key key{.name = line.name, .gpu = line.gpu, .peer = line.peer, .size = line.size};
    const auto find = [&](const std::string& text) {
      findings.push_back(fmt::format("{}: error: {}: {}", file, to_string(key), text));
    };
    if (!seen.insert(key).second) find("named twice");
    if (const std::string why = why_no_place(line.gpu); !why.empty()) find(why);
    if (const std::string why = line.peer.empty() ? "" : why_no_place(line.peer); !why.empty()) find(why);
    if (const std::string why = bench::why_no_time(line.time_us.median); !why.empty()) {
      find(why);
    } else if (!is_range(line.time_us.p5, line.time_us.p95)) {
      find(fmt::format("{} us and {} us are no percentiles", line.time_us.p5, line.time_us.p95));
    }
  }
  if (lines.empty()) findings.push_back(file + ": error: holds no measurement");
  return findings;
}

}  // namespace

ProbeSet read_probe_set(std::span<const std::filesystem::path> files) {
  assert(!files.empty());
  ProbeSet set;
  std::vector<std::string> findings;
  for (const std::filesystem::path& path : files) {
    const std::string file = path.string();
    try {
      bench::ProbeFile probes = read_probe_file(file);
      for (std::string& finding : check_lines(probes.findings.lines, file)) findings.push_back(std::move(finding));
      const bool simulated = probes.world == "simulated";
      if (!set.files.empty() && simulated != set.simulated) {
        findings.push_back(file + ": error: measured and simulated probes do not belong into one platform");
      }
      set.simulated = simulated;
      const std::size_t index = set.files.size();
      set.files.push_back(origin_of(probes, file));
      for (auto& line : probes.findings.lines) set.probes.push_back({std::move(line), index});
    } catch (const InputError& error) {
      findings.emplace_back(error.what());
    }
  }
  if (!findings.empty()) throw InputError(fmt::format("{}", fmt::join(findings, "\n")));
  return set;
}

}  // namespace twinlink::validate
