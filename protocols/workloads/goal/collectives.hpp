// Collectives of a recorded job: which tasks of ranks are one of them, and the messages of an algorithm in its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocols/workloads/catalogue.hpp"
#include "protocols/workloads/goal/trace.hpp"
#include "protocols/workloads/mpi/library.hpp"

namespace twinlink::workloads::goal {

/// Which algorithm runs a collective; those that are not named go in rings, all at once, or in trees.
struct Algorithms {
  std::map<std::string, const Algorithm*, std::less<>> named{};
  /// By whose rules go those in `tuned`, or all where it is empty; null: none does.
  const workloads::mpi::Library* library = nullptr;
  std::set<std::string, std::less<>> tuned{};
  bool on_gpus = false;  ///< of buffers there the library copies what it adds up, which is no message of the job

  [[nodiscard]] bool by_library(std::string_view what) const {
    return library != nullptr && (tuned.empty() || tuned.contains(what));
  }
  [[nodiscard]] bool says(std::string_view what) const { return named.contains(what) || by_library(what); }
};

/// Puts messages in the place of all collectives but those that `stays` wants; what adds up takes no time. An
/// InputError where members do not have the same collectives; a UsageError where a library has no rule for one.
void expand(Trace& trace, const Algorithms& algorithms, const std::function<bool(std::string_view what)>& stays);

/// Ascending ranks as the text has them: "0-3 8".
std::string list_of(const std::vector<int>& ranks);
/// What people call the collectives of a group: "all-reduce among ranks 0-3 8".
std::string name_of(std::string_view what, const std::vector<int>& ranks);

/// One collective: the tasks of the group's members, in their order.
struct Joint {
  std::size_t group = 0;
  std::vector<TaskId> members{};
};
/// In the order of each group; findings where members do not have the same.
std::vector<Joint> joints_of(const Trace& trace, Findings& findings);

/// Of a rank; those of programs have far fewer streams.
inline constexpr std::size_t kMostGroupsOfRank = 1024;
/// Groups that must not be at work at the same time, for two ranks are in both: pairs, the lower number first. An
/// InputError for a rank in too many of them.
std::set<std::pair<std::size_t, std::size_t>> conflicts_of(const Trace& trace, std::span<const Joint> joints);

}  // namespace twinlink::workloads::goal
