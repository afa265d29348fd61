// SimRank: a rank on a simulated machine. Its own code is a member of the crew and sleeps while that waits. What
// happens meanwhile happens by timers and by flows that end.
//
// An operation first waits its overhead and latency, by this rank's own account, and then becomes a flow, which shares
// links with all others. Ranks share one address space and one thread: a message to a peer is an entry in
// the peer's own tables.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <boost/container/flat_map.hpp>
#include <boost/container/small_vector.hpp>

#include "model/engine/event_loop.hpp"
#include "model/engine/host_caches.hpp"
#include "model/engine/machine.hpp"
#include "model/engine/sim_memory.hpp"
#include "protocols/core/rank.hpp"
#include "protocols/trace/op_report.hpp"

namespace twinlink::model {

class SimRank;

/// What all ranks of a simulation share.
struct SimWorld {
  const Topology& topology;
  Machine& machine;
  EventLoop& loop;
  std::vector<Place> places;
  HostCaches caches{topology.graph()};
  OpObserver observer{};
  std::vector<SimRank*> ranks{};
  ExportTable exports{};
  std::map<std::pair<int, int>, Bytes> device_memory_used{};  ///< by node and GPU
  /// By whether the two are on one node and in one copy of the graph, and their GPUs in it.
  std::map<std::tuple<bool, bool, std::size_t, std::size_t>, Path> paths{};
  std::map<std::pair<End, End>, CopyCost> copy_costs{};  ///< asked for so far
  std::map<std::pair<int, std::string>, Seconds>
      nic_turns{};  ///< by node and adapter: when it can send the next message
  bool turns_of_nics = std::ranges::any_of(topology.graph().nics, [](const Nic& nic) { return nic.gap.has_value(); });

  [[nodiscard]] const CopyCost& copy_cost(End from, End to);
  /// A rank has failed and all are being ended: no verb may wait any more.
  [[nodiscard]] bool aborting() const { return loop.aborting(); }
};

class SimRank final : public Rank {
 public:
  /// `world` outlives it.
  SimRank(SimWorld& world, RankId id);
  SimRank(const SimRank&) = delete;
  SimRank& operator=(const SimRank&) = delete;

  /// Operations whose bytes flow over what has just been cut fail.
  void fail_what_is_cut();
  /// Lets what is in flight reach its end, after the rank's body has returned.
  void finish();

  Seconds now() override { return world_.loop.clock().now(); }
  [[nodiscard]] std::optional<Seconds> cpu_time() const override;
  [[nodiscard]] const Path& path_to(RankId peer) const override;
  Answer check_peer_access(RankId peer) override;

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
  Op await_signal(RankId peer, Tag tag, std::uint64_t& value) override;
  Op send(RankId to, Tag tag, View from) override;
  Op send_synchronously(RankId to, Tag tag, View from) override;
  Op compute(Seconds duration, Stream stream) override;
  Op start_add(View to, View from, Stream stream) override;
  Op receive(RankId from, Tag tag, View to) override;
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
  struct Operation;
  using OperationPtr = std::shared_ptr<Operation>;
  /// Operations whose flows follow each other: the copies of a stream, the messages to one peer. The latency of one
  /// overlaps the flow of the one before it, for commands are queued ahead of the data. A message that CPUs copy in
  /// pieces waits here until the first one has been copied, and then takes turns with those after it.
  struct Queue {
    std::vector<OperationPtr> operations{};
    Seconds last_end = Seconds{} - kNever;  ///< of the last flow, and of the signal behind it
  };
  /// A part of an operation's way.
  struct Stage {
    boost::container::small_vector<RankId, 2> copying{};  ///< whose CPUs copy the bytes, if any
    double share = 1;                                     ///< of the bytes
    boost::container::small_vector<FlowId, 1> flows{};    ///< one for each way that the bytes take side by side
    std::size_t flowing = 0;                              ///< of these, what has not ended
  };
  using Stages = boost::container::small_vector<Stage, 1>;
  /// What lies between two ends of a message.
  struct Way {
    Seconds latency{};
    std::vector<FlowRoute> routes{};  ///< once a message has taken it; with CPUs that copy it of no use
  };
  /// A control message on its way.
  struct Arrival {
    Seconds arrival;
    ControlMessage message;
  };
  /// What has come, and what is awaited, from one peer with one tag.
  struct Inbox {
    std::deque<Arrival> arrivals;
    std::vector<OperationPtr> awaited;   ///< control messages that this rank waits for
    std::vector<OperationPtr> sends;     ///< of the peer, not yet matched
    std::vector<OperationPtr> receives;  ///< of this rank, not yet matched
  };
  /// What happens by itself: the latency of an operation is over, or a control message comes in.
  struct Due {
    Seconds when{};
    std::uint64_t number = 0;  ///< of this rank's events; those of one time happen in this order
    OperationPtr operation{};  ///< or else
    Inbox* inbox = nullptr;

    friend bool operator<(const Due& a, const Due& b) {  // the queue's top is its greatest
      return std::tie(a.when, a.number) > std::tie(b.when, b.number);
    }
  };

  /// A cost that a platform need not have. An InputError that names it where it does not.
  [[nodiscard]] Seconds needed(const std::optional<Sourced<Seconds>>& cost, std::string_view name) const;
  /// The device memory in use on the GPU of `place`, by all ranks.
  [[nodiscard]] Bytes& device_memory_used(const Site& site);
  Buffer allocate_on(RankId owner, Bytes size);

  // Copies of all kinds (sim_copies.cpp).
  OperationPtr make_copy(View to, View from, Stream stream, Engine engine);
  void take_copy_cost(Operation& operation);
  void get_under_way(const OperationPtr& operation, Seconds latency);
  [[nodiscard]] Seconds until_signal() const;  ///< after a put whose end does not bring it
  Op run_copy(const OperationPtr& operation);
  [[nodiscard]] End end_of(const Part& part, Engine engine) const;
  void require_reach(const Operation& copy) const;  ///< of the kernel that is to do it
  void raise(const Operation& put);

  // Starting and ending operations (sim_rank.cpp).
  OperationPtr make(std::string_view verb);
  [[nodiscard]] const OperationPtr& find(Op op) const;
  void forget(Op op);
  void require_sendable(const Part& part, RankId peer) const;
  void require_registered(const Part& part) const;
  void register_pageable(const Part& part, RankId peer);
  [[nodiscard]] std::size_t gpu_of(RankId rank) const { return rank_object(rank).gpu_; }
  [[nodiscard]] Location memory_near(RankId rank) const { return rank_object(rank).near_; }
  [[nodiscard]] int copy_of(RankId rank) const { return world_.topology.copy_of(place(rank).node); }
  void require_peer(RankId rank) const;                   ///< another rank than this one
  [[nodiscard]] SimRank& rank_object(RankId rank) const;  ///< in this process as all are
  [[nodiscard]] Inbox& inbox_from(RankId source, Tag tag);
  [[nodiscard]] bool by_shared_memory(RankId peer) const;  ///< and not through the adapter
  [[nodiscard]] const NetworkCosts& network_to(RankId peer) const;
  [[nodiscard]] std::vector<Adapters> adapters_to(RankId peer, Bytes size) const;
  [[nodiscard]] Way& way_between(RankId peer, Location from, Location to, Bytes size);
  [[nodiscard]] Seconds way_of(const Operation& send);
  [[nodiscard]] Seconds way_of_control(RankId peer);
  Seconds adapter_turn(RankId peer, Bytes size);
  [[nodiscard]] Seconds copying_through_shared_memory(RankId peer, Bytes size) const;
  [[nodiscard]] boost::container::small_vector<RankId, 2> copying_ranks(const Operation& send) const;
  [[nodiscard]] Stages stages_of(const Operation& send) const;
  void delay(const OperationPtr& operation, Seconds until);
  void become_ready(const OperationPtr& operation);
  [[nodiscard]] Location target_of(const Operation& send) const;
  void take_turn(const OperationPtr& operation);
  void start_stage(const OperationPtr& operation);
  void end_stage(const OperationPtr& operation);
  void leave_queue(const OperationPtr& operation);
  void start_flow(const OperationPtr& operation);
  [[nodiscard]] const std::vector<FlowRoute>& flow_routes_of(Operation& operation);
  Bytes lacking_in_caches(std::initializer_list<const Part*> parts, Bytes size);
  [[nodiscard]] Rate rate_of_cpus(const Operation& message) const;
  Bytes bytes_to_flow(Operation& operation);
  void end_flow(const OperationPtr& operation);
  void fail(const OperationPtr& operation);
  [[nodiscard]] bool is_cut(Operation& operation);
  [[nodiscard]] bool control_is_cut(RankId peer) const;
  void complete(const OperationPtr& operation, Status status);
  void deliver(const OperationPtr& send);

  // What happens while the rank's own code waits (sim_progress.cpp).
  void schedule(Seconds when, OperationPtr operation, Inbox* inbox);
  void act();
  void run_agenda();
  void post(RankId source, Tag tag, const Arrival& arrival);
  void await_arrival(Inbox& inbox, const Arrival& arrival);
  Op await_next_arrival(const OperationPtr& operation, RankId from, Tag tag);
  void take_arrivals(Inbox& inbox);

  // How it waits (sim_progress.cpp).
  void be_busy(Seconds duration);
  void begin_work();
  void end_work();
  std::optional<Completion> take_seen(std::span<const Op> ops);
  bool look();
  bool look_at_copies(const Queue& stream);
  bool look_at_messages();
  template <class Found>
  bool see(Found found);
  void wait_for_change(Seconds deadline);
  void wait_until_ended(const Operation& operation);
  void wait_for_one_of(std::span<const Op> ops, Seconds deadline);

  SimWorld& world_;
  RankId id_;
  SimMemory memory_;
  std::size_t gpu_;
  Location near_;  ///< the memory next to it
  /// Of messages to peers, and whether they take several adapters; worked out when first needed.
  boost::container::flat_map<std::tuple<RankId, Location, Location, bool>, Way> ways_;
  std::map<std::tuple<int, End, End, bool>, std::vector<FlowRoute>> copy_routes_;  ///< by node, and whether cached
  std::vector<FlowRoute> routes_of_cpus_;                                          ///< of the message asked for last
  std::map<std::pair<RankId, Tag>, Inbox> inboxes_;                                ///< by source and tag

  std::uint64_t next_op_ = 1;
  std::vector<OperationPtr> ops_;  ///< started, and not yet returned by wait_any(); null: a free place
  std::vector<std::size_t> free_places_;
  std::vector<OperationPtr> ended_;      ///< of these, what has ended and the rank has not seen yet
  std::vector<OperationPtr> under_way_;  ///< sends that have left their queue, and whose last stages flow
  std::priority_queue<Due> agenda_;
  std::uint64_t events_ = 0;       ///< ever put on the agenda
  Timer timer_;                    ///< set to the agenda's next event
  std::size_t unfinished_ = 0;     ///< operations whose latency runs or has run, and which have not ended
  bool finished_ = false;          ///< the rank's code has returned: nothing of this rank happens any more
  std::map<int, Queue> streams_;   ///< by index, once used
  std::map<RankId, Queue> wires_;  ///< by receiver, in the order in which messages are ready
  Alarm alarm_;
  std::span<const Op> awaited_{};  ///< while the rank does nothing but wait for one of them
  int works_ = 0;                  ///< what the CPU has to do now
  Seconds works_since_{};          ///< when it began to have something
  Seconds worked_{};               ///< before that

  Buffer nothing_{};  ///< on the GPU, for kernels that compute; made when the first one does

  std::string step_;
};

}  // namespace twinlink::model
