// Prober: what the probes of one rank share, and the lines that they write.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocols/bench/measure/collectives.hpp"
#include "protocols/bench/measure/payload.hpp"
#include "protocols/bench/measure/warm_up.hpp"
#include "protocols/bench/probe/probe.hpp"
#include "protocols/bench/probe/probe_parts.hpp"
#include "protocols/core/measured_rank.hpp"

namespace twinlink::bench {

/// In notes: copies into a peer's memory, where there is peer access.
inline constexpr std::string_view kPeerWrites = "into the memory of a peer";
inline constexpr std::string_view kPeerReads = "from the memory of a peer";

/// A way that copies go: memory for the largest size at both ends.
struct Move {
  View to{};
  View from{};

  [[nodiscard]] Move first(Bytes size) const { return {to.slice(Bytes{}, size), from.slice(Bytes{}, size)}; }
};

/// Memory of one end of messages that go both ways.
struct MessageMemory {
  const ScopedBuffer& source;  ///< where the contents are made that go out
  const ScopedBuffer& in;      ///< where the peer's come in
};

class Prober {
 public:
  /// Times one move of some size in microseconds, as often as the plan says.
  using Sampler = std::function<Rounds(const Move& move)>;
  /// The same of several moves of one size.
  using GroupSampler = std::function<Rounds(std::span<const Move> moves)>;

  /// Both must outlive this.
  Prober(MeasuredRank& rank, const ProbePlan& plan) : rank_(rank), plan_(plan) {}

  [[nodiscard]] MeasuredRank& rank() { return rank_; }
  [[nodiscard]] const ProbePlan& plan() const { return plan_; }
  [[nodiscard]] Patience patience() const { return Patience::of_peer(plan_.timeout); }
  [[nodiscard]] const Repeats& repeats(Bytes size) const { return size < plan_.large_from ? plan_.small : plan_.large; }
  [[nodiscard]] Bytes largest() const { return plan_.sizes.back(); }
  /// Is a line of this name asked for? To be asked before anything is measured; ranks that measure together get the
  /// same answer.
  [[nodiscard]] bool wants(std::string_view name) const { return name.find(plan_.only) != std::string_view::npos; }
  /// Is the CPU's part of an operation measured at this size? A few small ones do: it hardly depends on the size.
  [[nodiscard]] bool times_cpu_at(Bytes size) const { return size == plan_.sizes.front() || size == Bytes{4096}; }

  /// Runs `round` as often as the plan says, on this rank alone; times in microseconds.
  Rounds sample(Bytes size, const std::function<void()>& round);
  /// As sample(), on two ranks at once: both make the same call, and the leader's time decides how often.
  Rounds sample_with(RankId peer, bool leading, Bytes size, const std::function<void()>& round);

  /// As sample_with(), of rounds that tell their time themselves, in microseconds. Only the leader's count.
  Rounds sample_timed_with(RankId peer, bool leading, Bytes size, const std::function<double()>& timed);

  /// As sample(), on all ranks of a group at once: each makes the same call. Ranks that are done first leave the others
  /// alone with their last rounds, which a median bears.
  Rounds sample_in(std::span<const RankId> group, Bytes size, const std::function<void()>& round);
  /// The same of rounds that tell their time themselves, in microseconds.
  Rounds sample_timed_in(std::span<const RankId> group, Bytes size, const std::function<double()>& timed);
  /// As sample(), with something before every round that is not timed.
  Rounds sample_after(Bytes size, const std::function<void()>& prepare, const std::function<void()>& round);

  /// As sample(), of nothing but failed polls of an operation; 0 where it ends too soon for that.
  Rounds sample_look(std::string_view what, Bytes size, const std::function<Op()>& start);
  /// As sample(), of nothing but the call that starts an operation behind another: what the CPU is busy for.
  Rounds sample_start(std::string_view what, Bytes size, const std::function<Op()>& start);
  /// As sample(), of nothing but the call that learns that an operation has ended. `meanwhile` comes between and takes
  /// so long that it has ended long before.
  Rounds sample_finish(std::string_view what, Bytes size, const std::function<Op()>& start,
                       const std::function<void()>& meanwhile);

  /// As sample(), for kQueuedCopies operations that wait behind each other; the share of one.
  Rounds sample_queued(std::string_view what, Bytes size, const std::function<Op()>& start);

  /// Writes a line for every size of the plan, and checks what the moves have brought there.
  void record_copies(const std::string& name, const Move& move, const Sampler& sampler);
  void record_copies(const std::string& name, std::span<const Move> moves, const GroupSampler& sampler);
  /// The same of one size.
  void record_copy(Bytes size, const std::string& name, const Move& move, const Sampler& sampler);
  /// Writes a line for every size of messages that both ends send, `in_turn` of them one after the other in a round,
  /// and checks what each has received. Both ends make the same call.
  void record_messages(const std::string& name, RankId peer, bool leading, const MessageMemory& memory, int in_turn,
                       const std::function<Rounds(Bytes size)>& sampler);
  /// Writes a line, if it is asked for.
  void record(const std::string& name, const std::string& peer, Bytes size, Rounds rounds, bool moves_bytes);
  /// The same text twice is one note.
  void note(std::string text);

  /// Copies and waits. A CheckError if it does not end.
  void copy(View to, View from, Engine engine = Engine::dma);
  void finish(Op op, std::string_view what, Bytes size);
  /// A CheckError that names `what` unless `view` holds `pattern`.
  void expect(View view, twinlink::Payload pattern, std::string_view what);
  /// A CheckError.
  [[noreturn]] void fail(std::string_view what, Bytes size, std::string_view reason) const;
  /// A pattern that no probe before had; ranks that take part in the same probes get the same.
  twinlink::Payload fresh_pattern() { return {++patterns_}; }

  /// What this rank has measured since this was called last.
  [[nodiscard]] ProbePart take() { return std::exchange(part_, {}); }

 private:
  void record_copies_at(Bytes size, const std::string& name, std::span<const Move> moves, const GroupSampler& sampler);
  /// As sample(), of rounds that tell their time themselves, in microseconds.
  Rounds sample_rounds(Bytes size, const std::function<double()>& timed);
  MeasuredRank& rank_;
  const ProbePlan& plan_;
  ProbePart part_;
  std::uint64_t patterns_ = 0;
};

/// Tries something that this machine may lack. If it does, says so in a note and returns false.
bool can(Prober& prober, const std::string& what, const std::function<void()>& attempt);
/// can() for a copy of one byte: may this rank copy from the one buffer to the other? `words` name such copies in the
/// note: "device-to-pinned far".
bool can_copy(Prober& prober, std::string_view words, Buffer to, Buffer from, Engine engine = Engine::dma);
/// The primitives of one rank: copies, handles, allocation.
void probe_local(Prober& prober);
/// Copies of one rank by kernels, and copies of many blocks.
void probe_blocks(Prober& prober);
/// Copies of one rank that queue or go both ways at once.
void probe_load(Prober& prober);
/// Copies of one rank that read what was just written.
void probe_written(Prober& prober);
/// Copies of two, four, ... GPUs of rank 0's node at once: to and from host memory, and around a ring of peers. All
/// ranks call it.
void probe_together(Prober& prober);
/// Copies between this rank's GPU and the peer's. Both ranks call it; the leading one copies.
void probe_peer_copies(Prober& prober, RankId peer, bool leading);
/// Puts that raise a signal, there and back between ranks of one node. Both ranks call it.
void probe_signals(Prober& prober, RankId peer, bool leading);
/// Messages between host buffers and control messages, there and back. Both ranks call it.
void probe_messages(Prober& prober, RankId peer, bool leading);
/// Programs of thread blocks of one rank that move nothing: launches of one, and of graphs.
void probe_launches(Prober& prober);
/// Programs of two ranks of a node: hops of each line format, and what blocks pass on and move. Both ranks call it.
void probe_programs(Prober& prober, RankId peer, bool leading);
/// Rings of the first two, three, ... of `gpus`, which are ranks of one node, each with a GPU of its own. They all call
/// it.
void probe_rings(Prober& prober, std::span<const RankId> gpus);
/// Many messages at once, one way and both ways: what lies between two, and what CPUs do to start, await and take in
/// one. Both ranks call it.
void probe_windows(Prober& prober, RankId peer, bool leading);

}  // namespace twinlink::bench
