// LifeSigns: whether the other ranks of the node still run, seen without their help. Whoever waits for a peer asks, and
// names it after `--timeout` and some seconds (real/README.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>

#include "protocols/core/rank.hpp"
#include "protocols/core/units.hpp"
#include "real/system/shared_memory.hpp"

namespace twinlink::real {

/// A counter in memory that the node shares, which its rank raises whenever it waits or works on memory. Whose counter
/// stands still is stopped, stuck in a call, or gone.
class LifeSigns {
 public:
  using Clock = std::chrono::steady_clock;

  /// Keeps time by `now`, the host's monotonic clock or a test's.
  explicit LifeSigns(std::function<Clock::time_point()> now = Clock::now);

  /// For the peers' attach().
  [[nodiscard]] const SharedMemory::Token& token() const { return own_.token(); }
  /// Opens a peer's counter. An EnvironmentError where that cannot be done.
  void attach(RankId peer, const SharedMemory::Token& token);

  /// This rank runs. One store into memory.
  void show();
  /// For how long the counter of `peer` has stood still, since it was first asked for; zero for a peer without
  /// attach(), as on another node. To be asked again and again while waiting for it.
  [[nodiscard]] Seconds silence_of(RankId peer);

 private:
  struct Seen {
    SharedMemory memory;
    std::uint64_t count = 0;
    Clock::time_point since{};
    Clock::time_point asked{};
  };

  std::function<Clock::time_point()> now_;
  SharedMemory own_;
  std::uint64_t count_ = 0;
  std::map<RankId, Seen> peers_;
};

}  // namespace twinlink::real
