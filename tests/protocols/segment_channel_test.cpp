// The chunk that a shared segment chooses by the size of a message.
#include "protocols/parts/segment_channel.hpp"

#include <gtest/gtest.h>

#include <bit>

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

}  // namespace
}  // namespace twinlink
