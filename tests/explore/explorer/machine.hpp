// Machine: the rules of an explored job. What a verb starts, what may end next, and what that does to memory.
//
// When an operation ends is up to the environment: a copy at any later time in the order of its stream, a control
// message at any later time in the order of its pair and tag, a data message likewise but ending in any order, a send
// at once or only with its receive. The explorer chooses.
#pragma once

#include <string>
#include <vector>

#include "tests/explore/explorer/scenario.hpp"
#include "tests/explore/explorer/state.hpp"

namespace twinlink::explore {

/// One step of an execution.
struct Choice {
  enum class Kind : std::uint8_t {
    take,     ///< wait_any() of the rank returns the operation, which ends now at the latest, and the rank goes on
    nothing,  ///< wait_any() of the rank returns nothing: it only looked
    end       ///< the operation ends; nobody goes on. Only without reduction
  };
  int rank = 0;
  Kind kind = Kind::take;
  std::uint64_t operation = 0;
  std::size_t index = 0;  ///< in the span of wait_any()

  /// The same for the same choice in all interleavings.
  [[nodiscard]] std::uint64_t id() const {
    return (static_cast<std::uint64_t>(rank) * 3 + static_cast<std::uint64_t>(kind)) << 56U | operation;
  }
};

/// What a step touched that steps of other ranks may touch, too: bytes of exposed memory, signals. Two steps of
/// different ranks whose footprints do not meet can change places.
class Footprint {
 public:
  void clear() { marks_.clear(); }
  void memory(AllocationId allocation, bool write);
  void signal(int from, int to, int tag);
  [[nodiscard]] bool empty() const { return marks_.empty(); }
  [[nodiscard]] bool meets(const Footprint& other) const;

 private:
  std::vector<std::uint64_t> marks_;  ///< the lowest bit: written
};

class Machine {
 public:
  explicit Machine(const Scenario& scenario);

  World world;
  /// Of the step that runs.
  Footprint footprint;
  /// What the step that runs did wrong.
  std::vector<std::string> violations;

  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] const std::vector<Place>& places() const { return places_; }

  // ---- memory (memory.cpp) ----------------------------------------------------------------------------------------

  Buffer allocate(int rank, Memory kind, Bytes size);
  void release(int rank, Buffer buffer);
  IpcHandle export_memory(int rank, Buffer buffer);
  Buffer open_memory(int rank, RankId owner, const IpcHandle& handle);
  void close_memory(int rank, Buffer buffer);
  void register_memory(int rank, Buffer buffer, bool known);
  void fill(int rank, View view, Payload pattern);
  Verdict check(int rank, View view, Payload pattern);

  /// Buffers that the rank has neither released nor closed; what it computed with apart.
  [[nodiscard]] std::size_t live_buffers(int rank) const;

  // ---- operations (traffic.cpp) -----------------------------------------------------------------------------------

  /// Time of the rank that a call takes which moves so many bytes, and that it computes for.
  void pass(int rank, Bytes moved = {});
  void compute(int rank, Seconds duration);
  Op start_copy(int rank, View to, View from, std::vector<Block> blocks, Stream stream, bool adds = false);
  Op start_put(int rank, View to, View from, Stream stream, std::optional<Signal> signal);
  Op start_send(int rank, RankId peer, Tag tag, View from, bool synchronous = false);
  Op start_receive(int rank, RankId peer, Tag tag, View to);
  Op start_send_control(int rank, RankId peer, Tag tag, const ControlMessage& message);
  Op start_recv_control(int rank, RankId peer, Tag tag, ControlMessage& into);
  Op start_await(int rank, RankId peer, Tag tag, std::uint64_t& value);
  void abandon(int rank, Op op);
  /// Notes what the rank waits for. A UsageError for operations that are not in flight.
  void wait(int rank, std::span<const Op> ops, Seconds deadline);

  // ---- choices (choices.cpp) --------------------------------------------------------------------------------------

  /// The operations that wait_any() of the rank may return next, with the choice to return nothing where it only
  /// looks. Or the first of these alone.
  void takes_of(int rank, std::vector<Choice>& into, bool first_only = false) const;
  /// Can nothing that other ranks do change takes_of(rank), until the rank itself goes on?
  [[nodiscard]] bool decided(int rank) const;
  /// Without reduction: the operations of the rank that may end by themselves next, and the one that wait_any() of the
  /// rank returns now.
  void single_steps_of(int rank, std::vector<Choice>& into) const;
  /// Does what the choice says, up to where the rank goes on. What wait_any() returns then, if it does.
  std::optional<Completion> commit(const Choice& choice);

  /// What the rank waits for, for people: "recv_control rank 1, receive pageable[0+64] <- rank 1".
  [[nodiscard]] std::string waits(int rank) const;
  void violation(const std::string& what) { violations.push_back(what); }
  /// Has the rank opened it from a peer?
  [[nodiscard]] bool opened(int rank, Buffer buffer) { return held(rank, buffer).mapped; }

 private:
  [[nodiscard]] RankState& state(int rank) { return world.ranks[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const RankState& state(int rank) const { return world.ranks[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Allocation& at(AllocationId id) { return state(id.owner).allocations[id.index]; }
  [[nodiscard]] const Allocation& at(AllocationId id) const { return state(id.owner).allocations[id.index]; }
  Inbox& channel(int from, int to, int tag, Plane plane);
  [[nodiscard]] const Inbox* find_channel(int from, int to, int tag, Plane plane) const;

  Held& held(int rank, Buffer buffer);
  Buffer hold(int rank, AllocationId allocation, bool mapped);
  [[nodiscard]] Part part(int rank, const View& view);
  void touch(AllocationId allocation, bool write);
  [[nodiscard]] std::string describe(const Part& part) const;
  [[nodiscard]] std::string describe(int rank, const Operation& op) const;
  /// Does an operation in flight of this rank use it?
  [[nodiscard]] bool in_use(int rank, Buffer buffer) const;
  /// A violation where an operation in flight, other than those before `op` in its stream, uses the same bytes and one
  /// of the two writes. `op` may be null: the rank itself reads or writes.
  void claim(int rank, const Part& part, bool write, const Operation* op, std::string_view what);
  void write(const Part& part, Bytes at, const model::Content& content);
  void set_content(Allocation& allocation, model::Content content);

  void require_peer(int rank, RankId peer) const;
  void require_sendable(int rank, const Part& part, RankId peer) const;
  Operation& insert(int rank, Operation op);
  [[nodiscard]] const Operation* find(int rank, std::uint64_t id) const;
  [[nodiscard]] std::size_t position(int rank, const Operation& op) const;
  [[nodiscard]] const Parcel* parcel_of(int rank, const Operation& send) const;
  /// The copy or put that raises what the await waits for, where it is not ended yet.
  [[nodiscard]] const Operation* raiser(int rank, const Operation& await) const;
  /// Is the signal of the await on its way already?
  [[nodiscard]] bool is_raised(int rank, const Operation& await) const;
  [[nodiscard]] bool can_end(int rank, const Operation& op) const;
  [[nodiscard]] bool is_decided(int rank, const Operation& op) const;
  /// Would `earlier` have ended, too, if `op` has?
  [[nodiscard]] static bool ends_with(const Operation& earlier, const Operation& op);
  void note_signals(int rank);
  void end(int rank, std::uint64_t id);
  void end_stream(int rank, int stream, std::uint64_t last);
  void move_blocks(int rank, const Operation& op);
  /// `what` as it arrives `into` bytes behind the begin of `to`: other than it was sent where Scenario::fault says so.
  [[nodiscard]] model::Content arrived(const Part& to, Bytes into, model::Content what);
  void raise(int from, const Operation& put);
  void receive(int rank, Operation& op);
  void match_parcels(int from, int to, int tag);

  const Scenario& scenario_;
  std::vector<Place> places_;
};

}  // namespace twinlink::explore
