#include "validate/compare/recording.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/probe/probe.hpp"

namespace twinlink::validate {
namespace {

/// Every later figure divides by a time or takes its logarithm, so this is where bad ones end.
void check_samples(const Recording& recording) {
  std::string findings;
  const auto add = [&](const Key& key, std::string_view text) {
    findings += fmt::format("{}{}: error: {}: {}", findings.empty() ? "" : "\n", recording.file, to_string(key), text);
  };
  std::set<Key> seen;
  for (const auto& sample : recording.samples) {
    if (!seen.insert(sample.key).second) add(sample.key, "named twice");
    if (const std::string why = bench::why_no_time(sample.time_us); !why.empty()) add(sample.key, why);
  }
  if (recording.samples.empty()) findings = recording.file + ": error: holds no measurement";
  if (!findings.empty()) throw InputError(findings);
}

Recording from_result(bench::Result result, const std::string& file) {
  Recording recording{.file = file,
                      .world = std::move(result.world),
                      .program = std::move(result.program),
                      .command = std::move(result.command),
                      .environment = std::move(result.environment),
                      .notes = std::move(result.notes),
                      .series = std::move(result.series)};
  std::ranges::sort(recording.series->points, {}, &bench::Point::size);
  for (const auto& point : recording.series->points) {
    recording.samples.push_back(
        {.key = {.size = point.size}, .time_us = point.time_us.median, .unstable = point.time_us.unstable});
  }
  return recording;
}

Recording from_probes(bench::ProbeFile probes, const std::string& file) {
  Recording recording{.file = file,
                      .world = std::move(probes.world),
                      .program = std::move(probes.program),
                      .command = std::move(probes.command),
                      .environment = std::move(probes.environment),
                      .notes = std::move(probes.findings.notes)};
  for (auto& line : probes.findings.lines) {
    Key key{.name = std::move(line.name), .gpu = std::move(line.gpu), .peer = std::move(line.peer), .size = line.size};
    recording.samples.push_back(
        {.key = std::move(key), .time_us = line.time_us.median, .unstable = line.time_us.unstable});
  }
  return recording;
}

/// A workload's lines are told apart by algorithm and size.
Recording from_workload(bench::WorkloadFile workload, const std::string& file) {
  Recording recording{.file = file,
                      .world = std::move(workload.world),
                      .program = std::move(workload.program),
                      .command = std::move(workload.command),
                      .environment = std::move(workload.environment),
                      .notes = workload.series.notes};
  for (const bench::WorkloadPoint& point : workload.series.points) {
    recording.samples.push_back({.key = {.name = point.algorithm, .size = point.size},
                                 .time_us = point.time_us.median,
                                 .unstable = point.time_us.unstable});
  }
  recording.workload = std::move(workload.series);
  return recording;
}

Recording from_import(Imported imported, const std::string& file) {
  if (auto* result = std::get_if<bench::Result>(&imported)) return from_result(std::move(*result), file);
  if (auto* workload = std::get_if<bench::WorkloadFile>(&imported)) return from_workload(std::move(*workload), file);
  return from_probes(std::move(std::get<bench::ProbeFile>(imported)), file);
}

Recording read_own(const Content& content, const std::string& file) {
  const auto* document = std::get_if<nlohmann::json>(&content);
  if (document == nullptr) {
    throw InputError(fmt::format("{}: error: not JSON, and no text of another tool", file));
  }
  const auto is = [&](std::string_view kind) {
    return document->is_object() && document->contains("kind") && (*document)["kind"] == kind;
  };
  if (is(bench::kProbeKind)) return from_probes(bench::probes_from_json(*document, file), file);
  if (is(bench::kWorkloadKind)) return from_workload(bench::workload_from_json(*document, file), file);
  return from_result(bench::result_from_json(*document, file), file);
}

}  // namespace

Recording read_recording(const std::filesystem::path& file, const ImportWishes& wishes) {
  const auto name = file.string();
  const auto content = read_content(file);
  const auto tool = recognise(content);
  ImportWishes useful = wishes;
  if (tool == Tool::nvbandwidth) {
    useful.table.reset();
    useful.ranks.reset();
    useful.test.clear();
  } else {
    useful.size.reset();
  }
  Recording recording =
      tool ? from_import(import_content(*tool, content, name, useful), name) : read_own(content, name);
  recording.tool = tool;
  check_samples(recording);
  return recording;
}

}  // namespace twinlink::validate
