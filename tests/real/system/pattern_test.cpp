#include "real/system/pattern.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace twinlink::real {
namespace {

std::vector<std::byte> written(std::size_t size, Payload pattern, std::uint64_t first = 0) {
  std::vector<std::byte> bytes(size);
  write_pattern(bytes, pattern, first);
  return bytes;
}

TEST(Payload, IsFoundAgainAtEverySize) {
  for (const std::size_t size : {0U, 1U, 7U, 8U, 9U, 4096U, 4099U}) {
    EXPECT_FALSE(find_difference(written(size, Payload{3}), Payload{3}, 0)) << size;
  }
}

TEST(Payload, IsTheSameInPartsAndAsAWhole) {
  const auto whole = written(1000, Payload{5});
  const auto tail = written(1000 - 504, Payload{5}, 504);
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), whole.begin() + 504));
  for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_EQ(pattern_byte(Payload{5}, i), whole[i]) << i;
}

TEST(Payload, EveryFlippedByteIsFoundWhereItIs) {
  auto bytes = written(100, Payload{7}, 64);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{1};
    EXPECT_EQ(find_difference(bytes, Payload{7}, 64), i);
    bytes[i] ^= std::byte{1};
  }
}

TEST(Payload, ShiftedContentIsNoticed) {
  const auto bytes = written(4096, Payload{9});
  EXPECT_TRUE(find_difference(std::span(bytes).subspan(1), Payload{9}, 0));
  EXPECT_TRUE(find_difference(std::span(bytes).subspan(8), Payload{9}, 0));
}

}  // namespace
}  // namespace twinlink::real
