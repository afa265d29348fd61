#include "model/engine/rank/sim_rank.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "model/engine/rank/copies.hpp"
#include "platforms/costs/kernel_costs.hpp"
#include "platforms/costs/software_costs.hpp"
#include "protocols/core/blocks.hpp"

namespace twinlink::model {
namespace {

/// A core of the host is through with what it computes, or the queue of an engine with what it does behind a copy.
class HostWork final : public QueuedEvent {
 public:
  explicit HostWork(std::function<void()> ended) : ended_(std::move(ended)) {}
  void happen() override { ended_(); }

 private:
  std::function<void()> ended_;
};

}  // namespace

SimRank::SimRank(SimWorld& world, RankId id)
    : MeasuredRank({.id = id,
                    .places = world.places(),
                    .numa_domains = static_cast<int>(world.topology.part_of(world.place(id).node).memories),
                    .release = world.platform().release.get()}),
      world_(world),
      id_(id),
      cpu_(world.cpu(id)),
      event_queue_(world.loop.clock()),
      memory_(id, world.memory),
      operations_(id),
      mailbox_(event_queue_, [this](const OperationPtr& operation) { complete(operation, Status::delivered); }),
      ways_(world, id),
      routes_(world, id, ways_),
      transport_(world, event_queue_, routes_,
                 [this](const OperationPtr& operation, Status status) { end(operation, status); }),
      poller_(world.costs(id).runtime, cpu_, transport_, operations_) {
  world_.ranks.at(static_cast<std::size_t>(id.value)) = this;
}

void SimRank::finish() {
  while (!transport_.is_idle()) cpu_.sleep(kNever);
  event_queue_.close();
}

// ---- where am I -----------------------------------------------------------------------------------------------------

void SimRank::require_peer(RankId rank) const {
  static_cast<void>(place(rank));
  if (rank == id_) throw UsageError("rank " + std::to_string(id_.value) + " cannot exchange messages with itself");
}

const Path& SimRank::path_to(RankId peer) const {
  if (peer == id_) throw UsageError("rank " + std::to_string(id_.value) + " asked for the path to itself");
  static_cast<void>(place(peer));
  return world_.path(id_, peer);
}

Answer SimRank::check_peer_access(RankId peer) {
  cpu_.be_busy(or_none(world_.costs(id_).runtime.peer_check));
  return Rank::check_peer_access(peer);
}

void SimRank::look_up_pointer(RankId peer) { cpu_.be_busy(or_none(ways_.costs(peer).device_pointer)); }

// ---- memory ---------------------------------------------------------------------------------------------------------

/// On the GPU of a rank of this rank's node.
Buffer SimRank::allocate_on(RankId owner, Bytes size) {
  const std::size_t gpu = world_.gpu_of(owner);
  const Buffer buffer = memory_.allocate_device(size, {place(owner).node, {Location::Kind::gpu, gpu}},
                                                world_.topology.type_of(gpu).memory.value, place(owner));
  cpu_.be_busy(world_.costs(id_).runtime.allocate_device.value);
  return buffer;
}

Buffer SimRank::allocate_beside(RankId peer, Bytes size) {
  if (path_to(peer).same_node) return allocate_on(peer, size);
  throw UnavailableError("one process does not drive the GPU of another node, that of rank " +
                         std::to_string(peer.value));
}

Buffer SimRank::allocate(Memory kind, Bytes size, Locality locality) {
  if (kind == Memory::device) return allocate_on(id_, size);
  const std::size_t gpu = world_.gpu_of(id_);
  const Location memory = locality == Locality::near
                              ? world_.topology.host_buffers(gpu)
                              : Location{Location::Kind::memory, world_.topology.memory_far(gpu)};
  const Buffer buffer = memory_.allocate(kind, size, {place(id_).node, memory});
  if (kind == Memory::pinned || kind == Memory::shared_pinned) {
    cpu_.be_busy(pinning(world_.costs(id_).runtime, size));
  }
  return buffer;
}

void SimRank::release(Buffer buffer) {
  if (!world_.loop.aborting()) memory_.release(buffer);
}

IpcHandle SimRank::export_memory(Buffer buffer) {
  const IpcHandle handle = memory_.export_memory(buffer);
  if (buffer.memory == Memory::device) cpu_.be_busy(world_.costs(id_).runtime.ipc_export.value);
  return handle;
}

Buffer SimRank::open_memory(RankId owner, const IpcHandle& handle) {
  const RuntimeCosts& costs = world_.costs(id_).runtime;
  const Path& path = path_to(owner);
  const Buffer buffer = memory_.open(owner, handle, path);
  // Memory that another node does not share is not mapped: the handle brought the adapter's key, and its message has
  // been paid for.
  if (!path.device_mapping) return buffer;
  // Host memory is mapped by the system at once, and page-locked for this rank's copy engine.
  cpu_.be_busy(buffer.memory == Memory::device ? costs.ipc_open.value : pinning(costs, buffer.size));
  return buffer;
}

void SimRank::close_memory(Buffer buffer) {
  if (world_.loop.aborting()) return;
  const RankId owner = memory_.part(View(buffer)).owner();
  memory_.close(buffer);
  const bool mapped = world_.copy_of(owner) == world_.copy_of(id_);
  if (mapped && buffer.memory == Memory::device) cpu_.be_busy(world_.costs(id_).runtime.ipc_close.value);
}

void SimRank::register_memory(Buffer buffer) {
  const Seconds cost = registering(world_.platform(), world_.costs(id_).runtime, buffer.size);
  memory_.register_with_adapter(buffer);
  cpu_.be_busy(cost);
}

void SimRank::deregister_memory(Buffer buffer) {
  if (world_.loop.aborting()) return;
  const Seconds cost = needed(world_.platform(), world_.costs(id_).runtime.deregister, "deregister");
  memory_.deregister(buffer);
  cpu_.be_busy(cost);
}

void SimRank::fill(View view, Payload pattern) {
  const Part part = memory_.part(view);
  part.allocation->content.fill(part.offset, part.length, pattern);
  part.allocation->was_written(part.offset, part.length, true);
  world_.go_through_caches({&part}, part.length);
}

Verdict SimRank::check(View view, Payload pattern) {
  const Part part = memory_.part(view);
  world_.go_through_caches({&part}, part.length);
  return part.allocation->content.check(part.offset, part.length, pattern);
}

// ---- copies and puts ------------------------------------------------------------------------------------------------

OperationPtr SimRank::make(std::string_view verb) {
  auto operation = std::make_shared<Operation>(transport_);
  operations_.add(operation);
  operation->report.rank = id_;
  operation->report.step = step_;
  operation->report.verb = verb;
  operation->report.started = now();
  operation->turn = adapters_;
  return operation;
}

OperationPtr SimRank::make_copy(View to, View from, Stream stream, Engine engine) {
  const Part source = memory_.part(from);
  const Part target = memory_.part(to);
  OperationPtr operation = make("copy");
  operation->from = source;
  operation->to = target;
  operation->engine = engine;
  operation->from_end = end_of(source, engine, world_.gpu_of(id_));
  operation->to_end = end_of(target, engine, world_.gpu_of(id_));
  operation->queue = &transport_.stream(stream.index);
  operation->size = operation->report.size = source.length;
  operation->report.stream = stream.index;
  return operation;
}

/// First the CPU starts it, then its latency runs, then its bytes flow.
void SimRank::get_under_way(const OperationPtr& operation, Seconds latency) {
  operation->hold();
  operation->report.latency = latency;
  cpu_.be_busy(operation->report.overhead);
  transport_.start(operation, now() + latency);
}

Op SimRank::run_copy(const OperationPtr& operation) {
  take_copy_cost(world_, *operation);
  get_under_way(operation, operation->report.latency);
  if (operation->occupies_cpu) {
    cpu_.be_busy_during([&] {
      while (operation->state != Operation::State::ended) wait_for_one_of({&operation->op, 1}, kNever);
    });
  }
  return operation->op;
}

Op SimRank::start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) {
  const OperationPtr operation = make_copy(to, from, stream, engine);
  if (blocks.empty()) return run_copy(operation);
  operation->blocks.assign(blocks.begin(), blocks.end());
  operation->size = operation->report.size = total_length(blocks);
  operation->unhidden = blocks_apart(world_.platform(), world_.costs(id_).runtime, engine, blocks.size());
  return run_copy(operation);
}

Op SimRank::start_add(View to, View from, Stream stream) {
  const bool on_host = to.buffer.memory != Memory::device;
  const OperationPtr operation = make_copy(to, from, stream, on_host ? Engine::dma : Engine::kernel);
  if (operation->from.opening || operation->to.opening) throw UsageError("a GPU adds up its own memory only");
  operation->report.verb = "add";
  operation->adds = true;
  operation->size = moved_by_adding(operation->size);
  return run_copy(operation);
}

Answer SimRank::transforms() const {
  if (world_.topology.type_of(world_.gpu_of(id_)).transforms) return Answer::granted();
  return Answer::refused("the platform does not say what transforms take: the GPU type of rank " +
                         std::to_string(id_.value) + " has no 'transforms'");
}

/// A kernel for as long as its passes take. What memory holds has no numbers, and stays as it is.
Op SimRank::start_transform(View data, const Transform& transform, Stream stream) {
  const OperationPtr operation = make_copy(data, data, stream, Engine::kernel);
  if (operation->from.opening) throw UsageError("a GPU transforms its own memory only");
  operation->report.verb = "transform";
  operation->report.size = transform.bytes();
  operation->size = Bytes{};
  operation->unhidden = transform_time(*world_.topology.type_of(world_.gpu_of(id_)).transforms, transform);
  return run_copy(operation);
}

OperationPtr SimRank::make_kernel(Stream stream) {
  if (nothing_.id == 0) {
    nothing_ = memory_.allocate(Memory::device, Bytes{}, {place(id_).node, {Location::Kind::gpu, world_.gpu_of(id_)}});
  }
  return make_copy(View(nothing_), View(nothing_), stream, Engine::kernel);
}

/// A kernel that copies nothing, and takes as long as it computes.
Op SimRank::compute(Seconds duration, Stream stream) {
  require_compute(duration, stream);
  if (stream == kOnHost) return compute_on_host(duration);
  const OperationPtr operation = make_kernel(stream);
  operation->report.verb = "compute";
  operation->unhidden = duration;
  return run_copy(operation);
}

/// A core that nobody else has: neither this rank's own work nor that of its GPU holds it up.
Op SimRank::compute_on_host(Seconds duration) {
  const OperationPtr operation = make("compute");
  operation->kind = Operation::Kind::host_work;
  operation->report.latency = duration;
  event_queue_.add(now() + duration,
                   std::make_shared<HostWork>([this, operation] { complete(operation, Status::delivered); }));
  return operation->op;
}

/// The last to come lets all go, in the time that messages take at the most. In the order of the ranks, not in that in
/// which they came: what follows does not depend on what was before.
std::optional<Op> SimRank::meet() {
  const OperationPtr operation = make("meet");
  operation->kind = Operation::Kind::host_work;
  Meeting& meeting = world_.meeting;
  meeting.present.push_back(operation);
  meeting.takes = std::max(meeting.takes, ways_.time_to_tell_all());
  if (meeting.present.size() < world_.standing()) return operation->op;
  Meeting all = std::exchange(meeting, {});
  std::ranges::sort(all.present, {}, [](const OperationPtr& each) { return each->report.rank; });
  for (const OperationPtr& each : all.present) {
    SimRank& other = rank(each->report.rank);
    other.event_queue_.add(now() + all.takes,
                           std::make_shared<HostWork>([&other, each] { other.complete(each, Status::delivered); }));
  }
  return operation->op;
}

Op SimRank::put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) {
  require_transfer(to, from, stream);
  const OperationPtr operation = make_copy(to, from, stream, engine);
  const RankId owner = operation->to.owner();
  if (!operation->to.opening) throw UsageError("put() writes into memory that was opened from a peer");
  if (signal) require_signal(*signal);
  operation->kind = Operation::Kind::put;
  operation->report.verb = "put";
  operation->peer = owner;
  operation->signal = signal;
  if (signal) {
    operation->report.peer = owner;
    operation->report.tag = signal_tag(signal->tag);
  }
  operation->by_adapter = !path_to(owner).device_mapping;
  if (!operation->by_adapter) return run_copy(operation);
  require_reach(world_.topology, *operation);
  for (const Part* end : {&operation->from, &operation->to}) {
    if (end->allocation->memory == Memory::device) require_registered(*end);
  }
  if (signal) operation->until_signal = until_signal(world_);
  const NetworkCosts& costs = ways_.costs(owner);
  operation->report.cost = "network";
  operation->report.overhead = costs.posting(Bytes{});  // the adapter reads the bytes
  get_under_way(operation,
                costs.latency_read(operation->size) + ways_.latency(*operation) + ways_.adapter_turn(*operation));
  return operation->op;
}

Op SimRank::await_signal(RankId peer, Tag tag, std::uint64_t& value) {
  require_peer(peer);
  require_signal({tag, 0});
  const OperationPtr operation = make("await signal");
  operation->kind = Operation::Kind::recv_control;
  operation->signal_value = &value;
  return await_control(operation, peer, signal_tag(tag));
}

// ---- ends -----------------------------------------------------------------------------------------------------------

/// Transport has carried the operation, or failed to: all whom that concerns are told.
void SimRank::end(const OperationPtr& operation, Status status) {
  if (operation->signal && status == Status::delivered) {
    rank(operation->peer)
        .mailbox_.post(seen_by(operation->peer), signal_tag(operation->signal->tag), now() + operation->until_signal,
                       ControlMessage(operation->signal->value));
  }
  if (operation->until_event > Seconds{} && status == Status::delivered) return await_event(operation);
  complete(operation, status);
  if (operation->partner) deliver(operation);
}

/// The bytes of a put are there, and its rank has the event still to ask for.
void SimRank::await_event(const OperationPtr& put) {
  report_end(put);
  put->queue->behind.push_back(put);
  event_queue_.add(now() + put->until_event, std::make_shared<HostWork>([this, put] {
                     std::erase(put->queue->behind, put);
                     let_know(put, Status::delivered);
                   }));
}

void SimRank::complete(const OperationPtr& operation, Status status) {
  report_end(operation);
  let_know(operation, status);
}

void SimRank::report_end(const OperationPtr& operation) {
  operation->report.ended = now();
  if (!world_.observer) return;
  operation->report.woke = std::ranges::find(awaited_, operation->op) != awaited_.end();
  world_.observer(operation->ended_report());
}

/// Its rank may ask for the end from now on.
void SimRank::let_know(const OperationPtr& operation, Status status) {
  operation->state = Operation::State::ended;
  operation->status = status;
  if (!operation->abandoned) operation->let_go();
  const bool between_host_buffers = operation->occupies_cpu && !operation->by_event;
  if (operation->kind == Operation::Kind::send_control || between_host_buffers) {
    operations_.see(*operation);  // this rank's own CPU has ended it
  } else if (!operation->abandoned) {
    poller_.add(operation);
  }
  cpu_.ring();
}

}  // namespace twinlink::model
