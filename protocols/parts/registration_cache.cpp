#include "protocols/parts/registration_cache.hpp"

#include <algorithm>
#include <cassert>
#include <exception>

namespace twinlink {

RegistrationCache::~RegistrationCache() {
  // While an exception passes, operations may still use the memory; it is forgotten when the rank ends.
  if (std::uncaught_exceptions() > 0) return;
  while (!entries_.empty()) forget(entries_.begin());
}

void RegistrationCache::hold(Buffer buffer) {
  const auto found = capacity_ == 0 ? entries_.end() : std::ranges::find(entries_, buffer, &Entry::buffer);
  if (found != entries_.end()) {
    ++hits_;
    ++found->holders;
    entries_.splice(entries_.begin(), entries_, found);
    return;
  }
  rank_.register_memory(buffer);
  ++misses_;
  entries_.push_front({buffer, 1});
  evict();
}

void RegistrationCache::let_go(Buffer buffer) {
  const auto found =
      std::ranges::find_if(entries_, [&](const Entry& e) { return e.buffer == buffer && e.holders > 0; });
  assert(found != entries_.end());
  --found->holders;
  evict();
}

void RegistrationCache::let_all_go() {
  for (Entry& entry : entries_) entry.holders = 0;
  evict();
}

/// Forgets what was used longest ago until the rest fits; what a message holds stays.
void RegistrationCache::evict() {
  for (auto entry = entries_.end(); entries_.size() > capacity_ && entry != entries_.begin();) {
    --entry;
    if (entry->holders > 0) continue;
    if (capacity_ > 0) ++evicted_;
    const auto next = std::next(entry);
    forget(entry);
    entry = next;
  }
}

void RegistrationCache::forget(Entries::iterator entry) {
  const Buffer buffer = entry->buffer;
  entries_.erase(entry);
  try {
    rank_.deregister_memory(buffer);
  } catch (const UsageError&) {
    // Its owner has released it, which took the registration back, or uses it otherwise and goes on to.
  }
}

std::vector<Counter> RegistrationCache::counters() const {
  return {{"registration cache hits", hits_},
          {"registration cache misses", misses_},
          {"registration cache evictions", evicted_}};
}

}  // namespace twinlink
