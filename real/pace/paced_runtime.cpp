#include "real/pace/paced_runtime.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <iterator>
#include <limits>
#include <thread>
#include <utility>

#include "platforms/costs/kernel_costs.hpp"
#include "protocols/core/blocks.hpp"

namespace twinlink::real {
namespace {

using platforms::End;
using platforms::Location;

/// Longer than the system takes to wake a process.
constexpr Seconds kBusyAtTheEnd = 1000.0_us;

class MonotonicClock final : public PaceClock {
 public:
  Seconds now() override {
    return Seconds{std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count()};
  }

  void wait_until(Seconds time) override {
    const Seconds sleep = time - kBusyAtTheEnd - now();
    if (sleep > Seconds{}) std::this_thread::sleep_for(std::chrono::duration<double>(sleep.value()));
    while (now() < time) {
    }
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The device as the platform describes it; what tells devices apart stays.
DeviceInfo described_by(const platforms::GpuType& type, DeviceInfo device) {
  device.name = "emulated " + type.model;
  device.capability_major = type.capability_major;
  device.capability_minor = type.capability_minor;
  device.unified_addressing = type.unified_addressing;
  device.memory = type.memory.value;
  return device;
}

}  // namespace

std::unique_ptr<PaceClock> monotonic_clock() { return std::make_unique<MonotonicClock>(); }

PacedRuntime::PacedRuntime(std::unique_ptr<DeviceRuntime> inner, Role role, PaceClock& clock)
    : inner_(std::move(inner)),
      role_(std::move(role)),
      clock_(clock),
      device_(described_by(role_.topology.platform().type_of(role_.gpu), inner_->device())),
      speed_(platforms::speed_near(role_.topology, role_.gpu)),
      costs_(platforms::on_cpu(role_.topology.platform().runtime, speed_)) {}

// ---- memory ---------------------------------------------------------------------------------------------------------

End PacedRuntime::end_of(const std::byte* address, Engine engine) const {
  const auto behind = known_.upper_bound(address);
  assert(behind != known_.begin());
  return seen_by(engine, role_.gpu, std::prev(behind)->second);
}

std::byte* PacedRuntime::allocate(Bytes size) {
  const Seconds start = clock_.now();
  std::byte* const memory = inner_->allocate(size);
  known_[memory] = {{Location::Kind::gpu, role_.gpu}, Memory::device};
  pass_until(start + costs().allocate_device.value);
  return memory;
}

std::byte* PacedRuntime::allocate_on(const Uuid& device, Bytes size) {
  const Seconds start = clock_.now();
  std::byte* const memory = inner_->allocate_on(device, size);
  known_[memory] = {{Location::Kind::gpu, role_.node_gpus.at(device)}, Memory::device};
  pass_until(start + costs().allocate_device.value);
  return memory;
}

void PacedRuntime::free(std::byte* memory) {
  known_.erase(memory);
  inner_->free(memory);
}

void PacedRuntime::pin(std::byte* memory, Bytes size) {
  const Seconds start = clock_.now();
  inner_->pin(memory, size);
  pinned_.pin(memory, size);
  if (known_.contains(memory)) pass_until(start + pinning(costs(), size));
}

void PacedRuntime::unpin(std::byte* memory) {
  pinned_.unpin(memory);
  inner_->unpin(memory);
}

void PacedRuntime::know_host_memory(std::byte* memory, Memory kind, Locality locality, const Uuid& device) {
  const platforms::Topology& topology = role_.topology;
  const std::size_t gpu = role_.node_gpus.at(device);
  const std::size_t index = locality == Locality::near ? topology.memory_near(gpu) : topology.memory_far(gpu);
  known_[memory] = {{Location::Kind::memory, index}, kind};
  inner_->know_host_memory(memory, kind, locality, device);
}

void PacedRuntime::forget_host_memory(std::byte* memory) {
  known_.erase(memory);
  inner_->forget_host_memory(memory);
}

void PacedRuntime::register_memory(std::byte* memory, Bytes size) {
  const Seconds start = clock_.now();
  inner_->register_memory(memory, size);
  pass_until(start + registering(platform(), costs(), size));
}

void PacedRuntime::deregister_memory(std::byte* memory) {
  const Seconds start = clock_.now();
  inner_->deregister_memory(memory);
  pass_until(start + needed(platform(), costs().deregister, "deregister"));
}

IpcToken PacedRuntime::export_memory(std::byte* memory) {
  const Seconds start = clock_.now();
  const IpcToken token = inner_->export_memory(memory);
  pass_until(start + costs().ipc_export.value);
  return token;
}

std::byte* PacedRuntime::open_memory(const IpcToken& token, const Uuid& owner) {
  const Seconds start = clock_.now();
  std::byte* const memory = inner_->open_memory(token, owner);
  // Memory of another node can be opened here, where one host plays all of them, but no copy may name it.
  const auto gpu = role_.node_gpus.find(owner);
  if (gpu != role_.node_gpus.end()) known_[memory] = {{Location::Kind::gpu, gpu->second}, Memory::device};
  pass_until(start + costs().ipc_open.value);
  return memory;
}

void PacedRuntime::close_memory(std::byte* memory) {
  const Seconds start = clock_.now();
  known_.erase(memory);
  inner_->close_memory(memory);
  // Copies rest meanwhile: where a rank has failed, some may be left whose memory is gone already.
  clock_.wait_until(start + costs().ipc_close.value);
}

// ---- copies ---------------------------------------------------------------------------------------------------------

const PacedRuntime::PacedPath& PacedRuntime::paced_path(const std::byte* from, const std::byte* to, Engine engine) {
  return paced_path(end_of(from, engine), end_of(to, engine));
}

const PacedRuntime::PacedPath& PacedRuntime::paced_path(const End& source, const End& target) {
  const std::pair ends(source, target);
  const auto found = paced_paths_.find(ends);
  if (found != paced_paths_.end()) return found->second;
  const platforms::Topology& topology = role_.topology;
  const platforms::CopyCost cost = platforms::copy_cost(topology, source, target);
  // On an idle machine.
  const std::optional<Rate> rate = platforms::least_of(cost.rate, narrowest(topology, source, target, cost));
  const PacedPath way{cost, rate.value_or(Rate{std::numeric_limits<double>::infinity()}),
                      copy_ending(costs(), source, cost), &counts_[cost.name]};
  return paced_paths_.emplace(ends, way).first->second;
}

Seconds PacedRuntime::schedule(Queue& queue, const Copy& copy, Seconds posted) {
  const Seconds ready = posted + copy.way->copy.latency(copy.size);
  const Seconds turn = platforms::turn_behind(queue.flow_end, queue.turn_end, copy.way->copy.gap(copy.size));
  queue.flow_end = std::max(ready, turn) + copy.blocks + copy.ending.raising + copy.way->flow(copy.size);
  queue.turn_end = queue.flow_end + copy.signal + copy.ending.behind_signal;
  return queue.flow_end;
}

Event PacedRuntime::start_copy(Copy copy, Stream stream, Seconds start) {
  Queue& queue = queue_of(stream);
  if (copy.flag.word == nullptr) copy.ending = copy.way->ending;
  const Seconds posted = start + copy.way->copy.starting(speed_);
  copy.due = schedule(queue, copy, posted);
  queue.last_end = std::max(queue.last_end, copy.end());
  queue.copies.push_back(copy);
  ++moving_;
  // Nothing is moved meanwhile: a slice takes longer than the caller is busy.
  clock_.wait_until(posted);
  ++queue.started;
  if (copy.ending.completion > Seconds{}) queue.completions[queue.started] = copy.ending.completion;
  return {queue.started * kStreams + static_cast<std::uint64_t>(stream.index)};
}

Event PacedRuntime::copy(std::byte* to, const std::byte* from, Bytes size, Stream stream, Engine engine) {
  const Seconds start = clock_.now();
  const PacedPath& way = paced_path(from, to, engine);
  return start_copy({.inner = inner_->copy(to, from, size, stream, engine), .way = &way, .size = size}, stream, start);
}

Event PacedRuntime::copy_blocks(std::byte* to, const std::byte* from, std::span<const Block> blocks, Stream stream,
                                Engine engine) {
  const Seconds start = clock_.now();
  const PacedPath& way = paced_path(from, to, engine);
  const Seconds more = blocks_apart(platform(), costs(), engine, blocks.size());
  return start_copy({.inner = inner_->copy_blocks(to, from, blocks, stream, engine),
                     .way = &way,
                     .size = total_length(blocks),
                     .blocks = more},
                    stream, start);
}

Event PacedRuntime::copy_and_raise(std::byte* to, const std::byte* from, Bytes size, Flag flag, Stream stream,
                                   Engine engine) {
  const Seconds start = clock_.now();
  pinned_.require(flag);
  const PacedPath& way = paced_path(from, to, engine);
  const platforms::CopyEnding ending = put_ending(costs(), end_of(from, engine), end_of(to, engine), way.copy, size);
  const Seconds signal = ending.signal_with_end ? Seconds{} : needed(platform(), costs().signal, "signal");
  const Event inner = inner_->copy(to, from, size, stream, engine);
  return start_copy({.inner = inner,
                     .way = &way,
                     .size = size,
                     .ending = ending,
                     .flag = flag,
                     .signal = signal,
                     .by_queue = engine == Engine::dma},
                    stream, start);
}

Event PacedRuntime::add(std::byte* to, const std::byte* from, Bytes size, Stream stream) {
  const Seconds start = clock_.now();
  const PacedPath& way = paced_path(from, to, Engine::kernel);
  return start_copy(
      {.inner = inner_->add(to, from, size, stream), .way = &way, .size = platforms::moved_by_adding(size)}, stream,
      start);
}

Event PacedRuntime::compute(Seconds duration, Stream stream) {
  const Seconds start = clock_.now();
  const End own = platforms::kernel_on(role_.gpu);
  const PacedPath& way = paced_path(own, own);
  return start_copy({.inner = inner_->compute(Seconds{}, stream), .way = &way, .blocks = duration}, stream, start);
}

void PacedRuntime::work_on_host(const PacedPath& way, Bytes size, Stream stream, Seconds start,
                                const std::function<void()>& work) {
  Queue& queue = queue_of(stream);
  const Seconds due = schedule(queue, {.way = &way, .size = size}, start + way.copy.starting(speed_));
  queue.last_end = std::max(queue.last_end, due);
  work();
  note_moved(queue);
  count(way, size, due);
  pass_until(due);
}

void PacedRuntime::copy_on_host(std::byte* to, const std::byte* from, Bytes size, Stream stream, Engine engine) {
  const Seconds start = clock_.now();
  work_on_host(paced_path(from, to, engine), size, stream, start,
               [&] { inner_->copy_on_host(to, from, size, stream, engine); });
}

void PacedRuntime::add_on_host(std::byte* to, const std::byte* from, Bytes size, Stream stream) {
  const Seconds start = clock_.now();
  work_on_host(paced_path(from, to, Engine::dma), platforms::moved_by_adding(size), stream, start,
               [&] { inner_->add_on_host(to, from, size, stream); });
}

Answer PacedRuntime::transforms() const {
  const platforms::GpuType& type = role_.topology.type_of(role_.gpu);
  if (type.transforms) return inner_->transforms();
  return Answer::refused("the platform does not say what transforms take on " + type.model);
}

/// The library's own plan is made before the platform's time begins.
Event PacedRuntime::transform(std::byte* data, const Transform& transform, Stream stream) {
  const Event inner = inner_->transform(data, transform, stream);
  const Seconds start = clock_.now();
  const End own = platforms::kernel_on(role_.gpu);
  const PacedPath& way = paced_path(own, own);
  return start_copy(
      {.inner = inner, .way = &way, .blocks = transform_time(*role_.topology.type_of(role_.gpu).transforms, transform)},
      stream, start);
}

void PacedRuntime::count(const PacedPath& way, Bytes size, Seconds due) const {
  Count& count = (*way.counts)[size];
  ++count.copies;
  if (clock_.now() > due) ++count.late;
}

void PacedRuntime::note_moved(Queue& queue) {
  for (Copy& copy : queue.copies) {
    if (copy.moved) continue;
    if (!inner_->ended(copy.inner)) return;
    copy.moved = true;
    --moving_;
    count(*copy.way, copy.size, copy.due);
  }
}

void PacedRuntime::advance(Queue& queue) {
  note_moved(queue);
  const Seconds now = clock_.now();  // once: what has ended has raised its flag
  for (Copy& copy : queue.copies) {
    if (!copy.moved || copy.raises() > now) break;
    const Flag flag = std::exchange(copy.flag, {});
    if (flag.word != nullptr) std::atomic_ref(*flag.word).store(flag.value, std::memory_order_release);
  }
  while (!queue.copies.empty() && queue.copies.front().moved && queue.copies.front().end() <= now) {
    queue.copies.pop_front();
    ++queue.ended;
  }
}

bool PacedRuntime::ended(Event event) {
  Queue& queue = queues_[event.id % kStreams];
  advance(queue);
  const std::uint64_t number = event.id / kStreams;
  if (queue.ended < number) return false;
  // As for posting a copy: a slice takes longer than the caller is busy.
  if (const auto completion = queue.completions.extract(number)) clock_.wait_until(clock_.now() + completion.mapped());
  return true;
}

void PacedRuntime::forget(Event event) { queues_[event.id % kStreams].completions.erase(event.id / kStreams); }

void PacedRuntime::synchronize(Stream stream) {
  inner_->synchronize(stream);
  Queue& queue = queue_of(stream);
  note_moved(queue);
  pass_until(queue.last_end);
  advance(queue);
}

void PacedRuntime::progress() {
  inner_->progress();
  for (Queue& queue : queues_) advance(queue);
}

void PacedRuntime::pass_until(Seconds time) {
  while (moving_ > 0 && clock_.now() < time) progress();
  clock_.wait_until(time);
}

}  // namespace twinlink::real
