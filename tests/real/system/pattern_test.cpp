#include "real/system/pattern.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace twinlink::real {
namespace {

std::vector<std::byte> written(std::size_t size, Pattern pattern, std::uint64_t first = 0) {
  std::vector<std::byte> bytes(size);
  write_pattern(bytes, pattern, first);
  return bytes;
}

TEST(Pattern, IsFoundAgainAtEverySize) {
  for (const std::size_t size : {0U, 1U, 7U, 8U, 9U, 4096U, 4099U}) {
    EXPECT_FALSE(find_difference(written(size, Pattern{3}), Pattern{3}, 0)) << size;
  }
}

TEST(Pattern, IsTheSameInPartsAndAsAWhole) {
  const auto whole = written(1000, Pattern{5});
  const auto tail = written(1000 - 504, Pattern{5}, 504);
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), whole.begin() + 504));
  for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_EQ(pattern_byte(Pattern{5}, i), whole[i]) << i;
}

TEST(Pattern, EveryFlippedByteIsFoundWhereItIs) {
  auto bytes = written(100, Pattern{7}, 64);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{1};
    EXPECT_EQ(find_difference(bytes, Pattern{7}, 64), i);
    bytes[i] ^= std::byte{1};
  }
}

TEST(Pattern, ShiftedContentIsNoticed) {
  const auto bytes = written(4096, Pattern{9});
  EXPECT_TRUE(find_difference(std::span(bytes).subspan(1), Pattern{9}, 0));
  EXPECT_TRUE(find_difference(std::span(bytes).subspan(8), Pattern{9}, 0));
}

}  // namespace
}  // namespace twinlink::real
