#include "real/device/host_runtime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <utility>

#include "real/system/host_memory.hpp"

namespace twinlink::real {
namespace {

/// As much as moves in one go: some 20 microseconds, so that messages do not wait long for a copy.
constexpr std::size_t kSlice = std::size_t{256} << 10;
/// What a block takes of a slice, however short it is: it costs the CPU as much as a cache line.
constexpr std::size_t kLeastOfSlice = 64;

DeviceInfo emulated_device(const std::string& host, int device, Bytes memory) {
  return {.name = "emulated",
          .uuid = emulated_uuid(host, device),
          .pci_bus_id = fmt::format("emulated:{:02}", device),
          .capability_major = 2,
          .unified_addressing = true,
          .memory = memory};
}

}  // namespace

Uuid emulated_uuid(const std::string& host, int device) {
  const std::array<std::uint64_t, 2> words{std::hash<std::string>{}(host), static_cast<std::uint64_t>(device)};
  Uuid uuid{};
  static_assert(sizeof words == sizeof uuid);
  std::memcpy(uuid.data(), words.data(), sizeof words);
  return uuid;
}

HostRuntime::HostRuntime(const std::string& host, int device, HostPeers peers, std::optional<Bytes> memory)
    : peers_(peers), bounce_(peers == HostPeers::none ? kSlice : 0) {
  const Bytes each = memory ? *memory : host_memory();
  for (int d = 0; d <= device; ++d) devices_.push_back(emulated_device(host, d, each));
}

std::byte* HostRuntime::allocate(Bytes size) {
  const Bytes capacity = device().memory;
  if (size > capacity - used_) {
    throw EnvironmentError(fmt::format("allocate {} B", size.count()),
                           fmt::format("out of device memory: {} has {} B, of which {} B are in use",
                                       device().pci_bus_id, capacity.count(), used_.count()));
  }
  std::byte* const memory = keep({SharedMemory::create(size), size.count(), device().uuid, false});
  used_ += size;
  return memory;
}

std::byte* HostRuntime::allocate_on(const Uuid& device, Bytes size) {
  if (device == this->device().uuid) return allocate(size);
  return keep({SharedMemory::create(size), size.count(), device, false});
}

void HostRuntime::free(std::byte* memory) {
  const auto found = mapping_at(memory, false, "free");
  if (found->second.device == device().uuid) used_ = used_ - Bytes{found->second.size};
  mappings_.erase(found);
}

std::byte* HostRuntime::keep(Mapping mapping) {
  std::byte* const data = mapping.memory.data();
  mappings_.emplace(data, std::move(mapping));
  return data;
}

std::map<const std::byte*, HostRuntime::Mapping>::const_iterator HostRuntime::mapping_at(const std::byte* memory,
                                                                                         bool opened,
                                                                                         const char* call) const {
  const auto found = mappings_.find(memory);
  if (found != mappings_.end() && found->second.opened == opened) return found;
  throw EnvironmentError(call, opened ? "no memory was opened here" : "no device memory of this process begins here");
}

const HostRuntime::Mapping* HostRuntime::mapping_of(const std::byte* address) const {
  const auto behind = mappings_.upper_bound(address);
  if (behind == mappings_.begin()) return nullptr;
  const auto& [first, mapping] = *std::prev(behind);
  return address < first + mapping.size ? &mapping : nullptr;
}

const HostRuntime::Mapping* HostRuntime::require_reach(const std::byte* memory, std::size_t size, Engine engine) const {
  const Mapping* const mapping = mapping_of(memory);
  if (size == 0) return mapping;  // an address behind the end of its memory is nobody's
  const bool by_kernel = engine == Engine::kernel || engine == Engine::resident;
  if (mapping == nullptr) {
    if (by_kernel && !pinned_.reaches(memory, size)) throw UsageError("a kernel cannot reach pageable memory");
    return mapping;
  }
  if (memory + size > mapping->memory.data() + mapping->size) {
    throw EnvironmentError("copy",
                           fmt::format("{} B reach beyond the end of {} B of device memory", size, mapping->size));
  }
  if (by_kernel && mapping->device != device().uuid && peers_ == HostPeers::none) {
    throw UsageError("a kernel cannot reach the memory of a device without peer access");
  }
  return mapping;
}

HostRuntime::Copy HostRuntime::make_copy(std::byte* to, const std::byte* from, Bytes size, Engine engine) const {
  const Mapping* const target = require_reach(to, size.count(), engine);
  const Mapping* const source = require_reach(from, size.count(), engine);
  const bool between_devices = target != nullptr && source != nullptr && target->device != source->device;
  return {.to = to, .from = from, .left = size.count(), .staged = between_devices && peers_ == HostPeers::none};
}

Event HostRuntime::copy(std::byte* to, const std::byte* from, Bytes size, Stream stream, Engine engine) {
  Queue& queue = queue_of(stream);
  queue.copies.push_back(make_copy(to, from, size, engine));
  return {++queue.started * kStreams + static_cast<std::uint64_t>(stream.index)};
}

Event HostRuntime::copy_blocks(std::byte* to, const std::byte* from, std::span<const Block> blocks, Stream stream,
                               Engine engine) {
  std::vector<Copy> copies;
  copies.reserve(blocks.size());
  for (const Block& block : blocks) {
    copies.push_back(make_copy(to + block.to.count(), from + block.from.count(), block.length, engine));
    copies.back().last = &block == &blocks.back();
  }
  Queue& queue = queue_of(stream);
  std::ranges::move(copies, std::back_inserter(queue.copies));
  return {++queue.started * kStreams + static_cast<std::uint64_t>(stream.index)};
}

Event HostRuntime::copy_and_raise(std::byte* to, const std::byte* from, Bytes size, Flag flag, Stream stream,
                                  Engine engine) {
  pinned_.require(flag);
  const Event event = copy(to, from, size, stream, engine);
  queue_of(stream).copies.back().flag = flag;
  return event;
}

Event HostRuntime::add(std::byte* to, const std::byte* from, Bytes size, Stream stream) {
  Queue& queue = queue_of(stream);
  Copy sum = make_copy(to, from, size, Engine::kernel);
  sum.adds = true;
  queue.copies.push_back(sum);
  return {++queue.started * kStreams + static_cast<std::uint64_t>(stream.index)};
}

Event HostRuntime::compute(Seconds duration, Stream stream) {
  Queue& queue = queue_of(stream);
  Copy kernel;
  kernel.computes = std::chrono::nanoseconds(std::llround(duration.value() * 1e9));
  queue.copies.push_back(kernel);
  return {++queue.started * kStreams + static_cast<std::uint64_t>(stream.index)};
}

/// The library's plan is made now, as on a GPU.
Event HostRuntime::transform(std::byte* data, const Transform& transform, Stream stream) {
  require_reach(data, transform.extent() * kComplex.count(), Engine::kernel);
  transforms_.prepare(transform);
  Queue& queue = queue_of(stream);
  Copy kernel;
  kernel.to = data;
  kernel.transform = transform;
  queue.copies.push_back(kernel);
  return {++queue.started * kStreams + static_cast<std::uint64_t>(stream.index)};
}

Event HostRuntime::launch(DeviceProgram program, Stream stream) {
  const std::size_t room = gpu::number(program.program.channels) * gpu::fifo_room(program.program);
  for (const DeviceLink& link : program.links) {
    for (const std::byte* const fifos : {link.mine, link.theirs}) {
      if (fifos != nullptr) require_reach(fifos, room, Engine::kernel);
    }
  }
  Queue& queue = queue_of(stream);
  Copy kernel;
  kernel.program = std::make_shared<HostProgram>(std::move(program));
  queue.copies.push_back(std::move(kernel));
  return {++queue.started * kStreams + static_cast<std::uint64_t>(stream.index)};
}

void HostRuntime::give_up_programs(Stream stream) {
  for (const Copy& each : queue_of(stream).copies) {
    if (each.program) each.program->give_up();
  }
}

bool HostRuntime::computed(Copy& kernel) {
  const auto now = std::chrono::steady_clock::now();
  if (!kernel.until) kernel.until = now + *kernel.computes;
  return now >= *kernel.until;
}

bool HostRuntime::ended(Event event) { return queues_[event.id % kStreams].ended >= event.id / kStreams; }

std::size_t HostRuntime::move_some(Copy& copy, std::size_t room) {
  if (copy.left == 0) return 0;  // a kernel that computes, without addresses, or a copy of nothing
  const std::size_t slice = std::min(copy.left, room);
  if (copy.adds) {  // an event of its own, which begins with all of kSlice: no number is cut
    for (std::size_t at = 0; at < slice; at += sizeof(std::uint64_t)) {
      std::uint64_t sum = 0;
      std::uint64_t term = 0;
      std::memcpy(&sum, copy.to + at, sizeof sum);
      std::memcpy(&term, copy.from + at, sizeof term);
      sum += term;
      std::memcpy(copy.to + at, &sum, sizeof sum);
    }
  } else if (copy.staged) {
    std::memcpy(bounce_.data(), copy.from, slice);
    std::memcpy(copy.to, bounce_.data(), slice);
  } else {
    std::memmove(copy.to, copy.from, slice);
  }
  copy.to += slice;
  copy.from += slice;
  copy.left -= slice;
  return slice;
}

void HostRuntime::advance(Queue& queue) {
  for (std::size_t room = kSlice; room > 0;) {
    Copy& copy = queue.copies.front();
    if (copy.computes && !computed(copy)) return;
    if (copy.program && !copy.program->go_on()) return;
    if (copy.transform) transforms_.run(*copy.transform, copy.to);
    room -= std::min(room, std::max(move_some(copy, room), kLeastOfSlice));
    if (copy.left > 0) return;
    if (copy.flag.word != nullptr) {
      std::atomic_ref(*copy.flag.word).store(copy.flag.value, std::memory_order_release);
    }
    const bool last = copy.last;
    queue.copies.pop_front();
    if (!last) continue;
    ++queue.ended;
    return;
  }
}

void HostRuntime::progress() {
  for (Queue& queue : queues_) {
    if (!queue.copies.empty()) advance(queue);
  }
}

void HostRuntime::synchronize(Stream stream) {
  Queue& queue = queue_of(stream);
  while (!queue.copies.empty()) advance(queue);
}

void HostRuntime::copy_now(std::byte* to, const std::byte* from, Bytes size) {
  Copy copy = make_copy(to, from, size, Engine::dma);
  while (copy.left > 0) move_some(copy, kSlice);
}

IpcToken HostRuntime::export_memory(std::byte* memory) {
  const SharedMemory::Token& own = mapping_at(memory, false, "export")->second.memory.token();
  IpcToken token{};
  static_assert(sizeof own <= sizeof token);
  std::memcpy(token.data(), &own, sizeof own);
  return token;
}

std::byte* HostRuntime::open_memory(const IpcToken& token, const Uuid& owner) {
  SharedMemory::Token theirs;
  std::memcpy(&theirs, token.data(), sizeof theirs);
  return keep({SharedMemory::open(theirs), theirs.size, owner, true});
}

void HostRuntime::close_memory(std::byte* memory) { mappings_.erase(mapping_at(memory, true, "close")); }

std::optional<Answer> HostRuntime::peer_access(const DeviceInfo&) const {
  if (peers_ == HostPeers::all) return Answer::granted();
  return Answer::refused("the emulated machine grants no peer access (--host-peers none)");
}

}  // namespace twinlink::real
