// SimRank: a rank on a simulated machine. Its own code is a task of the scheduler and sleeps while that waits. What
// happens meanwhile happens by timers and by flows that end.
//
// An operation first waits its overhead and latency, by this rank's own account, and then becomes a flow, which shares
// links with all others. Each part of that has a class of its own; here they are put together to the verbs of a rank:
//
//   memory_      buffers: who may use, open and release them
//   operations_  what has been started, by number
//   ways_        how messages reach peers, and what that costs
//   routes_      which links bytes cross
//   transport_   streams and wires: latency, turn, flow, end
//   mailbox_     messages and control messages find who waits for them
//   event_queue_ what comes by itself, at its time
//   poller_      how the rank learns of an end
//   cpu_         being busy, and sleeping
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/engine/memory/sim_memory.hpp"
#include "model/engine/rank/cpu.hpp"
#include "model/engine/rank/event_queue.hpp"
#include "model/engine/rank/mailbox.hpp"
#include "model/engine/rank/message_ways.hpp"
#include "model/engine/rank/operation_table.hpp"
#include "model/engine/rank/poller.hpp"
#include "model/engine/rank/routes.hpp"
#include "model/engine/rank/sim_world.hpp"
#include "model/engine/rank/transport.hpp"
#include "protocols/core/measured_rank.hpp"

namespace twinlink::model {

/// One rank of simulate(). All ranks are in this process, so what one does at a peer is a call: rank(to).mailbox_.
class SimRank final : public MeasuredRank {
 public:
  /// `world` outlives it.
  SimRank(SimWorld& world, RankId id);
  SimRank(const SimRank&) = delete;
  SimRank& operator=(const SimRank&) = delete;

  /// Operations whose bytes flow over what has just been cut fail.
  void fail_what_is_cut() { transport_.fail_what_is_cut(); }
  /// Lets what is in flight reach its end, after the rank's body has returned.
  void finish();

  Seconds now() override { return world_.now(); }
  [[nodiscard]] Standing standing() const override {
    return world_.folding == nullptr ? Standing{} : world_.folding->standing();
  }
  [[nodiscard]] std::optional<Seconds> cpu_time() const override { return cpu_.worked(); }
  [[nodiscard]] const Path& path_to(RankId peer) const override;
  Answer check_peer_access(RankId peer) override;
  void look_up_pointer(RankId peer) override;

  Buffer allocate_beside(RankId peer, Bytes size) override;
  Buffer allocate(Memory kind, Bytes size, Locality locality) override;
  void release(Buffer buffer) override;
  IpcHandle export_memory(Buffer buffer) override;
  Buffer open_memory(RankId owner, const IpcHandle& handle) override;
  void close_memory(Buffer buffer) override;
  void register_memory(Buffer buffer) override;
  void deregister_memory(Buffer buffer) override;

  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override;
  Op put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) override;
  Op launch(const gpu::Work& work, Stream stream) override;
  Op await_slot(const gpu::FifoSlot& slot) override;
  void raise_slot(const gpu::FifoSlot& slot) override;
  Op await_signal(RankId peer, Tag tag, std::uint64_t& value) override;
  Op send(RankId to, Tag tag, View from) override;
  Op send_synchronously(RankId to, Tag tag, View from) override;
  bool take_adapters(AdapterTurn turn) override { return adapters_ = turn, true; }
  Op compute(Seconds duration, Stream stream) override;
  [[nodiscard]] std::optional<Op> meet() override;
  Op start_add(View to, View from, Stream stream) override;
  Op start_transform(View data, const Transform& transform, Stream stream) override;
  [[nodiscard]] Answer transforms() const override;
  Op receive(RankId from, Tag tag, View to) override;
  Op add_up(std::span<const RankId> members, Tag tag, View to, View from) override;
  Op send_control(RankId to, Tag tag, const ControlMessage& message) override;
  Op recv_control(RankId from, Tag tag, ControlMessage& into) override;
  std::optional<Completion> wait_any(std::span<const Op> ops, Seconds deadline) override;
  void abandon(Op op) override;

  void fill(View view, Payload pattern) override;
  Verdict check(View view, Payload pattern) override;
  void step(std::string_view words) override {
    if (world_.observer) step_ = words;
  }

 private:
  /// Who stands for it, where not all are simulated.
  [[nodiscard]] SimRank& rank(RankId id) const { return world_.standing_for(id); }
  /// Who this rank is to that one.
  [[nodiscard]] RankId seen_by(RankId peer) const {
    return world_.folding == nullptr ? id_ : world_.folding->seen_by(peer, id_);
  }
  void require_peer(RankId rank) const;  ///< another rank than this one
  Buffer allocate_on(RankId owner, Bytes size);

  // An operation is made (make), given what it costs, and started (get_under_way); `verb` is for traces.
  OperationPtr make(std::string_view verb);
  OperationPtr make_copy(View to, View from, Stream stream, Engine engine);
  void get_under_way(const OperationPtr& operation, Seconds latency);
  Op run_copy(const OperationPtr& operation);
  OperationPtr make_kernel(Stream stream);
  [[nodiscard]] Part program_memory(const View& view, bool opened) const;
  [[nodiscard]] SimProgram::Link program_link(const gpu::Link& link, Rate rate, Rate passing);
  void add_switch(std::size_t peers, Rate rate, SimProgram::Parts& parts) const;
  void drive_adapter(RankId peer, Location there, SimProgram::Link& link) const;
  Op compute_on_host(Seconds duration);

  // Messages: see the definitions for what a library does with each kind of memory.
  void require_sendable(const Part& part, RankId peer) const;
  void register_pageable(const Part& part, RankId peer);
  void take_unexpected(const OperationPtr& send, const OperationPtr& receive);
  Op await_control(const OperationPtr& operation, RankId from, Tag tag);
  // Ends: Transport calls end(); complete() is for this rank's own operation, deliver() for the receive of a send.
  void end(const OperationPtr& operation, Status status);
  void deliver(const OperationPtr& send);
  void complete(const OperationPtr& operation, Status status);
  void await_event(const OperationPtr& put);
  void report_end(const OperationPtr& operation);
  void let_know(const OperationPtr& operation, Status status);
  void wait_for_one_of(std::span<const Op> ops, Seconds deadline);

  SimWorld& world_;
  RankId id_;
  Cpu& cpu_;
  EventQueue event_queue_;
  SimMemory memory_;
  OperationTable operations_;
  Mailbox mailbox_;
  MessageWays ways_;
  Routes routes_;
  Transport transport_;
  Poller poller_;
  std::span<const Op> awaited_{};  ///< while the rank does nothing but wait for one of them
  Buffer nothing_{};               ///< on the GPU, for kernels that compute; made when the first one does
  AdapterTurn adapters_{};         ///< of what is sent next
  std::string step_;
};

}  // namespace twinlink::model
