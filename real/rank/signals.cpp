#include "real/rank/signals.hpp"

#include <fmt/format.h>

#include <atomic>

namespace twinlink::real {
namespace {

constexpr std::size_t kWordsOfOrigin = kSignalTags * kMostSignals;
/// A multiple of every page size in use, so that what one origin writes can be page-locked by itself.
constexpr std::size_t kBytesOfOrigin = kWordsOfOrigin * sizeof(std::uint64_t);
static_assert(kBytesOfOrigin % (std::size_t{64} << 10) == 0);

/// Above the 48 bits of the value: the turn of the ring, from one on, so that a word that was never written is of none.
constexpr int kValueBits = 48;
constexpr std::uint64_t kRaiseMask = 0xFFFF;
std::uint64_t mark(std::uint64_t number) { return ((number / kMostSignals) + 1) & kRaiseMask; }

/// The ring of `origin` and tag.
std::uint64_t* ring(const SharedMemory& memory, RankId origin, Tag tag) {
  auto* const words = static_cast<std::uint64_t*>(static_cast<void*>(memory.data()));
  return words + static_cast<std::size_t>(origin.value) * kWordsOfOrigin +
         static_cast<std::size_t>(tag.value) * kMostSignals;
}

}  // namespace

Signals::Signals(RankId self, int ranks, DeviceRuntime& runtime)
    : self_(self),
      runtime_(runtime),
      own_(SharedMemory::create(Bytes{kBytesOfOrigin} * static_cast<std::uint64_t>(ranks))) {}

Signals::~Signals() {
  try {
    for (const RankId peer : pinned_) runtime_.unpin(first_byte(peers_.at(peer)));
  } catch (const Error&) {
    // The process ends, and the system takes everything back.
  }
}

void Signals::attach(RankId peer, const SharedMemory::Token& token) {
  peers_.insert_or_assign(peer, SharedMemory::open(token));
}

/// First byte of the words that this rank writes.
std::byte* Signals::first_byte(const SharedMemory& memory) const {
  return static_cast<std::byte*>(static_cast<void*>(ring(memory, self_, Tag{0})));
}

Flag Signals::next(RankId peer, const Signal& signal) {
  const auto memory = peers_.find(peer);
  if (memory == peers_.end()) {
    throw UsageError(fmt::format("rank {} is not on this node: no signal reaches it", peer.value));
  }
  if (!pinned_.contains(peer)) {
    runtime_.pin(first_byte(memory->second), Bytes{kBytesOfOrigin});
    pinned_.insert(peer);
  }
  const std::uint64_t number = raised_[{peer, signal.tag}]++;
  return {ring(memory->second, self_, signal.tag) + number % kMostSignals, mark(number) << kValueBits | signal.value};
}

std::optional<std::uint64_t> Signals::look(RankId peer, Tag tag, std::uint64_t number) const {
  const std::uint64_t word =
      std::atomic_ref(ring(own_, peer, tag)[number % kMostSignals]).load(std::memory_order_acquire);
  if (word >> kValueBits == mark(number)) return word & kMostSignal;
  const bool of_the_turn_before = word >> kValueBits == (number < kMostSignals ? 0 : mark(number - kMostSignals));
  if (of_the_turn_before) return std::nullopt;
  throw EnvironmentError("await signal", fmt::format("rank {} has raised more than {} signals that nobody has taken",
                                                     peer.value, kMostSignals));
}

}  // namespace twinlink::real
