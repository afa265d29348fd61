// Parts of the probes: what the ranks have measured between two meetings, and a file that keeps them until all are
// there, so that probes which are ended go on where they were.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>

#include "protocols/bench/probe/probe.hpp"
#include "protocols/bench/results/rounds.hpp"

namespace twinlink::bench {

/// A line of one pass before it is summarized.
struct TimedLine {
  std::string name{};
  std::string gpu{};  ///< as of ProbeLine
  std::string peer{};
  Bytes size{};
  bool moves_bytes = false;
  Rounds rounds{};
};

/// What a rank has measured in a part.
struct ProbePart {
  std::vector<std::string> notes{};
  std::vector<TimedLine> lines{};
};

std::string to_text(const ProbePart& part);
/// An InputError that names `origin`.
ProbePart read_part(const nlohmann::json& json, const std::string& origin);

/// Puts parts together.
class ProbeParts {
 public:
  explicit ProbeParts(int ranks) : notes_(static_cast<std::size_t>(ranks)), lines_(static_cast<std::size_t>(ranks)) {}

  /// The part of each rank, in the order of the ranks. The first line of a name, peer and size is another pass's, too.
  void add(std::vector<ProbePart> of_ranks);
  /// By rank, and there in the order in which they were measured. A primitive that takes no time gets no line, but a
  /// note. `keep_samples` as in ProbePlan.
  [[nodiscard]] ProbeFindings take(bool keep_samples);

 private:
  struct Line {
    TimedLine first{};  ///< without rounds
    std::vector<Rounds> passes{};
  };
  std::vector<std::vector<std::string>> notes_;
  std::vector<std::vector<Line>> lines_;
  std::map<std::tuple<std::size_t, std::string, std::string, Bytes>, std::size_t>
      places_{};  ///< by rank, name, peer, size
};

/// A file of parts that are done: a line of JSON says whose they are, and each of the others is a part of all ranks.
class ProbeJournal {
 public:
  /// Begins the file, or goes on with it if `resume`; a last line that is cut off is no part. A UsageError where it is
  /// there and not to be resumed, is not there and to be, or is of other probes: `identity` says which these are. An
  /// EnvironmentError where it cannot be written.
  ProbeJournal(std::filesystem::path file, const nlohmann::json& identity, bool resume);
  /// In the order in which they were appended.
  [[nodiscard]] const std::vector<std::string>& done() const { return done_; }
  /// On disk when it returns.
  void append(const std::string& part);
  /// All is elsewhere now.
  void remove() const;

 private:
  std::filesystem::path file_;
  std::vector<std::string> done_;
};

}  // namespace twinlink::bench
