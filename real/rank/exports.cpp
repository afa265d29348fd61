#include "real/rank/exports.hpp"

#include <string>

namespace twinlink::real {
namespace {

constexpr std::uint64_t kOneUser = std::uint64_t{1} << 32;

bool offered(std::uint64_t state) { return state % 2 == 1; }
std::uint64_t users(std::uint64_t state) { return state / kOneUser; }

}  // namespace

// The table starts as zeros: every entry free. Atomics of this size are free of locks, so they work between processes.
Exports::Exports() : own_(SharedMemory::create(Bytes{kEntries * sizeof(Entry)})) {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
}

Exports::Entry* Exports::entries(const SharedMemory& memory) {
  return static_cast<Entry*>(static_cast<void*>(memory.data()));
}

void Exports::attach(RankId peer, const SharedMemory::Token& token) {
  peers_.insert_or_assign(peer, SharedMemory::open(token));
}

Exports::Slot Exports::publish(const IpcHandle& handle) {
  Entry* const table = entries(own_);
  for (Slot slot = 0; slot < kEntries; ++slot) {
    const std::uint64_t state = table[slot].state.load();
    if (offered(state)) continue;
    table[slot].handle = handle;
    table[slot].state.store(state + 1);
    return slot;
  }
  throw EnvironmentError("export", "more than " + std::to_string(kEntries) + " buffers are exported at once");
}

bool Exports::withdraw(Slot slot) {
  std::atomic<std::uint64_t>& state = entries(own_)[slot].state;
  std::uint64_t found = state.load();
  while (users(found) == 0) {
    // A new generation: who has read the old handle in this moment cannot enter any more.
    if (state.compare_exchange_weak(found, (found + 1) % kOneUser)) return true;
  }
  return false;
}

Exports::Slot Exports::enter(RankId owner, const IpcHandle& handle) {
  const auto peer = peers_.find(owner);
  for (Slot slot = 0; peer != peers_.end() && slot < kEntries; ++slot) {
    Entry& entry = entries(peer->second)[slot];
    std::uint64_t state = entry.state.load();
    while (offered(state) && entry.handle == handle) {
      if (entry.state.compare_exchange_weak(state, state + kOneUser)) return slot;
    }
  }
  throw UsageError("the handle names no memory that rank " + std::to_string(owner.value) + " has exported");
}

void Exports::leave(RankId owner, Slot slot) { entries(peers_.at(owner))[slot].state.fetch_sub(kOneUser); }

}  // namespace twinlink::real
