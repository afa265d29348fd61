#include "real/pace/pace_clock.hpp"

#include <chrono>
#include <thread>

namespace twinlink::real {
namespace {

/// Longer than the system takes to wake a process.
constexpr Seconds kBusyAtTheEnd = 1000.0_us;

class MonotonicClock final : public PaceClock {
 public:
  Seconds now() override {
    return Seconds{std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count()};
  }

  void wait_until(Seconds time) override {
    const Seconds sleep = time - kBusyAtTheEnd - now();
    if (sleep > Seconds{}) std::this_thread::sleep_for(std::chrono::duration<double>(sleep.value()));
    while (now() < time) {
    }
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

std::unique_ptr<PaceClock> monotonic_clock() { return std::make_unique<MonotonicClock>(); }

}  // namespace twinlink::real
