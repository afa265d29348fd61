// Which blocks are a 2-D copy. What copies of blocks move is in tests/contract.
#include "protocols/core/blocks.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace twinlink {
namespace {

/// Four rows of 8 B, so far apart at both ends.
std::vector<Block> rows(Bytes to_pitch, Bytes from_pitch) {
  std::vector<Block> blocks;
  for (std::uint64_t i = 0; i < 4; ++i) blocks.push_back({.to = to_pitch * i, .from = from_pitch * i, .length = 8_B});
  return blocks;
}

TEST(Rows, AreBlocksOfOneLengthAtOneDistance) {
  const auto found = as_rows(rows(8_B, 12_B));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->width, 8_B);
  EXPECT_EQ(found->to_pitch, 8_B);
  EXPECT_EQ(found->from_pitch, 12_B);
  EXPECT_EQ(found->rows, 4U);
}

TEST(Rows, DoNotOverlapAtEitherEnd) {
  EXPECT_FALSE(as_rows(rows(8_B, 7_B)));
  EXPECT_FALSE(as_rows(rows(7_B, 8_B)));
}

TEST(Rows, HaveNoOtherBlockAmongThem) {
  for (const std::size_t i : {1U, 2U, 3U}) {
    for (Bytes Block::*const member : {&Block::to, &Block::from, &Block::length}) {
      auto blocks = rows(16_B, 16_B);
      blocks[i].*member = blocks[i].*member + 1_B;
      EXPECT_FALSE(as_rows(blocks)) << i;
    }
  }
}

}  // namespace
}  // namespace twinlink
