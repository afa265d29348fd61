// Results of nodes by date, in a SQLite file, which may be that of a study as well.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "validate/nodes/equals.hpp"
#include "validate/nodes/node_files.hpp"

namespace twinlink::platforms {
class Database;
}

namespace twinlink::validate {

/// The mean over a curve's sizes of one band, on one day.
struct DatedFigure {
  std::string date{};
  double log_us = 0;
  double deviation = 0;   ///< of the mean, from the percentiles of its points; 0: nobody has told
  bool unstable = false;  ///< no point of it repeated itself
};

/// What a node has of one curve over time.
struct FigureHistory {
  CurveKey key{};
  Band band = Band::small;
  std::vector<DatedFigure> dated{};  ///< by date, each once
};

struct NodeResultsOverTime {
  std::vector<FigureHistory> figures{};  ///< of what the node has in the folder, with all that is stored of it
  std::vector<std::string> dates{};      ///< on which it was measured
  std::vector<std::string> remarks{};
};

/// An UnavailableError where the program was built without SQLite.
void require_history();

class History {
 public:
  /// Makes the file or its tables where they are missing. A UsageError where another program writes it; an
  /// EnvironmentError with SQLite's text, here and below. A file that is of neither a fleet nor a study is refused.
  explicit History(const std::filesystem::path& file);
  ~History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  /// Adds what is new: a node's results of one kind and date are stored once. All or nothing.
  void add(const FleetFiles& files);
  /// In the order of the nodes.
  [[nodiscard]] std::vector<NodeResultsOverTime> of(const FleetFiles& files) const;
  /// Is this file of a node stored?
  [[nodiscard]] bool holds(const std::string& node, const NodeFile& file) const;
  /// The newest date that is stored of each node and kind.
  [[nodiscard]] std::map<std::pair<std::string, std::string>, std::string> newest() const;

 private:
  std::shared_ptr<platforms::Database> database_;  ///< shared, so that a build without SQLite needs none
};

/// A node of each name that is stored and not among `files`: what was there once and has no result now.
void expect_stored_nodes(const History& history, FleetFiles& files);

/// Stores the results, and gives back all that is stored of these nodes. What has no date is not stored. What is older
/// than the newest that is stored, and was not there before, is: a clock that runs backward or results that come late;
/// both become remarks of the node, as dates that are still to come do.
std::vector<NodeResultsOverTime> keep_results(History& history, FleetFiles& files);

}  // namespace twinlink::validate
