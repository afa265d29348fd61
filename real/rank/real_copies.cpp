// RealRank's copies: whole views, blocks that lie apart, and one-sided puts with their signals.
#include "real/rank/real_rank.hpp"

#include <fmt/format.h>

#include <atomic>
#include <string>
#include <utility>

namespace twinlink::real {
namespace {

std::atomic_ref<std::uint64_t> word_at(std::byte* at) {
  return std::atomic_ref<std::uint64_t>(*static_cast<std::uint64_t*>(static_cast<void*>(at)));
}

bool has(const Part& to, const Part& from, Memory memory) {
  return to.allocation->memory == memory || from.allocation->memory == memory;
}

}  // namespace

/// What a kernel cannot reach, it must not try. Host memory that a peer shares is this process's own as well.
void RealRank::require_reach(const Part& to, const Part& from, Engine engine) const {
  if (engine == Engine::dma) return;
  if (engine == Engine::cpu) return require_mapped(to, from);
  const auto is_own = [](const Part& part) {
    return part.allocation->memory == Memory::device && !part.allocation->owner;
  };
  const auto is_peers = [this](const Part& part) {
    const Allocation& a = *part.allocation;
    return a.memory == Memory::device && a.owner && path_to(*a.owner).peer_access.yes;
  };
  if (engine == Engine::resident) {
    if (is_own(from) && is_peers(to)) return;
    throw UsageError("a resident kernel only writes from its own device's memory into that of peers");
  }
  const auto reaches = [&](const Part& part) {
    const Memory memory = part.allocation->memory;
    return memory == Memory::device ? is_own(part) || is_peers(part) : memory != Memory::pageable;
  };
  if (reaches(to) && reaches(from) && has(to, from, Memory::device)) return;
  throw UsageError("a kernel reaches device memory of its peers and page-locked memory, and a copy by it needs both");
}

/// The CPU moves bytes between its own device's memory and host memory.
void RealRank::require_mapped(const Part& to, const Part& from) const {
  const auto own = [](const Part& part) {
    return part.allocation->memory == Memory::device && !part.allocation->owner;
  };
  const auto on_host = [](const Part& part) { return part.allocation->memory != Memory::device; };
  if (!(own(to) && on_host(from)) && !(own(from) && on_host(to))) {
    throw UsageError("a CPU copies by itself between its own GPU's memory and host memory, and puts nothing");
  }
  if (const Answer reaches = runtime_.cpu_reaches_device(); !reaches) throw UnavailableError(reaches.reason);
}

Op RealRank::track_event(Event event, Stream stream, const Part& target, const Part& source) {
  const Slot slot = start(Kind::copy, source, target);
  operations_[slot].event = event;
  operations_[slot].stream = stream;
  copies_[static_cast<std::size_t>(stream.index)].push_back(slot);
  ++copies_in_flight_;
  return op_of(slot);
}

Op RealRank::track_copy(Event event, Stream stream, const Part& target, const Part& source) {
  const Op op = track_event(event, stream, target, source);
  if (has(target, source, Memory::pageable)) runtime_.synchronize(stream);
  return op;
}

Op RealRank::start_add(View to, View from, Stream stream) {
  const Part target = memory_.part(to);
  const Part source = memory_.part(from);
  if (target.allocation->owner || source.allocation->owner) throw UsageError("a GPU adds up its own memory only");
  if (target.allocation->memory != Memory::device) {
    runtime_.add_on_host(target.data, source.data, source.length, stream);
    const Slot slot = start(Kind::copy, source, target);
    states_[slot].ended = true;
    return op_of(slot);
  }
  return track_event(runtime_.add(target.data, source.data, source.length, stream), stream, target, source);
}

Op RealRank::start_transform(View data, const Transform& transform, Stream stream) {
  const Part part = memory_.part(data);
  if (part.allocation->owner) throw UsageError("a GPU transforms its own memory only");
  return track_event(runtime_.transform(part.data, transform, stream), stream, part, part);
}

/// A FIFO lies in device memory, or in host memory that both ranks map.
DeviceLink RealRank::device_link(const gpu::Link& link, std::vector<Part>& used) const {
  const auto copied = [](std::span<const std::uint64_t> counts) {
    return std::vector<std::uint64_t>(counts.begin(), counts.end());
  };
  const auto resolved = [&](const View& view, bool opened) {
    if (view.buffer.id == 0) return static_cast<std::byte*>(nullptr);
    const Part part = memory_.part(view);
    if (opened != part.allocation->owner.has_value()) {
      throw UsageError(opened ? "a launch fills FIFOs that were opened from a peer"
                              : "peers fill FIFOs of the launching rank's own");
    }
    if (view.buffer.memory != Memory::device && view.buffer.memory != Memory::shared_pinned) {
      throw UsageError("FIFOs lie in device memory or in shared pinned memory");
    }
    used.push_back(part);
    return part.data;
  };
  return {.mine = resolved(link.mine, false),
          .theirs = resolved(link.theirs, !link.carried),
          .window = resolved(link.window, true),
          .sent = copied(link.sent),
          .received = copied(link.received),
          .sent_each = copied(link.sent_each),
          .received_each = copied(link.received_each)};
}

Op RealRank::launch(const gpu::Work& work, Stream stream) {
  require_stream(stream);
  gpu::require_work(work);
  if (work.launches_before + work.launches_behind > 0) {
    throw UsageError("on real GPUs each process drives one: gpus_per_process is for simulations");
  }
  if (gpu::is_switched(work.program)) throw UnavailableError("what a switch adds up runs in the simulation alone");
  DeviceProgram program{.program = work.program,
                        .positions = {work.positions.begin(), work.positions.end()},
                        .orders = {work.orders.begin(), work.orders.end()},
                        .numbers = {work.numbers.begin(), work.numbers.end()},
                        .times = work.times};
  std::vector<Part> used;
  for (const View* view : {&work.input, &work.output}) {
    if (view->buffer.id == 0) continue;
    const Part part = memory_.part(*view);
    if (part.allocation->memory != Memory::device || part.allocation->owner) {
      throw UsageError("a program reads and writes device memory of the launching rank's own");
    }
    (view == &work.input ? program.input : program.output) = part.data;
    used.push_back(part);
  }
  for (const gpu::Link& link : work.links) program.links.push_back(device_link(link, used));
  const Op op = track_event(runtime_.launch(std::move(program), stream), stream, {}, {});
  Operation& operation = operations_[find(op)];
  operation.kind = Kind::program;
  for (const Part& part : used) ++part.allocation->in_use;
  operation.others = std::move(used);
  return op;
}

Op RealRank::enqueue(View data, Stream stream, int times, std::string_view name,
                     const std::function<void(std::byte*, void*)>& calls) {
  require_stream(stream);
  const Part part = memory_.part(data);
  const std::string key = fmt::format("{} {} {}", name, static_cast<const void*>(part.data), part.length.count());
  return track_event(runtime_.enqueue(stream, times, key, [&](void* queue) { calls(part.data, queue); }), stream, part,
                     {});
}

Op RealRank::enqueue(View from, View to, Stream stream,
                     const std::function<void(std::byte*, std::byte*, void*)>& calls) {
  require_stream(stream);
  const Part source = from.buffer.id == 0 ? Part{} : memory_.part(from);
  const Part target = to.buffer.id == 0 ? Part{} : memory_.part(to);
  const auto both = [&](void* queue) { calls(source.data, target.data, queue); };
  return track_event(runtime_.enqueue(stream, 1, {}, both), stream, target, source);
}

/// The CPU must read and write the memory, as it does host memory.
Part RealRank::slot_memory(const gpu::FifoSlot& slot) const {
  gpu::require_slot(slot);
  const Part part = memory_.part(slot.fifo);
  if (part.allocation->owner) throw UsageError("a CPU stands behind FIFOs of its own rank");
  if (part.allocation->memory != Memory::device || runtime_.host_addressable()) return part;
  throw UnavailableError("a CPU does not see what programs do in device memory");
}

Op RealRank::await_slot(const gpu::FifoSlot& slot) {
  const Part part = slot_memory(slot);
  const Slot waiting = start(Kind::slot, part, {});
  slot_waits_.push_back({waiting, part.data, slot.program, slot.step, slot.bytes, slot.event, 0});
  return op_of(waiting);
}

void RealRank::raise_slot(const gpu::FifoSlot& slot) {
  const Part part = slot_memory(slot);
  const bool filled = slot.event == gpu::FifoSlot::Event::filled;
  if (filled && slot.program.format != gpu::LineFormat::simple) return;  // the lines tell it
  std::byte* const counter = part.data + (filled ? gpu::kTailAt : gpu::kCreditAt);
  word_at(counter).store(slot.step + 1, std::memory_order_release);
}

/// Lines are there when all their flags are; what was seen once is not asked for again.
bool RealRank::SlotWait::has_come() {
  using gpu::LineFormat;
  const auto reached = [&](std::uint64_t at) { return word_at(fifo + at).load(std::memory_order_acquire) >= step + 1; };
  if (event == gpu::FifoSlot::Event::read) return reached(gpu::kCreditAt);
  if (program.format == LineFormat::simple) return reached(gpu::kTailAt);
  std::byte* const lines_at = fifo + gpu::kSlotsAt + step % program.slots * gpu::slot_room(program);
  const bool ll = program.format == LineFormat::ll;
  const std::uint64_t data = ll ? gpu::kLlData : gpu::kLl128Data;
  const auto holds = [](std::byte* at) { return word_at(at).load(std::memory_order_acquire); };
  for (; lines < gpu::turns(bytes, data); ++lines) {
    if (ll) {
      constexpr unsigned kFlag = 32;
      constexpr std::uint64_t kMask = 0xFFFFFFFFU;
      std::byte* const line = lines_at + lines * gpu::kLlLine;
      for (const std::uint64_t half : {std::uint64_t{0}, sizeof(std::uint64_t)}) {
        if (holds(line + half) >> kFlag != ((step + 1) & kMask)) return false;
      }
    } else if (holds(lines_at + lines * gpu::kLl128Line + gpu::kLl128Data) != step + 1) {
      return false;
    }
  }
  return true;
}

void RealRank::poll_slots() {
  std::erase_if(slot_waits_, [&](SlotWait& wait) {
    if (!wait.has_come()) return false;
    end(wait.slot);
    return true;
  });
}

Op RealRank::compute(Seconds duration, Stream stream) {
  require_compute(duration, stream);
  if (stream == kOnHost) {
    const Slot slot = start(Kind::host_work, {}, {});
    host_works_.emplace_back(now() + duration, slot);
    return op_of(slot);
  }
  return track_event(runtime_.compute(duration, stream), stream, {}, {});
}

Op RealRank::start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) {
  const Part target = memory_.part(to);
  const Part source = memory_.part(from);
  require_reach(target, source, engine);
  if (!blocks.empty()) {
    return track_copy(runtime_.copy_blocks(target.data, source.data, blocks, stream, engine), stream, target, source);
  }
  if (!has(target, source, Memory::device) || engine == Engine::cpu) {
    runtime_.copy_on_host(target.data, source.data, source.length, stream, engine);
    const Slot slot = start(Kind::copy, source, target);
    states_[slot].ended = true;
    return op_of(slot);
  }
  return track_copy(runtime_.copy(target.data, source.data, source.length, stream, engine), stream, target, source);
}

Op RealRank::put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) {
  require_transfer(to, from, stream);
  const Part target = memory_.part(to);
  const Part source = memory_.part(from);
  if (signal) require_signal(*signal);
  if (!target.allocation->owner) throw UsageError("put() writes into memory that was opened from a peer");
  if (engine == Engine::cpu) throw UsageError("a put is the copy engine's, the adapter's or a kernel's");
  require_reach(target, source, engine);
  if (!signal) return copy(to, from, stream, engine);
  const Flag flag = signals_.next(*target.allocation->owner, *signal);
  return track_copy(runtime_.copy_and_raise(target.data, source.data, source.length, flag, stream, engine), stream,
                    target, source);
}

void RealRank::register_memory(Buffer buffer) { memory_.register_with_adapter(buffer); }
void RealRank::deregister_memory(Buffer buffer) { memory_.deregister(buffer); }

}  // namespace twinlink::real
