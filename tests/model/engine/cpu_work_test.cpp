// What a CPU does: how long software takes on it, and copies that it makes by its own loads and stores. Closed forms.
#include <gtest/gtest.h>

#include <string>

#include "platforms/topology/topology.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/registry.hpp"
#include "tests/model/engine/one_message.hpp"
#include "tests/model/engine/push_pair.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr Seconds kLearnt = 0.5_us;
constexpr Rate kCpuStores{8e9};
constexpr Rate kCpuLoads{0.5e9};
constexpr Seconds kBusLatency = 0.25_us;

/// All CPUs are half as fast as the one on which software was measured.
Platform slow_cpus() {
  Platform platform = sample_platform();
  for (HostMemory& memory : platform.node.memories) memory.speed = made_up(Ratio{0.5});
  platform.runtime.completion = made_up(kLearnt);
  return platform;
}

TEST(CpuSpeed, CountsForTheStartAndTheEndOfACopyAndNotForItsWay) {
  push(slow_cpus(), kPeers, 0, [](Rank& rank, Buffer own, Buffer theirs) {
    const Seconds start = rank.now();
    const Op op = rank.copy(View(theirs), View(own), Stream{0}, Engine::dma);
    expect_near(rank.now() - start, kHost * 2);
    EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    expect_near(rank.now() - start, kHost * 2 + kLatency + 1_MiB / kPeer + kLearnt * 2);
  });
}

TEST(CpuSpeed, CountsForWhatASendTakes) {
  push(slow_cpus(), kPeers, 0, [](Rank& rank, Buffer, Buffer) {
    const Buffer pinned = rank.allocate(Memory::pinned, 1_KiB);
    const Seconds start = rank.now();
    rank.abandon(rank.send(RankId{1}, tags::kFirstFree, View(pinned)));
    expect_near(rank.now() - start, kHost * 2);
  });
}

/// Of two kinds of CPUs each rank pays what its own takes.
TEST(CpuSpeed, IsThatOfTheRanksOwnCpu) {
  Platform platform = slow_cpus();
  platform.node.memories.back().speed.reset();  // that of both peers
  push(platform, kPeers, 0, [](Rank& rank, Buffer own, Buffer theirs) {
    const Seconds start = rank.now();
    EXPECT_EQ(wait(rank, rank.copy(View(theirs), View(own), Stream{0}, Engine::dma), kLong), Status::delivered);
    expect_near(rank.now() - start, kHost + kLatency + 1_MiB / kPeer + kLearnt);
  });
}

/// The buses have a latency, which a store crosses once and a load twice.
Platform mapped_memory() {
  Platform platform = sample_platform();
  for (Link& link : platform.node.links) {
    if (link.name.starts_with("bus")) link.latency = made_up(kBusLatency);
  }
  const auto cost = [](Rate rate) {
    return Cost{.overhead = made_up(kHost), .latency = made_up(Piecewise(kLatency)), .rate = made_up(rate)};
  };
  platform.copies[CopyKind::cpu_to_device] = cost(kCpuStores);
  platform.copies[CopyKind::cpu_from_device] = cost(kCpuLoads);
  platform.runtime.completion = made_up(kLearnt);
  return platform;
}

TEST(CpuCopy, KeepsTheCpuBusyToItsEndAndNeedsNoEvent) {
  push(mapped_memory(), kPeers, 0, [](Rank& rank, Buffer own, Buffer) {
    const Buffer pinned = rank.allocate(Memory::pinned, 1_MiB);
    Seconds start = rank.now();
    Op op = rank.copy(View(pinned), View(own), Stream{0}, Engine::cpu);
    expect_near(rank.now() - start, kOverhead + kBusLatency * 2 + 1_MiB / kCpuLoads);
    EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    expect_near(rank.now() - start, kOverhead + kBusLatency * 2 + 1_MiB / kCpuLoads);
    start = rank.now();
    op = rank.copy(View(own), View(pinned), Stream{0}, Engine::cpu);
    EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    expect_near(rank.now() - start, kOverhead + kBusLatency + 1_MiB / kCpuStores);
  });
}

TEST(CpuCopy, MovesTheBytes) {
  push(mapped_memory(), kPeers, 0, [](MeasuredRank& rank, Buffer own, Buffer) {
    const Buffer pageable = rank.allocate(Memory::pageable, 1_MiB);
    const Buffer pinned = rank.allocate(Memory::pinned, 1_MiB);
    rank.fill(View(pageable), Payload{7});
    EXPECT_EQ(wait(rank, rank.copy(View(own), View(pageable), Stream{0}, Engine::cpu), kLong), Status::delivered);
    EXPECT_EQ(wait(rank, rank.copy(View(pinned), View(own), Stream{0}, Engine::cpu), kLong), Status::delivered);
    EXPECT_TRUE(rank.check(View(pinned), Payload{7}).intact());
  });
}

TEST(CpuCopy, ReachesItsOwnGpuAndHostMemoryAlone) {
  push(mapped_memory(), kPeers, 0, [](Rank& rank, Buffer own, Buffer theirs) {
    const Buffer pinned = rank.allocate(Memory::pinned, 1_MiB);
    const std::string only = "a CPU copies by itself between its own GPU's memory and host memory, and puts nothing";
    EXPECT_EQ(refusal([&] { rank.copy(View(theirs), View(own), Stream{0}, Engine::cpu); }), only);
    EXPECT_EQ(refusal([&] { rank.copy(View(pinned), View(pinned), Stream{0}, Engine::cpu); }), only);
    EXPECT_EQ(refusal([&] { rank.put(View(theirs), View(own), Stream{0}, Engine::cpu, {}); }), only);
  });
}

TEST(CpuCopy, IsAnsweredByThePath) {
  EXPECT_TRUE(Topology(mapped_memory()).path(kFirstPeer, kSecondPeer).cpu_reaches_device);
  EXPECT_FALSE(Topology(sample_platform()).path(kFirstPeer, kSecondPeer).cpu_reaches_device);
}

/// A load, a host message through shared memory, and a store: no engine starts, and no event is waited for.
constexpr Seconds kStaged = kOverhead + kBusLatency * 2 + 1_KiB / kCpuLoads + kOverhead + 1_KiB / Rate{3e9} +
                            kOverhead + kBusLatency + 1_KiB / kCpuStores;

TEST(CpuCopy, StagesAWholeMessage) {
  Settings settings = find_protocol("gpudirect-v1").defaults();
  settings.options["copies"] = "cpu";
  expect_near(timed_message(mapped_memory(), kPeers, "gpudirect-v1", 1_KiB, settings).warm, kStaged);
}

TEST(Adding, IsOfTheGpusOwnMemoryAlone) {
  push(sample_platform(), kPeers, 0, [](MeasuredRank& rank, Buffer own, Buffer theirs) {
    const std::string only = "a GPU adds up its own memory only";
    EXPECT_EQ(refusal([&] { rank.start_add(View(theirs), View(own), Stream{0}); }), only);
    EXPECT_EQ(refusal([&] { rank.start_add(View(own), View(theirs), Stream{0}); }), only);
  });
}

constexpr Seconds kAsked = 2.0_us;

TEST(DevicePointer, IsLookedUpByTheRanksOwnCpu) {
  Platform platform = slow_cpus();
  platform.intra_node.device_pointer = made_up(kAsked);
  push(platform, kPeers, 0, [](Rank& rank, Buffer, Buffer) {
    const Seconds start = rank.now();
    rank.look_up_pointer(RankId{1});
    expect_near(rank.now() - start, kAsked * 2);
  });
}

/// The receiver has looked before the message comes.
TEST(DevicePointer, IsLookedUpForEachMessageOfALibrary) {
  Platform platform = mapped_memory();
  platform.intra_node.device_pointer = made_up(kAsked);
  Settings settings = find_protocol("cuda-aware").defaults();
  settings.options.insert_or_assign("cpu_to", "8K");
  settings.options.insert_or_assign("ipc_from", "8K");
  expect_near(timed_message(platform, kPeers, "cuda-aware", 1_KiB, settings).warm, kAsked + kStaged);
}

}  // namespace
}  // namespace twinlink::model
