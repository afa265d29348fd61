// Watchdog: ends the process if a call that cannot be given a deadline does not return.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "protocols/core/units.hpp"

namespace twinlink::real {

/// For calls such as MPI_Init, which wait for all ranks. Where one is stopped, the process prints `message` to standard
/// error after `patience` and ends with exit code 1; the launcher ends the others with it.
class Watchdog {
 public:
  Watchdog(Seconds patience, std::string message);
  /// The call has returned.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable returned_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace twinlink::real
