// What a profiler has seen of each rank's GPU and of the calls that launched it. From that a job in GOAL's text form:
// the host launches one thing after the other, streams do what was launched, and collectives are the groups'.
//
//   1. The host's time between two launches is its own, but where a call waits for the GPU.
//   2. What a stream does begins when it has been launched and what is before it in the stream has ended.
//   3. A collective waits for all that was launched before it and had ended when it began, in any stream.
//   4. A kernel that begins later than it could has waited for what had ended last in another stream, if anything had.
//   5. Calls by which its stream waits for events are for the oldest collectives that nobody has waited for yet.
//   6. Where nobody says when things were launched, the host has launched them as they began, and has waited for a
//      collective where the GPU stood still as that ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/workloads/goal/collectives.hpp"

namespace twinlink::workloads::goal {

/// Nanoseconds of the rank's own clock.
struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct RecordedKernel {
  Span when{};
  std::int64_t stream = 0;
  std::optional<std::int64_t> launched{};  ///< none: when it began
  int event_waits = 0;  ///< calls before the launch that have its stream wait for another one's event
};

struct RecordedCollective {
  std::string what{};        ///< as the catalogue calls it: "all-reduce"; or "send" and "recv"
  std::string group{};       ///< what the program calls the ranks
  std::vector<int> ranks{};  ///< of the group, in its order; of a message the peer alone
  std::uint64_t bytes = 0;   ///< the catalogue's size
  /// Of an all-to-all that says its blocks: bytes to and from each.
  std::vector<std::uint64_t> to{};
  std::vector<std::uint64_t> from{};
  Span when{};
  std::int64_t stream = 0;
  std::optional<std::int64_t> launched{};
};

struct RankRecording {
  std::string file{};
  std::vector<RecordedKernel> kernels{};  ///< and copies; in any order
  std::vector<RecordedCollective> collectives{};
  std::vector<Span> waits{};  ///< calls in which the host waits for the GPU
};

/// The collectives that can be recorded.
bool is_recordable(std::string_view what);

/// Lines for the heading, by which a replay has them beside its own (Trace::recorded): how long the collectives of each
/// kind and group took on a member, in the middle of all. Nothing of those whose times nobody knows.
std::vector<std::string> recorded_times(const std::vector<RankRecording>& ranks);

/// An InputError names the files of ranks, all of them by rank, whose groups do not have the same collectives: there
/// are no messages among these.
void require_same(const std::vector<RankRecording>& ranks);

/// By rank. `heading` becomes comments. An InputError names the files of ranks that do not have the same collectives.
std::string goal_text(std::vector<RankRecording> ranks, const std::vector<std::string>& heading);

}  // namespace twinlink::workloads::goal
