#include "model/sim_memory.hpp"

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

Buffer SimMemory::allocate(Memory kind, Bytes size, Site site) {
  auto allocation = std::make_shared<Allocation>();
  allocation->memory = kind;
  allocation->site = site;
  allocation->content = Content{size};
  allocation->owner = owner_;
  return insert({std::move(allocation), false});
}

void SimMemory::release(Buffer buffer) {
  const Entry& entry = find(buffer);
  if (entry.mapped) throw UsageError(name(buffer) + " is a peer's memory: close it, its owner releases it");
  if (entry.allocation->in_use > 0) throw UsageError(name(buffer) + " cannot be released: an operation uses it");
  if (entry.allocation->opened > 0) throw UsageError(name(buffer) + " cannot be released: a peer has it open");
  if (entry.allocation->exported) exports_.erase(entry.allocation->serial);
  buffers_.erase(buffer.id);
}

IpcHandle SimMemory::export_memory(Buffer buffer) {
  const Entry& entry = find(buffer);
  Allocation& allocation = *entry.allocation;
  if (entry.mapped || allocation.memory != Memory::device) {
    throw UsageError(name(buffer) + " cannot be exported: only the rank's own device memory can");
  }
  if (!allocation.exported) {
    static_assert(sizeof(Token) <= sizeof(IpcHandle::token));
    // Serials count exports, so that they are the same in every run.
    allocation.serial = (std::uint64_t{static_cast<std::uint32_t>(owner_.value)} << 32) | buffer.id;
    allocation.exported = true;
    exports_[allocation.serial] = entry.allocation;
  }
  IpcHandle handle{.size = buffer.size.count()};
  const Token token{kMagic, owner_.value, allocation.serial};
  std::memcpy(handle.token.data(), &token, sizeof token);
  return handle;
}

Buffer SimMemory::open(RankId owner, const IpcHandle& handle, const Answer& owner_on_node) {
  if (!owner_on_node) {
    throw UnavailableError("memory of rank " + std::to_string(owner.value) +
                           " cannot be opened: " + owner_on_node.reason);
  }
  Token token{};
  std::memcpy(&token, handle.token.data(), sizeof token);
  const auto found = exports_.find(token.serial);
  const auto allocation = found == exports_.end() ? nullptr : found->second.lock();
  if (token.magic != kMagic || token.owner != owner.value || allocation == nullptr || allocation->owner != owner ||
      allocation->content.size().count() != handle.size) {
    throw UsageError("the handle names no memory that rank " + std::to_string(owner.value) + " has exported");
  }
  ++allocation->opened;
  return insert({allocation, true});
}

void SimMemory::close(Buffer buffer) {
  const Entry& entry = find(buffer);
  if (!entry.mapped) throw UsageError(name(buffer) + " was not opened from a peer: release it");
  if (entry.allocation->in_use > 0) throw UsageError(name(buffer) + " cannot be closed: an operation uses it");
  --entry.allocation->opened;
  buffers_.erase(buffer.id);
}

void SimMemory::register_with_adapter(Buffer buffer) {
  const Entry& entry = find(buffer);
  if (entry.mapped || entry.allocation->memory != Memory::device) {
    throw UsageError(name(buffer) + " cannot be registered: only the rank's own device memory can");
  }
  ++entry.allocation->registrations;
}

void SimMemory::deregister(Buffer buffer) {
  const Entry& entry = find(buffer);
  int& registrations = entry.allocation->registrations;
  if (entry.mapped || registrations == 0) throw UsageError(name(buffer) + " is not registered");
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
  return {entry.allocation, view.offset, view.length};
}

}  // namespace twinlink::model
