#include "real/rank/real_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "real/system/system_error.hpp"

namespace twinlink::real {
namespace {

std::string name(Buffer buffer) {
  return fmt::format("buffer {} ({}, {} B)", buffer.id, to_string(buffer.memory), buffer.size.count());
}

/// Nothing of no bytes can be mapped.
Bytes mappable(Bytes size) { return std::max(size, Bytes{1}); }

std::byte* map_pages(Bytes size) {
  void* pages = ::mmap(nullptr, size.count(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw_errno(fmt::format("mmap of {} B", size.count()));
  return static_cast<std::byte*>(pages);
}

std::uint64_t address_of(const Allocation& allocation) { return reinterpret_cast<std::uintptr_t>(allocation.data); }

IpcHandle handle_of_host_memory(const Allocation& allocation) {
  IpcHandle handle{.size = allocation.size.count(), .address = address_of(allocation)};
  const SharedMemory::Token& token = allocation.shared->token();
  static_assert(sizeof token < sizeof handle.token);
  std::memcpy(handle.token.data(), &token, sizeof token);
  handle.token[sizeof token] = static_cast<std::byte>(allocation.locality);
  return handle;
}

bool page_locked(Memory memory) { return memory == Memory::pinned || memory == Memory::shared_pinned; }

}  // namespace

RealMemory::RealMemory(RankId owner, DeviceRuntime& runtime, Exports& exports, const Numa& numa)
    : owner_(owner), runtime_(runtime), exports_(exports), numa_(numa) {}

RealMemory::~RealMemory() {
  try {
    for (const auto& [id, allocation] : buffers_) free(*allocation);
    for (const AllocationPtr& allocation : kept_) free(*allocation);
  } catch (const Error&) {
    // The process ends, and the system takes everything back.
  }
}

Buffer RealMemory::insert(AllocationPtr allocation) {
  const Buffer buffer{next_id_++, allocation->memory, allocation->size};
  buffers_.emplace(buffer.id, std::move(allocation));
  return buffer;
}

RealMemory::Table::const_iterator RealMemory::find(Buffer buffer) const {
  const auto found = buffers_.find(buffer.id);
  if (found == buffers_.end()) {
    throw UsageError(fmt::format("rank {} has no {}: never allocated, or released", owner_.value, name(buffer)));
  }
  return found;
}

Buffer RealMemory::allocate(Memory kind, Bytes size, Locality locality) {
  auto allocation = std::make_unique<Allocation>();
  allocation->memory = kind;
  allocation->size = size;
  allocation->locality = locality;
  fetch(*allocation);
  return insert(std::move(allocation));
}

Buffer RealMemory::allocate_on(const Uuid& device, Bytes size) {
  auto allocation = std::make_unique<Allocation>();
  allocation->memory = Memory::device;
  allocation->size = size;
  allocation->data = runtime_.allocate_on(device, mappable(size));
  return insert(std::move(allocation));
}

void RealMemory::fetch(Allocation& allocation) {
  const Bytes size = mappable(allocation.size);
  if (allocation.memory == Memory::device) {
    allocation.data = runtime_.allocate(size);
    return;
  }
  if (allocation.memory == Memory::shared_pinned) {
    allocation.shared = SharedMemory::create(size);
    allocation.data = allocation.shared->data();
  } else {
    allocation.data = map_pages(size);
  }
  try {
    numa_.bind(allocation.data, size, allocation.locality);
    prepare(allocation, runtime_.device().uuid);
  } catch (...) {
    if (!allocation.shared) ::munmap(allocation.data, size.count());
    throw;
  }
}

void RealMemory::prepare(const Allocation& allocation, const Uuid& device) {
  runtime_.know_host_memory(allocation.data, allocation.memory, allocation.locality, device);
  if (!page_locked(allocation.memory)) return;
  try {
    runtime_.pin(allocation.data, mappable(allocation.size));
  } catch (...) {
    runtime_.forget_host_memory(allocation.data);
    throw;
  }
}

void RealMemory::free(const Allocation& allocation) {
  if (allocation.owner && allocation.memory == Memory::device) {
    runtime_.close_memory(allocation.data);
    return exports_.leave(*allocation.owner, allocation.slot);
  }
  if (allocation.memory == Memory::device) return runtime_.free(allocation.data);
  if (page_locked(allocation.memory)) runtime_.unpin(allocation.data);
  runtime_.forget_host_memory(allocation.data);
  if (!allocation.shared) ::munmap(allocation.data, mappable(allocation.size).count());
}

void RealMemory::release(Buffer buffer) {
  const auto found = find(buffer);
  const Allocation& allocation = *found->second;
  if (allocation.owner) throw UsageError(name(buffer) + " is a peer's memory: close it, its owner releases it");
  if (allocation.in_use > 0) throw UsageError(name(buffer) + " cannot be released: an operation uses it");
  if (allocation.handle && !exports_.withdraw(allocation.slot)) {
    throw UsageError(name(buffer) + " cannot be released: a peer has it open");
  }
  remove(found);
}

IpcHandle RealMemory::export_memory(Buffer buffer) {
  Allocation& allocation = *find(buffer)->second;
  if (allocation.owner || (allocation.memory != Memory::device && allocation.memory != Memory::shared_pinned)) {
    throw UsageError(name(buffer) + " cannot be exported: only the rank's own device and shared pinned memory can");
  }
  if (allocation.memory == Memory::shared_pinned) return handle_of_host_memory(allocation);
  if (!allocation.handle) {
    const IpcHandle handle{.token = runtime_.export_memory(allocation.data),
                           .device = runtime_.device().uuid,
                           .size = allocation.size.count(),
                           .address = address_of(allocation)};
    allocation.slot = exports_.publish(handle);
    allocation.handle = handle;
  }
  return *allocation.handle;
}

Buffer RealMemory::open(RankId owner, const Uuid& device, const IpcHandle& handle, const Path& path) {
  const bool on_device = handle.device != Uuid{};
  const Answer allowed = on_device        ? path.device_mapping
                         : path.same_node ? Answer::granted()
                                          : Answer::refused("it lies on another node");
  if (!allowed)
    throw UnavailableError(fmt::format("memory of rank {} cannot be opened: {}", owner.value, allowed.reason));
  auto allocation = std::make_unique<Allocation>();
  allocation->memory = on_device ? Memory::device : Memory::shared_pinned;
  allocation->size = Bytes{handle.size};
  allocation->owner = owner;
  if (on_device) {
    map_device_memory(*allocation, device, handle);
  } else {
    map_host_memory(*allocation, device, handle);
  }
  return insert(std::move(allocation));
}

void RealMemory::map_device_memory(Allocation& allocation, const Uuid& device, const IpcHandle& handle) {
  allocation.slot = exports_.enter(*allocation.owner, handle);
  try {
    allocation.data = runtime_.open_memory(handle.token, device);
  } catch (...) {
    exports_.leave(*allocation.owner, allocation.slot);
    throw;
  }
}

/// The owner need not know: the pages live as long as somebody maps them.
void RealMemory::map_host_memory(Allocation& allocation, const Uuid& device, const IpcHandle& handle) {
  SharedMemory::Token token{};
  std::memcpy(&token, handle.token.data(), sizeof token);
  if (token.size != mappable(allocation.size).count()) {
    throw UsageError(fmt::format("the handle names no memory that rank {} has exported", allocation.owner->value));
  }
  allocation.shared = SharedMemory::open(token);
  allocation.data = allocation.shared->data();
  allocation.locality = handle.token[sizeof token] == std::byte{} ? Locality::near : Locality::far;
  prepare(allocation, device);
}

void RealMemory::close(Buffer buffer) {
  const auto found = find(buffer);
  const Allocation& allocation = *found->second;
  if (!allocation.owner) throw UsageError(name(buffer) + " was not opened from a peer: release it");
  if (allocation.in_use > 0) throw UsageError(name(buffer) + " cannot be closed: an operation uses it");
  remove(found);
}

void RealMemory::register_with_adapter(Buffer buffer) {
  Allocation& allocation = *find(buffer)->second;
  if (allocation.owner || allocation.memory != Memory::device) {
    throw UsageError(name(buffer) + " cannot be registered: only the rank's own device memory can");
  }
  runtime_.register_memory(allocation.data, allocation.size);
  ++allocation.registrations;
}

void RealMemory::deregister(Buffer buffer) {
  Allocation& allocation = *find(buffer)->second;
  if (allocation.registrations == 0) throw UsageError(name(buffer) + " is not registered");
  if (allocation.registrations == 1 && allocation.in_use > 0) {
    throw UsageError(name(buffer) + " cannot be deregistered: an operation uses it");
  }
  runtime_.deregister_memory(allocation.data);
  --allocation.registrations;
}

void RealMemory::remove(Table::const_iterator entry) {
  if (entry->second->kept) {
    kept_.push_back(std::move(buffers_.extract(entry).mapped()));
    return;
  }
  free(*entry->second);
  buffers_.erase(entry);
}

Part RealMemory::part(const View& view) const {
  Allocation& allocation = *find(view.buffer)->second;
  if (view.offset > allocation.size || view.length > allocation.size - view.offset) {
    throw UsageError(fmt::format("bytes {} + {} lie beyond the end of {}", view.offset.count(), view.length.count(),
                                 name({view.buffer.id, allocation.memory, allocation.size})));
  }
  return {&allocation, allocation.data + view.offset.count(), view.length};
}

}  // namespace twinlink::real
