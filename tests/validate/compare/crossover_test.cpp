#include "validate/compare/crossover.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace twinlink::validate {
namespace {

bench::TwoTimes at(std::uint64_t size, double a_us, double b_us) {
  return {.size = Bytes{size}, .a_us = a_us, .b_us = b_us};
}

std::vector<Lead> leads_of(std::vector<bench::TwoTimes> times) { return leads(times); }

TEST(Leads, NoCrossoverLeavesTheFirstLead) {
  const auto found = leads_of({at(4, 1, 2), at(8, 2, 3), at(16, 3, 4)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].curve, Faster::a);
  EXPECT_EQ(found[0].from_bytes, 4);
}

TEST(Leads, OneCrossoverIsInterpolatedInLogarithms) {
  // ln(b/a) is +1 at 2^10 and -1 at 2^12: the crossing is half-way in logarithms, at 2^11.
  const auto found = leads_of({at(1024, 1, std::exp(1.0)), at(4096, std::exp(1.0), 1)});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].curve, Faster::b);
  EXPECT_NEAR(found[1].from_bytes, 2048, 1e-9);
}

TEST(Leads, ExactForPowerLaws) {
  // a = size / 1000 and b = sqrt(size) / 10 are straight lines in logarithms; they meet at 10^4, between any two sizes.
  std::vector<bench::TwoTimes> times;
  for (const std::uint64_t size : {64U, 512U, 4096U, 32768U, 262144U}) {
    const auto bytes = static_cast<double>(size);
    times.push_back(at(size, bytes / 1000, std::sqrt(bytes) / 10));
  }
  const auto found = leads(times);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].curve, Faster::a);
  EXPECT_EQ(found[1].curve, Faster::b);
  EXPECT_NEAR(found[1].from_bytes, 10000, 1e-6);
}

TEST(Leads, SeveralCrossoversAlternate) {
  const auto found = leads_of({at(4, 1, 2), at(16, 2, 1), at(64, 1, 2), at(256, 2, 1)});
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[1].curve, Faster::b);
  EXPECT_NEAR(found[1].from_bytes, 8, 1e-12);
  EXPECT_EQ(found[2].curve, Faster::a);
  EXPECT_NEAR(found[2].from_bytes, 32, 1e-12);
  EXPECT_EQ(found[3].curve, Faster::b);
  EXPECT_NEAR(found[3].from_bytes, 128, 1e-12);
}

TEST(Leads, CrossoverAtASizeIsThatSize) {
  const auto found = leads_of({at(4, 1, 2), at(8, 5, 5), at(16, 4, 3)});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].curve, Faster::b);
  EXPECT_EQ(found[1].from_bytes, 8);
}

TEST(Leads, EqualOverSeveralSizesCrossAtTheFirst) {
  const auto found = leads_of({at(4, 1, 2), at(8, 5, 5), at(16, 6, 6), at(32, 4, 3)});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].from_bytes, 8);
}

TEST(Leads, TouchingIsNoCrossover) {
  const auto found = leads_of({at(4, 1, 2), at(8, 5, 5), at(16, 3, 4)});
  EXPECT_EQ(found.size(), 1U);
}

TEST(Leads, ATouchDoesNotMoveALaterCrossover) {
  const auto found = leads_of({at(4, 1, 2), at(8, 5, 5), at(16, 1, 2), at(64, 2, 1)});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NEAR(found[1].from_bytes, 32, 1e-12);
}

TEST(Leads, TiesAtTheEndsAreNoCrossover) {
  const auto found = leads_of({at(4, 1, 1), at(8, 2, 1), at(16, 3, 3)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].curve, Faster::b);
  EXPECT_EQ(found[0].from_bytes, 8);
}

TEST(Leads, EqualCurvesOrNoSizesHaveNoLead) {
  EXPECT_TRUE(leads_of({at(4, 1, 1), at(8, 2, 2)}).empty());
  EXPECT_TRUE(leads_of({}).empty());
}

TEST(Leads, ZeroBytesAreLeftOut) {
  const auto found = leads_of({at(0, 2, 1), at(4, 1, 2)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].curve, Faster::a);
}

Lead lead(Faster curve, double from) { return {.curve = curve, .from_bytes = from}; }

TEST(MatchCrossovers, DistanceIsSignedInPowersOfTwo) {
  const auto matched = match_crossovers(std::vector{lead(Faster::a, 4), lead(Faster::b, 8192)},
                                        std::vector{lead(Faster::a, 4), lead(Faster::b, 32768)});
  ASSERT_EQ(matched.size(), 1U);
  EXPECT_EQ(matched[0].curve, Faster::b);
  EXPECT_EQ(matched[0].measured_bytes, 8192);
  EXPECT_EQ(matched[0].simulated_bytes, 32768);
  EXPECT_DOUBLE_EQ(matched[0].distance().value(), 2.0);
}

TEST(MatchCrossovers, FirstLeadsAreNoCrossovers) {
  EXPECT_TRUE(match_crossovers(std::vector{lead(Faster::a, 4)}, std::vector{lead(Faster::b, 4)}).empty());
  EXPECT_TRUE(match_crossovers({}, {}).empty());
}

TEST(MatchCrossovers, OnlyOneWorldCrosses) {
  const auto matched =
      match_crossovers(std::vector{lead(Faster::a, 4), lead(Faster::b, 64)}, std::vector{lead(Faster::a, 4)});
  ASSERT_EQ(matched.size(), 1U);
  EXPECT_EQ(matched[0].measured_bytes, 64);
  EXPECT_FALSE(matched[0].simulated_bytes.has_value());
  EXPECT_FALSE(matched[0].distance().has_value());
}

TEST(MatchCrossovers, OppositeDirectionsAreNotTheSameCrossover) {
  const auto matched = match_crossovers(std::vector{lead(Faster::a, 4), lead(Faster::b, 64)},
                                        std::vector{lead(Faster::b, 4), lead(Faster::a, 64)});
  ASSERT_EQ(matched.size(), 2U);
  EXPECT_FALSE(matched[0].distance().has_value());
  EXPECT_FALSE(matched[1].distance().has_value());
}

TEST(MatchCrossovers, TheClosestOfSeveralIsTaken) {
  const auto matched =
      match_crossovers(std::vector{lead(Faster::a, 1), lead(Faster::b, 1000)},
                       std::vector{lead(Faster::a, 1), lead(Faster::b, 10), lead(Faster::a, 20), lead(Faster::b, 500)});
  ASSERT_EQ(matched.size(), 3U);
  EXPECT_EQ(matched[0].simulated_bytes, 10);
  EXPECT_FALSE(matched[0].measured_bytes.has_value());
  EXPECT_EQ(matched[1].simulated_bytes, 20);
  EXPECT_EQ(matched[2].measured_bytes, 1000);
  EXPECT_EQ(matched[2].simulated_bytes, 500);
  EXPECT_DOUBLE_EQ(matched[2].distance().value(), -1.0);
}

}  // namespace
}  // namespace twinlink::validate
