// What calls of paced devices cost beside the copies: allocation, page-locking, handles, registration, the blocks of a
// copy, and other work than copies. Against closed forms, on a clock that only the test moves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "real/pace/paced_runtime.hpp"
#include "real/system/pattern.hpp"
#include "tests/real/pace/paced_fixture.hpp"

namespace twinlink::real {
namespace {

using namespace platforms::testing;  // NOLINT: the sample platform's numbers

class PacedCalls : public PacedRuntimeTest {
 protected:
  PacedCalls() : PacedRuntimeTest(with_costs()) {}
  static platforms::Platform with_costs() {
    platforms::Platform platform = sample_platform();
    platform.runtime.allocate_device.value = 100.0_us;
    platform.runtime.pin_base.value = 16.0_us;
    platform.runtime.pin_per_gib.value = 1.024_s;
    return platform;
  }
};

TEST_F(PacedCalls, TakeThePlatformsTime) {
  Seconds start = clock.now();
  std::byte* const device = runtime.allocate(kSize);
  expect_took(start, 100.0_us);
  start = clock.now();
  runtime.export_memory(device);
  expect_took(start, kExport);
  start = clock.now();
  std::byte* const opened = peer_memory(2);
  expect_took(start, kOpen);
  start = clock.now();
  runtime.close_memory(opened);
  expect_took(start, kClose);
  std::byte* const memory = host_memory(Memory::pageable);
  start = clock.now();
  runtime.pin(memory, kSize);
  expect_took(start, 1016.0_us);
}

TEST_F(PacedCalls, LetCopiesGoOn) {
  std::byte* const device = runtime.allocate(kSize);
  const Event event = runtime.copy(device, host_memory(Memory::pinned), kSize, Stream{0}, Engine::dma);
  const Bytes half{kSize.count() / 2};
  runtime.pin(host_memory(Memory::pageable), half);
  EXPECT_TRUE(runtime.ended(event)) << "page-locking takes longer than the copy";
}

TEST_F(PacedCalls, WhatTheJobPinsForItselfTakesNoTime) {
  std::vector<std::byte> memory(4096);
  const Seconds start = clock.now();
  runtime.pin(memory.data(), 4_KiB);
  expect_took(start, Seconds{});
}

TEST_F(PacedCalls, RegisteringTakesThePlatformsTime) {
  std::byte* const device = runtime.allocate(kSize);
  Seconds start = clock.now();
  runtime.register_memory(device, kSize);
  expect_took(start, kRegister + kRegisterPerGib / 1024);
  start = clock.now();
  runtime.deregister_memory(device);
  expect_took(start, kDeregister);
}

TEST_F(PacedCalls, EachBlockOfACopyAddsItsShare) {
  std::byte* const device = runtime.allocate(kSize);
  std::byte* const pinned = host_memory(Memory::pinned);
  write_pattern({pinned, kSize.count()}, Payload{7}, 0);
  std::vector<Block> blocks;
  for (std::uint64_t i = 0; i < 8; ++i) blocks.push_back({8_KiB * i, 8_KiB * i, 4_KiB});
  Seconds start = clock.now();
  expect_end(runtime.copy_blocks(device, pinned, blocks, Stream{0}, Engine::dma),
             start + kHost + kLatency + kEngineBlock * 8 + 32_KiB / kDown);
  EXPECT_FALSE(find_difference({device + (8_KiB).count(), (4_KiB).count()}, Payload{7}, (8_KiB).count()));
  start = clock.now();
  expect_end(runtime.copy_blocks(device, pinned, blocks, Stream{0}, Engine::kernel),
             start + kHost + kLatency + kKernelBlock * 8 + 32_KiB / kDown);
}

TEST_F(PacedCalls, TheTimeOfBlocksHidesBehindNothing) {
  std::byte* const device = runtime.allocate(kSize);
  std::byte* const pinned = host_memory(Memory::pinned);
  std::vector<Block> blocks;
  for (std::uint64_t i = 0; i < 8; ++i) blocks.push_back({8_KiB * i, 8_KiB * i, 4_KiB});
  const auto queue = [&] { return runtime.copy_blocks(device, pinned, blocks, Stream{0}, Engine::dma); };
  const Seconds start = clock.now();
  const std::vector<Event> events{queue(), queue(), runtime.copy(device, pinned, 32_KiB, Stream{0}, Engine::dma)};
  const Seconds first = start + kHost + kLatency + kEngineBlock * 8 + 32_KiB / kDown;
  const Seconds second = first + kEngineBlock * 8 + 32_KiB / kDown;
  expect_end(events[0], first);
  expect_end(events[1], second);
  expect_end(events[2], second + 32_KiB / kDown);
}

TEST_F(PacedCalls, MemoryBesideIsThatOfItsGpu) {
  const Seconds start = clock.now();
  std::byte* const beside = runtime.allocate_on(emulated_uuid("here", 2), kSize);
  expect_took(start, 100.0_us);
  std::byte* const device = runtime.allocate(kSize);
  expect_time(beside, device, kHost + kLatency + kSize / kPeer);
  expect_time(runtime.allocate_on(emulated_uuid("here", 0), kSize), device, kHost + kLatency + kSize / kStagedPeer);
}

/// On processors of half the speed, beside GPUs that transform, and whose memory the processors have mapped.
class PacedWork : public PacedRuntimeTest {
 protected:
  static constexpr Seconds kCompletion = 1.5_us;
  static constexpr Rate kMapped{2e9};

  PacedWork() : PacedRuntimeTest(with_costs()) {}
  static platforms::Platform with_costs() {
    platforms::Platform platform = sample_platform();
    for (platforms::HostMemory& memory : platform.node.memories) memory.speed = {platforms::Ratio{0.5}, {}};
    platform.gpu_types.front().transforms = {.memory = {Rate{1e9}, {}}, .compute = {platforms::Flops{1e12}, {}}};
    platform.runtime.completion = {kCompletion, {}};
    platform.copies[platforms::CopyKind::cpu_to_device] = platform.copies.at(platforms::CopyKind::pinned_to_device);
    platform.copies.at(platforms::CopyKind::cpu_to_device).rate->value = kMapped;
    return platform;
  }
  /// `start()` starts an operation; its caller is busy for twice kHost, and for twice kCompletion learning of its end,
  /// `time` after it was posted.
  template <class Start>
  void expect_work(Start start, Seconds time) {
    const Seconds began = clock.now();
    const Event event = start();
    expect_took(began, kHost * 2);
    expect_end(event, began + kHost * 2 + time);
    expect_took(began, kHost * 2 + time + 1.0_ns + kCompletion * 2);
  }
};

TEST_F(PacedWork, AnAdditionTouchesHalfAsMuchAgainAsACopy) {
  std::byte* const sum = runtime.allocate(kSize);
  std::byte* const term = runtime.allocate(kSize);
  write_pattern({sum, kSize.count()}, summable(5), 0);
  write_pattern({term, kSize.count()}, summable(7), 0);
  const Bytes touched{kSize.count() / 2 * 3};
  expect_work([&] { return runtime.add(sum, term, kSize, Stream{0}); }, kLatency + touched / Rate{50e9});
  EXPECT_FALSE(find_difference({sum, kSize.count()}, summable(12), 0));
  std::byte* const sum_of_host = host_memory(Memory::pageable);
  std::byte* const other = host_memory(Memory::pinned);
  write_pattern({sum_of_host, kSize.count()}, summable(1), 0);
  write_pattern({other, kSize.count()}, summable(2), 0);
  const Seconds start = clock.now();
  runtime.add_on_host(sum_of_host, other, kSize, Stream{1});
  expect_took(start, kHost * 2 + kLatency + touched / Rate{8e9});
  EXPECT_FALSE(find_difference({sum_of_host, kSize.count()}, summable(3), 0));
  using ::testing::ElementsAre;
  using ::testing::FieldsAre;
  using ::testing::Pair;
  EXPECT_THAT(runtime.counts(), ElementsAre(Pair("host-to-host", ElementsAre(Pair(touched, FieldsAre(1, 0)))),
                                            Pair("kernel-local", ElementsAre(Pair(touched, FieldsAre(1, 0))))));
}

TEST_F(PacedWork, KernelsTakeTheirTimeBehindWhatIsInTheirStream) {
  expect_work([&] { return runtime.compute(50.0_us, Stream{2}); }, kLatency + 50.0_us);
  const Seconds start = clock.now();
  const std::vector<Event> kernels{runtime.compute(50.0_us, Stream{2}), runtime.compute(20.0_us, Stream{2})};
  expect_end(kernels[0], start + kHost * 2 + kLatency + 50.0_us);
  expect_end(kernels[1], start + kHost * 2 + kLatency + 70.0_us);
}

TEST_F(PacedWork, ATransformTakesThePassesOverItsNumbers) {
  if (!runtime.transforms()) GTEST_SKIP() << runtime.transforms().reason;
  std::byte* const data = runtime.allocate(kSize);
  const Transform transform{.lengths = {64}, .batch = 2, .distance = 64};
  expect_work([&] { return runtime.transform(data, transform, Stream{3}); }, kLatency + 4096_B / Rate{1e9});
}

TEST_F(PacedRuntimeTest, WhereThePlatformSaysNothingNothingIsTransformed) {
  EXPECT_EQ(runtime.transforms().reason, "the platform does not say what transforms take on Sample");
}

TEST_F(PacedWork, ACpuCopiesItsOwnDevicesMemoryByItself) {
  std::byte* const device = runtime.allocate(kSize);
  std::byte* const pinned = host_memory(Memory::pinned);
  write_pattern({pinned, kSize.count()}, Payload{9}, 0);
  const Seconds start = clock.now();
  runtime.copy_on_host(device, pinned, kSize, Stream{0}, Engine::cpu);
  expect_took(start, kHost * 2 + kLatency + kSize / kMapped);
  EXPECT_FALSE(find_difference({device, kSize.count()}, Payload{9}, 0));
}

}  // namespace
}  // namespace twinlink::real
