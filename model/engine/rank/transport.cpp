#include "model/engine/rank/transport.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/engine/rank/sim_program.hpp"

namespace twinlink::model {

void Transport::start(const OperationPtr& operation, Seconds until) {
  if (operation->is_copy()) operation->queue->operations.push_back(operation);
  operation->state = Operation::State::delayed;
  operation->due = until;
  ++unfinished_;
  event_queue_.add(until, operation);
}

/// Its latency is over, or what came after it when it had its turn. It flows at once, or after those before it in its
/// queue.
void Transport::latency_is_over(const OperationPtr& operation) {
  operation->state = Operation::State::queued;
  if (!operation->had_its_turn) operation->report.ready = world_.now();
  std::vector<OperationPtr>& queued = operation->queue->operations;
  if (operation->kind == Operation::Kind::send && !operation->had_its_turn) queued.push_back(operation);
  if (queued.front() == operation) take_turn(operation);
}

/// Nothing is before it in its queue. Its latency may have run beside the copy before it; what follows runs beside
/// nothing, and begins only now: the engine's gap between two copies, the blocks of a copy, the kernel's signal, and
/// the reading of what was just written. Called once more when that is over.
void Transport::take_turn(const OperationPtr& operation) {
  const Seconds now = world_.now();
  Seconds turn = std::max(now, turn_behind(now, operation->queue->last_end, operation->gap));
  const Seconds written = operation->time_of_written_source();
  // What lies between two messages of pieces is work of the CPU that copies them, and rests when it rests.
  if (operation->stages.size() > 1) operation->beside_bytes = std::exchange(turn, now) - now;
  operation->had_its_turn = true;
  operation->due = turn + operation->unhidden + written;
  operation->gap = operation->unhidden = {};
  if (reached(operation->due, now)) return start_flow(operation);
  operation->state = Operation::State::delayed;
  operation->report.latency += operation->due - now;
  event_queue_.add(operation->due, operation);
}

void Transport::start_flow(const OperationPtr& operation) {
  operation->state = Operation::State::flowing;
  operation->flow_began = world_.now();
  if (operation->is_copy()) operation->take_snapshot();
  if (operation->program) {
    // The operation outlives its end, which its program tells.
    return operation->program->begin([this, operation = operation.get()] {
      operation->report.blocks = operation->program->last_step();
      arrive(operation->shared_from_this());
    });
  }
  if (routes_.are_cut(*operation)) return fail(operation);
  if (operation->size == Bytes{}) return arrive(operation);
  operation->flowing = routes_.bytes_of(*operation);
  if (operation->stages.empty()) operation->stages.emplace_back();
  start_stage(operation);
}

void Transport::start_stage(const OperationPtr& operation) {
  if (operation->stage > 0 && routes_.are_cut(*operation)) return fail(operation);
  Stage& stage = operation->stages[operation->stage];
  const auto part_of = [](Bytes bytes, double share) {
    return Bytes{static_cast<std::uint64_t>(std::llround(static_cast<double>(bytes.count()) * share))};
  };
  Bytes bytes = part_of(operation->flowing, stage.share);
  if (const Seconds more = std::exchange(operation->beside_bytes, {}); more > Seconds{}) {
    bytes += routes_.copied_in(more, *operation);
  }
  for (const RankId copying : stage.copying) world_.cpu(copying).begin_work();
  const std::vector<FlowRoute>& routes = routes_.of(*operation);
  stage.flowing = routes.size();
  for (const FlowRoute& route : routes) {
    stage.flows.push_back(world_.loop.network().start(route, std::max(part_of(bytes, route.share), 1_B), *operation));
    if (world_.observer) operation->report.flows.push_back(stage.flows.back().number);
  }
}

/// A stage is over when the bytes of all its ways have arrived. Once the first piece of a message has been copied, the
/// next message may begin.
void Transport::flow_has_ended(const OperationPtr& operation) {
  Stage& stage = operation->stages[operation->stage];
  if (--stage.flowing > 0) return;
  end_copying(stage);
  if (++operation->stage == operation->stages.size()) return arrive(operation);
  if (operation->stage == 1) {
    under_way_.push_back(operation);
    leave_queue(operation);
  }
  start_stage(operation);
}

void Transport::end_copying(const Stage& stage) {
  for (const RankId copying : stage.copying) world_.cpu(copying).end_work();
}

void Transport::arrive(const OperationPtr& operation) {
  operation->report.flow = world_.now() - operation->flow_began;
  operation->tear_what_has_changed();
  if (operation->is_copy()) operation->write();
  end(operation, Status::delivered);
}

/// Nothing arrives.
void Transport::fail(const OperationPtr& operation) {
  for (Stage& stage : operation->stages) {
    if (stage.flowing == 0) continue;
    end_copying(stage);
    stage.flowing = 0;
    for (const FlowId& flow : stage.flows) world_.loop.network().drop(flow);
  }
  end(operation, Status::peer_failed);
}

void Transport::end(const OperationPtr& operation, Status status) {
  --unfinished_;
  ended_(operation, status);
  if (std::erase(under_way_, operation) == 0) leave_queue(operation);
}

void Transport::fail_what_is_cut() {
  std::vector<OperationPtr> flowing = under_way_;
  const auto add = [&](const Queue& queue) {
    flowing.insert(flowing.end(), queue.operations.begin(), queue.operations.end());
  };
  for (const auto& [peer, queue] : wires_) add(queue);
  for (const auto& [index, queue] : streams_) add(queue);
  std::erase_if(flowing, [&](const OperationPtr& operation) { return operation->state != Operation::State::flowing; });
  for (const OperationPtr& operation : flowing) routes_.are_cut(*operation) ? fail(operation) : go_round(operation);
}

/// Adapters send again what the cable has not let through, by the way that is taken from now on.
void Transport::go_round(const OperationPtr& operation) {
  if (operation->stage >= operation->stages.size()) return;
  Stage& stage = operation->stages[operation->stage];
  for (std::size_t i = 0; i < stage.flows.size(); ++i) {
    FlowId& flow = stage.flows[i];
    if (!world_.machine.is_stranded(flow)) continue;
    const auto left = static_cast<std::uint64_t>(std::llround(world_.loop.network().left(flow)));
    world_.loop.network().drop(flow);
    const std::vector<FlowRoute>& routes = routes_.of(*operation);  // fewer, where one is gone
    flow = world_.loop.network().start(routes[std::min(i, routes.size() - 1)], std::max(Bytes{left}, 1_B), *operation);
    if (world_.observer) operation->report.flows.push_back(flow.number);
  }
}

/// The next one has its turn.
void Transport::leave_queue(const OperationPtr& operation) {
  Queue& queue = *operation->queue;
  queue.last_end = world_.now() + operation->until_next;
  queue.operations.erase(std::ranges::find(queue.operations, operation));
  if (queue.operations.empty()) return;
  const OperationPtr next = queue.operations.front();
  if (next->state == Operation::State::queued) take_turn(next);
}

}  // namespace twinlink::model
