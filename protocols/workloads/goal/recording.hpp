// What a profiler has seen of each rank's GPU: when it computed, and which collectives of which ranks it ran. From that
// a job in GOAL's text form, whose collectives are the messages of an algorithm, and whose calcs are what lay between.
//
//   1. Collectives of one stream follow each other.
//   2. A collective waits for all that the rank had done when it began: kernels, and gaps in which nothing ran.
//   3. Where the GPU stood still as a collective ended, what comes behind has waited for it; where it computed, not.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/workloads/catalogue.hpp"

namespace twinlink::workloads::goal {

/// Nanoseconds of the rank's own clock.
struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct RecordedCollective {
  std::string what{};        ///< as the catalogue calls it: "all-reduce"; or "send" and "recv"
  std::string group{};       ///< what the program calls the ranks
  std::vector<int> ranks{};  ///< of the group, in its order; of a message the peer alone
  std::uint64_t bytes = 0;   ///< the catalogue's size
  /// Of an all-to-all whose blocks are not equal: bytes to and from each.
  std::vector<std::uint64_t> to{};
  std::vector<std::uint64_t> from{};
  Span when{};
  std::int64_t stream = 0;
};

struct RankRecording {
  std::string file{};
  std::vector<Span> computes{};  ///< in any order; may overlap
  std::vector<RecordedCollective> collectives{};
};

/// Which algorithm runs a collective; those that are not named go in rings, all at once, or in trees.
using Algorithms = std::map<std::string, const Algorithm*, std::less<>>;

/// The collectives that can be recorded.
bool is_recordable(std::string_view what);

/// By rank. `heading` becomes comments. An InputError names the files of ranks that do not have the same collectives.
std::string goal_text(const std::vector<RankRecording>& ranks, const Algorithms& algorithms,
                      const std::vector<std::string>& heading);

}  // namespace twinlink::workloads::goal
