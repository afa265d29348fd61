#include "validate/compare/comparability.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/frame.hpp"
#include "protocols/bench/results/json_statistics.hpp"
#include "protocols/bench/results/settings_text.hpp"
#include "validate/import/buffers.hpp"

namespace twinlink::validate {
namespace {

std::string_view kind_of(const Recording& recording) {
  if (recording.workload) return "a workload file";
  return recording.series ? "a result file" : "a probe file";
}

void require_worlds(const Recording& measured, const Recording& simulated) {
  if (!measured.label.empty()) return;
  if (measured.world == simulated.world) {
    throw InputError(fmt::format(
        "{} and {}: error: both are {}; compare takes a measured file and a simulated one, or --label for two others",
        measured.file, simulated.file, measured.world));
  }
  if (measured.world == "simulated") {
    throw InputError(
        fmt::format("{}: error: wrong order: this file is simulated and {} is measured; name the measured "
                    "file first",
                    measured.file, simulated.file));
  }
}

/// What two files have to be told apart by.
struct Sides {
  std::string_view measured;
  std::string_view simulated;

  Sides(const Recording& first, const Recording& second) : measured(first.side()), simulated(second.side()) {}
};

/// One setting in both files' words; a note if they differ.
void note_difference(std::vector<std::string>& notes, const Sides& sides, std::string_view what,
                     std::string_view measured, std::string_view simulated) {
  if (measured == simulated) return;
  notes.push_back(
      fmt::format("different {}: {} {}, {} {}", what, sides.measured, measured, sides.simulated, simulated));
}

/// As note_difference(), for what an imported file may not tell: then there is nothing to compare.
void note_told(std::vector<std::string>& notes, const Sides& sides, std::string_view what, std::string_view measured,
               std::string_view simulated) {
  if (!measured.empty() && !simulated.empty()) note_difference(notes, sides, what, measured, simulated);
}

std::string packing_text(const Packing& packing) {
  if (!packing.needed()) return "contiguous";
  return fmt::format("{} packed by {}", to_string(packing.layout), to_string(packing.method));
}

/// What a run has of a name, or `without` where it has nothing.
std::string fact_text(const bench::RunFacts& facts, const std::string& name, std::string_view without) {
  const auto texts = named(facts);
  const auto found = texts.find(name);
  return std::string(found == texts.end() ? without : found->second);
}

/// Which protocols ran at the same time, in any order.
std::string other_pairs(const bench::Series& series) {
  std::vector<std::string> protocols;
  for (const bench::OtherPair& pair : series.beside) protocols.push_back(pair.protocol);
  std::ranges::sort(protocols);
  return protocols.empty() ? "alone" : fmt::format("beside {}", fmt::join(protocols, ", "));
}

/// The same with places and settings.
std::string other_pairs_at(const bench::Series& series) {
  std::vector<std::string> pairs;
  for (const bench::OtherPair& pair : series.beside) pairs.push_back(pair.where_and_what());
  std::ranges::sort(pairs);
  return fmt::format("{}", fmt::join(pairs, ", "));
}

/// Does the file tell what ran at the same time? Another tool's says it in words at most.
bool names_other_pairs(const Recording& recording) {
  return bench::provenance_of(recording.environment) == bench::Provenance::own;
}

/// Within a node; empty: the file does not tell it.
const std::string& protocol_of(const Recording& recording) {
  return recording.workload ? recording.workload->protocol : recording.series->protocol;
}

/// Where another tool's messages lay, held against the protocol that the files tell. `refused` or not.
std::vector<std::string> buffer_findings(const Recording& measured, const Recording& simulated, bool refused) {
  std::vector<std::string> result;
  for (const auto& [file, other] : {std::pair(&measured, &simulated), std::pair(&simulated, &measured)}) {
    const std::string& protocol = protocol_of(*file).empty() ? protocol_of(*other) : protocol_of(*file);
    BufferFinding found = check_buffers(file->environment, protocol);
    const bool noted = std::ranges::find(file->notes, found.text) != file->notes.end();
    if (!found.text.empty() && found.refused == refused && !noted) result.push_back(std::move(found.text));
  }
  return result;
}

/// Why the two curves are different quantities. Empty: they are not.
std::vector<std::string> mismatches(const Recording& measured_file, const Recording& simulated_file) {
  const bench::Series& measured = *measured_file.series;
  const bench::Series& simulated = *simulated_file.series;
  const Sides sides(measured_file, simulated_file);
  std::vector<std::string> result;
  note_difference(result, sides, "pattern", to_string(measured.pattern), to_string(simulated.pattern));
  note_told(result, sides, "protocol", measured.protocol, simulated.protocol);
  note_difference(result, sides, "layout", packing_text(measured.facts.packing), packing_text(simulated.facts.packing));
  const auto of_run = [&](std::string_view what, const std::string& name, std::string_view without) {
    note_difference(result, sides, what, fact_text(measured.facts, name, without),
                    fact_text(simulated.facts, name, without));
  };
  of_run("ends", "ends", "the protocol's");
  of_run("computing between messages", "compute", "none");
  of_run("use of one process", "one-process", "no");
  of_run("number of buffers in turn", "buffers-in-turn", "1");
  if (names_other_pairs(measured_file) && names_other_pairs(simulated_file)) {
    note_difference(result, sides, "pairs at once", other_pairs(measured), other_pairs(simulated));
  }
  std::ranges::move(buffer_findings(measured_file, simulated_file, true), std::back_inserter(result));
  return result;
}

std::string options_text(const Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings.options) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text.empty() ? "defaults" : text;
}

/// What one file does not tell cannot be compared; a reader must know it all the same.
void note_untold(std::vector<std::string>& notes, const Recording& recording, const bench::Series& other) {
  const auto& series = *recording.series;
  if (series.protocol.empty()) {
    notes.push_back(fmt::format("the {} file does not tell its protocol; the other is of {}", recording.side(),
                                other.protocol.empty() ? "none that is told" : other.protocol));
  }
  if (!series.told.window && other.told.window) {
    notes.push_back(
        fmt::format("the {} file does not tell its window; the other has {}", recording.side(), other.window));
  }
  if (!names_other_pairs(recording) && !other.beside.empty()) {
    notes.push_back(fmt::format("the {} file does not tell which pairs ran at once; the other ran {}", recording.side(),
                                other_pairs(other)));
  }
}

void note_settings(std::vector<std::string>& notes, const Sides& sides, const bench::Series& measured,
                   const bench::Series& simulated) {
  if (measured.told.settings && simulated.told.settings) {
    note_difference(notes, sides, "chunk", bench::chunk_text(measured.settings.chunk),
                    bench::chunk_text(simulated.settings.chunk));
    note_difference(notes, sides, "depth", bench::depth_text(measured.settings.depth),
                    bench::depth_text(simulated.settings.depth));
    note_difference(notes, sides, "options", options_text(measured.settings), options_text(simulated.settings));
  }
  if (measured.told.window && simulated.told.window) {
    note_difference(notes, sides, "window", std::to_string(measured.window), std::to_string(simulated.window));
  }
  if (other_pairs(measured) == other_pairs(simulated)) {
    note_difference(notes, sides, "other pairs", other_pairs_at(measured), other_pairs_at(simulated));
  }
  note_told(notes, sides, "sender", measured.from, simulated.from);
  note_told(notes, sides, "receiver", measured.to, simulated.to);
}

/// A path without the reason that may follow it: "way: reason".
std::string_view way_of(std::string_view path) { return path.substr(0, path.find(':')); }

/// Messages of one size that went different ways are the first explanation of a large error.
void note_paths(std::vector<std::string>& notes, const Sides& sides, const bench::Series& measured,
                const bench::Series& simulated) {
  std::vector<std::string> sizes;
  std::string example;
  for (const auto& point : measured.points) {
    for (const auto& other : simulated.points) {
      if (point.size != other.size || point.path.empty() || other.path.empty()) continue;
      if (way_of(point.path) == way_of(other.path)) continue;
      if (sizes.empty()) {
        example = fmt::format("{} \"{}\", {} \"{}\"", sides.measured, point.path, sides.simulated, other.path);
      }
      sizes.push_back(format_size(point.size));
    }
  }
  if (sizes.empty()) return;
  notes.push_back(fmt::format("different ways taken at {} sizes ({} to {}): {}", sizes.size(), sizes.front(),
                              sizes.back(), example));
}

void note_unverified(std::vector<std::string>& notes, const bench::Series& measured) {
  std::vector<std::string> sizes;
  for (const auto& point : measured.points) {
    if (!point.verified) sizes.push_back(format_size(point.size));
  }
  if (!sizes.empty()) notes.push_back(fmt::format("measured payloads not verified at: {}", fmt::join(sizes, ", ")));
}

/// Numbers of either side that are not those of the platform's file.
void note_changes(std::vector<std::string>& notes, const Recording& measured, const Recording& simulated) {
  for (const auto* recording : {&measured, &simulated}) {
    const std::string changes = bench::changes_of_platform(recording->environment);
    if (changes.empty()) continue;
    notes.push_back(
        fmt::format("the {} file is of another platform than its file has: {}", recording->side(), changes));
  }
}

void note_emulated(std::vector<std::string>& notes, const Recording& measured) {
  const std::string world = bench::heading_world(measured.world, measured.environment);
  if (world == "emulated") {
    notes.emplace_back("measured on devices that are emulated in host memory: the times are this host's, not a GPU's");
  } else if (world == "paced") {
    notes.emplace_back("measured on emulated devices that keep a platform's pace: no GPU was there");
  }
}

/// Where two files are of different quantities.
void require_none(const std::vector<std::string>& mismatches, const Recording& measured, const Recording& simulated) {
  if (mismatches.empty()) return;
  throw InputError(fmt::format("{} and {}: error: not comparable: {} (--force compares them all the same)",
                               measured.file, simulated.file, fmt::join(mismatches, "; ")));
}

/// As note_untold() of a curve.
void note_untold(std::vector<std::string>& notes, const Recording& recording, const bench::WorkloadSeries& other) {
  const bench::WorkloadSeries& mine = *recording.workload;
  const auto note = [&](std::string_view what, bool told, const std::string& theirs) {
    if (told || theirs.empty()) return;
    notes.push_back(fmt::format("the {} file does not tell its {}; the other has {}", recording.side(), what, theirs));
  };
  note("protocol", !mine.protocol.empty(), other.protocol);
  note("settings", !mine.settings.empty(), other.settings);
  note("nodes", mine.nodes != 0, other.nodes == 0 ? "" : std::to_string(other.nodes));
  const auto told = [](const bench::WorkloadPoint& point) { return point.algorithm != kUntoldAlgorithm; };
  if (!std::ranges::all_of(mine.points, told) && std::ranges::any_of(other.points, told)) {
    notes.push_back(
        fmt::format("the {} file does not tell its algorithms: its lines are joined by size, and the "
                    "algorithms are the other's",
                    recording.side()));
  }
}

std::vector<std::string> workload_notes(const Recording& measured_file, const Recording& simulated_file, bool force) {
  const bench::WorkloadSeries& measured = *measured_file.workload;
  const bench::WorkloadSeries& simulated = *simulated_file.workload;
  const Sides sides(measured_file, simulated_file);
  std::vector<std::string> notes;
  note_difference(notes, sides, "workload", measured.workload, simulated.workload);
  note_told(notes, sides, "protocol", measured.protocol, simulated.protocol);
  note_told(notes, sides, "protocol between nodes", measured.protocol_between, simulated.protocol_between);
  note_told(notes, sides, "protocol between domains", measured.protocol_between_domains,
            simulated.protocol_between_domains);
  note_difference(notes, sides, "number of ranks", std::to_string(measured.ranks), std::to_string(simulated.ranks));
  std::ranges::move(buffer_findings(measured_file, simulated_file, true), std::back_inserter(notes));
  if (!force) require_none(notes, measured_file, simulated_file);
  for (const auto* recording : {&measured_file, &simulated_file}) {
    notes.insert(notes.end(), recording->notes.begin(), recording->notes.end());
  }
  std::ranges::move(buffer_findings(measured_file, simulated_file, false), std::back_inserter(notes));
  note_untold(notes, measured_file, simulated);
  note_untold(notes, simulated_file, measured);
  note_told(notes, sides, "settings", measured.settings, simulated.settings);
  note_told(notes, sides, "places", fmt::format("{}", fmt::join(measured.places, " ")),
            fmt::format("{}", fmt::join(simulated.places, " ")));
  note_emulated(notes, measured_file);
  note_changes(notes, measured_file, simulated_file);
  const auto verified = [](const bench::WorkloadPoint& point) { return point.verified; };
  if (!std::ranges::all_of(measured.points, verified)) notes.emplace_back("measured payloads are not verified");
  return notes;
}

std::vector<std::string> probe_notes(const Recording& measured, const Recording& simulated) {
  std::vector<std::string> notes;
  for (const auto* recording : {&measured, &simulated}) {
    for (const auto& note : recording->notes) notes.push_back(fmt::format("{}: {}", recording->side(), note));
  }
  note_emulated(notes, measured);
  note_changes(notes, measured, simulated);
  return notes;
}

}  // namespace

std::vector<std::string> check_comparable(const Recording& measured, const Recording& simulated, bool force) {
  if (kind_of(measured) != kind_of(simulated)) {
    throw InputError(fmt::format("{} is {} and {} is {}: error: compare takes two files of one kind", measured.file,
                                 kind_of(measured), simulated.file, kind_of(simulated)));
  }
  require_worlds(measured, simulated);
  if (measured.workload) return workload_notes(measured, simulated, force);
  if (!measured.series) return probe_notes(measured, simulated);

  auto notes = mismatches(measured, simulated);
  if (!force) require_none(notes, measured, simulated);
  for (const auto* recording : {&measured, &simulated}) {
    notes.insert(notes.end(), recording->notes.begin(), recording->notes.end());
  }
  note_emulated(notes, measured);
  note_changes(notes, measured, simulated);
  std::ranges::move(buffer_findings(measured, simulated, false), std::back_inserter(notes));
  note_untold(notes, measured, *simulated.series);
  note_untold(notes, simulated, *measured.series);
  const Sides sides(measured, simulated);
  note_settings(notes, sides, *measured.series, *simulated.series);
  note_paths(notes, sides, *measured.series, *simulated.series);
  note_unverified(notes, *measured.series);
  return notes;
}

}  // namespace twinlink::validate
