#include "real/signals.hpp"

#include <fmt/format.h>

#include <atomic>

namespace twinlink::real {
namespace {

constexpr std::uint64_t kFailed = std::uint64_t{1} << 63;

Bytes room(int ranks) { return Bytes{sizeof(std::uint64_t) * Signals::kTags * static_cast<std::size_t>(ranks)}; }

std::uint64_t* words(const SharedMemory& memory) {
  return static_cast<std::uint64_t*>(static_cast<void*>(memory.data()));
}

}  // namespace

Signals::Signals(RankId self, int ranks, DeviceRuntime& runtime)
    : self_(self), runtime_(runtime), own_(SharedMemory::create(room(ranks))) {}

Signals::~Signals() {
  try {
    for (const RankId peer : pinned_) runtime_.unpin(peers_.at(peer).data());
  } catch (const Error&) {
    // The process ends, and the system takes everything back.
  }
}

void Signals::meet(RankId peer, const SharedMemory::Token& token) {
  peers_.insert_or_assign(peer, SharedMemory::open(token));
}

std::size_t Signals::word(RankId origin, Tag tag) {
  return static_cast<std::size_t>(origin.value) * kTags + static_cast<std::size_t>(tag.value);
}

void Signals::require(Tag tag) {
  if (tag.value >= 0 && tag.value < kTags) return;
  throw UsageError(fmt::format("there is no signal {}; signals are 0 to {}", tag.value, kTags - 1));
}

Flag Signals::next(RankId peer, const Signal& signal) {
  require(signal.tag);
  const auto memory = peers_.find(peer);
  if (memory == peers_.end())
    throw UsageError(fmt::format("rank {} is not on this node: no signal reaches it", peer.value));
  if (pinned_.insert(peer).second) runtime_.pin(memory->second.data(), Bytes{memory->second.token().size});
  std::uint64_t& value = raised_[{peer, signal.tag}];
  ++value;
  if (signal.failed) value |= kFailed;
  return {words(memory->second) + word(self_, signal.tag), value};
}

Signals::State Signals::look(RankId peer, Tag tag) const {
  const std::uint64_t value = std::atomic_ref(words(own_)[word(peer, tag)]).load(std::memory_order_acquire);
  return {value & ~kFailed, (value & kFailed) != 0};
}

}  // namespace twinlink::real
