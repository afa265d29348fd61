// Paced devices against closed forms, on a clock that only the test moves. The same platform and the same times as in
// tests/model/engine/simulation_test.cpp.
#include "real/pace/paced_runtime.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "real/system/pattern.hpp"
#include "tests/real/pace/paced_fixture.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::real {
namespace {

using namespace platforms::testing;  // NOLINT: the sample platform's numbers
using platforms::CopyKind;
using ::testing::ElementsAre;
using ::testing::FieldsAre;
using ::testing::Pair;

TEST_F(PacedRuntimeTest, ACopyCostsOverheadThenLatencyThenFlow) {
  std::byte* const device = runtime.allocate(kSize);
  std::byte* const pinned = host_memory(Memory::pinned);
  for (const Bytes size : {0_B, 1_B, 4_KiB, kSize}) {
    const Seconds start = clock.now();
    const Event event = runtime.copy(device, pinned, size, Stream{0}, Engine::dma);
    expect_took(start, kHost);
    expect_end(event, start + kHost + kLatency + size / kDown);
  }
}

TEST_F(PacedRuntimeTest, EveryClassOfCopiesHasItsRate) {
  std::byte* const device = runtime.allocate(kSize);
  std::byte* const other = runtime.allocate(kSize);
  std::byte* const pinned = host_memory(Memory::pinned);
  const Seconds fixed = kHost + kLatency;
  expect_time(device, pinned, fixed + kSize / kDown);
  expect_time(pinned, device, fixed + kSize / kUp);
  expect_time(host_memory(Memory::shared_pinned), device, fixed + kSize / kUp);
  expect_time(other, device, fixed + kSize / Rate{50e9});
  expect_time(peer_memory(2), device, fixed + kSize / kPeer);
  expect_time(device, peer_memory(2), fixed + kSize / kPeer);
  expect_time(peer_memory(0), device, fixed + kSize / kStagedPeer);
  expect_time(peer_memory(2), device, fixed + kSize / kKernelPush, Engine::kernel);
  expect_time(device, peer_memory(2), fixed + kSize / kKernelPull, Engine::kernel);
  expect_time(other, device, fixed + kSize / Rate{50e9}, Engine::kernel);
  expect_time(peer_memory(2), device, fixed + kSize / kResidentPush, Engine::resident);
}

class PacedWithOtherRates : public PacedRuntimeTest {
 protected:
  static constexpr Rate kRead{2e9};

  PacedWithOtherRates() : PacedRuntimeTest(changed()) {}
  static platforms::Platform changed() {
    platforms::Platform platform = sample_platform();
    platform.node.links.front().dma_read = {Rate{1e9}, {}};  // between the sockets
    platform.node.links.front().latency = {kSocketHop, {}};
    platform.copies[CopyKind::pinned_to_device].rate.reset();
    platform.copies[CopyKind::peer].rate->value = Rate{100e9};
    platforms::Link& bus = *std::ranges::find(platform.node.links, "bus1", &platforms::Link::name);
    bus.forward.value = Rate{7e9};
    bus.total = {Rate{6e9}, {}};
    platform.copies[CopyKind::peer_read] = platform.copies.at(CopyKind::peer);
    platform.copies[CopyKind::peer_read].rate->value = kRead;
    platforms::Link& peers = *std::ranges::find(platform.node.links, "bus2", &platforms::Link::name);
    peers.backward.value = Rate{3e9};
    return platform;
  }
};

TEST_F(PacedWithOtherRates, TheNarrowestLinkOfTheRouteLimits) {
  std::byte* const device = runtime.allocate(kSize);
  const Seconds fixed = kHost + kLatency;
  expect_time(device, host_memory(Memory::pinned), fixed + kSize / Rate{6e9});
  expect_time(peer_memory(2), device, fixed + kSize / Rate{3e9});
  expect_time(device, peer_memory(2), fixed + kSize / kRead);
}

TEST_F(PacedWithOtherRates, FarMemoryLiesBeyondTheSocketsLink) {
  const Seconds time = kHost + kLatency + kSocketHop * 2 + kSize / Rate{1e9};
  std::byte* const device = runtime.allocate(kSize);
  expect_time(device, host_memory(Memory::pinned, Locality::far), time);
  // What is near to its owner beyond the sockets is far from here.
  expect_time(device, host_memory(Memory::shared_pinned, Locality::near, 0), time);
}

TEST_F(PacedRuntimeTest, CopiesOfAStreamFollowEachOtherAndHideTheirLatency) {
  std::byte* const device = runtime.allocate(kSize);
  std::byte* const pinned = host_memory(Memory::pinned);
  const Seconds start = clock.now();
  std::vector<Event> events;
  for (int i = 0; i < 3; ++i) events.push_back(runtime.copy(device, pinned, kSize, Stream{0}, Engine::dma));
  for (int i = 0; i < 3; ++i) {
    expect_end(events[static_cast<std::size_t>(i)], start + kHost + kLatency + (kSize / kDown) * (i + 1));
  }
}

class PacedWithGap : public PacedRuntimeTest {
 protected:
  static constexpr Seconds kGap = 2.0_us;
  static constexpr Seconds kCompletion = 1.5_us;

  PacedWithGap() : PacedRuntimeTest(with_costs()) {}
  static platforms::Platform with_costs() {
    platforms::Platform platform = sample_platform();
    platform.copies[CopyKind::pinned_to_device].gap = {platforms::Piecewise(kGap), {}};
    platform.runtime.completion = {kCompletion, {}};
    return platform;
  }
};

TEST_F(PacedWithGap, SeparatesTheCopiesOfAStream) {
  std::byte* const device = runtime.allocate(kSize);
  std::byte* const pinned = host_memory(Memory::pinned);
  const Seconds start = clock.now();
  std::vector<Event> events;
  for (int i = 0; i < 3; ++i) events.push_back(runtime.copy(device, pinned, kSize, Stream{0}, Engine::dma));
  for (int i = 0; i < 3; ++i) {
    expect_end(events[static_cast<std::size_t>(i)], start + kHost + kLatency + (kSize / kDown) * (i + 1) + kGap * i);
  }
}

TEST_F(PacedWithGap, AStreamThatWasIdleOwesNothing) {
  std::byte* const device = runtime.allocate(kSize);
  std::byte* const pinned = host_memory(Memory::pinned);
  for (int i = 0; i < 2; ++i) expect_time(device, pinned, kHost + kLatency + kSize / kDown);
}

/// As a rank does that asks for the oldest and the newest copy of a stream.
TEST_F(PacedWithGap, AForgottenEndCostsNothing) {
  std::byte* const device = runtime.allocate(kSize);
  std::byte* const pinned = host_memory(Memory::pinned);
  std::vector<Event> events;
  for (int i = 0; i < 3; ++i) events.push_back(runtime.copy(device, pinned, kSize, Stream{0}, Engine::dma));
  move_all();
  clock.wait_until(clock.now() + 1.0_s);
  const Seconds asked = clock.now();
  EXPECT_TRUE(runtime.ended(events[0]));
  EXPECT_TRUE(runtime.ended(events[2]));
  runtime.forget(events[1]);
  expect_took(asked, kCompletion * 2);
  EXPECT_TRUE(runtime.ended(events[1]));  // nothing is left of it
  expect_took(asked, kCompletion * 2);
}

TEST_F(PacedWithGap, WhoLearnsOfAnEndIsBusyForIt) {
  std::byte* const device = runtime.allocate(kSize);
  const Event event = runtime.copy(device, host_memory(Memory::pinned), kSize, Stream{0}, Engine::dma);
  move_all();
  const Seconds asked = clock.now();
  EXPECT_FALSE(runtime.ended(event));
  expect_took(asked, Seconds{});
  clock.wait_until(asked + 1.0_s);
  EXPECT_TRUE(runtime.ended(event));
  expect_took(asked, 1.0_s + kCompletion);
}

TEST_F(PacedRuntimeTest, StreamsDoNotSlowEachOther) {
  std::byte* const device = runtime.allocate(kSize);
  std::byte* const pinned = host_memory(Memory::pinned);
  const Seconds start = clock.now();
  const Event one = runtime.copy(device, pinned, kSize, Stream{0}, Engine::dma);
  const Event other = runtime.copy(device, pinned, kSize, Stream{1}, Engine::dma);
  expect_end(one, start + kHost + kLatency + kSize / kDown);
  expect_end(other, start + kHost * 2 + kLatency + kSize / kDown);
}

TEST_F(PacedRuntimeTest, ACopyEndsOnlyWhenItsBytesAreThere) {
  std::byte* const device = runtime.allocate(kSize);
  std::byte* const pinned = host_memory(Memory::pinned);
  write_pattern({pinned, kSize.count()}, Payload{5}, 0);
  const Event event = runtime.copy(device, pinned, kSize, Stream{0}, Engine::dma);
  clock.wait_until(clock.now() + 1.0_s);
  EXPECT_FALSE(runtime.ended(event)) << "its time is over, and nothing was moved";
  move_all();
  EXPECT_TRUE(runtime.ended(event));
  EXPECT_FALSE(find_difference({device, kSize.count()}, Payload{5}, 0));
}

TEST_F(PacedRuntimeTest, CopiesThatTheHostMovesTooLateAreCounted) {
  std::byte* const device = runtime.allocate(kSize);
  std::byte* const pinned = host_memory(Memory::pinned);
  const auto down = [&](Bytes size, int stream) { runtime.copy(device, pinned, size, Stream{stream}, Engine::dma); };
  down(kSize, 0);
  down(4_KiB, 1);
  runtime.copy_on_host(host_memory(Memory::pageable), pinned, kSize, Stream{2}, Engine::dma);
  move_all();
  down(kSize, 0);
  const auto on_host = Pair("host-to-host", ElementsAre(Pair(kSize, FieldsAre(1, 0))));
  const auto small = Pair(4_KiB, FieldsAre(1, 0));
  EXPECT_THAT(runtime.counts(),
              ElementsAre(on_host, Pair("pinned-to-device", ElementsAre(small, Pair(kSize, FieldsAre(1, 0))))))
      << "what is still under way does not count yet";
  clock.wait_until(clock.now() + 1.0_s);
  move_all();
  EXPECT_THAT(runtime.counts(),
              ElementsAre(on_host, Pair("pinned-to-device", ElementsAre(small, Pair(kSize, FieldsAre(2, 1))))));
}

TEST_F(PacedRuntimeTest, SynchronizeTakesThePlatformsTime) {
  std::byte* const device = runtime.allocate(kSize);
  std::byte* const pageable = host_memory(Memory::pageable);
  const Seconds start = clock.now();
  const Event event = runtime.copy(pageable, device, kSize, Stream{2}, Engine::dma);
  runtime.synchronize(Stream{2});
  expect_took(start, kHost + kLatency + kSize / kUp);
  EXPECT_TRUE(runtime.ended(event));
}

TEST_F(PacedRuntimeTest, ACopyBetweenHostBuffersTakesItsTurnInTheStream) {
  std::byte* const device = runtime.allocate(kSize);
  std::byte* const pinned = host_memory(Memory::pinned);
  std::byte* const pageable = host_memory(Memory::pageable);
  write_pattern({device, kSize.count()}, Payload{3}, 0);
  const Seconds start = clock.now();
  const Event event = runtime.copy(pinned, device, kSize, Stream{0}, Engine::dma);
  runtime.copy_on_host(pageable, pinned, kSize, Stream{0}, Engine::dma);
  expect_took(start, kHost + kLatency + kSize / kUp + kSize / Rate{8e9});
  EXPECT_TRUE(runtime.ended(event));
  EXPECT_FALSE(find_difference({pageable, kSize.count()}, Payload{3}, 0));
}

class PacedWithoutCosts : public PacedRuntimeTest {
 protected:
  PacedWithoutCosts() : PacedRuntimeTest(bare()) {}
  static platforms::Platform bare() {
    platforms::Platform platform = sample_platform();
    platform.copies.erase(CopyKind::kernel_local);
    platform.runtime.engine_block.reset();
    return platform;
  }
};

TEST_F(PacedWithoutCosts, WhatThePlatformHasNoCostForIsNamed) {
  std::byte* const device = runtime.allocate(kSize);
  const std::vector<Block> blocks{{0_B, 0_B, 8_B}};
  const auto refusal = [](const auto& call) -> std::string { return said_by<InputError>(call); };
  EXPECT_EQ(refusal([&] { runtime.copy_blocks(device, device, blocks, Stream{0}, Engine::dma); }),
            "sample.yaml: error: the platform has no 'driver.runtime.engine_block', which this run needs");
  EXPECT_EQ(refusal([&] { runtime.copy(device, device, 8_B, Stream{0}, Engine::kernel); }),
            "sample.yaml: error: the platform has no 'driver.copies.kernel-local', which this run needs");
}

TEST_F(PacedRuntimeTest, TheDeviceIsThePlatforms) {
  EXPECT_EQ(runtime.device().name, "emulated Sample");
  EXPECT_EQ(runtime.device().memory, 6_GiB);
  EXPECT_EQ(runtime.device().uuid, emulated_uuid("here", kGpu));
  EXPECT_EQ(runtime.devices().size(), 2U);
  EXPECT_TRUE(runtime.host_addressable());
  std::byte* const memory = runtime.allocate(8_B);
  const std::byte seven{7};
  runtime.copy_now(memory, &seven, 1_B);
  EXPECT_EQ(*memory, seven);
  runtime.free(memory);
  EXPECT_THROW(runtime.free(memory), EnvironmentError) << "it is gone already";
}

TEST(MonotonicClock, WaitsAsLongAsItIsAskedTo) {
  const auto clock = monotonic_clock();
  for (const Seconds wait : {Seconds{}, 10.0_us, 3000.0_us}) {
    const Seconds until = clock->now() + wait;
    clock->wait_until(until);
    EXPECT_GE(clock->now(), until);
  }
}

}  // namespace
}  // namespace twinlink::real
