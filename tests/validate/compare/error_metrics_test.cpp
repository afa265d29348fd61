#include "validate/compare/error_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace twinlink::validate {
namespace {

Row row(std::uint64_t size, double measured_us, double simulated_us) {
  return {.key = {.size = Bytes{size}}, .measured_us = measured_us, .simulated_us = simulated_us};
}

std::vector<Row> random_rows(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> exponent(-3, 6);
  std::vector<Row> rows;
  for (std::uint64_t size = 1; size <= 25; ++size) {
    rows.push_back(row(size, std::pow(10, exponent(random)), std::pow(10, exponent(random))));
  }
  return rows;
}

TEST(RelativeError, IsSignedAndRelativeToTheMeasurement) {
  EXPECT_DOUBLE_EQ(relative_error(row(4, 100, 110)), 0.1);
  EXPECT_DOUBLE_EQ(relative_error(row(4, 100, 75)), -0.25);
  EXPECT_EQ(relative_error(row(4, 3, 3)), 0);
}

TEST(ErrorSummary, ClosedFormOfThreeRows) {
  const auto summary = summarize_errors(std::vector{row(4, 100, 110), row(8, 200, 180), row(16, 400, 400)});
  EXPECT_EQ(summary.n, 3U);
  EXPECT_NEAR(summary.geometric_mean, std::cbrt(1.1 / 0.9) - 1, 1e-14);
  EXPECT_NEAR(summary.bias, std::cbrt(1.1 * 0.9) - 1, 1e-14);
  EXPECT_NEAR(summary.slower, std::cbrt(1 / 0.9) - 1, 1e-14) << "one of three is slower";
  EXPECT_NEAR(summary.p95, 0.1, 1e-14);
  EXPECT_NEAR(summary.max, 0.1, 1e-14);
}

TEST(ErrorSummary, DoubleAndHalfAreEquallyFarOff) {
  const auto doubled = summarize_errors(std::vector{row(4, 10, 20)});
  const auto halved = summarize_errors(std::vector{row(4, 20, 10)});
  EXPECT_NEAR(doubled.geometric_mean, 1.0, 1e-14);
  EXPECT_NEAR(halved.geometric_mean, 1.0, 1e-14);
  EXPECT_NEAR(doubled.bias, 1.0, 1e-14);
  EXPECT_NEAR(halved.bias, -0.5, 1e-14);
  EXPECT_DOUBLE_EQ(halved.max, 0.5);
}

TEST(ErrorSummary, OppositeErrorsDoNotCancelInTheMean) {
  const auto summary = summarize_errors(std::vector{row(4, 10, 20), row(8, 10, 5)});
  EXPECT_NEAR(summary.geometric_mean, 1.0, 1e-14);
  EXPECT_NEAR(summary.bias, 0.0, 1e-14);
}

TEST(ErrorSummary, EqualTimesHaveNoError) {
  const auto summary = summarize_errors(std::vector{row(4, 1.5, 1.5), row(8, 2.5, 2.5)});
  EXPECT_EQ(summary.geometric_mean, 0);
  EXPECT_EQ(summary.bias, 0);
  EXPECT_EQ(summary.p95, 0);
  EXPECT_EQ(summary.max, 0);
  EXPECT_EQ(summary.max_at.size, Bytes{4});
}

TEST(ErrorSummary, PercentileInterpolatesBetweenRanks) {
  // Errors of 0 to 20 %: rank 0.95 * 20 = 19 exactly. Of 0 to 10 %: rank 9.5, between 9 and 10 %.
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i <= 20; ++i) rows.push_back(row(i, 100, 100 - static_cast<double>(i)));
  EXPECT_NEAR(summarize_errors(rows).p95, 0.19, 1e-14);
  EXPECT_NEAR(summarize_errors(std::span(rows).first(11)).p95, 0.095, 1e-14);
}

TEST(ErrorSummary, LargestErrorNamesItsFirstSize) {
  const auto summary = summarize_errors(std::vector{row(4, 100, 101), row(8, 100, 70), row(16, 100, 130)});
  EXPECT_DOUBLE_EQ(summary.max, 0.3);
  EXPECT_EQ(summary.max_at.size, Bytes{8});
}

class ErrorSummaryProperty : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(ErrorSummaryProperty, GeometricMeanIsSymmetricAndBiasInverts) {
  const auto rows = random_rows(GetParam());
  auto swapped = rows;
  for (auto& r : swapped) std::swap(r.measured_us, r.simulated_us);
  const auto one = summarize_errors(rows);
  const auto other = summarize_errors(swapped);
  EXPECT_NEAR(other.geometric_mean / one.geometric_mean, 1, 1e-12);
  EXPECT_NEAR((1 + one.bias) * (1 + other.bias), 1, 1e-12);
}

TEST_P(ErrorSummaryProperty, NeitherUnitNorOrderMatters) {
  const auto rows = random_rows(GetParam());
  auto changed = rows;
  for (auto& r : changed) {
    r.measured_us *= 1000;
    r.simulated_us *= 1000;
  }
  std::ranges::reverse(changed);
  const auto one = summarize_errors(rows);
  const auto other = summarize_errors(changed);
  EXPECT_NEAR(other.geometric_mean / one.geometric_mean, 1, 1e-12);
  EXPECT_NEAR(other.p95 / one.p95, 1, 1e-12);
  EXPECT_NEAR(other.max / one.max, 1, 1e-12);
  EXPECT_EQ(other.max_at, one.max_at);
}

TEST_P(ErrorSummaryProperty, BiasNeverExceedsTheMean) {
  const auto summary = summarize_errors(random_rows(GetParam()));
  EXPECT_LE(std::abs(std::log1p(summary.bias)), std::log1p(summary.geometric_mean) + 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ErrorSummaryProperty, ::testing::Range(1U, 9U));

}  // namespace
}  // namespace twinlink::validate
