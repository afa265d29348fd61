#include "real/system/watchdog.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "real/system/peer_watch.hpp"

namespace twinlink::real {

Watchdog::Watchdog(Seconds patience, std::string message)
    : thread_([this, patience, message = std::move(message)] {
        std::unique_lock lock(mutex_);
        const auto limit = std::chrono::duration<double>(patience.value());
        if (returned_.wait_for(lock, limit, [&] { return done_; })) return;
        PeerWatch::take_leave();
        fmt::print(stderr, "twinlink-real: {}\n", message);
        std::fflush(nullptr);
        std::_Exit(1);  // the call that hangs holds what an orderly end needs
      }) {}

Watchdog::~Watchdog() {
  {
    const std::scoped_lock lock(mutex_);
    done_ = true;
  }
  returned_.notify_one();
  thread_.join();
}

}  // namespace twinlink::real
