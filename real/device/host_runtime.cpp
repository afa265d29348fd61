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
  std::byte* const memory = keep(SharedMemory::create(size), size.count(), device().uuid);
  used_ += size;
  return memory;
}

std::byte* HostRuntime::allocate_on(const Uuid& device, Bytes size) {
  return keep(SharedMemory::create(size), size.count(), device);
}

void HostRuntime::free(std::byte* memory) {
  const auto found = mappings_.find(memory);
  if (found->second.device == device().uuid) used_ = used_ - Bytes{found->second.size};
  mappings_.erase(found);
}

std::byte* HostRuntime::keep(SharedMemory memory, std::size_t size, const Uuid& device) {
  std::byte* const data = memory.data();
  mappings_.emplace(data, Mapping{std::move(memory), size, device});
  return data;
}

const HostRuntime::Mapping* HostRuntime::mapping_of(const std::byte* address) const {
  const auto behind = mappings_.upper_bound(address);
  if (behind == mappings_.begin()) return nullptr;
  const auto& [first, mapping] = *std::prev(behind);
  return address < first + mapping.size ? &mapping : nullptr;
}

HostRuntime::Copy HostRuntime::make_copy(std::byte* to, const std::byte* from, Bytes size) const {
  const Mapping* const target = mapping_of(to);
  const Mapping* const source = mapping_of(from);
  const bool between_devices = target != nullptr && source != nullptr && target->device != source->device;
  return {.to = to, .from = from, .left = size.count(), .staged = between_devices && peers_ == HostPeers::none};
}

Event HostRuntime::copy(std::byte* to, const std::byte* from, Bytes size, Stream stream, Engine) {
  Queue& queue = queue_of(stream);
  queue.copies.push_back(make_copy(to, from, size));
  return {++queue.started * kStreams + static_cast<std::uint64_t>(stream.index)};
}

Event HostRuntime::copy_blocks(std::byte* to, const std::byte* from, std::span<const Block> blocks, Stream stream,
                               Engine) {
  Queue& queue = queue_of(stream);
  for (const Block& block : blocks) {
    queue.copies.push_back(make_copy(to + block.to.count(), from + block.from.count(), block.length));
    queue.copies.back().last = &block == &blocks.back();
  }
  return {++queue.started * kStreams + static_cast<std::uint64_t>(stream.index)};
}

Event HostRuntime::copy_and_raise(std::byte* to, const std::byte* from, Bytes size, Flag flag, Stream stream,
                                  Engine engine) {
  require_pinned(flag.word);
  const Event event = copy(to, from, size, stream, engine);
  queue_of(stream).copies.back().flag = flag;
  return event;
}

void HostRuntime::require_pinned(const std::uint64_t* word) const {
  const auto* const byte = static_cast<const std::byte*>(static_cast<const void*>(word));
  const auto behind = pinned_.upper_bound(byte);
  if (behind != pinned_.begin()) {
    const auto& [start, size] = *std::prev(behind);
    if (byte + sizeof *word <= start + size) return;
  }
  throw EnvironmentError("copy_and_raise", "the flag lies in memory that is not page-locked");
}

Event HostRuntime::add(std::byte* to, const std::byte* from, Bytes size, Stream stream) {
  Queue& queue = queue_of(stream);
  Copy sum = make_copy(to, from, size);
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

Event HostRuntime::launch(DeviceProgram program, Stream stream) {
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
  std::size_t slice = std::min(copy.left, room);
  constexpr std::size_t kElement = sizeof(std::uint64_t);
  if (copy.adds) slice = std::max(slice - slice % kElement, kElement);
  if (copy.adds) {
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
  Copy copy = make_copy(to, from, size);
  while (copy.left > 0) move_some(copy, kSlice);
}

IpcToken HostRuntime::export_memory(std::byte* memory) {
  const SharedMemory::Token& own = mappings_.at(memory).memory.token();
  IpcToken token{};
  static_assert(sizeof own <= sizeof token);
  std::memcpy(token.data(), &own, sizeof own);
  return token;
}

std::byte* HostRuntime::open_memory(const IpcToken& token, const Uuid& owner) {
  SharedMemory::Token theirs;
  std::memcpy(&theirs, token.data(), sizeof theirs);
  return keep(SharedMemory::open(theirs), theirs.size, owner);
}

void HostRuntime::close_memory(std::byte* memory) { mappings_.erase(memory); }

std::optional<Answer> HostRuntime::peer_access(const DeviceInfo&) const {
  if (peers_ == HostPeers::all) return Answer::granted();
  return Answer::refused("the emulated machine grants no peer access (--host-peers none)");
}

}  // namespace twinlink::real
