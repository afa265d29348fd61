#include "protocols/bench/measure/core_watch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace twinlink::bench {
namespace {

/// Chains of divisions, each with nothing to wait for. With 300 instructions between them two fit into the 512 that a
/// whole reorder window holds, so that a core of one's own works on two at a time, and on one at a time in half of it.
/// Other code between them would be what the compiler makes of it.
double fill_reorder_window(double seed) {
  constexpr int kChains = 60;
  constexpr int kLinks = 8;
  double sum = 0;
  for (int chain = 0; chain < kChains; ++chain) {
    double link = seed + chain;
    for (int i = 0; i < kLinks; ++i) link = 1.5 + 2.5 / link;
    sum += link;
    asm volatile(".rept 300\n nop\n .endr");
  }
  return sum;
}

/// 500 links, each of which waits for the one before: 2,000 cycles, where a multiplication takes three and an addition
/// one. A compiler that sees through several links would make one of them.
std::uint64_t follow_chain(std::uint64_t link) {
  for (int i = 0; i < 500; ++i) {
    link = link * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(link));
  }
  return link;
}

}  // namespace

CoreWatch::CoreWatch(Rank& rank, double known, Seconds learn) : rank_(rank) {
  if (known > 0) {
    quickest_ = known;
    return;
  }
  const Seconds end = rank_.now() + learn;
  // A clock that stands still would never come to the end.
  if (glance() == 0) return;
  while (rank_.now() < end) look();
}

double CoreWatch::look() {
  const double times = glance();
  if (times == 0) return 1;
  remember(times);
  return std::isfinite(quickest_) ? times / quickest_ : 1;
}

/// An interrupt within both of its chains, or code that is in no cache yet, makes a glance look quick: one of a
/// million, so that it takes two in a row.
void CoreWatch::remember(double times) {
  quickest_ = std::min(quickest_, std::max(last_, times));
  last_ = times;
}

double CoreWatch::quickest() const { return std::isfinite(quickest_) ? quickest_ : 0; }

/// In times of the chain beside it; zero where the clock did not move.
double CoreWatch::glance() {
  std::array<Seconds, 4> at{rank_.now()};
  volatile const std::uint64_t before = follow_chain(static_cast<std::uint64_t>(at[0].value() * 1e9));
  at[1] = rank_.now();
  volatile const double filled = fill_reorder_window(1 + at[1].value());
  at[2] = rank_.now();
  volatile const std::uint64_t after = follow_chain(before);
  at[3] = rank_.now();
  static_cast<void>(filled);
  static_cast<void>(after);
  const Seconds chain = std::min(at[1] - at[0], at[3] - at[2]);
  return chain > Seconds{} ? (at[2] - at[1]).value() / chain.value() : 0;
}

}  // namespace twinlink::bench
