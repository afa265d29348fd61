// Nodes held against each other: who is off by how much, of times that are made up.
#include "validate/nodes/equals.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/validate/nodes/made_up_fleet.hpp"
#include "validate/compare/spread.hpp"
#include "validate/nodes/slower.hpp"

namespace twinlink::validate {
namespace {

using test::curve_of;
using test::file_with;
using test::fleet_of;
using test::Times;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::Pair;

using Place = std::pair<std::size_t, Bytes>;

constexpr double kNormal = 1.4826;  ///< a median absolute deviation as a standard deviation

Equals held(FleetFiles files, const EqualsPlan& plan = {}) { return hold_among_equals(files, plan); }

/// Times of 0, 1, 2, 3 and 10; at 4 KiB twice as much, and at 64 KiB all alike.
TEST(Equals, EachTimeIsHeldAgainstTheMedian) {
  FleetFiles files = fleet_of(5, [](std::size_t node) {
    const double value = node == 4 ? 10 : static_cast<double>(node);
    return std::vector{file_with({curve_of("write", {{1_KiB, value}, {4_KiB, 2 * value}, {64_KiB, 3}})})};
  });
  const Equals equals = hold_among_equals(files, {});
  ASSERT_EQ(equals.keys, (std::vector<CurveKey>{{"tool 1, 2 x GPU", "peer copies", "write", "0/0", "0/1"}}));
  EXPECT_THAT(equals.middle,
              ElementsAre(Pair(Place(0, 1_KiB), 2), Pair(Place(0, 4_KiB), 4), Pair(Place(0, 64_KiB), 3)));
  EXPECT_THAT(equals.deviation, ElementsAre(Pair(Place(0, 1_KiB), kNormal), Pair(Place(0, 4_KiB), 2 * kNormal),
                                            Pair(Place(0, 64_KiB), 0)));
  const HeldCurve& last = equals.nodes[3].curves.at(0);
  EXPECT_EQ(std::tuple(last.key, last.file, last.curve),
            std::tuple(0U, &files.nodes[3].files[0], &files.nodes[3].files[0].curves[0]));
  EXPECT_THAT(last.off, ElementsAre(Optional(1.0), Optional(2.0), Optional(0.0)));
  EXPECT_THAT(last.band_off, ElementsAre(Pair(Band::small, 1.5), Pair(Band::middle, 0)));
  // Of a test the band where it is worst.
  EXPECT_THAT(equals.nodes[4].map, ElementsAre(Pair("peer copies", DoubleEq(std::expm1(12)))));
  EXPECT_THAT(equals.nodes[0].map, ElementsAre(Pair("peer copies", 0)));
  EXPECT_EQ(equals.trials, 10U) << "five nodes in two bands";
  EXPECT_THAT(equals.remarks, IsEmpty());
}

TEST(Equals, BandsBeginAt32KiBAndAMiB) {
  EXPECT_EQ(std::tuple(band_of(0_B), band_of(32_KiB - 1_B), band_of(32_KiB), band_of(1_MiB - 1_B), band_of(1_MiB)),
            std::tuple(Band::small, Band::small, Band::middle, Band::middle, Band::large));
}

/// Seven nodes, of which one repeats itself at one size only and another at none.
TEST(Equals, WhatDoesNotRepeatItselfIsCountedAndNotJudged) {
  const Equals equals = held(fleet_of(7, [](std::size_t node) {
    NodeFile file = file_with({curve_of("write", {{1_KiB, node == 2 ? 50 : 1}, {4_KiB, 1}})});
    for (const std::size_t point : {0U, 1U})
      file.curves[0].points[point].unstable = node == 3 || (node == 2 && point == 0);
    return std::vector{file};
  }));
  EXPECT_EQ(equals.middle.at({0, 1_KiB}), 1) << "of five";
  EXPECT_THAT(equals.nodes[2].curves[0].off, ElementsAre(std::nullopt, Optional(0.0)));
  EXPECT_THAT(equals.nodes[2].curves[0].band_off, ElementsAre(Pair(Band::small, 0)));
  EXPECT_EQ(std::tuple(equals.nodes[2].unstable, equals.nodes[2].unjudged), std::tuple(1U, 0U));
  EXPECT_EQ(std::tuple(equals.nodes[3].unstable, equals.nodes[3].unjudged), std::tuple(2U, 1U));
  EXPECT_EQ(std::tuple(equals.nodes[0].unstable, equals.nodes[0].unjudged), std::tuple(0U, 0U));
}

TEST(Equals, FewerThanFiveSayNothingOfEachOther) {
  for (const std::size_t nodes : {1U, 4U, 5U}) {
    const Equals equals = held(fleet_of(nodes, [](std::size_t node) {
      return std::vector{file_with({curve_of("write", {{1_KiB, node == 0 ? 9 : 1}})})};
    }));
    EXPECT_EQ(equals.middle.empty(), nodes < 5);
    EXPECT_EQ(equals.nodes[0].unjudged, nodes < 5 ? 1U : 0U);
    EXPECT_EQ(equals.nodes[0].slower.empty(), nodes < 5);
    const std::string count = nodes == 1 ? "1 node" : "4 nodes";
    EXPECT_EQ(equals.remarks,
              nodes == 5 ? std::vector<std::string>{}
                         : std::vector{"tool 1, 2 x GPU: " + count + ", and fewer than 5 say nothing of each other"});
  }
}

/// In whichever order the files are read.
TEST(Equals, TheNewestOfANodeCounts) {
  const NodeFile old = file_with({curve_of("write", {{1_KiB, 1}}), curve_of("read", {{1_KiB, 1}})}, "2026-11-20");
  const NodeFile now = file_with({curve_of("write", {{1_KiB, 2}})}, "2026-11-22");
  for (const auto& files : {std::vector{old, now}, {now, old}}) {
    FleetFiles fleet = fleet_of(1, [&](std::size_t) { return files; });
    const Equals equals = hold_among_equals(fleet, {});
    ASSERT_EQ(equals.nodes[0].curves.size(), 2U);
    for (const HeldCurve& curve : equals.nodes[0].curves) {
      EXPECT_EQ(curve.file->date, curve.curve->name == "write" ? now.date : old.date);
      EXPECT_EQ(curve.curve->points[0].log_us, curve.curve->name == "write" ? 2 : 1);
    }
    EXPECT_THAT(fleet.nodes[0].remarks, IsEmpty());
  }
}

/// A clock that was wrong for a day hides nothing of all days after it.
TEST(Equals, AResultThatIsStillToComeIsTheOldest) {
  const NodeFile ahead = file_with({curve_of("write", {{1_KiB, 1}})}, "2031-01-01");
  const NodeFile today = file_with({curve_of("write", {{1_KiB, 2}})}, "2026-11-22");
  for (const auto& files : {std::vector{ahead, today}, {today, ahead}}) {
    FleetFiles fleet = fleet_of(1, [&](std::size_t) { return files; });
    note_dates_to_come(fleet, "2026-11-22T23:59:59Z");
    const Equals equals = hold_among_equals(fleet, {});
    EXPECT_EQ(equals.nodes[0].curves.at(0).file->date, today.date);
    EXPECT_THAT(fleet.nodes[0].remarks, ElementsAre(HasSubstr("is of 2031-01-01, which is still to come")));
  }
}

TEST(Equals, OfTwoFilesOfOneDateNeitherCounts) {
  const auto remarks = [](const std::string& date, const std::string& newer, std::vector<std::string> left) {
    NodeFile first = file_with({curve_of("write", {{1_KiB, 1}}), curve_of("first", {{1_KiB, 1}})}, date);
    NodeFile second = file_with({curve_of("write", {{1_KiB, 1}}), curve_of("second", {{1_KiB, 1}})}, date);
    second.file = "another";
    std::vector<NodeFile> files{first, second};
    if (!newer.empty()) files.push_back(file_with({curve_of("write", {{1_KiB, 1}})}, newer));
    FleetFiles fleet = fleet_of(1, [&](std::size_t) { return files; });
    const Equals equals = hold_among_equals(fleet, {});
    std::vector<std::string> found;
    for (const HeldCurve& curve : equals.nodes[0].curves) found.push_back(curve.curve->name);
    EXPECT_EQ(found, left);
    return fleet.nodes[0].remarks;
  };
  EXPECT_THAT(remarks("2026-11-20", "", {"first", "second"}),
              ElementsAre("tool 1 of 2026-11-20 and another hold the same measurements, and the same date: neither "
                          "counts in them"));
  EXPECT_THAT(remarks("", "", {"first", "second"}),
              ElementsAre("tool 1 of  and another hold the same measurements, and no date: neither counts in them"));
  EXPECT_EQ(remarks("2026-11-20", "2026-11-21", {"write", "first", "second"}).size(), 1U) << "a newer one does";
}

TEST(Equals, AProgramAndAMachineAreAKind) {
  const Equals equals = held(fleet_of(6, [](std::size_t node) {
    NodeFile mine = file_with({curve_of("write", {{1_KiB, 1}})}, "2026-11-25", node == 5 ? "tool 2" : "tool 1");
    NodeFile other = file_with({curve_of("read", {{1_KiB, 1}})}, "2026-11-25", "gauge 7");
    mine.software = node == 1 ? "driver 8" : node == 2 ? "" : "driver 9";
    NodeFile older = mine;
    older.date = "2026-11-20";
    older.curves[0].name = "another";
    return node < 2 ? std::vector{mine, older, other} : std::vector{mine};
  }));
  std::vector<std::tuple<std::string, std::size_t, std::size_t>> kinds;
  for (const Kind& kind : equals.kinds) kinds.emplace_back(kind.name, kind.nodes, kind.software.size());
  EXPECT_THAT(kinds, ElementsAre(std::tuple("gauge 7, 2 x GPU", 2, 0), std::tuple("tool 1, 2 x GPU", 5, 2),
                                 std::tuple("tool 2, 2 x GPU", 1, 1)));
  EXPECT_THAT(equals.remarks, ElementsAre("two versions: tool 1, tool 2; each is held against its own only",
                                          "gauge 7, 2 x GPU: 2 nodes, and fewer than 5 say nothing of each other",
                                          "tool 1, 2 x GPU: not all nodes have the same software: driver 8; driver 9",
                                          "tool 2, 2 x GPU: 1 node, and fewer than 5 say nothing of each other"));
}

/// Of nodes with curves "all" and "some", of which so many lack "some" and so many have "odd".
std::pair<std::vector<std::size_t>, std::vector<std::size_t>> lacks_of_first(std::size_t nodes, std::size_t lack,
                                                                             std::size_t odd) {
  const Equals equals = held(fleet_of(nodes, [&](std::size_t node) {
    std::vector curves{curve_of("all", {{1_KiB, 1}})};
    if (node >= lack) curves.push_back(curve_of("some", {{1_KiB, 1}}));
    if (node < odd) curves.push_back(curve_of("odd", {{1_KiB, 1}}));
    return std::vector{file_with(curves)};
  }));
  for (std::size_t node = std::max(lack, odd); node < nodes; ++node) {
    EXPECT_THAT(equals.nodes[node].missing, IsEmpty());
    EXPECT_THAT(equals.nodes[node].extra, IsEmpty());
  }
  const auto names = [&](const std::vector<std::size_t>& keys) {
    for (const std::size_t key : keys) EXPECT_EQ(equals.keys[key].name, lack > 0 ? "some" : "odd");
    return keys;
  };
  return {names(equals.nodes[0].missing), names(equals.nodes[0].extra)};
}

TEST(Equals, WhatNineOfTenOthersHaveIsMissingAndWhatOneOfTenHasIsExtra) {
  for (const std::size_t nodes : {5U, 10U, 11U}) {
    EXPECT_EQ(lacks_of_first(nodes, 1, 0).first.size(), 1U) << nodes;
    EXPECT_EQ(lacks_of_first(nodes, 0, 1).second.size(), 1U) << nodes;
  }
  EXPECT_EQ(lacks_of_first(11, 2, 0).first.size(), 1U) << "nine of ten others have it";
  EXPECT_EQ(lacks_of_first(11, 3, 0).first.size(), 0U);
  EXPECT_EQ(lacks_of_first(11, 0, 2).second.size(), 1U) << "one of ten others has it";
  EXPECT_EQ(lacks_of_first(11, 0, 3).second.size(), 0U);
  EXPECT_EQ(lacks_of_first(4, 1, 0).first.size(), 0U) << "too few to tell";
  EXPECT_EQ(lacks_of_first(4, 0, 1).second.size(), 0U);
}

TEST(Equals, AProgramThatANodeDidNotRunIsNotMissing) {
  const Equals equals = held(fleet_of(6, [](std::size_t node) {
    const NodeFile mine = file_with({curve_of("write", {{1_KiB, 1}})});
    const NodeFile other = file_with({curve_of("read", {{1_KiB, 1}})}, "2026-11-25", "gauge 7");
    return node == 0 ? std::vector{mine} : std::vector{mine, other};
  }));
  EXPECT_THAT(equals.nodes[0].missing, IsEmpty());
}

// --- Who is slower ---------------------------------------------------------------------------------------------------

std::string words(const Slower& slower) {
  const char* const of = slower.of == Slower::Of::curve ? "curve" : slower.of == Slower::Of::gpu ? "gpu" : "test";
  return fmt::format("{} {}/{} [{}] {}: {:.2f} % of {:.2f} %", of, slower.test, slower.curve,
                     fmt::join(slower.places, " "), to_string(slower.band), slower.slower * 100, slower.allowed * 100);
}

/// Node 7 takes e^0.2 as long for writes and e^0.05 for reads, and node 3 a half.
TEST(Equals, SlowerAreCurvesAndMeansOfAGpuAndOfATest) {
  const Equals equals = held(fleet_of(10, [](std::size_t node) {
    const double off = node == 3 ? -0.7 : 0;
    return std::vector{file_with({curve_of("write", {{1_MiB, 1 + off + (node == 7 ? 0.2 : 0)}}),
                                  curve_of("read", {{1_MiB, 1 + off + (node == 7 ? 0.05 : 0)}}, "0/0", "0/2"),
                                  curve_of("far", {{1_MiB, 1 + (node == 7 ? 0.09 : 0)}}, "1/0", "1/1", "messages"),
                                  curve_of("farther", {{1_MiB, 1}}, "1/0", "1/0", "messages")})};
  }));
  std::vector<std::string> found;
  for (const Slower& slower : equals.nodes[7].slower) found.push_back(words(slower));
  EXPECT_THAT(found, ElementsAre("curve peer copies/write [0/0 0/1] large sizes: 22.14 % of 10.00 %",
                                 "test peer copies/ [] large sizes: 13.31 % of 3.00 %",
                                 "gpu peer copies/ [0/0] large sizes: 13.31 % of 3.00 %",
                                 "test messages/ [] large sizes: 4.60 % of 3.00 %"));
  for (const std::size_t node : {0U, 3U, 9U}) EXPECT_THAT(equals.nodes[node].slower, IsEmpty());
  EXPECT_EQ(equals.trials, 70U) << "four curves, two tests and one GPU of this node, of ten nodes";
  EXPECT_THAT(held(fleet_of(10,
                            [](std::size_t node) {
                              return std::vector{file_with({curve_of("write", {{1_MiB, node == 7 ? 0.2 : 0}})})};
                            }),
                   {.tolerance = 0.25})
                  .nodes[7]
                  .slower,
              IsEmpty());
}

/// Of each size most take 0, but of the mean over both most take 0.05: that is what the others' mean is held against.
TEST(Equals, AMeanIsHeldAgainstTheMiddleOfMeans) {
  const Equals equals = held(fleet_of(5, [](std::size_t node) {
    const double second = node == 0 ? 1 : node == 1 ? 0.1 : 0;
    return std::vector{file_with({curve_of("write", {{1_MiB, node > 2 ? 0.1 : 0}, {2_MiB, second}})})};
  }));
  ASSERT_THAT(equals.nodes[0].slower, ::testing::SizeIs(::testing::Ge(1)));
  EXPECT_NEAR(equals.nodes[0].slower[0].slower, std::expm1(0.45), 1e-9);
}

/// Ten nodes scatter evenly from 0 to 0.9: with the one that is looked at the median is 0.5, and the median of the
/// distances to it 0.3.
TEST(Equals, WhatChanceDoesIsAllowed) {
  const double chance = farthest_of(100 * 11, 11) * kNormal * 0.3;
  for (const double times : {0.99, 1.01}) {
    const Equals equals = held(fleet_of(11, [&](std::size_t node) {
      const double value = node == 10 ? 0.5 + times * chance : 0.1 * static_cast<double>(node);
      return std::vector{file_with({curve_of("write", {{1_MiB, value}})})};
    }));
    ASSERT_EQ(equals.nodes[10].slower.size(), times > 1 ? 1U : 0U);
    if (times > 1) {
      EXPECT_NEAR(equals.nodes[10].slower[0].allowed / std::expm1(chance), 1, 1e-9);
    }
  }
}

/// Where the nodes are closer together than those of all other curves, that is chance.
TEST(Equals, ManyCurvesTellHowFarNodesLieApart) {
  const auto fleet = [](std::size_t curves) {
    return fleet_of(11, [&](std::size_t node) {
      NodeFile file = file_with({curve_of("close", {{1_MiB, node == 7 ? 0.2 : 0}})});
      for (std::size_t curve = 1; curve < curves; ++curve) {
        const double value = 0.1 * static_cast<double>((node + curve) % 11);
        file.curves.push_back(curve_of(fmt::format("write {}", curve), {{1_MiB, value}}));
      }
      return std::vector{file};
    });
  };
  const auto is_accused = [](const Equals& equals) {
    return std::ranges::any_of(equals.nodes[7].slower, [](const Slower& each) { return each.curve == "close"; });
  };
  const Equals few = held(fleet(7));
  EXPECT_TRUE(is_accused(few));
  EXPECT_EQ(few.deviation.at({0, 1_MiB}), 0);
  const Equals many = held(fleet(20));
  EXPECT_FALSE(is_accused(many));
  EXPECT_NEAR(many.deviation.at({0, 1_MiB}), kNormal * 0.3, 1e-9) << "as of those from 0 to 1";
}

/// Two tests of ten curves each, whose means over a node happen to be all the same: two figures tell nothing of that,
/// and what is expected of ten such curves counts.
TEST(Equals, WhereFewFiguresAreAlikeAllTellHowFarNodesLieApart) {
  const Equals equals = held(fleet_of(11, [](std::size_t node) {
    NodeFile file = file_with({});
    for (std::size_t curve = 0; curve < 20; ++curve) {
      const std::size_t step = (node + curve % 5) % 11;
      const double value = 0.1 * static_cast<double>(curve % 10 < 5 ? step : 10 - step);
      file.curves.push_back(curve_of(fmt::format("write {}", curve),
                                     {{1_MiB, value + (node == 7 && curve < 10 ? 0.1 : 0)}}, "0/0", "",
                                     curve < 10 ? "one" : "other"));
    }
    return std::vector{file};
  }));
  EXPECT_THAT(equals.nodes[7].slower, IsEmpty());
}

// --- Odd times -------------------------------------------------------------------------------------------------------

/// A hundred curves of each node, of one size, which scatter by 1 %. `odd` nodes have one that takes half as long
/// again, each another, and node 20 has `slow` of them.
Equals with_odd_times(std::size_t odd, std::size_t slow) {
  return held(fleet_of(30, [&](std::size_t node) {
    NodeFile file = file_with({});
    for (std::size_t curve = 0; curve < 100; ++curve) {
      double value = 0.002 * static_cast<double>((37 * node + 101 * curve) % 11);
      if ((node < odd && curve == node) || (node == 20 && curve < slow)) value += 0.4;
      file.curves.push_back(curve_of(fmt::format("write {}", curve), {{1_MiB, value}}));
    }
    return std::vector{file};
  }));
}

TEST(Equals, OddTimesOfManyNodesAccuseNobody) {
  const Equals equals = with_odd_times(10, 0);
  EXPECT_DOUBLE_EQ(equals.odd, 10.0 / 3000);
  for (const HeldNode& node : equals.nodes) EXPECT_THAT(node.slower, IsEmpty());
  EXPECT_THAT(equals.remarks, ElementsAre(HasSubstr("0.3 % of all times are far off on nodes that are well otherwise: "
                                                    "10 figures are off by no more")));
}

TEST(Equals, OddTimesOfTwoNodesAreTheirs) {
  const Equals equals = with_odd_times(2, 0);
  EXPECT_EQ(equals.odd, 0);
  for (std::size_t node = 0; node < 30; ++node) EXPECT_EQ(equals.nodes[node].slower.size(), node < 2 ? 1U : 0U);
}

/// By chance one of a hundred is odd, and ten are not.
TEST(Equals, OddTimesOfOthersDoNotExcuseWhoHasMore) {
  const Equals equals = with_odd_times(10, 10);
  ASSERT_FALSE(equals.nodes[20].slower.empty());
  EXPECT_EQ(equals.nodes[20].slower[0].of, Slower::Of::test);
  EXPECT_NEAR(equals.nodes[20].slower[0].slower, 0.04, 0.005) << "ten of a hundred by 0.4";
  EXPECT_THAT(equals.nodes[5].slower, IsEmpty());
}

// --- Days ------------------------------------------------------------------------------------------------------------

/// One curve of one size of twelve nodes on seven days, the newest of which is day 0.
Equals of_days(const std::function<double(std::size_t node, int day)>& off) {
  return held(fleet_of(12, [&](std::size_t node) {
    std::vector<NodeFile> files;
    for (int day = 0; day < 7; ++day) {
      files.push_back(
          file_with({curve_of("write", {{1_MiB, off(node, day)}})}, fmt::format("2026-11-{:02}", 25 - day)));
    }
    return files;
  }));
}
/// From -0.1 to 0.1, in the mean over seven days nothing.
double daily(std::size_t node, int day) {
  return (static_cast<int>(node + static_cast<std::size_t>(day)) % 7 - 3) / 30.0;
}

TEST(Equals, SevenDaysTellWhatOneDoesNot) {
  const Equals equals = of_days([](std::size_t node, int day) { return daily(node, day) + (node == 3 ? 0.12 : 0); });
  for (std::size_t node = 0; node < 12; ++node) {
    ASSERT_EQ(equals.nodes[node].slower.size(), node == 3 ? 1U : 0U) << node;
  }
  const Slower& slower = equals.nodes[3].slower[0];
  EXPECT_EQ(slower.days, 7U);
  EXPECT_NEAR(slower.slower, std::expm1(0.12), 1e-9);
}

/// A day at which everything took seven times as long, which would be a third of the mean.
TEST(Equals, OneOddDayOfSevenIsNone) {
  const Equals equals = of_days([](std::size_t node, int day) { return node == 5 && day == 1 ? 2 : daily(node, day); });
  for (const HeldNode& node : equals.nodes) EXPECT_THAT(node.slower, IsEmpty());
}

TEST(Equals, WhatHasBeenMendedIsSlowNoMore) {
  for (const bool mended : {false, true}) {
    const Equals equals =
        of_days([&](std::size_t node, int day) { return node == 3 && !(mended && day == 0) ? 0.3 : 0; });
    EXPECT_EQ(equals.nodes[3].slower.empty(), mended);
  }
}

/// The middle three of five values of a normal distribution scatter as Sarhan and Greenberg's covariances of order
/// statistics add up; of seven the same is drawn.
TEST(Equals, LeavingTheBestAndTheWorstOutCostsLittle) {
  for (const unsigned days : {1U, 2U, 4U}) EXPECT_DOUBLE_EQ(scatter_of_mean(days), 1 / static_cast<double>(days));
  EXPECT_NEAR(scatter_of_mean(5), (2 * 0.31152 + 0.28683 + 2 * (2 * 0.20844 + 0.14994)) / 9, 0.001);
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  constexpr int kDraws = 50000;
  double squares = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<double> week(7);
    for (double& day : week) day = normal(random);
    squares += std::pow(robust_mean(week), 2);
  }
  EXPECT_NEAR(scatter_of_mean(7) / (squares / kDraws), 1, 0.03);
}

/// Nodes from 0 to 1.1; of two days as much more is allowed than of seven as their mean scatters more: be it that the
/// node has no more, or that five of its seven days lack the size.
TEST(Equals, AMeanOverFewerDaysMayBeFartherOff) {
  for (const bool lacks_size : {false, true}) {
    FleetFiles files = fleet_of(12, [&](std::size_t node) {
      const double value = node == 8 || node == 9 ? 30 : 0.1 * static_cast<double>(node);
      std::vector<NodeFile> days;
      for (int day = 0; day < 7; ++day) {
        const bool lacks = node == 9 && day >= 2;
        if (lacks && !lacks_size) break;
        days.push_back(
            file_with({curve_of("write", {{lacks ? 2_MiB : 1_MiB, value}})}, fmt::format("2026-11-{:02}", 25 - day)));
      }
      return days;
    });
    const Equals equals = held(std::move(files));
    std::map<std::size_t, double> allowed;
    for (const std::size_t node : {8U, 9U}) {
      for (const Slower& slower : equals.nodes[node].slower) allowed[slower.days] = std::log1p(slower.allowed);
    }
    ASSERT_EQ(allowed.size(), 3U);
    EXPECT_NEAR(allowed.at(2) / allowed.at(7), std::sqrt(scatter_of_mean(2) / scatter_of_mean(7)), 1e-9);
  }
}

/// Nine sizes of a curve, each with ten nodes from 0 to 0.9; node 11 has one of them, and scatters three times as much.
TEST(Equals, AMeanOverFewerSizesMayBeFartherOff) {
  const Equals equals = held(fleet_of(12, [](std::size_t node) {
    Times times;
    for (std::size_t size = 0; size < (node == 11 ? 1U : 9U); ++size) {
      times.emplace_back(1_MiB * (size + 1), node >= 10 ? 30 : 0.1 * static_cast<double>((node + size) % 10));
    }
    return std::vector{file_with({curve_of("write", times)})};
  }));
  ASSERT_EQ(std::tuple(equals.nodes[10].slower.size(), equals.nodes[11].slower.size()), std::tuple(1U, 1U));
  const auto allowed = [&](std::size_t node) { return std::log1p(equals.nodes[node].slower[0].allowed); };
  EXPECT_NEAR(allowed(11) / allowed(10), 3, 1e-9);
}

}  // namespace
}  // namespace twinlink::validate
