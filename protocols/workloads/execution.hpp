// A schedule on a rank: its buffers, its steps, and the proof that it did what it promises.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "protocols/core/measured_rank.hpp"
#include "protocols/workloads/connections.hpp"
#include "protocols/workloads/schedule.hpp"

namespace twinlink::workloads {

/// The two buffers of a rank, large enough for several schedules: a protocol that maps its peers' memory does so once.
class Buffers {
 public:
  Buffers(Rank& rank, Memory kind, std::uint64_t data, std::uint64_t scratch);
  /// The same on a symmetric heap: all ranks say the same numbers. `heap` outlives it.
  Buffers(SymmetricHeap& heap, std::uint64_t data, std::uint64_t scratch);
  ~Buffers();
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  [[nodiscard]] View view(const Slice& slice) const;
  [[nodiscard]] View data(std::uint64_t elements) const;

 private:
  Rank& rank_;
  bool on_heap_ = false;  ///< whose memory is freed with it
  View data_{};
  View scratch_{};
};

/// Fills the buffers with what the schedule begins with, and sentinels.
void prepare(MeasuredRank& rank, const Schedule& schedule, const Buffers& buffers);

/// Who listens to a run.
struct RunWatch {
  /// With it, contents of each step are set before it and compared behind it: the first that is wrong is told there,
  /// and times mean nothing.
  std::optional<std::string>* fault = nullptr;
  /// Told behind each step how many messages the rank has sent in it; may be empty.
  std::function<void(std::size_t messages)> on_sent{};
};
/// The messages that a rank sends; a collective that the protocol does by itself counts as one.
std::size_t sent_in(const Step& step);
std::size_t sent_in(const Schedule& schedule);

/// Runs all steps once. The Outcome of an exchange that failed, with its step and peer.
Outcome run_once(ConcurrentRank& rank, const Schedule& schedule, Connections& connections, const Buffers& buffers,
                 Seconds timeout, const RunWatch& watch = {});

/// What is wrong with the data after one run; nothing: all is as the schedule promises.
std::optional<std::string> fault_in(MeasuredRank& rank, const Schedule& schedule, const Buffers& buffers);

}  // namespace twinlink::workloads
