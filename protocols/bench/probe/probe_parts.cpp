#include "protocols/bench/probe/probe_parts.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/json_members.hpp"
#include "protocols/bench/results/json_statistics.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::bench {

std::string to_text(const ProbePart& part) {
  nlohmann::json lines = nlohmann::json::array();
  for (const TimedLine& line : part.lines) {
    lines.push_back({{"name", line.name},
                     {"gpu", line.gpu},
                     {"peer", line.peer},
                     {"bytes", line.size.count()},
                     {"moves_bytes", line.moves_bytes},
                     {"times_us", line.rounds.times_us},
                     {"unstable", line.rounds.unstable}});
  }
  return to_text(nlohmann::json{{"notes", part.notes}, {"lines", std::move(lines)}});
}

ProbePart read_part(const nlohmann::json& json, const std::string& origin) {
  Members members(json, origin);
  ProbePart part{.notes = members.text_list("notes")};
  for (const nlohmann::json& each : members.array("lines")) {
    Members line(each, origin, fmt::format("lines[{}]", part.lines.size()));
    part.lines.push_back({.name = line.text("name"),
                          .gpu = line.text("gpu"),
                          .peer = line.text("peer"),
                          .size = Bytes{line.count("bytes", kMostBytes)},
                          .moves_bytes = line.flag("moves_bytes"),
                          .rounds = {.unstable = line.flag("unstable")}});
    for (const nlohmann::json& time : line.array("times_us")) {
      if (!time.is_number()) throw InputError(fmt::format("{}: error: {} is no time", origin, time.dump()));
      part.lines.back().rounds.times_us.push_back(time.get<double>());
    }
    if (part.lines.back().rounds.times_us.empty()) throw InputError(origin + ": error: a line without times");
    line.done();
  }
  members.done();
  return part;
}

void ProbeParts::add(std::vector<ProbePart> of_ranks) {
  for (std::size_t rank = 0; rank < lines_.size(); ++rank) {
    for (std::string& note : of_ranks.at(rank).notes) {
      if (std::ranges::find(notes_[rank], note) == notes_[rank].end()) notes_[rank].push_back(std::move(note));
    }
    for (TimedLine& line : of_ranks[rank].lines) {
      Rounds rounds = std::exchange(line.rounds, {});
      const auto [place, is_new] = places_.try_emplace({rank, line.name, line.peer, line.size}, lines_[rank].size());
      if (is_new) lines_[rank].push_back({.first = std::move(line)});
      lines_[rank][place->second].passes.push_back(std::move(rounds));
    }
  }
}

ProbeFindings ProbeParts::take(bool keep_samples) {
  ProbeFindings findings;
  for (std::size_t rank = 0; rank < lines_.size(); ++rank) {
    std::ranges::move(notes_[rank], std::back_inserter(findings.notes));
    std::set<std::string> free_of_charge;
    for (Line& line : lines_[rank]) {
      Rounds rounds = merge_passes(line.passes);
      std::vector<double> samples_us = keep_samples ? rounds.times_us : std::vector<double>{};
      const Statistics time_us = summarize(std::move(rounds));
      TimedLine& what = line.first;
      if (time_us.median <= 0) {
        if (!free_of_charge.insert(what.name).second) continue;
        findings.notes.push_back(fmt::format("{}: no line for '{}': it takes no time", what.gpu, what.name));
        continue;
      }
      const double bandwidth_MBps = what.moves_bytes ? static_cast<double>(what.size.count()) / time_us.median : 0;
      findings.lines.push_back({std::move(what.name), std::move(what.gpu), std::move(what.peer), what.size, time_us,
                                bandwidth_MBps, std::move(samples_us)});
    }
  }
  return findings;
}

// ---- the file -------------------------------------------------------------------------------------------------------

ProbeJournal::ProbeJournal(std::filesystem::path file, const nlohmann::json& identity, bool resume)
    : file_(std::move(file)) {
  const bool there = std::filesystem::exists(file_);
  if (there && !resume) {
    throw UsageError(
        fmt::format("{}: parts of probes that were ended are there; --resume goes on, or remove it", file_.string()));
  }
  if (resume && !there) throw UsageError(fmt::format("--resume: there is no {}", file_.string()));
  const std::string heading = to_text(identity);
  if (!resume) {
    write_file(file_, heading + '\n');
    return;
  }
  std::ifstream stream(file_);
  std::string line;
  std::getline(stream, line);
  if (line != heading) {
    throw UsageError(
        fmt::format("--resume: {} is of other probes: by another release, or with other options, GPUs or "
                    "hosts",
                    file_.string()));
  }
  std::uintmax_t whole = heading.size() + 1;
  while (std::getline(stream, line) && nlohmann::json::accept(line)) {
    whole += line.size() + 1;
    done_.push_back(std::move(line));
  }
  if (std::filesystem::file_size(file_) > whole) std::filesystem::resize_file(file_, whole);
}

void ProbeJournal::append(const std::string& part) {
  std::ofstream stream(file_, std::ios::app);
  stream << part << '\n' << std::flush;
  if (!stream) throw EnvironmentError("write", file_.string() + " cannot be written");
}

void ProbeJournal::remove() const {
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
}

}  // namespace twinlink::bench
