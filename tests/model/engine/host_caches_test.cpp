// What the caches of host memory hold, and what messages take whose bytes they do not hold: closed forms.
#include "model/engine/memory/host_caches.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "model/engine/simulation.hpp"
#include "protocols/core/tags.hpp"
#include "tests/model/engine/one_message.hpp"
#include "tests/model/engine/push_pair.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr RankId kRank{0};
constexpr RankId kOther{1};

TEST(Cache, HoldsWhatWasUsedLast) {
  Cache cache(100_B);
  EXPECT_EQ(cache.use(kRank, 0_B, 60_B), 60_B) << "never seen before";
  EXPECT_EQ(cache.use(kRank, 0_B, 60_B), 0_B);
  EXPECT_EQ(cache.use(kRank, 60_B, 40_B), 40_B);
  EXPECT_EQ(cache.use(kRank, 0_B, 100_B), 0_B);
}

TEST(Cache, ForgetsWhatWasUsedTheLongestTimeAgo) {
  Cache cache(100_B);
  cache.use(kRank, 0_B, 50_B);
  cache.use(kRank, 100_B, 50_B);
  cache.use(kRank, 0_B, 50_B);    // so the other is the older one
  cache.use(kRank, 200_B, 30_B);  // takes the place of 30 of them
  EXPECT_EQ(cache.use(kRank, 0_B, 50_B), 0_B);
  EXPECT_EQ(cache.use(kRank, 100_B, 50_B), 30_B);
}

TEST(Cache, OfAStretchTheFirstBytesAreTheOldest) {
  Cache cache(100_B);
  cache.use(kRank, 0_B, 100_B);
  cache.use(kRank, 200_B, 10_B);
  EXPECT_EQ(cache.use(kRank, 10_B, 90_B), 0_B);
  EXPECT_EQ(cache.use(kRank, 0_B, 10_B), 10_B);
}

TEST(Cache, OfAStretchThatIsCutInTwoTheFirstPartIsTheOlder) {
  Cache cache(100_B);
  cache.use(kRank, 0_B, 100_B);
  cache.use(kRank, 40_B, 20_B);
  cache.use(kRank, 200_B, 10_B);
  EXPECT_EQ(cache.use(kRank, 60_B, 40_B), 0_B);
  EXPECT_EQ(cache.use(kRank, 0_B, 10_B), 10_B);
}

TEST(Cache, TellsPartsOfStretchesApart) {
  Cache cache(1_KiB);
  cache.use(kRank, 0_B, 100_B);
  cache.use(kRank, 200_B, 100_B);
  EXPECT_EQ(cache.use(kRank, 50_B, 200_B), 100_B) << "the gap between them";
  EXPECT_EQ(cache.use(kRank, 0_B, 300_B), 0_B);
  EXPECT_EQ(cache.use(kRank, 299_B, 2_B), 1_B);
}

TEST(Cache, TellsRanksApart) {
  Cache cache(1_KiB);
  cache.use(kRank, 0_B, 100_B);
  EXPECT_EQ(cache.use(kOther, 0_B, 100_B), 100_B);
  EXPECT_EQ(cache.use(kRank, 0_B, 100_B), 0_B);
}

TEST(Cache, OfFarMoreThanItHoldsInTurnHoldsNothing) {
  Cache cache(100_B);
  for (int round = 0; round < 3; ++round) {
    for (const Bytes at : {0_B, 60_B, 120_B}) EXPECT_EQ(cache.use(kRank, at, 60_B), 60_B);
  }
}

constexpr Bytes kHeld = 4_MiB;
constexpr Rate kCopied{8e9};
constexpr Rate kFetched{2e9};

/// Both CPUs copy the bytes of messages.
Platform caching_platform() {
  Platform platform = sample_platform();
  for (HostMemory& memory : platform.node.memories) memory.cache = made_up(kHeld);
  platform.intra_node.copied_by = CopiedBy::both;
  platform.intra_node.rate = made_up(kCopied);
  platform.intra_node.uncached = made_up(kFetched);
  return platform;
}

TEST(HostCaches, GoThroughStretchesSideBySide) {
  const Platform platform = caching_platform();
  HostCaches caches(platform.node);
  const Site site{0, {Location::Kind::memory, 0}};
  const HostBytes from{.site = site, .rank = kRank, .at = {}, .length = 3_MiB};
  const HostBytes to{.site = site, .rank = kOther, .at = {}, .length = 2_MiB};
  const std::vector both{from, to};
  EXPECT_EQ(caches.go_through(both), 3_MiB);
  EXPECT_EQ(caches.go_through(both), 3_MiB) << "5 MiB in turn are more than 4";
  EXPECT_EQ(caches.go_through({&from, 1}), 1_MiB) << "of the 4 MiB that came last, half are of each";
  EXPECT_EQ(caches.go_through({&from, 1}), 0_B);
  const HostBytes elsewhere{.site = {1, site.location}, .rank = kOther, .at = {}, .length = 2_MiB};
  EXPECT_EQ(caches.go_through({&elsewhere, 1}), 2_MiB) << "another node";
  EXPECT_EQ(caches.go_through({&from, 1}), 0_B) << "which leaves this one's alone";
}

TEST(HostCaches, HoldNothingOfMoreThanTheyHoldWhenItsTurnComesAgain) {
  const Platform platform = caching_platform();
  HostCaches caches(platform.node);
  const HostBytes much{.site = {0, {Location::Kind::memory, 0}}, .rank = kRank, .at = {}, .length = 8_MiB};
  EXPECT_EQ(caches.go_through({&much, 1}), 8_MiB);
  EXPECT_EQ(caches.go_through({&much, 1}), 8_MiB) << "its end was there, and is forgotten before its turn comes";
}

TEST(HostCaches, ThatHoldNothingLackAll) {
  Platform platform = caching_platform();
  for (HostMemory& memory : platform.node.memories) memory.cache = made_up(Bytes{});
  HostCaches caches(platform.node);
  const HostBytes much{.site = {0, {Location::Kind::memory, 0}}, .rank = kRank, .at = {}, .length = 1_GiB};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(caches.go_through({&much, 1}), 1_GiB) << "and it does not take long";
}

TEST(HostCaches, HoldEverythingWhereThePlatformDoesNotSay) {
  const Platform platform = sample_platform();
  HostCaches caches(platform.node);
  const HostBytes much{.site = {0, {Location::Kind::memory, 0}}, .rank = kRank, .at = {}, .length = 1_GiB};
  EXPECT_EQ(caches.go_through({&much, 1}), 0_B);
}

/// Rank 0 sends `count` messages, each in memory of its own, `rounds` times; with `both_ways` rank 1 does, too. The
/// time of the last round.
Seconds last_round(const Platform& platform, Bytes size, int count, int rounds, bool both_ways = false) {
  return simulated(platform, kPeers, [&](Rank& rank, Seconds& time) {
    const bool first = rank.id() == RankId{0};
    const RankId peer{first ? 1 : 0};
    const auto length = static_cast<std::uint64_t>(count);
    const Buffer out = rank.allocate(Memory::pageable, size * length);
    const Buffer in = rank.allocate(Memory::pageable, size * length);
    for (int round = 0; round < rounds; ++round) {
      const Seconds start = rank.now();
      std::vector<Op> ops;
      for (std::uint64_t i = 0; i < length; ++i) {
        if (!first || both_ways) ops.push_back(rank.receive(peer, tags::kData, View(in, size * i, size)));
      }
      for (std::uint64_t i = 0; i < length; ++i) {
        if (first || both_ways) ops.push_back(rank.send(peer, tags::kData, View(out, size * i, size)));
      }
      for (const Op op : ops) EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
      if (first) time = rank.now() - start;
    }
  });
}

TEST(UncachedMessages, AreThoseThatTheCachesDoNotHold) {
  expect_near(last_round(caching_platform(), 1_MiB, 1, 1), kOverhead + 1_MiB / kFetched);  // sent for the first time
  expect_near(last_round(caching_platform(), 1_MiB, 1, 3), kOverhead + 1_MiB / kCopied);
  // 2 x 2 MiB at both ends is twice what they hold. The latency of the second one hides behind the first.
  expect_near(last_round(caching_platform(), 2_MiB, 2, 3), kOverhead + 4_MiB / kFetched);
  // Both directions share what the CPUs copy.
  expect_near(last_round(caching_platform(), 4_MiB, 1, 3, true), kOverhead + 4_MiB / kFetched * 2);
}

TEST(UncachedMessages, AreSlowAtTheEndThatLacksMore) {
  // The receiver has used its memory last, and the sender has not.
  Platform platform = caching_platform();
  Seconds time{};
  simulate(platform, kPeers, [&](MeasuredRank& rank) {
    const bool first = rank.id() == RankId{0};
    const Buffer memory = rank.allocate(Memory::pageable, 1_MiB);
    if (!first) rank.fill(View(memory), Payload{1});
    const Op op =
        first ? rank.send(RankId{1}, tags::kData, View(memory)) : rank.receive(RankId{0}, tags::kData, View(memory));
    EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    time = rank.now();
  });
  expect_near(time, kOverhead + 1_MiB / kFetched);
}

/// Across a link that is wider than what is fetched from memory, and narrower than what the CPUs copy.
TEST(UncachedMessages, AreNotHeldUpTwiceByANarrowLink) {
  Platform platform = caching_platform();
  for (Link& link : platform.node.links) link.forward.value = link.backward.value = Rate{3e9};
  Seconds time{};
  simulate(platform, std::vector{kLoneGpu, kFirstPeer}, [&](Rank& rank) {  // on the two sockets
    const Buffer memory = rank.allocate(Memory::pageable, 1_MiB);
    const Op op = rank.id() == RankId{0} ? rank.send(RankId{1}, tags::kData, View(memory))
                                         : rank.receive(RankId{0}, tags::kData, View(memory));
    EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    time = rank.now();
  });
  expect_near(time, kOverhead + 1_MiB / kFetched);
}

TEST(UncachedMessages, BytesBeyondTheMessageInItsReceiveAreNotUsed) {
  Seconds time{};
  simulate(caching_platform(), kPeers, [&](Rank& rank) {
    const bool first = rank.id() == RankId{0};
    const Buffer memory = rank.allocate(Memory::pageable, 64_MiB);
    const Op op = first ? rank.send(RankId{1}, tags::kData, View(memory).slice(Bytes{}, 1_MiB))
                        : rank.receive(RankId{0}, tags::kData, View(memory));
    EXPECT_EQ(wait(rank, op, kLong), first ? Status::delivered : Status::wrong_size);
    time = rank.now();
  });
  expect_near(time, kOverhead + 1_MiB / kFetched);
}

TEST(UncachedMessages, AreAsFastAsOthersWhereThePlatformDoesNotSay) {
  Platform platform = caching_platform();
  platform.intra_node.uncached.reset();
  expect_near(last_round(platform, 1_MiB, 1, 1), kOverhead + 1_MiB / kCopied);
}

TEST(UncachedMessages, CopiesOfDevicesFillTheCachesToo) {
  Seconds time{};
  simulate(caching_platform(), kPeers, [&](Rank& rank) {
    const bool first = rank.id() == RankId{0};
    const Buffer memory = rank.allocate(Memory::pinned, 1_MiB);
    const Buffer device = rank.allocate(Memory::device, 1_MiB);
    const Op copied = rank.copy(View(memory), View(device), Stream{0}, Engine::dma);
    EXPECT_EQ(wait(rank, copied, kLong), Status::delivered);
    const Seconds start = rank.now();
    const Op op =
        first ? rank.send(RankId{1}, tags::kData, View(memory)) : rank.receive(RankId{0}, tags::kData, View(memory));
    EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    if (first) time = rank.now() - start;
  });
  expect_near(time, kOverhead + 1_MiB / kCopied);
}

/// Of a copy between host buffers that was done before: from its call on.
Seconds second_copy(Bytes size) {
  return simulated(caching_platform(), std::vector<Place>{kPeers.front()}, [&](Rank& rank, Seconds& time) {
    const Buffer from = rank.allocate(Memory::pageable, size);
    const Buffer to = rank.allocate(Memory::pageable, size);
    for (int round = 0; round < 2; ++round) {
      const Seconds start = rank.now();
      EXPECT_EQ(wait(rank, rank.copy(View(to), View(from), Stream{0}, Engine::dma), kLong), Status::delivered);
      time = rank.now() - start;
    }
  });
}

/// Where the caches do not hold them as long as messages.
TEST(UncachedCopies, TakeTheirOwnTimeWhereTheCachesHoldThem) {
  expect_near(second_copy(1_MiB), kOverhead + 1_MiB / Rate{8e9});
  expect_near(second_copy(8_MiB), kHost + 8_MiB / kFetched);
}

}  // namespace
}  // namespace twinlink::model
