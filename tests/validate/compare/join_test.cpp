#include "validate/compare/join.hpp"

#include <gtest/gtest.h>

namespace twinlink::validate {
namespace {

Sample at(std::uint64_t size, double time_us) { return {.key = {.size = Bytes{size}}, .time_us = time_us}; }

TEST(Join, PairsEqualSizesAndListsTheRest) {
  const std::vector<Sample> measured{at(4, 1), at(8, 2), at(16, 3)};
  const std::vector<Sample> simulated{at(2, 10), at(8, 20), at(16, 30), at(32, 40)};
  const auto joined = join(measured, simulated);

  ASSERT_EQ(joined.rows.size(), 2U);
  EXPECT_EQ(joined.rows[0].key.size, Bytes{8});
  EXPECT_EQ(joined.rows[0].measured_us, 2);
  EXPECT_EQ(joined.rows[0].simulated_us, 20);
  EXPECT_EQ(joined.rows[1].key.size, Bytes{16});
  EXPECT_EQ(joined.only_measured, (std::vector<Key>{{.size = Bytes{4}}}));
  EXPECT_EQ(joined.only_simulated, (std::vector<Key>{{.size = Bytes{2}}, {.size = Bytes{32}}}));
}

TEST(Join, NeighbouringSizesAreNotTheSame) {
  const auto joined = join(std::vector{at(1024, 1)}, std::vector{at(1023, 1), at(1025, 1)});
  EXPECT_TRUE(joined.rows.empty());
  EXPECT_EQ(joined.only_measured.size(), 1U);
  EXPECT_EQ(joined.only_simulated.size(), 2U);
}

TEST(Join, ProbesOfOneSizeAreToldApartByNameAndDevice) {
  const std::vector<Sample> measured{{.key = {"up", "0/0", "", Bytes{4}}, .time_us = 1},
                                     {.key = {"up", "0/1", "", Bytes{4}}, .time_us = 2},
                                     {.key = {"down", "0/0", "", Bytes{4}}, .time_us = 3}};
  const std::vector<Sample> simulated{{.key = {"down", "0/0", "", Bytes{4}}, .time_us = 30},
                                      {.key = {"up", "0/1", "", Bytes{4}}, .time_us = 20}};
  const auto joined = join(measured, simulated);

  ASSERT_EQ(joined.rows.size(), 2U);
  EXPECT_EQ(joined.rows[0].simulated_us, 20) << "the measured file's order is kept";
  EXPECT_EQ(joined.rows[1].simulated_us, 30);
  ASSERT_EQ(joined.only_measured.size(), 1U);
  EXPECT_EQ(to_string(joined.only_measured[0]), "up 0/0 4");
}

TEST(Join, WhatDidNotRepeatItselfOnEitherSideIsMarked) {
  for (const auto& [first, second] : {std::pair(false, false), {true, false}, {false, true}}) {
    std::vector one{at(4, 1)};
    std::vector other{at(4, 2)};
    one[0].unstable = first;
    other[0].unstable = second;
    EXPECT_EQ(join(one, other).rows.at(0).unstable, first || second);
  }
}

TEST(Join, AnEmptySideLeavesAllOfTheOther) {
  const auto joined = join(std::vector{at(4, 1)}, {});
  EXPECT_TRUE(joined.rows.empty());
  EXPECT_EQ(joined.only_measured.size(), 1U);
}

}  // namespace
}  // namespace twinlink::validate
