// Why a round took as long as it did: the links, and the critical path through the ranks' steps.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "model/engine/simulation.hpp"
#include "model/study/watch/critical_path.hpp"
#include "model/study/watch/link_shares.hpp"

namespace twinlink::model {

/// What somebody wants to know of it.
struct RoundWishes {
  bool links = false;
  bool path = false;
  [[nodiscard]] bool any() const { return links || path; }
};

struct RoundFindings {
  std::vector<LinkShare> links{};  ///< the busiest first
  std::vector<PathPart> path{};    ///< empty where nobody wished for it
  bool too_many = false;           ///< the round had more operations than are kept, and the path is empty
};

/// Listens to one simulated job, and keeps what is needed of its last round: from the first rank's start to the last
/// one's end.
class RoundWatch {
 public:
  /// So many operations of a round are kept; a critical path with gaps would be none.
  static constexpr std::size_t kMostOperations = 2'000'000;

  /// `ranks` that take part in a round.
  explicit RoundWatch(int ranks) : ranks_(ranks) {}

  /// Listens to a simulation with `options`, which it must outlive. Links are always found; of the path's operations
  /// there may be millions.
  void watch(SimulationOptions& options, const RoundWishes& wishes);
  /// For on_round of a plan.
  void round(bool begins, RankId rank, Seconds now);

  /// Findings of the last round, worked out anew.
  [[nodiscard]] RoundFindings findings() const;

 private:
  int ranks_;
  RoundWishes wishes_{};
  int begun_ = 0;
  int ended_ = 0;
  std::function<std::vector<LinkUse>()> read_{};
  std::vector<LinkUse> before_{};
  std::vector<LinkUse> after_{};
  std::vector<FlowRecord> flows_{};
  std::vector<OpReport> reports_{};
  std::vector<BlockStep> blocks_{};
  EarlierExchanges earlier_{};
  bool too_many_ = false;
  Seconds start_{};
  Seconds end_{};
  RankId last_{};
};

/// The first of them; how many there are besides.
void print_links(const std::vector<LinkShare>& links, std::ostream& out);
nlohmann::json to_json(const std::vector<LinkShare>& links);

/// Stretches that are alike, as one.
struct PathKind {
  std::string what{};  ///< "copy out, 256K, by copy engine, held up by node 0 gpu0-switch forward"
  Seconds time{};
  std::size_t parts = 0;
};
/// The longest first.
std::vector<PathKind> kinds_of(const std::vector<PathPart>& path);
/// What takes how much of the path of a round.
void print_path(const RoundFindings& found, std::ostream& out);
/// Every stretch.
nlohmann::json to_json(const std::vector<PathPart>& path);

}  // namespace twinlink::model
