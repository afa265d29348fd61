#include "protocols/parts/handle_cache.hpp"

#include <algorithm>
#include <cassert>
#include <exception>

namespace twinlink {

HandleCache::~HandleCache() {
  // While an exception passes, a copy may still use the memory; the rank closes it when it ends.
  if (std::uncaught_exceptions() > 0) return;
  for (const auto& [range, entry] : entries_) rank_.close_memory(entry.buffer);
  for (const Entry& entry : replaced_) rank_.close_memory(entry.buffer);
}

Buffer HandleCache::acquire(const IpcHandle& handle) {
  const Range range{handle.address, handle.size};
  if (const auto found = entries_.find(range); found != entries_.end()) {
    Entry& entry = found->second;
    if (entry.handle == handle) {
      ++counts_.hits;
      ++entry.users;
      return entry.buffer;
    }
    ++counts_.invalid;
    const Entry old = entry;
    forget(found);
    if (old.users > 0) {
      replaced_.push_back(old);
    } else {
      rank_.close_memory(old.buffer);
    }
  } else {
    ++counts_.misses;
  }
  if (capacity_ > 0) shrink_to(capacity_ - 1);
  const Buffer opened = rank_.open_memory(owner_, handle);
  const auto added = entries_.emplace(range, Entry{.handle = handle, .buffer = opened, .users = 1}).first;
  by_buffer_.emplace(opened.id, added);
  return opened;
}

void HandleCache::release(Buffer buffer) {
  if (const auto known = by_buffer_.find(buffer.id); known != by_buffer_.end()) {
    Entry& entry = known->second->second;
    assert(entry.users > 0);
    --entry.users;
    entry.released = ++releases_;
    if (capacity_ > 0) shrink_to(capacity_);
    return;
  }
  const auto old = std::ranges::find(replaced_, buffer, &Entry::buffer);
  assert(old != replaced_.end() && old->users > 0);
  if (--old->users > 0) return;
  rank_.close_memory(old->buffer);
  replaced_.erase(old);
}

void HandleCache::forget(Entries::iterator entry) {
  by_buffer_.erase(entry->second.buffer.id);
  entries_.erase(entry);
}

void HandleCache::shrink_to(std::size_t count) {
  while (entries_.size() > count) {
    const auto chosen = victim();
    if (chosen == entries_.end()) return;
    rank_.close_memory(chosen->second.buffer);
    forget(chosen);
    ++counts_.evicted;
  }
}

HandleCache::Entries::iterator HandleCache::victim() {
  auto chosen = entries_.end();
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->second.users > 0) continue;
    const bool later = chosen != entries_.end() && entry->second.released > chosen->second.released;
    if (chosen == entries_.end() || later == (eviction_ == Eviction::openmpi)) chosen = entry;
  }
  return chosen;
}

}  // namespace twinlink
