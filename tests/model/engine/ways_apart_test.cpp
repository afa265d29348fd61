// Bytes that take several ways side by side, of buffers that lie in several memories and of messages over several
// adapters: closed forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "model/engine/simulation.hpp"
#include "protocols/core/tags.hpp"
#include "tests/model/engine/one_message.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr Bytes kWholeMessage = 1_MiB;
constexpr Bytes kHalf = 512_KiB;
constexpr Rate kTwoWires{5e9};

Link& link_of(Platform& platform, const std::string& name) {
  return *std::ranges::find(platform.node.links, name, &Link::name);
}

Platform with_buffers(HostBuffers buffers, Rate sockets) {
  Platform platform = sample_platform();
  platform.node.host_buffers = buffers;
  link_of(platform, "sockets").forward.value = link_of(platform, "sockets").backward.value = sockets;
  return platform;
}

/// Of a copy from page-locked memory to gpu0, from its call on.
Seconds copy_to_device(const Platform& platform) {
  return simulated(platform, std::vector<Place>{{0, 0, {}}}, [&](Rank& rank, Seconds& taken) {
    const Buffer from = rank.allocate(Memory::pinned, kWholeMessage);
    const Buffer to = rank.allocate(Memory::device, kWholeMessage);
    const Seconds begin = rank.now();
    EXPECT_EQ(wait(rank, rank.copy(View(to), View(from), Stream{}, Engine::dma), kLong), Status::delivered);
    taken = rank.now() - begin;
  });
}

TEST(HostBuffers, FarOnesCrossTheSocketsAndOfInterleavedOnesHalfDoes) {
  const auto by = [](HostBuffers buffers, double sockets) {
    return copy_to_device(with_buffers(buffers, Rate{sockets}));
  };
  expect_near(by(HostBuffers::near, 1e9), kOverhead + kWholeMessage / kDown);
  expect_near(by(HostBuffers::far, 1e9), kOverhead + kWholeMessage / Rate{1e9});
  expect_near(by(HostBuffers::interleaved, 1e9), kOverhead + kHalf / Rate{1e9});
  expect_near(by(HostBuffers::interleaved, 20e9), kOverhead + kWholeMessage / kDown);  // the copy engine is one
}

TEST(HostBuffers, InterleavedOnesWaitForTheLongerWayAndLoadBothMemories) {
  const Platform plain = with_buffers(HostBuffers::interleaved, Rate{20e9});
  Platform longer = plain;
  link_of(longer, "sockets").latency = made_up(kSocketHop);
  expect_near(copy_to_device(longer), kOverhead + kSocketHop * 2 + kWholeMessage / kDown);
  Platform slow = plain;
  for (HostMemory& memory : slow.node.memories) memory.bandwidth = made_up(Rate{1e9});
  expect_near(copy_to_device(slow), kOverhead + kHalf / Rate{1e9});
}

/// A quarter goes from either memory to the other, each its own way round; all of them share the rate of messages.
TEST(HostBuffers, MessagesBetweenInterleavedOnesGoFourWays) {
  const auto warm = [](double sockets) {
    const Platform platform = with_buffers(HostBuffers::interleaved, Rate{sockets});
    return timed_message(platform, {{0, 1, {}}, {0, 2, {}}}, "host", kWholeMessage, {}).warm;
  };
  expect_near(warm(0.5e9), kOverhead + 256_KiB / Rate{0.5e9});
  expect_near(warm(20e9), kOverhead + kWholeMessage / Rate{3e9});
}

// ---- several adapters -----------------------------------------------------------------------------------------------

/// A second adapter on the other hub, which gpu0 has too.
Platform with_two_adapters() {
  Platform platform = sample_platform();
  platform.node.nics.push_back({.name = "nic1"});
  Link link = link_of(platform, "nic");
  link.name = "second";
  link.from = "nic1";
  link.to = "hub1";
  platform.node.links.push_back(link);
  platform.node.gpus.front().more_nics = {"nic1"};
  return platform;
}

/// On a machine that is changed before, to gpu0 of the other node or another one, which has the second adapter alone.
Seconds between_nodes(Bytes size, const std::function<void(Platform&)>& change = {}, int gpu = 0) {
  Platform platform = with_two_adapters();
  if (change) change(platform);
  return timed_message(platform, {{0, 0, {}}, {1, gpu, {}}}, "host", size, {}).warm;
}

TEST(Striping, TwoAdaptersHaveTwiceTheBandwidthUntilAnotherPartLimits) {
  expect_near(between_nodes(kWholeMessage), kOverhead + kWholeMessage / kTwoWires);
  const auto memories = [](Platform& platform) {
    for (HostMemory& memory : platform.node.memories) memory.bandwidth = made_up(Rate{4e9});
  };
  expect_near(between_nodes(kWholeMessage, memories), kOverhead + kWholeMessage / Rate{4e9});
  const auto one_half = [](Platform& platform) { link_of(platform, "sockets").forward.value = Rate{1e9}; };
  expect_near(between_nodes(kWholeMessage, one_half), kOverhead + kHalf / Rate{1e9});
  const auto of_each = [](Platform& platform) { platform.network.value().rate = made_up(Rate{2e9}); };
  expect_near(between_nodes(kWholeMessage, of_each), kOverhead + kWholeMessage / Rate{4e9});
}

TEST(Striping, SmallMessagesAndEndsWithOneAdapterTakeOne) {
  const auto large = [](Platform& platform) { platform.network.value().striped_from = made_up(kWholeMessage); };
  expect_near(between_nodes(kHalf, large), kOverhead + kHalf / kWire);
  expect_near(between_nodes(kWholeMessage, {}, 1), kOverhead + kWholeMessage / kWire);
}

/// From host memory to host memory by two, whichever GPUs have; else, and where one is asked for, by the GPU's own.
TEST(Striping, HostMemoryTakesAsManyAsTheLibraryDoes) {
  Platform platform = with_two_adapters();
  for (Gpu& gpu : platform.node.gpus) gpu.more_nics.clear();
  const auto time = [&](int adapters, bool alone) {
    platform.network->host_adapters = adapters;
    const std::vector<Place> places{{0, 0, {}}, {1, 0, {}}};
    return simulated(platform, places, [&](MeasuredRank& rank, Seconds& arrived) {
      const View bytes(rank.allocate(Memory::pinned, kWholeMessage));
      const RankId peer{1 - rank.id().value};
      if (alone) rank.take_adapters({.alone = true});
      const Op op = rank.id().value == 0 ? rank.send(peer, tags::kData, bytes) : rank.receive(peer, tags::kData, bytes);
      EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
      arrived = std::max(arrived, rank.now());
    });
  };
  expect_near(time(0, false), kOverhead + kWholeMessage / kWire);
  expect_near(time(2, false), kOverhead + kWholeMessage / kTwoWires);
  expect_near(time(2, true), kOverhead + kWholeMessage / kWire);
}

TEST(Striping, EachAdapterHasItsGap) {
  constexpr Seconds kGap = 100.0_us;
  Platform platform = with_two_adapters();
  platform.node.nics.back().gap = made_up(kGap);
  // Two messages at once: the second one's half waits for the second adapter.
  simulate(platform, std::vector<Place>{{0, 0, {}}, {1, 0, {}}}, [&](Rank& rank) {
    const Buffer buffer = rank.allocate(Memory::pinned, kHalf);
    const RankId peer{1 - rank.id().value};
    std::vector<Op> ops;
    for (int message = 0; message < 2; ++message) {
      ops.push_back(rank.id().value == 0 ? rank.send(peer, tags::kData, View(buffer))
                                         : rank.receive(peer, tags::kData, View(buffer)));
    }
    for (const Op op : ops) EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    expect_near(rank.now(), kOverhead + std::max(kGap, kHalf / kTwoWires) + kHalf / kTwoWires);
  });
}

}  // namespace
}  // namespace twinlink::model
