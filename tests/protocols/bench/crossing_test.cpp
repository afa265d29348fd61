#include "protocols/bench/results/crossing.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace twinlink::bench {
namespace {

TEST(Crossing, IsInterpolatedInLogarithms) {
  // ln(b/a) is +1 at 2^10 and -3 at 2^14: a quarter of the way in logarithms is 2^11.
  EXPECT_NEAR(crossing({1024_B, 1, std::exp(1.0)}, {16384_B, std::exp(3.0), 1}), 2048, 1e-9);
  EXPECT_NEAR(crossing({1024_B, std::exp(1.0), 1}, {16384_B, 1, std::exp(3.0)}), 2048, 1e-9) << "either way round";
}

TEST(Crossing, IsExactForPowerLaws) {
  // a = size / 1000 and b = sqrt(size) / 10 are straight lines in logarithms; they meet at 10^4.
  const auto at = [](std::uint64_t size) {
    const auto bytes = static_cast<double>(size);
    return TwoTimes{Bytes{size}, bytes / 1000, std::sqrt(bytes) / 10};
  };
  EXPECT_NEAR(crossing(at(4096), at(32768)), 10000, 1e-6);
  EXPECT_NEAR(crossing(at(1), at(1'000'000'000)), 10000, 1e-6);
}

TEST(Crossing, AtATieIsTheSizeOfTheTie) {
  EXPECT_NEAR(crossing({64_B, 5, 5}, {256_B, 4, 3}), 64, 1e-9);
  EXPECT_NEAR(crossing({64_B, 3, 4}, {256_B, 5, 5}), 256, 1e-9);
}

TEST(Crossing, TheAdvantageOfAIsSigned) {
  EXPECT_DOUBLE_EQ(advantage_of_a({4_B, 1, std::exp(2.0)}), 2);
  EXPECT_DOUBLE_EQ(advantage_of_a({4_B, std::exp(2.0), 1}), -2);
  EXPECT_EQ(advantage_of_a({4_B, 7, 7}), 0);
}

TEST(RoundedSize, HasFourDigits) {
  EXPECT_EQ(rounded_size(4), "4");
  EXPECT_EQ(rounded_size(724.077), "724.1");
  EXPECT_EQ(rounded_size(13530.6), "13.21K");
  EXPECT_EQ(rounded_size(1.5 * 0x1p20), "1.5M");
  EXPECT_EQ(rounded_size(0x1p31), "2G");
}

}  // namespace
}  // namespace twinlink::bench
