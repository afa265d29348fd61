// Which algorithms Open MPI should take: the file of rules that its component coll_tuned reads.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model/study/jobs/job_advice.hpp"

namespace twinlink::model {

/// From a size on, until the next rule.
struct MpiRule {
  Bytes from{};       ///< as Open MPI counts it: of an all-to-all what a rank sends in all
  int algorithm = 0;  ///< its number in coll_tuned; 0: Open MPI chooses
  Bytes segment{};    ///< 0: whole messages
  double gain = 0;    ///< over the next one, of the size that gains least
  std::string why{};  ///< "ring: 12.00 us at 4096 B, rabenseifner 20.00 us: 40 % less"

  friend bool operator==(const MpiRule&, const MpiRule&) = default;
};

struct MpiRules {
  std::string collective{};
  int number = 0;  ///< in Open MPI's coll_base_functions.h
  int ranks = 0;
  std::vector<MpiRule> rules{};  ///< the first from 0 on
  std::size_t sizes = 0;         ///< that were tried
};

/// The algorithms of coll_tuned that the catalogue has too, each simulated, size by size. Nobody knows here which one
/// Open MPI takes by itself, so a rule is what beats all others of these by more than the model errs; where nothing
/// does, and for other numbers of ranks, Open MPI chooses. A UsageError for other protocols than MPI's own and for
/// collectives of which there are no two such algorithms.
MpiRules mpi_rules(const JobSearch& search);

/// As Open MPI 4.1 reads it.
std::string to_text(const MpiRules& rules, std::string_view file, std::string_view command);

}  // namespace twinlink::model
