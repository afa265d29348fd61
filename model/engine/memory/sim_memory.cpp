#include "model/engine/memory/sim_memory.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace twinlink::model {
namespace {

/// What a simulated handle's token holds.
struct Token {
  std::uint64_t magic;
  std::int64_t owner;
  std::uint64_t serial;
};
constexpr std::uint64_t kMagic = 0x7477696e6c696e6b;  // "twinlink"; a forged handle does not have it

std::string name(Buffer buffer) {
  return "buffer " + std::to_string(buffer.id) + " (" + std::string(to_string(buffer.memory)) + ", " +
         std::to_string(buffer.size.count()) + " B)";
}

}  // namespace

Buffer SimMemory::insert(Entry entry) {
  const Buffer buffer{next_id_++, entry.allocation->memory, entry.allocation->content.size()};
  if (!entry.opening) {
    entry.allocation->serial = (std::uint64_t{static_cast<std::uint32_t>(owner_.value)} << 32) | buffer.id;
  }
  buffers_.emplace(buffer.id, std::move(entry));
  return buffer;
}

const SimMemory::Entry& SimMemory::find(Buffer buffer) const {
  const auto found = buffers_.find(buffer.id);
  if (found == buffers_.end()) {
    throw UsageError("rank " + std::to_string(owner_.value) + " has no " + name(buffer) +
                     ": never allocated, or released");
  }
  return found->second;
}

/// The first gap that is large enough, as allocators do: what was released is used again.
std::uint64_t SimMemory::take_address(Bytes size) {
  constexpr std::uint64_t kBlock = (2_MiB).count();
  const std::uint64_t length = (std::max(size, 1_B).count() + kBlock - 1) / kBlock * kBlock;
  std::uint64_t begin = kBlock;
  for (const auto& [used, end] : addresses_) {
    if (used - begin >= length) break;
    begin = end;
  }
  addresses_.emplace(begin, begin + length);
  return begin;
}

Buffer SimMemory::allocate(Memory kind, Bytes size, Site site) {
  auto allocation = std::make_shared<Allocation>();
  allocation->memory = kind;
  allocation->site = site;
  allocation->content = Content{size};
  allocation->owner = owner_;
  allocation->address = take_address(size);
  return insert({std::move(allocation)});
}

Bytes& SimMemory::device_memory_used(const Site& site) {
  const std::size_t gpu = site.location.index;
  return job_.device_memory_used[{site.node, job_.folding == nullptr ? gpu : job_.folding->gpu(gpu)}];
}

Buffer SimMemory::allocate_device(Bytes size, Site site, Bytes capacity, const Place& name) {
  Bytes& used = device_memory_used(site);
  if (size > capacity - used) {
    throw UsageError("out of device memory: " + to_string(name) + " has " + std::to_string(capacity.count()) +
                     " B, of which " + std::to_string(used.count()) + " B are in use, and " +
                     std::to_string(size.count()) + " B more were asked for");
  }
  used += size;
  return allocate(Memory::device, size, site);
}

void SimMemory::release(Buffer buffer) {
  const Entry& entry = find(buffer);
  if (entry.opening) throw UsageError(name(buffer) + " is a peer's memory: close it, its owner releases it");
  if (entry.allocation->in_use > 0) throw UsageError(name(buffer) + " cannot be released: an operation uses it");
  if (entry.allocation->opened > 0 && buffer.memory == Memory::device)
    throw UsageError(name(buffer) + " cannot be released: a peer has it open");
  if (entry.allocation->exported) job_.exports.erase(entry.allocation->serial);
  addresses_.erase(entry.allocation->address);
  if (buffer.memory == Memory::device) {
    Bytes& used = device_memory_used(entry.allocation->site);
    used = used - buffer.size;
  }
  buffers_.erase(buffer.id);
}

IpcHandle SimMemory::export_memory(Buffer buffer) {
  const Entry& entry = find(buffer);
  Allocation& allocation = *entry.allocation;
  if (entry.opening || (allocation.memory != Memory::device && allocation.memory != Memory::shared_pinned)) {
    throw UsageError(name(buffer) + " cannot be exported: only the rank's own device and shared pinned memory can");
  }
  if (!allocation.exported) {
    static_assert(sizeof(Token) <= sizeof(IpcHandle::token));
    allocation.exported = true;
    job_.exports[allocation.serial] = entry.allocation;
  }
  IpcHandle handle{.size = buffer.size.count(), .address = allocation.address};
  const Token token{kMagic, owner_.value, allocation.serial};
  std::memcpy(handle.token.data(), &token, sizeof token);
  return handle;
}

Buffer SimMemory::open(RankId owner, const IpcHandle& handle, const Path& path) {
  Token token{};
  std::memcpy(&token, handle.token.data(), sizeof token);
  const auto found = job_.exports.find(token.serial);
  const auto allocation = found == job_.exports.end() ? nullptr : found->second.lock();
  const RankId has = job_.folding == nullptr ? owner : job_.folding->standing_for(owner);
  if (token.magic != kMagic || token.owner != has.value || allocation == nullptr || allocation->owner != has ||
      allocation->content.size().count() != handle.size) {
    throw UsageError("the handle names no memory that rank " + std::to_string(owner.value) + " has exported");
  }
  const Answer allowed = allocation->memory == Memory::device ? (path.same_node ? path.device_mapping : path.one_sided)
                         : path.same_node                     ? Answer::granted()
                                                              : Answer::refused("it lies on another node");
  if (!allowed) {
    throw UnavailableError("memory of rank " + std::to_string(owner.value) + " cannot be opened: " + allowed.reason);
  }
  if (!path.device_mapping && allocation->registrations == 0) {
    throw UsageError("memory of another node can be opened once its owner has registered it: it has no key yet");
  }
  ++allocation->opened;
  Site site = allocation->site;
  if (job_.folding != nullptr) site.location = job_.folding->location(owner, site.location);
  return insert({allocation, std::make_shared<Opening>(Opening{.owner = owner, .site = site})});
}

void SimMemory::close(Buffer buffer) {
  const Entry& entry = find(buffer);
  if (!entry.opening) throw UsageError(name(buffer) + " was not opened from a peer: release it");
  if (entry.opening->in_use > 0) throw UsageError(name(buffer) + " cannot be closed: an operation uses it");
  --entry.allocation->opened;
  buffers_.erase(buffer.id);
}

void SimMemory::register_with_adapter(Buffer buffer) {
  const Entry& entry = find(buffer);
  if (entry.opening || entry.allocation->memory != Memory::device) {
    throw UsageError(name(buffer) + " cannot be registered: only the rank's own device memory can");
  }
  ++entry.allocation->registrations;
}

void SimMemory::deregister(Buffer buffer) {
  const Entry& entry = find(buffer);
  int& registrations = entry.allocation->registrations;
  if (entry.opening || registrations == 0) throw UsageError(name(buffer) + " is not registered");
  if (registrations == 1 && entry.allocation->in_use > 0) {
    throw UsageError(name(buffer) + " cannot be deregistered: an operation uses it");
  }
  --registrations;
}

Part SimMemory::part(const View& view) const {
  const Entry& entry = find(view.buffer);
  const Bytes size = entry.allocation->content.size();
  if (view.offset > size || view.length > size - view.offset) {
    throw UsageError("bytes " + std::to_string(view.offset.count()) + " + " + std::to_string(view.length.count()) +
                     " lie beyond the end of " + name(view.buffer));
  }
  return {entry.allocation, entry.opening, view.offset, view.length};
}

}  // namespace twinlink::model
