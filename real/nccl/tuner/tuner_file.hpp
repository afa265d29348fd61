// The CSV that NCCL's tuner plugins read: which algorithm and line format a collective shall take. The columns are
// those of NCCL's example (plugins/tuner/example):
// collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes, nRanks,numPipeOps,regBuff; -1 is any, the
// last two may be left out, and a '#' begins a comment. Needs nothing of the project, for it is loaded into other
// people's programs.
#pragma once

#include <cstddef>
#include <istream>
#include <string>
#include <vector>

namespace twinlink::tuner {

struct Rule {
  int collective = 0;     ///< ncclFunc_t: 0 broadcast to 4 allreduce
  std::size_t least = 0;  ///< bytes
  std::size_t most = 0;
  int algorithm = 0;  ///< 0 tree to 6 pat
  int format = 0;     ///< 0 ll to 2 simple
  int channels = -1;  ///< -1: as NCCL chooses
  int nodes = -1;
  int ranks = -1;
  int operations = -1;
  int registered = -1;
  int line = 0;

  friend bool operator==(const Rule&, const Rule&) = default;
};

/// A collective that NCCL asks about.
struct Asked {
  int collective = 0;
  std::size_t bytes = 0;
  int operations = 1;  ///< of the group that it is in
  int registered = 0;
};

/// The rules for communicators of so many ranks on so many nodes.
class Rules {
 public:
  /// Lines that are no rule are left out and said in `faults`, each with its number.
  Rules(std::istream& text, std::size_t nodes, std::size_t ranks);

  /// The first that fits; null: NCCL chooses.
  [[nodiscard]] const Rule* find(const Asked& asked) const;
  [[nodiscard]] const std::vector<Rule>& all() const { return rules_; }
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }

 private:
  std::vector<Rule> rules_{};
  std::vector<std::string> faults_{};
};

/// What the tables of costs have: rows of algorithms, columns of formats, in us; negative: NCCL cannot, or must not.
/// Makes the rule's entry the least. False: NCCL has switched it off.
bool prefer(const Rule& rule, float* costs, int algorithms, int formats);

}  // namespace twinlink::tuner
