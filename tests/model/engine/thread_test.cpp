// A thread beside a rank's own, on the simulated machine: what its copies cost, and that the rank goes on.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "model/engine/simulation.hpp"
#include "tests/model/engine/one_message.hpp"
#include "tests/model/engine/push_pair.hpp"
#include "tests/model/engine/sample_platform.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

/// On one rank, with 1 MiB of device memory and of pageable memory.
void alone(const Platform& platform, const std::function<void(Rank&, View device, View host)>& body) {
  const std::vector<Place> places{kLoneGpu};
  simulate(platform, places, [&](Rank& rank) {
    const Buffer device = rank.allocate(Memory::device, 1_MiB);
    const Buffer host = rank.allocate(Memory::pageable, 1_MiB);
    rank.fill(View(device), Pattern{1});
    body(rank, View(device), View(host));
    EXPECT_TRUE(rank.check(View(host), Pattern{1}).intact());
  });
}

TEST(Thread, ItsCopiesHaveTheCostsOfTheirClassAndTheRankGoesOn) {
  Platform platform = sample_platform();
  platform.runtime.completion = with_source(1.5_us);  // the thread learns of the end, and tells by a word
  alone(platform, [](Rank& rank, View device, View host) {
    for (const Bytes size : {0_B, 4_KiB, 1_MiB}) {
      const Seconds start = rank.now();
      const Op out = rank.copy(host.slice({}, size), device.slice({}, size), Stream{}, Engine::thread);
      expect_near(rank.now() - start, kHost);
      EXPECT_EQ(wait(rank, out, kLong), Status::delivered);
      expect_near(rank.now() - start, kOverhead + size / kThreadUp);
    }
    const Seconds start = rank.now();
    const Op in = rank.copy(device, host, Stream{}, Engine::thread);
    expect_near(rank.now() - start, kHost);
    EXPECT_EQ(wait(rank, in, kLong), Status::delivered);
    expect_near(rank.now() - start, kOverhead + 1_MiB / kThreadDown);
  });
}

/// It waits for the end of each: what it does before the bytes flow hides behind no other copy.
TEST(Thread, ATurnaroundLiesBetweenTwoOfItsCopies) {
  Platform platform = sample_platform();
  platform.copies[CopyClass::thread_to_pageable].turnaround = with_source(Piecewise(kLatency));
  alone(platform, [](Rank& rank, View device, View host) {
    std::vector<Op> ops;
    const Seconds start = rank.now();
    for (int i = 0; i < 4; ++i) ops.push_back(rank.copy(host, device, Stream{}, Engine::thread));
    for (const Op op : ops) EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    expect_near(rank.now() - start, kHost + (kLatency + 1_MiB / kThreadUp) * 4);
  });
}

Seconds time_of_copy(Rank& rank, View to, View from, Stream stream = {}, Engine engine = Engine::thread) {
  const Seconds start = rank.now();
  EXPECT_EQ(wait(rank, rank.copy(to, from, stream, engine), kLong), Status::delivered);
  return rank.now() - start;
}

/// It runs on another CPU: what the rank's own has written lies in that one's cache.
TEST(Thread, WhatTheRankHasWrittenItReadsForLonger) {
  constexpr Seconds kWritten = 5.0_us;
  Platform platform = sample_platform();
  platform.copies[CopyClass::thread_from_pageable].cpu_written = with_source(Piecewise(kWritten));
  alone(platform, [&](Rank& rank, View device, View host) {
    rank.fill(host, Pattern{1});
    expect_near(time_of_copy(rank, device, host), kOverhead + kWritten + 1_MiB / kThreadDown);
    expect_near(time_of_copy(rank, device, host), kOverhead + 1_MiB / kThreadDown);
  });
}

TEST(Thread, WhatTheRankHoldsInItsCacheItWritesForLonger) {
  constexpr Seconds kHeld = 6.0_us;
  Platform platform = sample_platform();
  for (HostMemory& memory : platform.node.memories) memory.core_cache = with_source(2_MiB);
  platform.copies[CopyClass::thread_to_pageable].cpu_held = with_source(Piecewise(kHeld));
  alone(platform, [&](Rank& rank, View device, View host) {
    rank.check(host, Pattern{1});
    expect_near(time_of_copy(rank, host, device), kOverhead + kHeld + 1_MiB / kThreadUp);
    expect_near(time_of_copy(rank, host, device), kOverhead + 1_MiB / kThreadUp);
  });
}

/// The driver's data lies in the caches of the CPU that called it last.
TEST(Thread, BehindAnotherThreadItsCopiesTakeLonger) {
  constexpr Seconds kHandover = 1.5_us;
  Platform platform = sample_platform();
  platform.copies[CopyClass::thread_to_pageable].handover = with_source(kHandover);
  alone(platform, [&](Rank& rank, View device, View host) {
    const auto copied = [&](Stream stream) { return time_of_copy(rank, host, device, stream); };
    const Seconds usual = kOverhead + 1_MiB / kThreadUp;
    expect_near(copied(Stream{0}), usual);
    expect_near(copied(Stream{0}), usual);
    expect_near(copied(Stream{1}), usual + kHandover);
    expect_near(copied(Stream{1}), usual);
    time_of_copy(rank, host, device, Stream{0}, Engine::dma);
    expect_near(copied(Stream{1}), usual);
    expect_near(copied(Stream{0}), usual + kHandover);
  });
}

/// A thread calls the driver when its copy before that one has ended: what it takes to follow another hides behind
/// nothing. The two copy by turns, in whatever order the rank has asked for it.
TEST(Thread, BehindAnotherThreadItsQueuedCopiesTakeLongerToo) {
  constexpr Seconds kHandover = 1.5_us;
  Platform platform = sample_platform();
  platform.copies[CopyClass::thread_to_pageable].turnaround = with_source(Piecewise(kLatency));
  platform.copies[CopyClass::thread_to_pageable].handover = with_source(kHandover);
  alone(platform, [&](Rank& rank, View device, View host) {
    std::vector<Op> ops;
    const Seconds start = rank.now();
    for (const Stream stream : {Stream{0}, Stream{1}}) {
      for (int i = 0; i < 4; ++i) ops.push_back(rank.copy(host, device, stream, Engine::thread));
    }
    for (const Op op : ops) EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    // All four of the second stream, which the CPU starts behind those of the first.
    expect_near(rank.now() - start, kHost * 5 + (kLatency + kHandover + 1_MiB / kThreadUp) * 4);
  });
}

TEST(Thread, IsRefusedByAPlatformThatDoesNotSayWhatItCosts) {
  Platform platform = sample_platform();
  platform.copies.erase(CopyClass::thread_to_pageable);
  EXPECT_THROW(alone(platform, [](Rank& rank, View device,
                                  View host) { wait(rank, rank.copy(host, device, Stream{}, Engine::thread), kLong); }),
               InputError);
}

/// Nobody's time is a CPU's: every chunk crosses each hop once, and after the first the wire never rests.
TEST(Thread, StagingByItIsAPipelineOfThreeStages) {
  constexpr Bytes chunk = 256_KiB;
  constexpr std::uint64_t chunks = 32;
  const Seconds expected = kOverhead * 3 + chunk / kThreadUp + (chunk * chunks) / kWire + chunk / kThreadDown;
  const Settings settings{.chunk = chunk, .depth = 4, .options = {{"copies", "thread"}}};
  expect_near(one_message("staging", {kLoneGpu, kOtherNode}, chunk * chunks, settings), expected);
}

TEST(Thread, AWholeMessageHasItsStepsOneAfterTheOther) {
  const Seconds expected = kOverhead * 3 + 1_MiB / kThreadUp + 1_MiB / kWire + 1_MiB / kThreadDown;
  const Settings settings{.options = {{"copies", "thread"}}};
  expect_near(one_message("staging", {kLoneGpu, kOtherNode}, 1_MiB, settings), expected);
}

}  // namespace
}  // namespace twinlink::model
