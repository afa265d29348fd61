// Pairs of ranks that are measured at the same time: where they wait for each other, and how their rounds overlap.
#pragma once

#include <functional>
#include <vector>

#include "protocols/bench/measure/collectives.hpp"
#include "protocols/bench/measure/driver.hpp"
#include "protocols/core/measured_rank.hpp"

namespace twinlink::bench {

/// All pairs of a plan, seen from one rank of them. All ranks of all pairs make the same calls. Of a pair that is alone
/// it is no more than that pair.
class PairGroup {
 public:
  /// Other pairs may be slower by far than the own peer, and are waited for longer.
  PairGroup(MeasuredRank& rank, const Plan& plan);

  [[nodiscard]] bool alone() const { return leaders_.size() == 1; }

  /// All ranks of all pairs have come here.
  void synchronize();
  /// The least of the numbers of all ranks that send first, on every rank. `mine` matters on those only.
  int agree(int mine);
  /// To be called when the counted rounds are over, of which there were `counted`: goes on with rounds that do not
  /// count until those of every other pair are over too, so that no counted round has the machine to itself.
  void outlast(int counted, const std::function<void()>& round);

 private:
  void follow(int rounds, const std::function<void()>& round);

  MeasuredRank& rank_;
  bool leading_;
  RankId peer_;
  Patience patience_;
  std::vector<RankId> leaders_;  ///< those that send first; the first of them is who the others report to
  std::vector<RankId> members_;  ///< all ranks
};

}  // namespace twinlink::bench
