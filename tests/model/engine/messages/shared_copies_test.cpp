// What copies at the same time leave each other: the driver's copies between GPUs without peers, a GPU's copies out of
// and into host memory, peer traffic through a hub, and the engines of one GPU that writes and reads. Closed forms on
// the sample machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "model/engine/rank/sim_rank.hpp"
#include "model/engine/simulation.hpp"
#include "tests/model/engine/one_message.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::model::sharing {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr Bytes kSize = 8_MiB;
constexpr Bytes kChunk = 1_MiB;
constexpr Ratio kBothWays{1.25};

/// Time of copies between two GPUs that one process drives: so many there, and so many back at the same time.
Seconds copies(const Platform& platform, const Place& here, const Place& there, Bytes size, int out, int back) {
  return simulated(platform, std::vector{here, there}, [&](MeasuredRank& rank, Seconds& time) {
    if (rank.id() != RankId{0}) return;
    const View mine(rank.allocate(Memory::device, size));
    const View beside(rank.allocate_beside(RankId{1}, size));
    const View returned(rank.allocate(Memory::device, size));
    const View source(rank.allocate_beside(RankId{1}, size));
    const Seconds start = rank.now();
    std::vector<Op> ops;
    for (int i = 0; i < out; ++i) ops.push_back(rank.copy(beside, mine, Stream{0}, Engine::dma));
    for (int i = 0; i < back; ++i) ops.push_back(rank.copy(returned, source, Stream{1}, Engine::dma));
    for (const Op op : ops) EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    time = rank.now() - start;
  });
}

/// From the first byte out until the last one in, alone.
Seconds in_chunks(Bytes size) {
  const Bytes first = std::min(size, kChunk);
  const double further = static_cast<double>((size.count() + kChunk.count() - 1) / kChunk.count() - 1);
  return first / kUp + size / kDown + kPerChunk * further;
}

Platform never_empty() {
  Platform platform = sample_platform();
  platform.fallback->in_flight = 0;
  return platform;
}

// ---- between GPUs without peers -------------------------------------------------------------------------------------

class Chunked : public ::testing::TestWithParam<Bytes> {};
INSTANTIATE_TEST_SUITE_P(Sizes, Chunked, ::testing::Values(256_KiB, 1_MiB, 1_MiB + 4_KiB, kSize));

TEST_P(Chunked, FillTheBufferAndAreThenCopiedInAndOutAtOnce) {
  expect_near(copies(never_empty(), kLoneGpu, kSecondPeer, GetParam(), 1, 0), kOverhead + in_chunks(GetParam()));
}

TEST(Fallback, BeginsAnewWhenItsBufferHasRunEmpty) {
  Platform platform = sample_platform();
  platform.fallback->in_flight = 2;
  expect_near(copies(platform, kLoneGpu, kSecondPeer, 12_MiB, 1, 0), kOverhead + in_chunks(12_MiB) + kChunk / kUp * 5);
}

TEST(Fallback, QueuesWithItsGap) {
  Platform platform = never_empty();
  platform.fallback->cost.gap = made_up(Piecewise(16.0_us));
  expect_near(copies(platform, kLoneGpu, kSecondPeer, kSize, 3, 0), kOverhead + in_chunks(kSize) * 3 + 16.0_us * 2);
}

/// Both flow at half of what both ways have; the first chunks come before that.
TEST(Fallback, BothWaysTogetherReachTheirShareOfOne) {
  Platform platform = never_empty();
  platform.fallback->both_ways = made_up(kBothWays);
  const Seconds flow = in_chunks(kSize) - kChunk / kUp;
  const Seconds expected = kHost * 2 + kLatency + kChunk / kUp + flow * (2 / kBothWays.of_one);
  const Seconds both = copies(platform, kLoneGpu, kSecondPeer, kSize, 1, 1);
  // The first begins one kHost before the second, alone.
  EXPECT_NEAR(both.microseconds(), expected.microseconds(), kHost.microseconds());
}

TEST(Fallback, AloneHasAllOfIt) {
  Platform platform = never_empty();
  platform.fallback->both_ways = made_up(kBothWays);
  expect_near(copies(platform, kLoneGpu, kSecondPeer, kSize, 1, 0), kOverhead + in_chunks(kSize));
}

TEST(Fallback, SharesNothingWithTheOtherDirectionWhereNobodySaysSo) {
  EXPECT_NEAR(copies(never_empty(), kLoneGpu, kSecondPeer, kSize, 1, 1).microseconds(),
              (kHost + kOverhead + in_chunks(kSize)).microseconds(), 0.01);
}

// ---- one GPU and its host -------------------------------------------------------------------------------------------

Seconds out_and_in(const Platform& platform) {
  return simulated(platform, std::vector{kLoneGpu}, [&](MeasuredRank& rank, Seconds& time) {
    const View device(rank.allocate(Memory::device, kSize * 2));
    const View host(rank.allocate(Memory::pinned, kSize * 2));
    const Seconds start = rank.now();
    const std::vector<Op> ops{
        rank.copy({host.buffer, {}, kSize}, {device.buffer, {}, kSize}, Stream{0}, Engine::dma),
        rank.copy({device.buffer, kSize, kSize}, {host.buffer, kSize, kSize}, Stream{1}, Engine::dma)};
    for (const Op op : ops) EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    time = rank.now() - start;
  });
}

TEST(Duplex, IsEachWayAsIfAloneWhereNobodySaysOtherwise) {
  expect_near(out_and_in(sample_platform()), kHost + kOverhead + kSize / kDown);
}

Platform half_duplex() {
  Platform platform = sample_platform();
  for (Hub& hub : platform.node.hubs) hub.passing.duplex = made_up(Rate{4e9});
  return platform;
}

/// The first copy is alone for one kHost: all bytes of both go at 4 GB/s from its start on.
TEST(Duplex, IsWhatCopiesOutAndInGetTogether) {
  expect_near(out_and_in(half_duplex()), kOverhead + kSize * 2 / Rate{4e9});
}

TEST(EachTransfer, MovesNoMoreAcrossALinkThanOneMay) {
  Platform reading = sample_platform();
  for (Link& link : reading.node.links) link.each_read = made_up(Rate{1e9});
  expect_near(out_and_in(reading), kHost + kOverhead + kSize / Rate{1e9});
  Platform writing = sample_platform();
  for (Link& link : writing.node.links) link.each_write = made_up(Rate{2e9});
  expect_near(out_and_in(writing), kOverhead + kSize / Rate{2e9});
}

/// It is no limit of the link: two that read both have it.
TEST(EachTransfer, HasItsLimitHoweverManyThereAre) {
  Platform platform = sample_platform();
  platform.copies[CopyKind::pinned_to_device].rate.reset();
  for (Link& link : platform.node.links) link.each_read = made_up(Rate{3e9});
  Seconds time{};
  simulate(platform, std::vector{kLoneGpu}, [&](MeasuredRank& rank) {
    const View device(rank.allocate(Memory::device, kSize * 2));
    const View host(rank.allocate(Memory::pinned, kSize * 2));
    const Seconds start = rank.now();
    std::vector<Op> ops;
    for (const unsigned part : {0U, 1U})
      ops.push_back(rank.copy({device.buffer, kSize * part, kSize}, {host.buffer, kSize * part, kSize},
                              Stream{static_cast<int>(part)}, Engine::dma));
    for (const Op op : ops) EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    time = rank.now() - start;
  });
  expect_near(time, kHost + kOverhead + kSize / Rate{3e9});
}

/// gpu1 and gpu2 hang on one hub by links of their own; by one link below a switch the driver's copies go up and down.
Platform below_a_switch() {
  Platform platform = half_duplex();
  platform.fallback->in_flight = 0;
  platform.node.hubs.push_back({.name = "switch"});
  for (Link& link : platform.node.links) {
    if (link.name == "bus1" || link.name == "bus2") link.to = "switch";
  }
  platform.node.links.push_back({.name = "uplink",
                                 .from = "switch",
                                 .to = "hub1",
                                 .forward = made_up(Rate{8e9}),
                                 .backward = made_up(Rate{8e9})});
  platform.software.cuda = Version{{3, 2}};  // which has no peers
  return platform;
}

TEST(Duplex, IsHalvedWhereACopyComesDownTheLinkThatItWentUp) {
  const Seconds flow = kSize / Rate{2e9} + kPerChunk * 7;
  expect_near(copies(below_a_switch(), kFirstPeer, kSecondPeer, kSize, 1, 0), kOverhead + kChunk / kUp + flow);
}

TEST(Duplex, IsSharedByTwoSuchCopies) {
  const Seconds flow = kSize / Rate{1e9} + kPerChunk * 14;
  EXPECT_NEAR(copies(below_a_switch(), kFirstPeer, kSecondPeer, kSize, 1, 1).microseconds(),
              (kOverhead + kChunk / kUp + flow).microseconds(), kHost.microseconds());
}

// ---- peers ----------------------------------------------------------------------------------------------------------

Platform slow_hub() {
  Platform platform = sample_platform();
  for (Hub& hub : platform.node.hubs) hub.passing.peer_read = hub.passing.peer_write = made_up(Rate{2e9});
  return platform;
}

TEST(Peers, GoThroughAHubByEachOfItsLinksOnTheirOwn) {
  expect_near(copies(slow_hub(), kFirstPeer, kSecondPeer, kSize, 1, 1), kHost + kOverhead + kSize / Rate{2e9});
}

/// One engine writes into the peer, another one reads from it, also where the platform knows one cost for both.
TEST(Peers, AreWrittenAndReadByTwoEnginesOfAGpu) {
  expect_near(copies(sample_platform(), kFirstPeer, kSecondPeer, kSize, 1, 1), kHost + kOverhead + kSize / kPeer);
}

/// Two copies into a peer by two streams.
void expect_written_twice(const Platform& platform, Rate both) {
  simulated(platform, std::vector{kFirstPeer, kSecondPeer}, [&](MeasuredRank& rank, Seconds& /*time*/) {
    if (rank.id() != RankId{0}) return;
    const View mine(rank.allocate(Memory::device, kSize));
    const std::vector<View> beside{View(rank.allocate_beside(RankId{1}, kSize)),
                                   View(rank.allocate_beside(RankId{1}, kSize))};
    const Seconds start = rank.now();
    const std::vector<Op> ops{rank.copy(beside[0], mine, Stream{0}, Engine::dma),
                              rank.copy(beside[1], mine, Stream{1}, Engine::dma)};
    for (const Op op : ops) EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    expect_near(rank.now() - start, kOverhead + kSize * 2 / both);
  });
}

TEST(Peers, ThatAreWrittenTwiceShareTheEngineAndWhatAHubForwards) {
  expect_written_twice(sample_platform(), kPeer);
  expect_written_twice(slow_hub(), Rate{2e9});
}

}  // namespace
}  // namespace twinlink::model::sharing
