// Several measurements of one curve together.
#include "validate/compare/visits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocols/bench/measure/expectation.hpp"
#include "protocols/core/errors.hpp"
#include "tests/validate/fixtures.hpp"

namespace twinlink::validate {
namespace {

using test::make_result;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// A curve of one size with these rounds.
Visit visit(const std::string& file, std::vector<double> samples_us, bool disturbed = false) {
  Visit made{file, make_result("measured", "host", {{1024, samples_us.front()}})};
  bench::Point& point = made.result.series.points.front();
  point.time_us = bench::summarize(bench::Rounds{.times_us = samples_us, .left_out = 1, .disturbed = disturbed});
  point.bandwidth_MBps = 1024 / point.time_us.median;
  point.samples_us = std::move(samples_us);
  return made;
}

TEST(Visits, ThatAreWithinATenthCountTogether) {
  const bench::Result all = together({visit("a", {10, 12}), visit("b", {20, 20}), visit("c", {11})});
  const bench::Point& point = all.series.points.front();
  EXPECT_THAT(point.samples_us, ElementsAre(10, 12, 11));
  EXPECT_DOUBLE_EQ(point.time_us.median, 11);
  EXPECT_DOUBLE_EQ(point.time_us.max, 12);
  EXPECT_EQ(point.time_us.left_out, 2);
  EXPECT_DOUBLE_EQ(point.bandwidth_MBps, 1024.0 / 11);
  EXPECT_THAT(all.notes, ElementsAre("3 visits together: a, b, c"));
}

TEST(Visits, ThatWereDisturbedDoNotCountBesideOneThatWasNot) {
  const bench::Result all = together({visit("a", {10}, true), visit("b", {30}), visit("c", {10}, true)});
  EXPECT_THAT(all.series.points.front().samples_us, ElementsAre(30));
  EXPECT_FALSE(all.series.points.front().time_us.disturbed);
}

TEST(Visits, OneByItselfStaysAsItIs) {
  const Visit alone = visit("a", {10, 12, 14}, true);
  EXPECT_EQ(to_json(together({alone})), to_json(alone.result));
}

TEST(Visits, OfDifferentCurvesAreRefused) {
  Visit other{"b", make_result("measured", "staging", {{1024, 10}})};
  other.result.series.points.front().samples_us = {10};
  EXPECT_THAT(
      [&] {
        together({visit("a", {10}), other});
      },
      ThrowsMessage<InputError>(HasSubstr("b: error: another curve, other places or other sizes than in a")));
}

TEST(Visits, OfOtherPlacesAreRefused) {
  Visit other = visit("b", {10});
  other.result.series.to = "0/7";
  EXPECT_THAT(
      [&] {
        together({visit("a", {10}), other});
      },
      ThrowsMessage<InputError>(HasSubstr("b: error: another curve, other places or other sizes than in a")));
}

TEST(Visits, OfOtherDevicesAreRefused) {
  const auto on = [](const std::string& file, const std::string& device) {
    Visit made = visit(file, {10});
    made.result.environment["ranks"] = {{{"cpu", "A CPU"}, {"device", {{"name", device}}}}};
    return made;
  };
  EXPECT_NO_THROW(together({on("a", "A GPU"), on("b", "A GPU")}));
  EXPECT_THAT(
      [&] {
        together({on("a", "A GPU"), on("b", "Another")});
      },
      ThrowsMessage<InputError>(HasSubstr("b: error: other devices or processors than in a")));
}

TEST(Visits, AreCountedOnce) {
  EXPECT_THAT(
      [&] {
        together({visit("a", {10}), visit("a", {10})});
      },
      ThrowsMessage<InputError>(HasSubstr("a: error: named twice")));
}

TEST(Visits, OfWhichSomethingElseWasExpectedAreRefused) {
  Visit other = visit("b", {10});
  other.result.environment[bench::kExpectedMember] =
      to_json(bench::Expectation{.file = "f", .platform = "p", .points = {{1_KiB, 9.0}}});
  Visit again = other;
  again.file = "c";
  EXPECT_NO_THROW(together({other, again}));
  EXPECT_THAT(
      [&] {
        together({visit("a", {10}), other});
      },
      ThrowsMessage<InputError>(HasSubstr("b: error: something else was expected than in a")));
}

TEST(Visits, WithoutRawSamplesOrSimulatedAreRefused) {
  Visit bare = visit("b", {10});
  bare.result.series.points.front().samples_us.clear();
  EXPECT_THAT([&] { together({visit("a", {10}), bare}); }, ThrowsMessage<InputError>("b: error: 1K: no raw samples"));
  Visit simulated = visit("b", {10});
  simulated.result.world = "simulated";
  EXPECT_THAT([&] { together({simulated}); }, ThrowsMessage<InputError>("b: error: not measured"));
}

}  // namespace
}  // namespace twinlink::validate
