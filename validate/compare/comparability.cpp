#include "validate/compare/comparability.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/json_statistics.hpp"
#include "validate/import/buffers.hpp"

namespace twinlink::validate {
namespace {

std::string_view kind_of(const Recording& recording) { return recording.series ? "a result file" : "a probe file"; }

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

std::string chunk_text(Bytes chunk) { return chunk == Bytes{0} ? "whole message" : format_size(chunk); }

/// As note_difference(), for what an imported file may not tell: then there is nothing to compare.
void note_told(std::vector<std::string>& notes, const Sides& sides, std::string_view what, std::string_view measured,
               std::string_view simulated) {
  if (!measured.empty() && !simulated.empty()) note_difference(notes, sides, what, measured, simulated);
}

/// How messages lay and were packed; those of files without these options were contiguous.
std::string packing_text(const Settings& settings) {
  const auto layout = settings.options.find(std::string(bench::kLayoutOption));
  if (layout == settings.options.end()) return "contiguous";
  const auto method = settings.options.find(std::string(bench::kPackOption));
  return layout->second + (method == settings.options.end() ? "" : " packed by " + method->second);
}

/// An option of the run, or `without` where it has none.
std::string run_option(const Settings& settings, std::string_view name, std::string_view without) {
  const auto found = settings.options.find(std::string(name));
  return std::string(found == settings.options.end() ? without : found->second);
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

/// Where another tool's messages lay, held against the protocol that the files tell. `refused` or not.
std::vector<std::string> buffer_findings(const Recording& measured, const Recording& simulated, bool refused) {
  std::vector<std::string> result;
  for (const auto& [file, other] : {std::pair(&measured, &simulated), std::pair(&simulated, &measured)}) {
    const std::string& protocol = file->series->protocol.empty() ? other->series->protocol : file->series->protocol;
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
  note_difference(result, sides, "layout", packing_text(measured.settings), packing_text(simulated.settings));
  const auto of_run = [&](std::string_view what, std::string_view name, std::string_view without) {
    note_difference(result, sides, what, run_option(measured.settings, name, without),
                    run_option(simulated.settings, name, without));
  };
  of_run("ends", bench::kEndsOption, "the protocol's");
  of_run("computing between messages", bench::kComputeOption, "none");
  of_run("use of one process", bench::kOneProcessOption, "no");
  of_run("number of buffers in turn", bench::kBuffersOption, "1");
  if (names_other_pairs(measured_file) && names_other_pairs(simulated_file)) {
    note_difference(result, sides, "pairs at once", other_pairs(measured), other_pairs(simulated));
  }
  std::ranges::move(buffer_findings(measured_file, simulated_file, true), std::back_inserter(result));
  return result;
}

std::string options_text(const Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings.options) {
    if (bench::is_option_of_run(name)) continue;  // mismatches() compares them
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
    note_difference(notes, sides, "chunk", chunk_text(measured.settings.chunk), chunk_text(simulated.settings.chunk));
    note_difference(notes, sides, "depth", std::to_string(measured.settings.depth),
                    std::to_string(simulated.settings.depth));
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

void note_emulated(std::vector<std::string>& notes, const Recording& measured) {
  const std::string world = bench::heading_world(measured.world, measured.environment);
  if (world == "emulated") {
    notes.emplace_back("measured on devices that are emulated in host memory: the times are this host's, not a GPU's");
  } else if (world == "paced") {
    notes.emplace_back("measured on emulated devices that keep a platform's pace: no GPU was there");
  }
}

std::vector<std::string> probe_notes(const Recording& measured, const Recording& simulated) {
  std::vector<std::string> notes;
  for (const auto* recording : {&measured, &simulated}) {
    for (const auto& note : recording->notes) notes.push_back(fmt::format("{}: {}", recording->side(), note));
  }
  note_emulated(notes, measured);
  return notes;
}

}  // namespace

std::vector<std::string> check_comparable(const Recording& measured, const Recording& simulated, bool force) {
  if (measured.series.has_value() != simulated.series.has_value()) {
    throw InputError(fmt::format("{} is {} and {} is {}: error: compare takes two files of one kind", measured.file,
                                 kind_of(measured), simulated.file, kind_of(simulated)));
  }
  require_worlds(measured, simulated);
  if (!measured.series) return probe_notes(measured, simulated);

  auto notes = mismatches(measured, simulated);
  if (!notes.empty() && !force) {
    throw InputError(fmt::format("{} and {}: error: not comparable: {} (--force compares them all the same)",
                                 measured.file, simulated.file, fmt::join(notes, "; ")));
  }
  for (const auto* recording : {&measured, &simulated}) {
    notes.insert(notes.end(), recording->notes.begin(), recording->notes.end());
  }
  note_emulated(notes, measured);
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
