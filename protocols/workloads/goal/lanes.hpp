// What may be under way at once between two ranks: the lanes of a pair, and the windows of a lane.
//
// A message that must wait for another one shares its lane. Those that need not wait go side by side in several lanes,
// and those that can begin at the same time in one window: one exchange, as MPI's nonblocking calls are waited for.
#pragma once

#include <cstddef>
#include <vector>

#include "protocols/workloads/goal/trace.hpp"

namespace twinlink::workloads::goal {

/// Lanes of a pair and direction.
inline constexpr int kLanes = 4;
/// A window has so many messages at most, and so many bytes beside its largest message: what one beginning more would
/// take is little beside them.
inline constexpr std::size_t kMostInWindow = 1024;
inline constexpr Bytes kLargestWindow = 64_MiB;

/// A message of the job.
struct Planned {
  TaskId send{};
  TaskId receive{};
  double order = 0;        ///< when its send begins where messages take no time, ns
  std::size_t after = 0;   ///< among those that begin at the same time
  std::size_t chain = 0;   ///< messages before it, one after the other: of two with as many, none waits for the other
  int lane = 0;            ///< 0 to kLanes-1
  std::size_t window = 0;  ///< of all windows of the job
};

/// Puts the messages into the order in which each pair moves them, and gives each its lane and window. All of a window
/// become ready at once, and who waits for one of its ends waits for the last one: so one exchange says all that can be
/// seen of them.
void assign_lanes(const Trace& trace, std::vector<Planned>& messages);

}  // namespace twinlink::workloads::goal
