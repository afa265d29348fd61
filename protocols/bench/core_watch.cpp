#include "protocols/bench/core_watch.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace twinlink::bench {
namespace {

/// Eight independent streams of two instructions each: more than a core issues in the two cycles that they take.
std::uint64_t fill_all_slots(std::uint64_t seed) {
  constexpr int kTurns = 1024;
  std::array<std::uint64_t, 8> streams{};
  for (std::uint64_t& stream : streams) stream = ++seed;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (std::uint64_t& stream : streams) stream ^= stream << 13U;
  }
  std::uint64_t all = 0;
  for (const std::uint64_t stream : streams) all ^= stream;
  return all;
}

}  // namespace

CoreWatch::CoreWatch(Rank& rank, Seconds known, Seconds learn)
    : rank_(rank), quickest_(known > Seconds{} ? known : glance()) {
  if (known > Seconds{}) return;
  const Seconds end = rank_.now() + learn;
  // A clock that stands still would never come to the end.
  while (quickest_ > Seconds{} && rank_.now() < end) look();
}

double CoreWatch::look() {
  const Seconds time = glance();
  quickest_ = std::min(quickest_, time);
  return quickest_ > Seconds{} ? time.value() / quickest_.value() : 1;
}

Seconds CoreWatch::glance() {
  const Seconds start = rank_.now();
  volatile const std::uint64_t result = fill_all_slots(static_cast<std::uint64_t>(start.value() * 1e9));
  static_cast<void>(result);
  return rank_.now() - start;
}

}  // namespace twinlink::bench
