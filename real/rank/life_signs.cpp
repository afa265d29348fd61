#include "real/rank/life_signs.hpp"

#include <atomic>
#include <utility>

namespace twinlink::real {
namespace {

std::atomic_ref<std::uint64_t> counter_in(const SharedMemory& memory) {
  return std::atomic_ref(*static_cast<std::uint64_t*>(static_cast<void*>(memory.data())));
}

}  // namespace

LifeSigns::LifeSigns(std::function<Clock::time_point()> now)
    : now_(std::move(now)), own_(SharedMemory::create(Bytes{sizeof(std::uint64_t)})) {}

void LifeSigns::attach(RankId peer, const SharedMemory::Token& token) {
  peers_.insert_or_assign(peer, Seen{.memory = SharedMemory::open(token)});
}

void LifeSigns::show() { counter_in(own_).store(++count_, std::memory_order_relaxed); }

Seconds LifeSigns::silence_of(RankId peer) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return {};
  Seen& seen = found->second;
  const Clock::time_point now = now_();
  const std::uint64_t count = counter_in(seen.memory).load(std::memory_order_relaxed);
  // Nobody has looked for a while: what stood still in between may have gone on and stopped again.
  constexpr std::chrono::seconds kForgotten{2};
  if (count != seen.count || now - seen.asked > kForgotten) {
    seen.count = count;
    seen.since = now;
  }
  seen.asked = now;
  return Seconds{std::chrono::duration<double>(now - seen.since).count()};
}

}  // namespace twinlink::real
