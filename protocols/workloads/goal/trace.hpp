// GOAL: what the ranks of a recorded job do, as LogGOPSim, Schedgen and ATLAHS write it.
//
//   num_ranks 2
//   rank 0 {
//     l1: calc 1000                  // nanoseconds
//     l2: send 4096b to 1 tag 7 cpu 0 nic 0
//     l2 requires l1                 // begins when l1 has ended
//     l3: calc 50 cpu 1
//     l3 irequires l2                // begins when l2 has begun
//   }
//   rank 1 { ...
//
// and beyond GOAL what ranks do together, in groups that stand before the ranks:
//
//   group 0 { 0-3 }
//     l4: all_reduce 4096b in 0      // once for each member; those of a group follow each other
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/core/units.hpp"

namespace twinlink::workloads::goal {

inline constexpr std::uint64_t kMostRanks = 65'536;
inline constexpr Bytes kLargestMessage = 1_TiB;
inline constexpr std::uint64_t kLongestCalc = 1'000'000'000'000'000;                 ///< ns: eleven days
inline constexpr std::uint64_t kAnyTag = std::numeric_limits<std::uint64_t>::max();  ///< of a recv that takes each
inline constexpr std::uint64_t kMostTag = kAnyTag - 1;
inline constexpr int kAnyRank = -1;  ///< the peer of a recv that takes from each
inline constexpr std::uint64_t kMostCpu = 65'535;

/// What ranks do together, by the catalogue's names; the text has '_' for '-'.
inline constexpr std::array<std::string_view, 9> kCollectives{
    "all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce", "gather", "scatter", "all-to-all", "barrier"};

struct Task {
  enum class Kind : std::uint8_t { calc, send, receive, collective };
  Kind kind = Kind::calc;
  std::uint8_t what = 0;     ///< of kCollectives
  std::uint8_t body = 0;     ///< of those of a shortened job, from 1 on; 0: of none
  int peer = 0;              ///< of a message; the group of a collective
  std::uint64_t amount = 0;  ///< bytes of a message, or of the catalogue's size; nanoseconds of a calc
  std::uint64_t tag = 0;
  int cpu = 0;
  int nic = 0;
  int line = 0;
};

/// A task of one of the ranks.
struct TaskId {
  int rank = 0;
  std::uint32_t task = 0;
};

/// Task `what` of a rank begins when task `on` of that rank has ended, or with `at_start` when it has begun.
struct Need {
  std::uint32_t what = 0;
  std::uint32_t on = 0;
  bool at_start = false;
  int line = 0;
};

struct RankTrace {
  std::vector<Task> tasks{};  ///< in the order of the file
  std::vector<Need> needs{};
};

/// "// recorded: 1234 ns of all-reduce among ranks 0-3"
inline constexpr std::string_view kRecordedTime = "recorded: ";

struct Trace {
  std::string file{};
  int line = 0;  ///< of the number of ranks
  std::vector<RankTrace> ranks{};
  std::vector<std::vector<int>> groups{};  ///< ascending ranks of each
  /// How long collectives took where they were recorded, by their name; of comments that begin with kRecordedTime.
  std::map<std::string, Seconds> recorded{};
  /// Equal bodies of each rank that are left out, and iterations in each (repetition.hpp).
  std::uint64_t left_out = 0;
  std::uint64_t iterations_of_body = 1;
  std::set<std::string_view> by_library{};  ///< of kCollectives: whose messages an MPI library has chosen

  [[nodiscard]] const Task& of(TaskId id) const { return ranks[static_cast<std::size_t>(id.rank)].tasks[id.task]; }
};

/// What is wrong with a file, line by line: the first few, and how many more.
class Findings {
 public:
  explicit Findings(std::string file) : file_(std::move(file)) {}
  void add(int line, const std::string& what);
  [[nodiscard]] bool none() const { return count_ == 0; }
  /// An InputError, if there is anything.
  void raise() const;

 private:
  static constexpr std::size_t kMost = 20;
  std::string file_;
  std::string text_{};
  std::size_t count_ = 0;
};

/// Takes time in proportion to the text. An InputError names `file`, and the line of each mistake.
Trace read_trace(std::string_view text, const std::string& file);

}  // namespace twinlink::workloads::goal
