#include "validate/compare/spread.hpp"

#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace twinlink::validate {
namespace {

TEST(Spread, FewThatAreIllDoNotCount) {
  std::vector<double> values;
  for (int i = -50; i <= 50; ++i) values.push_back(1 + 0.001 * i);
  const Spread healthy = spread_of(values);
  for (int i = 0; i < 10; ++i) values[static_cast<std::size_t>(i)] = 9;
  const Spread some_ill = spread_of(values);
  EXPECT_NEAR(healthy.middle, 1, 1e-12);
  EXPECT_NEAR(some_ill.middle, 1.01, 1e-12);  // ten of 101 have gone from one end to the other: by ten places
  EXPECT_NEAR(healthy.deviation, 1.4826 * 0.025, 1e-3);
  EXPECT_LT(some_ill.deviation, 1.2 * healthy.deviation);
  EXPECT_DOUBLE_EQ(spread_of({1, 2}).middle, 1.5);
}

TEST(Spread, TheFarthestOfManyIsThatOfANormalDistribution) {
  EXPECT_NEAR(farthest_of(1), 2.326, 1e-3);      // 1 %
  EXPECT_NEAR(farthest_of(10000), 4.753, 1e-3);  // one in a million
  EXPECT_GT(farthest_of(1, 10), farthest_of(1, 1000));
  EXPECT_NEAR(farthest_of(1, 1000000), farthest_of(1), 0.01);
  EXPECT_EQ(farthest_of(0), farthest_of(1));
  // Two standard errors of a median absolute deviation, 1.16 over the root of the values each; a fifth is left at
  // least.
  EXPECT_NEAR(farthest_of(7, 25), farthest_of(7) / (1 - 2 * 1.16 / 5), 1e-12);
  EXPECT_NEAR(farthest_of(7, 5), farthest_of(7) / 0.2, 1e-12);
}

TEST(Spread, OfAnEvenNumberIsTheMiddleOfTwo) {
  const Spread spread = spread_of({9, 1, 2, 4});
  EXPECT_EQ(spread.n, 4U);
  EXPECT_DOUBLE_EQ(spread.middle, 3);
  EXPECT_DOUBLE_EQ(spread.deviation, 1.4826 * 1.5) << "of 6, 2, 1 and 1";
}

TEST(Spread, AFewValuesTellTooLittleOfIt) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  for (const std::size_t n : {5U, 8U, 9U, 10U, 24U}) {
    constexpr int kDraws = 40000;
    double sum = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<double> values(n);
      for (double& value : values) value = normal(random);
      sum += spread_of(std::move(values)).deviation;
    }
    EXPECT_NEAR(correction_of(n) * sum / kDraws, 1, 0.015) << n;
  }
}

/// Of one value chance is the distribution's; of four half of the way to their mean is gone.
TEST(Spread, ChanceShrinksWithTheNumberOfValues) {
  EXPECT_NEAR(chance_of_one_sided(0.01, 1, 3), std::expm1(0.1 * 3), 1e-12);
  EXPECT_NEAR(chance_of_one_sided(0.04, 4, 3), std::expm1(0.1 * (0.399 / 2 + 3.0 / 2)), 1e-12);
}

/// Of 2000 sums of ten one-sided values no more than some are above what is allowed one of 2000.
TEST(Spread, ChanceAccusesNobody) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal(0, 0.05);
  for (const std::size_t n : {1U, 2U, 10U}) {
    const double allowed = chance_of_one_sided(0.05 * 0.05 * static_cast<double>(n), n, farthest_of(2000));
    int above = 0;
    for (int trial = 0; trial < 2000; ++trial) {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += std::max(0.0, normal(random));
      if (std::expm1(sum / static_cast<double>(n)) > allowed) ++above;
    }
    EXPECT_EQ(above, 0) << n;
    EXPECT_LT(allowed, n == 1 ? 0.25 : 0.2) << n;
  }
}

TEST(Spread, DeviationOfPercentiles) {
  EXPECT_NEAR(deviation_of(std::exp(-0.1645), std::exp(0.1645)), 0.1, 1e-12);
  EXPECT_EQ(deviation_of(0, 0), 0);
  EXPECT_EQ(deviation_of(0, 5), 0);
  EXPECT_EQ(deviation_of(5, 5), 0);
  EXPECT_EQ(deviation_of(5, 4), 0);
}

}  // namespace
}  // namespace twinlink::validate
