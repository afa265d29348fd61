#include "protocols/bench/core_watch.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace twinlink::bench {
namespace {

/// A core of one's own varies by less: interrupts hit one glance in many, and the clock's rate drifts by some percent.
/// A shared one takes 1.5 to 2 times as long (seen on an Intel Xeon of 2.1 GHz).
constexpr double kShared = 1.25;

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

CoreWatch::CoreWatch(Rank& rank, Seconds learn) : rank_(rank), quickest_(glance()) {
  constexpr int kSeen = 100;  // in a row or not: an interrupt makes one glance or two long, company thousands
  int in_company = 0;
  int alone_again = 0;
  const Seconds end = rank_.now() + learn;
  // A clock that stands still would never come to the end.
  while (quickest_ > Seconds{} && rank_.now() < end && (in_company < kSeen || alone_again < kSeen)) {
    const Seconds before = quickest_;
    const bool is_alone = alone();
    if (quickest_ * kShared < before) std::swap(in_company, alone_again);  // what was thought to be alone was not
    ++(is_alone ? alone_again : in_company);
  }
}

bool CoreWatch::alone() {
  const Seconds time = glance();
  quickest_ = std::min(quickest_, time);
  return time <= quickest_ * kShared;
}

Seconds CoreWatch::glance() {
  const Seconds start = rank_.now();
  volatile const std::uint64_t result = fill_all_slots(static_cast<std::uint64_t>(start.value() * 1e9));
  static_cast<void>(result);
  return rank_.now() - start;
}

}  // namespace twinlink::bench
