#include "model/engine/sim_rank.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>
#include <utility>

#include "model/engine/sim_operation.hpp"

namespace twinlink::model {

SimRank::SimRank(SimWorld& world, RankId id)
    : Rank({.id = id,
            .places = world.places,
            .numa_domains = static_cast<int>(
                world.topology.part_of(world.places.at(static_cast<std::size_t>(id.value)).node).memories)}),
      world_(world),
      id_(id),
      memory_(id, world.exports),
      gpu_(world.topology.gpu_of(world.places[static_cast<std::size_t>(id.value)])),
      near_{Location::Kind::memory, world.topology.memory_near(gpu_)},
      timer_(world.loop.clock(), [this] { act(); }),
      alarm_(world.loop.clock(), world.loop.crew()) {
  world_.ranks.at(static_cast<std::size_t>(id.value)) = this;
}

// ---- where am I -----------------------------------------------------------------------------------------------------

void SimRank::require_peer(RankId rank) const {
  static_cast<void>(place(rank));
  if (rank == id_) throw UsageError("rank " + std::to_string(id_.value) + " cannot exchange messages with itself");
}

const Path& SimRank::path_to(RankId peer) const {
  if (peer == id_) throw UsageError("rank " + std::to_string(id_.value) + " asked for the path to itself");
  const Place& here = place(id_);
  const Place& there = place(peer);
  const std::tuple key{here.node == there.node, copy_of(id_) == copy_of(peer), gpu_of(id_), gpu_of(peer)};
  const auto found = world_.paths.find(key);
  if (found != world_.paths.end()) return found->second;
  return world_.paths.emplace(key, world_.topology.path(here, there)).first->second;
}

Answer SimRank::check_peer_access(RankId peer) {
  be_busy(or_none(world_.topology.platform().runtime.peer_check));
  return Rank::check_peer_access(peer);
}

SimRank& SimRank::rank_object(RankId rank) const { return *world_.ranks[static_cast<std::size_t>(rank.value)]; }

SimRank::Inbox& SimRank::inbox_from(RankId source, Tag tag) { return inboxes_[{source, tag}]; }

// ---- memory ---------------------------------------------------------------------------------------------------------

Seconds SimRank::needed(const std::optional<Sourced<Seconds>>& cost, std::string_view name) const {
  if (cost) return cost->value;
  throw InputError(world_.topology.platform().file + ": error: the platform has no 'driver.runtime." +
                   std::string(name) + "', which this run needs");
}

Bytes& SimRank::device_memory_used(const Site& site) {
  return world_.device_memory_used[{site.node, static_cast<int>(site.location.index)}];
}

/// On the GPU of a rank of this rank's node.
Buffer SimRank::allocate_on(RankId owner, Bytes size) {
  const std::size_t gpu = gpu_of(owner);
  const Site site{place(owner).node, {Location::Kind::gpu, gpu}};
  const Bytes capacity = world_.topology.type_of(gpu).memory.value;
  Bytes& used = device_memory_used(site);
  if (size > capacity - used) {
    throw UsageError("out of device memory: " + to_string(place(owner)) + " has " + std::to_string(capacity.count()) +
                     " B, of which " + std::to_string(used.count()) + " B are in use, and " +
                     std::to_string(size.count()) + " B more were asked for");
  }
  used += size;
  const Buffer buffer = memory_.allocate(Memory::device, size, site);
  be_busy(world_.topology.platform().runtime.allocate_device.value);
  return buffer;
}

Buffer SimRank::allocate_beside(RankId peer, Bytes size) {
  const Path& path = path_to(peer);
  if (path.same_node) return allocate_on(peer, size);
  throw UnavailableError("one process does not drive the GPU of another node, that of rank " +
                         std::to_string(peer.value));
}

Buffer SimRank::allocate(Memory kind, Bytes size, Locality locality) {
  const auto gpu = gpu_of(id_);
  const RuntimeCosts& costs = world_.topology.platform().runtime;
  if (kind == Memory::device) return allocate_on(id_, size);
  const Location memory = locality == Locality::near
                              ? world_.topology.host_buffers(gpu)
                              : Location{Location::Kind::memory, world_.topology.memory_far(gpu)};
  const Buffer buffer = memory_.allocate(kind, size, {place(id_).node, memory});
  if (kind == Memory::pinned || kind == Memory::shared_pinned) {
    be_busy(per_gib(costs.pin_base.value, costs.pin_per_gib.value, size));
  }
  return buffer;
}

void SimRank::release(Buffer buffer) {
  if (world_.aborting()) return;
  const Site site = memory_.part(View(buffer)).allocation->site;
  memory_.release(buffer);
  if (buffer.memory == Memory::device) device_memory_used(site) = device_memory_used(site) - buffer.size;
}

IpcHandle SimRank::export_memory(Buffer buffer) {
  const IpcHandle handle = memory_.export_memory(buffer);
  if (buffer.memory == Memory::device) be_busy(world_.topology.platform().runtime.ipc_export.value);
  return handle;
}

Buffer SimRank::open_memory(RankId owner, const IpcHandle& handle) {
  const RuntimeCosts& costs = world_.topology.platform().runtime;
  const Path& path = path_to(owner);
  const Buffer buffer = memory_.open(owner, handle, path);
  // Memory that another node does not share is not mapped: the handle brought the adapter's key, and its message has
  // been paid for.
  if (!path.device_mapping) return buffer;
  // Host memory is mapped by the system at once, and page-locked for this rank's copy engine.
  be_busy(buffer.memory == Memory::device ? costs.ipc_open.value
                                          : per_gib(costs.pin_base.value, costs.pin_per_gib.value, buffer.size));
  return buffer;
}

void SimRank::close_memory(Buffer buffer) {
  if (world_.aborting()) return;
  const bool mapped = world_.topology.copy_of(memory_.part(View(buffer)).allocation->site.node) == copy_of(id_);
  memory_.close(buffer);
  if (mapped && buffer.memory == Memory::device) be_busy(world_.topology.platform().runtime.ipc_close.value);
}

void SimRank::register_memory(Buffer buffer) {
  const RuntimeCosts& costs = world_.topology.platform().runtime;
  const Seconds cost = per_gib(needed(costs.register_base, "register_base"),
                               needed(costs.register_per_gib, "register_per_gib"), buffer.size);
  memory_.register_with_adapter(buffer);
  be_busy(cost);
}

void SimRank::deregister_memory(Buffer buffer) {
  if (world_.aborting()) return;
  const Seconds cost = needed(world_.topology.platform().runtime.deregister, "deregister");
  memory_.deregister(buffer);
  be_busy(cost);
}

void SimRank::fill(View view, Payload pattern) {
  const Part part = memory_.part(view);
  part.allocation->content.fill(part.offset, part.length, pattern);
  part.allocation->was_written(part.offset, part.length, true);
  lacking_in_caches({&part}, part.length);
}

Verdict SimRank::check(View view, Payload pattern) {
  const Part part = memory_.part(view);
  lacking_in_caches({&part}, part.length);
  return part.allocation->content.check(part.offset, part.length, pattern);
}

// ---- operations -----------------------------------------------------------------------------------------------------

SimRank::OperationPtr SimRank::make(std::string_view verb) {
  auto operation = std::make_shared<Operation>(*this);
  std::size_t place = ops_.size();
  if (free_places_.empty()) {
    ops_.emplace_back();
  } else {
    place = free_places_.back();
    free_places_.pop_back();
  }
  ops_[place] = operation;
  operation->op = Op{next_op_++ << kPlaceBits | place};
  operation->report.rank = id_;
  operation->report.step = step_;
  operation->report.verb = verb;
  operation->report.started = now();
  return operation;
}

/// Null: there is none in flight.
const SimRank::OperationPtr& SimRank::find(Op op) const {
  static const OperationPtr none;
  const std::size_t place = op.id & ((std::uint64_t{1} << kPlaceBits) - 1);
  return place < ops_.size() && ops_[place] && ops_[place]->op == op ? ops_[place] : none;
}

void SimRank::forget(Op op) {
  const std::size_t place = op.id & ((std::uint64_t{1} << kPlaceBits) - 1);
  ops_[place].reset();
  free_places_.push_back(place);
}

/// The operation's latency begins.
void SimRank::delay(const OperationPtr& operation, Seconds until) {
  operation->state = Operation::State::delayed;
  operation->due = until;
  ++unfinished_;
  schedule(until, operation, nullptr);
}

/// The operation's latency is over, or what came after it when it had its turn. It flows at once, or after those before
/// it in its queue.
void SimRank::become_ready(const OperationPtr& operation) {
  operation->state = Operation::State::queued;
  if (!operation->had_its_turn) operation->report.ready = now();
  std::vector<OperationPtr>& queued = operation->queue->operations;
  if (operation->kind == Operation::Kind::send && !operation->had_its_turn) queued.push_back(operation);
  if (queued.front() == operation) take_turn(operation);
}

/// Nothing is before it in its queue. What the engine needs between two copies, what the blocks of a copy take, and
/// what its kernel takes to raise a signal, and what it takes to read what was just written, hide behind nothing,
/// unlike the latency, which hides behind the copy before it. Once more when that is over.
void SimRank::take_turn(const OperationPtr& operation) {
  const bool turns = operation->gap > Seconds{};
  Seconds turn = turns ? std::max(now(), operation->queue->last_end + operation->gap) : now();
  Seconds written = operation->time_of_written_source();
  // What lies between two messages of pieces is work of the CPU that copies them, and rests when it rests.
  if (turns && operation->stages.size() > 1) operation->beside_bytes = std::exchange(turn, now()) - now();
  operation->had_its_turn = true;
  operation->due = turn + operation->unhidden + written;
  operation->gap = operation->unhidden = {};
  if (reached(operation->due, now())) return start_flow(operation);
  operation->state = Operation::State::delayed;
  operation->report.latency += operation->due - now();
  schedule(operation->due, operation, nullptr);
}

void SimRank::start_flow(const OperationPtr& operation) {
  operation->state = Operation::State::flowing;
  operation->flow_began = now();
  if (operation->is_copy()) operation->take_snapshot();
  if (is_cut(*operation)) return fail(operation);
  if (operation->size == Bytes{}) return end_flow(operation);
  operation->flowing = bytes_to_flow(*operation);
  if (operation->stages.empty()) operation->stages.emplace_back();
  start_stage(operation);
}

void SimRank::start_stage(const OperationPtr& operation) {
  if (operation->stage > 0 && is_cut(*operation)) return fail(operation);
  Stage& stage = operation->stages[operation->stage];
  const auto part_of = [](Bytes bytes, double share) {
    return Bytes{static_cast<std::uint64_t>(std::llround(static_cast<double>(bytes.count()) * share))};
  };
  Bytes bytes = part_of(operation->flowing, stage.share);
  if (const Seconds more = std::exchange(operation->beside_bytes, {}); more > Seconds{}) {
    bytes += flowing_in(more, rate_of_cpus(*operation));
  }
  for (const RankId copying : stage.copying) rank_object(copying).begin_work();
  const std::vector<FlowRoute>& routes = flow_routes_of(*operation);
  stage.flowing = routes.size();
  for (const FlowRoute& route : routes) {
    stage.flows.push_back(world_.loop.network().start(route, std::max(part_of(bytes, route.share), 1_B), *operation));
    if (world_.observer) operation->report.flows.push_back(stage.flows.back().number);
  }
}

/// When the bytes of all ways have arrived. Once the first piece of a message has been copied, the next message may
/// begin.
void SimRank::end_stage(const OperationPtr& operation) {
  Stage& stage = operation->stages[operation->stage];
  if (--stage.flowing > 0) return;
  for (const RankId copying : stage.copying) rank_object(copying).end_work();
  if (++operation->stage == operation->stages.size()) return end_flow(operation);
  if (operation->stage == 1) {
    under_way_.push_back(operation);
    leave_queue(operation);
  }
  start_stage(operation);
}

/// Valid until the next call.
const std::vector<FlowRoute>& SimRank::flow_routes_of(Operation& operation) {
  const Site& from = operation.from.allocation->site;
  if (operation.is_copy() &&
      world_.topology.copy_of(from.node) == world_.topology.copy_of(operation.to.allocation->site.node)) {
    const std::tuple key{from.node, end_of(operation.from, operation.engine), end_of(operation.to, operation.engine),
                         operation.lacking * 2 < operation.size};
    const auto known = copy_routes_.find(key);
    if (known != copy_routes_.end()) return known->second;
    return copy_routes_.emplace(key, std::apply([&](auto... of) { return world_.machine.copy(of...); }, key))
        .first->second;
  }
  const Location target = target_of(operation);
  if (by_shared_memory(operation.peer)) {
    if (world_.observer) operation.report.route = world_.topology.describe(from.location, target);
    const auto& copying = operation.stages[operation.stage].copying;
    return routes_of_cpus_ = world_.machine.message(from.node, from.location, target, {copying.data(), copying.size()});
  }
  Way& way = way_between(operation.peer, from.location, target, operation.size);
  if (way.routes.empty()) {
    way.routes = world_.machine.transfer(from, adapters_to(operation.peer, operation.size),
                                         {place(operation.peer).node, target});
  }
  if (world_.observer) {
    operation.report.route =
        world_.topology.describe(from.location, adapters_to(operation.peer, operation.size), target);
  }
  return way.routes;
}

void SimRank::end_flow(const OperationPtr& operation) {
  operation->report.flow = now() - operation->flow_began;
  operation->tear_what_has_changed();
  if (operation->is_copy()) operation->write();
  if (operation->signal) raise(*operation);
  complete(operation, Status::delivered);
  if (operation->partner) deliver(operation);
  if (std::erase(under_way_, operation) == 0) leave_queue(operation);
}

bool SimRank::is_cut(Operation& operation) {
  if (!world_.machine.any_cut()) return false;
  return std::ranges::any_of(flow_routes_of(operation),
                             [&](const FlowRoute& route) { return world_.machine.is_cut(route); });
}

/// Nothing arrives, and both ends are told.
void SimRank::fail(const OperationPtr& operation) {
  for (Stage& stage : operation->stages) {
    if (stage.flowing == 0) continue;
    for (const RankId copying : stage.copying) rank_object(copying).end_work();
    stage.flowing = 0;
    for (const FlowId& flow : stage.flows) world_.loop.network().drop(flow);
  }
  complete(operation, Status::peer_failed);
  if (operation->partner) deliver(operation);
  if (std::erase(under_way_, operation) == 0) leave_queue(operation);
}

void SimRank::fail_what_is_cut() {
  std::vector<OperationPtr> flowing = under_way_;
  for (const auto& [peer, queue] : wires_) {
    flowing.insert(flowing.end(), queue.operations.begin(), queue.operations.end());
  }
  for (const auto& [index, queue] : streams_) {
    flowing.insert(flowing.end(), queue.operations.begin(), queue.operations.end());
  }
  std::erase_if(flowing, [&](const OperationPtr& operation) {
    return operation->state != Operation::State::flowing || !is_cut(*operation);
  });
  for (const OperationPtr& operation : flowing) fail(operation);
}

/// The next one has its turn.
void SimRank::leave_queue(const OperationPtr& operation) {
  Queue& queue = *operation->queue;
  queue.last_end = now() + operation->until_next;
  queue.operations.erase(std::ranges::find(queue.operations, operation));
  if (queue.operations.empty()) return;
  const OperationPtr next = queue.operations.front();
  if (next->state == Operation::State::queued) take_turn(next);
}

void SimRank::complete(const OperationPtr& operation, Status status) {
  if (operation->state != Operation::State::unmatched) --unfinished_;
  operation->report.ended = now();
  operation->state = Operation::State::ended;
  operation->status = status;
  if (!operation->abandoned) {
    operation->from.let_go();
    operation->to.let_go();
  }
  const bool between_host_buffers = operation->occupies_cpu && !operation->by_event;
  if (operation->kind == Operation::Kind::send_control || between_host_buffers) {
    operation->seen = true;  // this rank's own CPU has ended it
  } else if (!operation->abandoned) {
    ended_.push_back(operation);
  }
  if (world_.observer) {
    operation->report.woke = std::ranges::find(awaited_, operation->op) != awaited_.end();
    world_.observer(operation->ended_report());
  }
  alarm_.ring();
}

void SimRank::abandon(Op op) {
  const OperationPtr operation = find(op);
  if (!operation) {
    throw UsageError("rank " + std::to_string(id_.value) + " has no operation " + std::to_string(op.id) + " in flight");
  }
  forget(op);
  std::erase(ended_, operation);
  if (operation->state == Operation::State::ended) return;
  operation->abandoned = true;
  operation->from.let_go();
  operation->to.let_go();
  // Nobody waits any more for what has not begun to come. A send stays: the peer may have been told of it.
  Inbox& inbox = inboxes_[{operation->peer, operation->tag}];
  if (operation->kind == Operation::Kind::recv_control) std::erase(inbox.awaited, operation);
  if (operation->kind == Operation::Kind::receive) std::erase(inbox.receives, operation);
}

}  // namespace twinlink::model
