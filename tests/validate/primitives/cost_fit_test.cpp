#include "validate/primitives/cost_fit.hpp"

#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "validate/primitives/least_squares.hpp"

namespace twinlink::validate {
namespace {

using ::testing::DoubleNear;
using ::testing::SizeIs;

constexpr Seconds kHost = 2.0_us;

using Latency = std::function<double(double size)>;  ///< in microseconds

/// From 1 B to 64 MiB, as `twinlink-real probe` measures by default.
std::vector<Observation> observe(const Latency& latency_us, Rate rate, Bytes largest = 64_MiB) {
  std::vector<Observation> observations;
  for (Bytes size{1}; size <= largest; size = size * 4) {
    const auto bytes = static_cast<double>(size.count());
    observations.push_back({.size = size, .time = kHost + Seconds{latency_us(bytes) * 1e-6} + size / rate});
  }
  return observations;
}

double at(const CurveFit& fit, Bytes size) {
  const auto& points = fit.latency;
  if (size <= points.front().size) return points.front().cost.microseconds();
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (size > points[i].size) continue;
    const double share = static_cast<double>((size - points[i - 1].size).count()) /
                         static_cast<double>((points[i].size - points[i - 1].size).count());
    return (points[i - 1].cost + (points[i].cost - points[i - 1].cost) * share).microseconds();
  }
  return points.back().cost.microseconds();
}

TEST(LeastSquares, SolvesAndSaysHowCertain) {
  // Three measurements of x, with variances 1, 1 and 1/2: their weighted mean, and its error.
  const auto solution = solve_least_squares({{{1}, 1, 1}, {{1}, 3, 1}, {{1}, 4, 2}});
  ASSERT_TRUE(solution);
  EXPECT_DOUBLE_EQ(solution->values[0], 3);
  EXPECT_DOUBLE_EQ(solution->standard_errors[0], 0.5);
  EXPECT_DOUBLE_EQ(solution->chi_squared, 4 + 0 + 2);
}

TEST(LeastSquares, ColumnsOfVeryDifferentSizesAreNoTrouble) {
  const auto solution =
      solve_least_squares({{{1, 1}, 3 + 1e-11, 1e12}, {{1, 1e8}, 3 + 1e-3, 1e12}, {{1, 1e9}, 3 + 1e-2, 1e12}});
  ASSERT_TRUE(solution);
  EXPECT_NEAR(solution->values[0], 3, 1e-9);
  EXPECT_NEAR(solution->values[1], 1e-11, 1e-17);
}

TEST(LeastSquares, DependentUnknownsHaveNoSolution) {
  EXPECT_FALSE(solve_least_squares({{{1, 2}, 1}, {{2, 4}, 1}, {{3, 6}, 1}}));
  EXPECT_FALSE(solve_least_squares({{{1, 2}, 1}}));
  EXPECT_FALSE(solve_least_squares({{{0}, 1}}));
}

TEST(FitCurve, ExactTimesGiveOneLatencyAndTheRate) {
  const CurveFit fit = fit_curve(observe([](double) { return 5.0; }, 55.0_GBps), kHost, {});
  ASSERT_THAT(fit.latency, SizeIs(1));
  EXPECT_NEAR(fit.latency[0].cost.microseconds(), 5, 1e-9);
  ASSERT_TRUE(fit.rate);
  EXPECT_NEAR(fit.rate->bytes_per_second(), 55e9, 1);
}

TEST(FitCurve, ExactSegmentsAreFoundWithTheirEnds) {
  // Constant to 1 KiB, a line to 64 KiB, constant again.
  const auto latency = [](double size) {
    return size <= 1024 ? 3.0 : size >= 65536 ? 9.0 : 3 + 6 * (size - 1024) / (65536 - 1024);
  };
  const CurveFit fit = fit_curve(observe(latency, 20.0_GBps), kHost, {});
  ASSERT_THAT(fit.latency, SizeIs(2));
  EXPECT_EQ(fit.latency[0].size, 1_KiB);
  EXPECT_EQ(fit.latency[1].size, 64_KiB);
  EXPECT_NEAR(fit.latency[0].cost.microseconds(), 3, 1e-6);
  EXPECT_NEAR(fit.latency[1].cost.microseconds(), 9, 1e-6);
  EXPECT_NEAR(fit.rate.value().bytes_per_second(), 20e9, 100);
}

/// Of bytes that are copied twice, beside what is known of a time.
TEST(FitCurve, WhatTakesItsTimeAgainAndWhatIsKnownAreNoLatency) {
  std::vector<Observation> observations = observe([](double) { return 5.0; }, 20.0_GBps);
  for (Observation& observation : observations) {
    observation.again = Bytes{observation.size.count() / 2};
    observation.busy = Seconds{1e-9 * static_cast<double>(observation.size.count() % 3)};
    observation.time += observation.again / 20.0_GBps + observation.busy;
  }
  for (const CurveFit& fit : {fit_curve(observations, kHost, {}), fit_beside_rate(observations, kHost, 20.0_GBps)}) {
    ASSERT_THAT(fit.latency, SizeIs(1));
    EXPECT_NEAR(fit.latency[0].cost.microseconds(), 5, 1e-6);
    EXPECT_NEAR(fit.rate.value().bytes_per_second(), 20e9, 100);
  }
  // Beside twice the rate half of the bytes' time is a latency that grows with them.
  const CurveFit fit = fit_beside_rate(observations, kHost, 40.0_GBps);
  EXPECT_EQ(fit.rate, 40.0_GBps);
  EXPECT_NEAR(at(fit, 64_MiB), 5 + ((64_MiB + 32_MiB) / 40.0_GBps).microseconds(), 0.5);
}

TEST(FitCurve, WhatIsBelowTheToleranceMakesNoSegment) {
  const auto latency = [](double size) { return size < 1024 ? 5.0 : 5.05; };  // 0.7 % of the time
  EXPECT_THAT(fit_curve(observe(latency, 55.0_GBps), kHost, {}).latency, SizeIs(1));
}

TEST(FitCurve, NoiseIsNotFollowed) {
  const auto latency = [](double size) { return size < 32768 ? 5.0 : 12.0; };
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> error(0, 0.03);
    std::vector<Observation> observations = observe(latency, 50.0_GBps);
    for (Observation& observation : observations) {
      observation.spread = 0.03;
      observation.time = observation.time * (1 + error(engine));
    }
    const CurveFit fit = fit_curve(observations, kHost, {});
    // The bounds are three standard errors. The rate's is 5 % at most; seven times of 7 us with 3 % each carry the
    // first latency; the bytes' own time is known to 5 % at most where the second one is looked at.
    EXPECT_NEAR(fit.rate.value().bytes_per_second(), 50e9, 50e9 * 0.15) << seed;
    EXPECT_NEAR(at(fit, 1_KiB), 5, 3 * 0.03 * 7 / std::sqrt(7)) << seed;
    EXPECT_NEAR(at(fit, 64_KiB), 12, 3 * (0.03 * 15.3 + 0.05 * 1.3)) << seed;
    EXPECT_LE(fit.latency.size(), 4U) << seed;
  }
}

TEST(FitCurve, SeveralMeasurementsOfASizeCountOnce) {
  // Otherwise the same wiggle of 1.4 % would make a segment as soon as two GPUs show it.
  const auto latency = [](double size) { return size == 1024 ? 5.1 : 5.0; };
  const std::vector<Observation> once = observe(latency, 55.0_GBps);
  std::vector<Observation> often;
  for (int i = 0; i < 8; ++i) often.insert(often.end(), once.begin(), once.end());
  const CurveFit fit = fit_curve(often, kHost, {});
  EXPECT_THAT(fit.latency, SizeIs(1));
  EXPECT_NEAR(fit.rate.value().bytes_per_second(), fit_curve(once, kHost, {}).rate.value().bytes_per_second(), 1e-3);
}

TEST(FitCurve, ALatencyIsNeverNegative) {
  // A cache makes middle sizes faster than the large ones.
  std::vector<Observation> observations = observe([](double) { return 1.0; }, 10.0_GBps);
  for (Observation& observation : observations) {
    if (observation.size >= 64_KiB && observation.size <= 1_MiB) observation.time = observation.time * 0.5;
  }
  const CurveFit fit = fit_curve(observations, kHost, {});
  for (const auto& point : fit.latency) EXPECT_GE(point.cost, Seconds{});
  // Twice the rate, and half of the 2 us that the CPU and the 1 us that the latency take there.
  EXPECT_GT(fit.rate.value().bytes_per_second(), 19e9) << "the best that any size has";
  for (const Observation& o : observations) {
    const double fitted_us = (kHost + o.size / *fit.rate).microseconds() + at(fit, o.size);
    EXPECT_NEAR(fitted_us / o.time.microseconds(), 1, 0.05) << format_size(o.size);
  }
}

/// At a known rate the latencies of the three would lie on a line from 5 to -5 us. With none at the largest size, the
/// squares of 5 - x and of 0 - x / 2 are least at 4.
TEST(FitCurve, WhereALatencyWouldBeNegativeTheOthersAreFittedAnew) {
  std::vector<Observation> observations;
  for (const Bytes size : {1000_B, 6000_B, 11'000_B}) observations.push_back({.size = size, .time = 6.0_us});
  const CurveFit fit = fit_curve(observations, Seconds{}, Rate{1e9});
  ASSERT_THAT(fit.latency, SizeIs(2));
  EXPECT_NEAR(fit.latency[0].cost.microseconds(), 4, 1e-9);
  EXPECT_EQ(fit.latency[1].cost, Seconds{});
}

TEST(FitCurve, TheRateIsNotBentForASmallError) {
  std::vector<Observation> observations = observe([](double) { return 1.0; }, 10.0_GBps);
  for (Observation& observation : observations) {
    if (observation.size >= 64_KiB && observation.size <= 1_MiB) observation.time = observation.time * 0.95;
  }
  EXPECT_NEAR(fit_curve(observations, kHost, {}).rate.value().bytes_per_second(), 10e9, 10e9 * 0.02);
}

TEST(FitCurve, SmallSizesDoNotTellTheRate) {
  const auto observations = observe([](double) { return 5.0; }, 50.0_GBps, 1_KiB);
  const CurveFit fit = fit_curve(observations, kHost, 20.0_GBps);
  EXPECT_FALSE(fit.rate);
  EXPECT_NEAR(at(fit, 1_KiB), 5 - 1024 / 20e3 + 1024 / 50e3, 0.05) << "the latency goes with the rate that is known";
  EXPECT_FALSE(fit_curve(observations, kHost, {}).rate);
}

TEST(FitCurve, OneSizeIsEnoughForALatency) {
  const CurveFit fit = fit_curve(std::vector{Observation{4_KiB, 7.0_us}}, kHost, {});
  EXPECT_FALSE(fit.rate);
  ASSERT_THAT(fit.latency, SizeIs(1));
  EXPECT_NEAR(fit.latency[0].cost.microseconds(), 5, 1e-9);
}

TEST(FitCurve, TheSameTimesGiveTheSameFit) {
  std::vector<Observation> observations = observe([](double size) { return 5 + std::sin(size); }, 50.0_GBps);
  const CurveFit fit = fit_curve(observations, kHost, {});
  std::ranges::reverse(observations);
  const CurveFit again = fit_curve(observations, kHost, {});
  ASSERT_EQ(again.latency.size(), fit.latency.size());
  for (std::size_t i = 0; i < fit.latency.size(); ++i) EXPECT_EQ(again.latency[i].cost, fit.latency[i].cost);
  EXPECT_EQ(again.rate, fit.rate);
}

TEST(FitConstant, NoisyTimesCountLess) {
  const std::vector<Observation> observations{{4_KiB, 10.0_us, 0}, {4_KiB, 12.0_us, 0.2}};
  // Deviations of 0.1 us and 0.2002 * 12 us.
  EXPECT_NEAR(fit_constant(observations).microseconds(), 10 + 2 * 0.01 / (0.01 + 2.4030 * 2.4030), 1e-3);
}

TEST(FitLine, BaseAndSlope) {
  std::vector<Observation> observations;
  for (Bytes size = 4_KiB; size <= 64_MiB; size = size * 4) {
    observations.push_back({size, 40.0_us + Seconds{1e-10 * static_cast<double>(size.count())}});
  }
  const auto line = fit_line(observations);
  ASSERT_TRUE(line);
  EXPECT_NEAR(line->base.microseconds(), 40, 1e-9);
  EXPECT_THAT(line->per_byte.value(), DoubleNear(1e-10, 1e-18));
  EXPECT_FALSE(fit_line(std::vector{observations[0]}));
  EXPECT_FALSE(fit_line(std::vector<Observation>{{1_KiB, 9.0_us}, {64_MiB, 3.0_us}})) << "times that shrink";
  const auto through_zero = fit_line(std::vector<Observation>{{1_KiB, 1.0_us}, {1_MiB, 2000.0_us}});
  ASSERT_TRUE(through_zero);
  EXPECT_EQ(through_zero->base, Seconds{}) << "never negative";
}

/// "SIZE:COST ..." in nanoseconds of curves through points of "SIZE:COST+-TOLERANCE".
std::string knots(const std::vector<platforms::Piecewise::Knot>& curve) {
  std::string text;
  for (const auto& knot : curve) text += fmt::format("{}:{:.0f} ", knot.size.count(), knot.cost.value() * 1e9);
  return text;
}
std::vector<CostAt> costs(const std::vector<std::tuple<Bytes, double, double>>& all) {
  std::vector<CostAt> result;
  for (const auto& [size, cost, tolerance] : all)
    result.push_back({{size, Seconds{cost * 1e-9}}, Seconds{tolerance * 1e-9}});
  return result;
}

TEST(FewestKnots, PassAllPointsWithinTheirTolerances) {
  const auto fewest = [](const auto& all) { return knots(fewest_knots(costs(all))); };
  using All = std::vector<std::tuple<Bytes, double, double>>;
  EXPECT_EQ(fewest(All{{100_B, 5, 0}}), "100:5 ");
  EXPECT_EQ(fewest(All{{100_B, 10, 1}, {200_B, 21, 2}, {400_B, 40, 1}}), "100:10 400:40 ");
  EXPECT_EQ(fewest(All{{100_B, 10, 1}, {200_B, 23, 2}, {400_B, 40, 1}}), "100:10 200:23 400:40 ");
  // The farthest from the line, as a share of what it bears, is where two lines meet; then each is looked at again.
  EXPECT_EQ(fewest(All{{0_B, 0, 1}, {10_B, 40, 90}, {20_B, 20, 1}, {30_B, 31, 2}, {40_B, 0, 1}}),
            "0:0 20:20 30:31 40:0 ");
  EXPECT_EQ(fewest(All{{0_B, 0, 1}, {10_B, -40, 1}, {20_B, 0, 1}, {30_B, 0, 1}}), "0:0 10:-40 20:0 30:0 ");
}

TEST(CurveOf, IsConstantWhereAllBearThat) {
  const auto curve = [](const std::vector<std::tuple<Bytes, double, double>>& all) {
    std::map<Bytes, CostAt> by_size;
    for (const CostAt& cost : costs(all)) by_size[cost.knot.size] = cost;
    return knots(curve_of(by_size).knots());
  };
  EXPECT_EQ(curve({{100_B, 10, 2.5}, {200_B, 12, 0}, {300_B, 14, 2.5}}), "200:12 ")
      << "what is in the middle stands for all";
  EXPECT_EQ(curve({{100_B, 9, 2}, {200_B, 12, 0}, {300_B, 14, 2}}), "100:9 200:12 300:14 ");
  EXPECT_EQ(curve({{100_B, 10, 2}, {200_B, 12, 9}, {300_B, 15, 2}}), "100:10 300:15 ");
}

TEST(FitShare, WhatEachBlockTakes) {
  std::vector<CountedObservation> observations;
  for (const double count : {2.0, 64.0, 8192.0}) {
    const Seconds rest = 7.0_us;
    observations.push_back({{1_KiB, rest + Seconds{4e-9 * count}}, rest, count});
  }
  EXPECT_NEAR(fit_share(observations).value().value(), 4e-9, 1e-15);
  for (CountedObservation& observation : observations) observation.rest = 1.0_s;
  EXPECT_FALSE(fit_share(observations)) << "a negative time";
  EXPECT_FALSE(fit_share({}));
}

}  // namespace
}  // namespace twinlink::validate
