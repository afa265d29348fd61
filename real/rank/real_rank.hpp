// RealRank: a rank of a real job, one MPI process with one device.
//
// An operation is an event of the device runtime, an MPI request, or a control message or signal in memory that the
// node shares. Open MPI moves messages only inside its own calls, so wait_any() never sleeps: it asks all of them in
// turn, for all operations of the rank at once.
//
//   wait_any()  ->  take_ended()      has one of those that are asked for ended?
//               ->  poll()            if not: control messages and signals, copies, MPI, in this order
//
// Job (real/job/job.hpp) makes it, with all that it needs; verbs are in real_rank.cpp, real_copies.cpp and
// real_control.cpp.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "protocols/core/measured_rank.hpp"
#include "protocols/gpu/work.hpp"
#include "real/rank/control_messages.hpp"
#include "real/rank/life_signs.hpp"
#include "real/rank/neighbours.hpp"
#include "real/rank/real_memory.hpp"
#include "real/rank/signals.hpp"
#include "real/system/mpi.hpp"
#include "real/system/numa.hpp"

namespace twinlink::real {

/// A call of MPI or the device that fails is an EnvironmentError, which ends the job.
class RealRank final : public MeasuredRank {
 public:
  using Clock = std::chrono::steady_clock;

  /// All but `start`, from which now() counts, must outlive this object. Without `messages`, all control messages go
  /// through MPI.
  RealRank(const Mpi& mpi, DeviceRuntime& runtime, const Neighbours& neighbours, const Numa& numa, RealMemory& memory,
           Signals& signals, LifeSigns& life, ControlMessages* messages, Clock::time_point start);
  /// Gives up what is still in flight.
  ~RealRank() override;
  RealRank(const RealRank&) = delete;
  RealRank& operator=(const RealRank&) = delete;

  Seconds now() override;
  /// Time of this thread, waiting included: a rank that waits asks again and again.
  [[nodiscard]] std::optional<Seconds> cpu_time() const override;
  [[nodiscard]] Seconds silence_of(RankId peer) override { return life_.silence_of(peer); }
  [[nodiscard]] const Path& path_to(RankId peer) const override;
  Answer check_peer_access(RankId peer) override;

  Buffer allocate(Memory kind, Bytes size, Locality locality) override;
  Buffer allocate_beside(RankId peer, Bytes size) override;
  void release(Buffer buffer) override { memory_.release(buffer); }
  IpcHandle export_memory(Buffer buffer) override { return memory_.export_memory(buffer); }
  Buffer open_memory(RankId owner, const IpcHandle& handle) override;
  void close_memory(Buffer buffer) override { memory_.close(buffer); }
  void register_memory(Buffer buffer) override;
  void deregister_memory(Buffer buffer) override;

  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override;
  Op put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) override;
  Op launch(const gpu::Work& work, Stream stream) override;
  /// What a library puts into the device's queue for memory of this rank's own: `times` times, as one graph, which is
  /// kept by the memory and the name of the calls.
  Op enqueue(View data, Stream stream, int times, std::string_view name,
             const std::function<void(std::byte*, void* queue)>& calls);
  /// The same of two, which may be empty.
  Op enqueue(View from, View to, Stream stream, const std::function<void(std::byte*, std::byte*, void* queue)>& calls);
  /// Graphs of calls whose name begins so go, before what made the calls ends.
  void forget_enqueued(std::string_view begin) { runtime_.forget_enqueued(begin); }
  [[nodiscard]] Answer runs_libraries() const { return runtime_.runs_libraries(); }
  Op await_slot(const gpu::FifoSlot& slot) override;
  void raise_slot(const gpu::FifoSlot& slot) override;
  Op await_signal(RankId peer, Tag tag, std::uint64_t& value) override;
  Op send(RankId peer, Tag tag, View from) override;
  Op send_synchronously(RankId peer, Tag tag, View from) override;
  Op compute(Seconds duration, Stream stream) override;
  Op start_add(View to, View from, Stream stream) override;
  Op start_transform(View data, const Transform& transform, Stream stream) override;
  [[nodiscard]] Answer transforms() const override { return runtime_.transforms(); }
  Op receive(RankId peer, Tag tag, View to) override;
  Op send_control(RankId peer, Tag tag, const ControlMessage& message) override;
  Op recv_control(RankId peer, Tag tag, ControlMessage& into) override;
  std::optional<Completion> wait_any(std::span<const Op> ops, Seconds deadline) override;
  void abandon(Op op) override;

  void fill(View view, Payload pattern) override;
  Verdict check(View view, Payload pattern) override;
  [[nodiscard]] bool has_bytes() const override { return true; }
  void write(View to, std::span<const std::byte> bytes) override;
  void read(View from, std::span<std::byte> bytes) override;

 private:
  /// What an operation is, which says who must be asked for its end.
  enum class Kind {
    copy,
    program,
    slot,
    host_work,
    signal,
    send,
    receive,
    send_control,  ///< through MPI
    recv_control,
    control_out,  ///< the same within the node
    control_in
  };

  /// What every look through the operations in flight reads, close together.
  struct State {
    std::uint32_t generation = 0;  ///< how often the slot was used
    bool used = false;
    bool ended = false;
    Status status = Status::delivered;
  };
  /// The rest. Addresses of operations are stable: MPI writes into them.
  struct Operation {
    Kind kind = Kind::copy;
    Part from{};
    Part to{};
    std::vector<Part> others{};  ///< that a program uses
    Event event{};
    Stream stream{};
    ControlMessage* into = nullptr;
    std::uint64_t* signal_value = nullptr;
    std::array<std::byte, ControlMessage::kCapacity> message{};
  };
  /// The place of an operation in states_ and operations_; used again once that has ended.
  using Slot = std::uint32_t;

  /// Who waits for control messages or signals of one peer with one tag, the first first.
  struct Waiting {
    RankId peer;
    Tag tag;
    std::deque<Slot> slots;
    std::uint64_t taken = 0;  ///< signals, ever
  };
  /// Few: a rank has few peers and protocols few tags. So looking through them is faster than a map.
  struct WaitingLists {
    std::vector<Waiting> lists;
    std::size_t waiting = 0;  ///< slots in all of them

    void add(RankId peer, Tag tag, Slot slot);
    void remove(Slot slot);
  };
  /// A control message whose box was full. It goes before later ones to the same peer.
  struct Unposted {
    Slot slot = 0;
    std::uint32_t generation = 0;  ///< of the slot: the operation may have been abandoned since
    Tag tag;
    ControlMessage message;
  };

  /// An await_slot(): the CPU looks at the FIFO's memory until a program has filled the slot, or read it.
  struct SlotWait {
    Slot slot = 0;
    std::byte* fifo = nullptr;
    gpu::Program program{};
    std::uint64_t step = 0;
    std::uint64_t bytes = 0;
    gpu::FifoSlot::Event event = gpu::FifoSlot::Event::filled;
    std::uint64_t lines = 0;  ///< that have been seen

    bool has_come();
  };
  [[nodiscard]] Part slot_memory(const gpu::FifoSlot& slot) const;
  void poll_slots();

  void require_reach(const Part& to, const Part& from, Engine engine) const;
  void require_mapped(const Part& to, const Part& from) const;
  /// By `call`, MPI_Isend or MPI_Issend.
  Op send_by(decltype(MPI_Isend)* call, const char* name, RankId peer, Tag tag, View from);
  Op track_event(Event event, Stream stream, const Part& target, const Part& source);
  Op track_copy(Event event, Stream stream, const Part& target, const Part& source);
  [[nodiscard]] DeviceLink device_link(const gpu::Link& link, std::vector<Part>& used) const;
  [[nodiscard]] const Neighbour& neighbour(RankId rank) const;
  /// The peer and the tag of a message, checked.
  void require_address(RankId peer, Tag tag) const;
  void require_sendable(const View& view, RankId peer);

  // The books of operations: start() takes a slot, end() notes that its operation has ended, and let_go() gives slot
  // and buffers back when wait_any() returns it.
  Slot start(Kind kind, Part from, Part to);
  void await_request(Slot slot, MPI_Request request);
  [[nodiscard]] Op op_of(Slot slot) const;
  [[nodiscard]] Slot find(Op op) const;
  void end(Slot slot);
  void let_go(Slot slot);
  /// The first of them that has ended, which is used up with that.
  std::optional<Completion> take_ended(std::span<const Op> ops);

  [[nodiscard]] bool by_control_message(RankId peer) const;
  Op send_in_memory(RankId peer, Tag tag, const ControlMessage& message);

  void poll();
  void poll_messages();
  void poll_host_works();
  void let_others_go_on();
  void poll_copies(std::size_t stream);
  /// Takes off the lists who has got what it waited for, as `comes` says; of each list the first before the next.
  template <class Comes>
  void poll_lists(WaitingLists& lists, Comes comes);
  void poll_signals();
  void poll_control();
  void post_control();
  void stop_awaiting(Slot slot);
  void finish_message(Slot slot, const MPI_Status& status, int error);

  const Mpi& mpi_;
  DeviceRuntime& runtime_;
  const Neighbours& neighbours_;
  RealMemory& memory_;
  Signals& signals_;
  LifeSigns& life_;
  ControlMessages* control_messages_;
  Clock::time_point start_;

  std::vector<State> states_;         ///< by slot
  std::deque<Operation> operations_;  ///< likewise
  std::vector<Slot> free_slots_;
  std::array<std::deque<Slot>, kStreams> copies_;     ///< in flight, oldest first
  std::size_t copies_in_flight_ = 0;                  ///< of all streams
  std::vector<std::pair<Seconds, Slot>> host_works_;  ///< what cores of the host compute, and until when
  std::vector<SlotWait> slot_waits_;
  WaitingLists control_receives_;  ///< for control messages
  WaitingLists awaits_;            ///< for signals
  std::map<RankId, std::deque<Unposted>> unposted_;
  unsigned polls_ = 0;
  std::uint64_t endings_ = 0;          ///< operations that polls have found to have ended, ever
  unsigned ends_in_a_row_ = 0;         ///< polls that found something and looked at nothing behind it
  std::vector<MPI_Request> requests_;  ///< in flight; requests_[i] belongs to request_owners_[i]
  std::vector<Slot> request_owners_;
  std::vector<MPI_Status> statuses_;  ///< room for MPI_Testsome's answers
  std::vector<int> ended_;            ///< likewise
  std::vector<std::byte> staging_;    ///< device memory passes through here when it is filled or checked
};

}  // namespace twinlink::real
