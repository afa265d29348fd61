// TracingRank: writes down what a rank did, in which order, and when each operation was found to have ended.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "protocols/decorated_rank.hpp"

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
/// since then.
std::string list_by_step(std::span<const TraceEvent> events, std::optional<Seconds> origin = std::nullopt);

class TracingRank final : public DecoratedRank {
 public:
  /// `inner` and `trace` must outlive this rank.
  TracingRank(Rank& inner, Trace& trace) : DecoratedRank(inner), trace_(trace) {}

  Buffer allocate(Memory kind, Bytes size, Locality locality) override;
  void release(Buffer buffer) override;
  IpcHandle export_memory(Buffer buffer) override;
  Buffer open_memory(RankId owner, const IpcHandle& handle) override;
  void close_memory(Buffer buffer) override;
  void register_memory(Buffer buffer) override;
  void deregister_memory(Buffer buffer) override;

  Op copy(View to, View from, Stream stream, Engine engine) override;
  Op copy_blocks(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override;
  Op put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) override;
  Op await_signal(RankId peer, Tag tag, std::uint64_t& value) override;
  Op send(RankId peer, Tag tag, View from) override;
  Op receive(RankId peer, Tag tag, View to) override;
  Op tell(RankId peer, Tag tag, const Message& message) override;
  Op hear(RankId peer, Tag tag, Message& into) override;
  std::optional<Completion> wait_any(std::span<const Op> ops, Seconds deadline) override;
  void abandon(Op op) override;
  void step(std::string_view words) override;

 private:
  /// A call that is over when it returns.
  void note(std::string what, Seconds started);
  Op track(std::string what, Seconds started, Op op);

  Trace& trace_;
  std::string step_;
  std::unordered_map<std::uint64_t, std::size_t> in_flight_;  ///< op id -> event
};

}  // namespace twinlink
