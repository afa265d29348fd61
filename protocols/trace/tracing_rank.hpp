// TracingRank: writes down what a rank did, in which order, and when each operation was found to have ended.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "protocols/trace/observed_rank.hpp"

namespace twinlink {

/// One operation or call of one rank.
struct TraceEvent {
  RankId rank{};
  std::string step{};  ///< the protocol's words for the step
  std::string what{};  ///< the verb and what it was applied to
  Seconds started{};
  Seconds ended{};        ///< when wait_any() returned it; equal to `started` for calls that are no operations
  bool finished = false;  ///< false for operations that were abandoned or never waited for
};

/// What the ranks of a job did. In a simulation all ranks may share one trace; then the order is that of the
/// simulation.
class Trace {
 public:
  [[nodiscard]] const std::vector<TraceEvent>& events() const { return events_; }

  /// The order of things without any times: a line when an operation starts and a line when it ends. What golden traces
  /// compare.
  [[nodiscard]] std::string order() const;

 private:
  friend class TracingRank;
  struct Line {
    std::size_t event;
    bool end;
  };
  std::size_t start(TraceEvent event);
  void end(std::size_t event, Seconds when, bool finished);

  std::vector<TraceEvent> events_;
  std::vector<Line> lines_;
};

/// One line per event of one rank: the step, then what was done. Grouped by step: the steps in the order in which they
/// began, the events of a step in the order in which they were started. So it says the same whichever of several pieces
/// under way was the fastest. With `origin`, each line begins with when the event started and ended, in microseconds
/// since then; "-" for what never ended.
std::string list_by_step(std::span<const TraceEvent> events, std::optional<Seconds> origin = std::nullopt);

class TracingRank final : public ObservedRank {
 public:
  /// `inner` and `trace` must outlive this rank.
  TracingRank(MeasuredRank& inner, Trace& trace) : ObservedRank(inner), trace_(trace) {}

 private:
  void verb_begins(std::string_view verb) override;
  void call_ended(const Words& words) override;
  void operation_began(Op op, const Words& words) override;
  void verb_threw() override {}
  void operation_ended(Op op, bool finished) override;

  Trace& trace_;
  Seconds began_{};                                           ///< the verb that is being called
  std::unordered_map<std::uint64_t, std::size_t> in_flight_;  ///< op id -> event
};

}  // namespace twinlink
