// What paced devices keep time by.
#pragma once

#include <memory>

#include "protocols/core/units.hpp"

namespace twinlink::real {

class PaceClock {
 public:
  virtual ~PaceClock() = default;

  /// Never goes back.
  [[nodiscard]] virtual Seconds now() = 0;
  /// Returns once now() has reached `time`.
  virtual void wait_until(Seconds time) = 0;
};

/// The host's monotonic clock. Waiting keeps the CPU busy, as a driver's call does, because a process that sleeps wakes
/// some 50 us late; only of longer waits the most part is slept.
std::unique_ptr<PaceClock> monotonic_clock();

}  // namespace twinlink::real
