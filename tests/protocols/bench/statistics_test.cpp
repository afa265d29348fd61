#include "protocols/bench/results/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace twinlink::bench {
namespace {

TEST(Statistics, OfOneSampleAreThatSample) {
  EXPECT_EQ(summarize({7}), (Statistics{.n = 1, .median = 7, .min = 7, .max = 7, .p5 = 7, .p95 = 7}));
}

TEST(Statistics, MedianOfAnEvenNumberLiesHalfwayBetweenTheMiddleTwo) {
  EXPECT_DOUBLE_EQ(summarize({4, 1, 3, 2}).median, 2.5);
}

TEST(Statistics, OfZeroToHundredAreTheirOwnPercentiles) {
  std::vector<double> samples(101);
  std::iota(samples.rbegin(), samples.rend(), 0.0);  // unsorted on purpose
  EXPECT_EQ(summarize(samples), (Statistics{.n = 101, .median = 50, .min = 0, .max = 100, .p5 = 5, .p95 = 95}));
}

TEST(Statistics, PercentilesAreInterpolatedBetweenClosestRanks) {
  // Ranks 0.05 (3 - 1) = 0.1 and 0.95 (3 - 1) = 1.9.
  const Statistics statistics = summarize({10, 20, 40});
  EXPECT_DOUBLE_EQ(statistics.p5, 11);
  EXPECT_DOUBLE_EQ(statistics.p95, 38);
}

TEST(GeometricMeanError, IsTheTypicalFactorEitherWay) {
  // A factor of 2 up and one of 2 down do not cancel; beside two exact times they are half of the logarithms.
  const double twice = log_ratio(20, 10);
  const double half = log_ratio(10, 20);
  EXPECT_DOUBLE_EQ(twice, -half);
  constexpr double kRounding = 1e-12;  // a few steps of a double: the logarithms are differences of larger ones
  EXPECT_NEAR(geometric_mean_error(std::vector{twice, half}), 1, kRounding);
  EXPECT_NEAR(geometric_mean_error(std::vector{twice, half, 0.0, 0.0}), std::sqrt(2.0) - 1, kRounding);
  EXPECT_NEAR(log_ratio(1e-300, 1e300), -600 * std::log(10), 1e3 * kRounding) << "the quotient would be zero";
}

}  // namespace
}  // namespace twinlink::bench
