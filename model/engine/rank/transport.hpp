// Transport: the streams and wires of one rank. An operation's latency runs, it waits for its turn in its queue, its
// bytes flow, and it ends. A stream is a queue of copies, a wire one of messages to one peer.
//
// It knows nothing of who waits: SimRank is told of each end, and tells its rank.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "model/engine/rank/event_queue.hpp"
#include "model/engine/rank/operation.hpp"
#include "model/engine/rank/routes.hpp"
#include "model/engine/rank/sim_world.hpp"

namespace twinlink::model {

/// In a queue one flows at a time, in the order in which copies were started and messages became ready; a message that
/// CPUs copy in pieces leaves it after the first one.
class Transport {
 public:
  /// Told of each operation that has ended, whose status says how, before the next one in its queue has its turn.
  using Ended = std::function<void(const OperationPtr&, Status)>;

  /// `world`, and the rank's own `event_queue` and `routes`, outlive it.
  Transport(SimWorld& world, EventQueue& event_queue, Routes& routes, Ended ended)
      : world_(world), event_queue_(event_queue), routes_(routes), ended_(std::move(ended)) {}
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// Made when first asked for. References stay valid.
  [[nodiscard]] Queue& stream(int index) { return streams_[index]; }
  [[nodiscard]] Queue& wire(RankId receiver, AdapterTurn turn) { return wires_[{receiver, turn}]; }
  /// By index, once used.
  [[nodiscard]] const std::map<int, Queue>& streams() const { return streams_; }

  /// The latency of an operation begins, which ends at `until`. A copy has its place in its stream from now on, a
  /// message in its wire once it is ready.
  void start(const OperationPtr& operation, Seconds until);
  /// Operations whose bytes flow over what has just been cut fail; what is left of messages that cross a cable of the
  /// fabric goes round it.
  void fail_what_is_cut();
  /// Nothing that was started is under way any more.
  [[nodiscard]] bool is_idle() const { return unfinished_ == 0; }

  // For operations.
  void latency_is_over(const OperationPtr& operation);
  void flow_has_ended(const OperationPtr& operation);

 private:
  void take_turn(const OperationPtr& operation);
  void start_flow(const OperationPtr& operation);
  void start_stage(const OperationPtr& operation);
  void arrive(const OperationPtr& operation);
  void fail(const OperationPtr& operation);
  void go_round(const OperationPtr& operation);
  void end(const OperationPtr& operation, Status status);
  void leave_queue(const OperationPtr& operation);
  void end_copying(const Stage& stage);

  SimWorld& world_;
  EventQueue& event_queue_;
  Routes& routes_;
  Ended ended_;
  std::map<int, Queue> streams_;  ///< by index, once used
  /// By receiver and adapters, in the order in which messages are ready.
  std::map<std::pair<RankId, AdapterTurn>, Queue> wires_;
  std::vector<OperationPtr> under_way_;  ///< sends that have left their queue, and whose last stages flow
  std::size_t unfinished_ = 0;           ///< operations that were started and have not ended
};

}  // namespace twinlink::model
