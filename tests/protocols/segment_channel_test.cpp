// The chunk that a shared segment chooses by the size of a message, and what a channel leaves when it ends.
#include "protocols/parts/segment_channel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>

#include "tests/explore/explorer/fake_world.hpp"

namespace twinlink {
namespace {

/// S/r + c/r + (n + 1) g in units of g, but without S/r: what the chunk can change.
double cost(Bytes message, Bytes chunk) {
  const double pieces = static_cast<double>(message.count()) / static_cast<double>(chunk.count());
  return static_cast<double>(chunk.count()) / static_cast<double>(kGapBytes.count()) + pieces;
}

TEST(AutomaticChunk, OfRoundSizes) {
  EXPECT_EQ(automatic_chunk(512_KiB), 256_KiB);  // exactly sqrt(512 KiB * 128 KiB)
  EXPECT_EQ(automatic_chunk(1_MiB), 512_KiB);    // between 256 and 512 KiB: the larger one
  EXPECT_EQ(automatic_chunk(2_MiB), 512_KiB);
  EXPECT_EQ(automatic_chunk(4_MiB), 1_MiB);
  EXPECT_EQ(automatic_chunk(16_MiB), 2_MiB);
  EXPECT_EQ(automatic_chunk(64_MiB), 4_MiB);
}

TEST(AutomaticChunk, StaysWithinItsLimits) {
  for (const Bytes tiny : {0_B, 1_B, 4_KiB}) EXPECT_EQ(automatic_chunk(tiny), kLeastAutomaticChunk);
  for (const Bytes huge : {1_GiB, 1_TiB}) EXPECT_EQ(automatic_chunk(huge), kMostAutomaticChunk);
}

TEST(AutomaticChunk, IsThePowerOfTwoOfLeastCost) {
  for (std::uint64_t size = 300'001; size < 60'000'000; size = size * 21 / 20) {
    const Bytes message{size};
    const Bytes chunk = automatic_chunk(message);
    ASSERT_TRUE(std::has_single_bit(chunk.count()));
    // A tie ends with the larger one; the arithmetic takes exact powers of two for the bounds.
    EXPECT_LE(cost(message, chunk), cost(message, chunk * 2)) << size;
    EXPECT_LE(cost(message, chunk), cost(message, Bytes{chunk.count() / 2})) << size;
  }
}

TEST(SegmentChannelOf, TwoRanksReleasesItsSegmentAndClosesThePeersWhenItEnds) {
  run_fake_world({}, [](Rank& rank) {
    const auto live = [&] { return live_buffers(rank); };
    const Settings settings{.chunk = 4_KiB, .depth = 2, .timeout = Seconds{1}};
    for (int connection = 0; connection < 2; ++connection) {
      const SegmentChannel channel(rank, RankId{1 - rank.id().value}, settings, {});
      EXPECT_EQ(live(), 2U) << "its own segment and the peer's";
    }
    EXPECT_EQ(live(), 0U);
  });
}

/// By rank: what becomes of a message of 8 KiB from rank 0, of which each rank has so much, in chunks of so much.
std::array<Outcome, 2> disagreement(const std::array<Bytes, 2>& lengths, const std::array<Bytes, 2>& chunks) {
  std::array<Outcome, 2> outcomes;
  run_fake_world({}, [&](Rank& rank) {
    const auto self = static_cast<std::size_t>(rank.id().value);
    // Nobody is there to end a wait that nothing will end: whoever is not told times out at once.
    const Settings settings{.chunk = chunks.at(self), .depth = 2, .timeout = Seconds{1000}};
    SegmentChannel channel(rank, RankId{1 - rank.id().value}, settings, {});
    const View message(rank.allocate(Memory::device, lengths.at(self)));
    outcomes.at(self) = self == 0 ? channel.send(message) : channel.receive(message);
  });
  return outcomes;
}

TEST(SegmentChannelOf, TwoLengthsIsRefusedByBothEnds) {
  for (const Outcome& outcome : disagreement({8_KiB, 12_KiB}, {4_KiB, 4_KiB})) {
    EXPECT_EQ(outcome.status, Status::wrong_size) << outcome.reason;
    EXPECT_THAT(outcome.reason, ::testing::HasSubstr("12288 B"));
  }
}

TEST(SegmentChannelOf, TwoChunksIsRefusedByBothEnds) {
  for (const Outcome& outcome : disagreement({8_KiB, 8_KiB}, {4_KiB, 2_KiB})) {
    EXPECT_EQ(outcome.status, Status::wrong_size) << outcome.reason;
    EXPECT_THAT(outcome.reason, ::testing::HasSubstr("chunks of"));
  }
}

}  // namespace
}  // namespace twinlink
