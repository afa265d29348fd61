#include "protocols/bench/core_watch.hpp"

#include <algorithm>

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
  volatile const double result = fill_reorder_window(1 + start.value());
  static_cast<void>(result);
  return rank_.now() - start;
}

}  // namespace twinlink::bench
