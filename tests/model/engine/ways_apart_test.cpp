// Bytes that take several ways side by side, of buffers that lie in several memories and of messages over several
// adapters: closed forms.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/engine/simulation.hpp"
#include "protocols/core/tags.hpp"
#include "tests/model/engine/one_message.hpp"
#include "tests/model/engine/timed_message.hpp"

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
  Seconds taken{};
  simulate(platform, std::vector<Place>{{0, 0, {}}}, [&](Rank& rank) {
    const Buffer from = rank.allocate(Memory::pinned, kWholeMessage);
    const Buffer to = rank.allocate(Memory::device, kWholeMessage);
    const Seconds begin = rank.now();
    EXPECT_EQ(wait(rank, rank.copy(View(to), View(from), Stream{}, Engine::dma), kLong), Status::delivered);
    taken = rank.now() - begin;
  });
  return taken;
}

TEST(HostBuffers, NearOnesDoNotCrossTheSockets) {
  expect_near(copy_to_device(with_buffers(HostBuffers::near, Rate{1e9})), kOverhead + kWholeMessage / kDown);
}

TEST(HostBuffers, FarOnesDo) {
  expect_near(copy_to_device(with_buffers(HostBuffers::far, Rate{1e9})), kOverhead + kWholeMessage / Rate{1e9});
}

TEST(HostBuffers, OfInterleavedOnesHalfDoes) {
  expect_near(copy_to_device(with_buffers(HostBuffers::interleaved, Rate{1e9})), kOverhead + kHalf / Rate{1e9});
}

TEST(HostBuffers, InterleavedOnesShareTheCopyEngine) {
  expect_near(copy_to_device(with_buffers(HostBuffers::interleaved, Rate{20e9})), kOverhead + kWholeMessage / kDown);
}

TEST(HostBuffers, InterleavedOnesWaitForTheLongerWay) {
  Platform platform = with_buffers(HostBuffers::interleaved, Rate{20e9});
  link_of(platform, "sockets").latency = Sourced<Seconds>{kSocketHop, {}};
  expect_near(copy_to_device(platform), kOverhead + kSocketHop * 2 + kWholeMessage / kDown);
}

TEST(HostBuffers, InterleavedOnesLoadBothMemories) {
  Platform platform = with_buffers(HostBuffers::interleaved, Rate{20e9});
  for (HostMemory& memory : platform.node.memories) memory.bandwidth = Sourced<Rate>{Rate{1e9}, {}};
  expect_near(copy_to_device(platform), kOverhead + kHalf / Rate{1e9});
}

TEST(HostBuffers, MessagesBetweenInterleavedOnesGoFourWays) {
  const Platform platform = with_buffers(HostBuffers::interleaved, Rate{0.5e9});
  // A quarter goes from either memory to the other, each its own way round.
  const Seconds warm = timed_message(platform, {{0, 1, {}}, {0, 2, {}}}, "host", kWholeMessage, {}).warm;
  expect_near(warm, kOverhead + 256_KiB / Rate{0.5e9});
}

TEST(HostBuffers, MessagesBetweenInterleavedOnesShareTheirRate) {
  const Platform platform = with_buffers(HostBuffers::interleaved, Rate{20e9});
  const Seconds warm = timed_message(platform, {{0, 1, {}}, {0, 2, {}}}, "host", kWholeMessage, {}).warm;
  expect_near(warm, kOverhead + kWholeMessage / Rate{3e9});
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

Seconds between_nodes(const Platform& platform, Bytes size) {
  return timed_message(platform, {{0, 0, {}}, {1, 0, {}}}, "host", size, {}).warm;
}

TEST(Striping, TwoAdaptersHaveTwiceTheBandwidth) {
  expect_near(between_nodes(with_two_adapters(), kWholeMessage), kOverhead + kWholeMessage / kTwoWires);
}

TEST(Striping, UntilAnotherPartLimits) {
  Platform platform = with_two_adapters();
  for (HostMemory& memory : platform.node.memories) memory.bandwidth = Sourced<Rate>{Rate{4e9}, {}};
  expect_near(between_nodes(platform, kWholeMessage), kOverhead + kWholeMessage / Rate{4e9});
}

TEST(Striping, TheSlowerHalfIsTheLast) {
  Platform platform = with_two_adapters();
  link_of(platform, "sockets").forward.value = Rate{1e9};
  expect_near(between_nodes(platform, kWholeMessage), kOverhead + kHalf / Rate{1e9});
}

TEST(Striping, ARateIsThatOfOneAdapter) {
  Platform platform = with_two_adapters();
  platform.network.value().rate = Sourced<Rate>{Rate{2e9}, {}};
  expect_near(between_nodes(platform, kWholeMessage), kOverhead + kWholeMessage / Rate{4e9});
}

TEST(Striping, SmallMessagesTakeOneAdapter) {
  Platform platform = with_two_adapters();
  platform.network.value().striped_from = Sourced<Bytes>{kWholeMessage, {}};
  expect_near(between_nodes(platform, kHalf), kOverhead + kHalf / kWire);
}

TEST(Striping, BothEndsNeedTheAdapters) {
  const Platform platform = with_two_adapters();
  const Seconds warm = timed_message(platform, {{0, 0, {}}, {1, 1, {}}}, "host", kWholeMessage, {}).warm;
  expect_near(warm, kOverhead + kWholeMessage / kWire);
}

TEST(Striping, EachAdapterHasItsGap) {
  constexpr Seconds kGap = 100.0_us;
  Platform platform = with_two_adapters();
  platform.node.nics.back().gap = Sourced<Seconds>{kGap, {}};
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
