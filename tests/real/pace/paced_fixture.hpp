// Paced devices on a clock that only the test moves.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "real/device/host_runtime.hpp"
#include "real/pace/paced_runtime.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::real {

inline constexpr Bytes kSize = 1_MiB;  // several of the emulation's slices
inline constexpr double kToleranceUs = 1e-6;

/// Waiting is all that takes time.
class TestClock final : public PaceClock {
 public:
  Seconds now() override { return now_; }
  void wait_until(Seconds time) override { now_ = std::max(now_, time); }

 private:
  Seconds now_{};
};

/// Gpu1 of the sample: it has gpu2 for a peer, and gpu0 beyond the sockets.
class PacedRuntimeTest : public testing::Test {
 protected:
  static constexpr int kGpu = 1;

  explicit PacedRuntimeTest(platforms::Platform described = platforms::testing::sample_platform())
      : platform(std::move(described)),
        runtime(std::make_unique<HostRuntime>("here", kGpu, HostPeers::all),
                {.topology = topology,
                 .gpu = kGpu,
                 .node_gpus = {{emulated_uuid("here", 0), 0},
                               {emulated_uuid("here", 1), 1},
                               {emulated_uuid("here", 2), 2}}},
                clock) {}

  /// Page-locked beforehand, for which a platform's time is not over.
  std::byte* host_memory(Memory kind, Locality locality = Locality::near, int gpu = kGpu) {
    std::vector<std::byte>& memory = host.emplace_back(kSize.count());
    if (kind != Memory::pageable) runtime.pin(memory.data(), kSize);
    runtime.know_host_memory(memory.data(), kind, locality, emulated_uuid("here", gpu));
    return memory.data();
  }
  /// A word for flags.
  std::uint64_t& pinned_word() { return *static_cast<std::uint64_t*>(static_cast<void*>(host_memory(Memory::pinned))); }
  /// Memory of the sample's GPU `gpu`, opened.
  std::byte* peer_memory(int gpu) {
    HostRuntime& owner = *owners.emplace_back(std::make_unique<HostRuntime>("here", gpu, HostPeers::all));
    return runtime.open_memory(owner.export_memory(owner.allocate(kSize)), owner.device().uuid);
  }
  /// Moves all bytes that are to be moved, in no time.
  void move_all() {
    for (int slice = 0; slice < 64; ++slice) runtime.progress();
  }
  /// `event` ends at `time`, and not before.
  void expect_end(Event event, Seconds time) {
    move_all();
    clock.wait_until(time - 1.0_ns);
    EXPECT_FALSE(runtime.ended(event));
    clock.wait_until(time + 1.0_ns);
    EXPECT_TRUE(runtime.ended(event));
  }
  /// What a copy takes, all in all.
  void expect_time(std::byte* to, std::byte* from, Seconds time, Engine engine = Engine::dma) {
    const Seconds start = clock.now();
    expect_end(runtime.copy(to, from, kSize, Stream{0}, engine), start + time);
  }
  void expect_took(Seconds since, Seconds time) {
    EXPECT_NEAR((clock.now() - since).microseconds(), time.microseconds(), kToleranceUs);
  }

 public:  // data for the tests
  TestClock clock;
  platforms::Platform platform;
  platforms::Topology topology{platform};
  std::deque<std::vector<std::byte>> host;
  std::vector<std::unique_ptr<HostRuntime>> owners;
  PacedRuntime runtime;
};

}  // namespace twinlink::real
