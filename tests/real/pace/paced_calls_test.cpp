// What calls of paced devices cost beside the copies: allocation, page-locking, handles, registration, and the blocks
// of a copy. Against closed forms, on a clock that only the test moves.
#include <gtest/gtest.h>

#include <vector>

#include "real/pace/paced_runtime.hpp"
#include "real/system/pattern.hpp"
#include "tests/real/pace/paced_fixture.hpp"

namespace twinlink::real {
namespace {

using namespace model::testing;  // NOLINT: the sample platform's numbers

class PacedCalls : public PacedRuntimeTest {
 protected:
  PacedCalls() : PacedRuntimeTest(with_costs()) {}
  static model::Platform with_costs() {
    model::Platform platform = sample_platform();
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

}  // namespace
}  // namespace twinlink::real
