#include "validate/compare/prediction.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/validate/fixtures.hpp"
#include "validate/compare/accuracy_table.hpp"
#include "validate/compare/comparison.hpp"
#include "validate/compare/report.hpp"

namespace twinlink::validate {
namespace {

using test::expect;
using test::make_recording;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

/// 4 B and 16 B, against an expectation of `expected`.
Pair pair_with(const test::Curve& expected) {
  return compare_pair(expect(make_recording("measured", "host", {{4, 10}, {16, 20}}), expected),
                      make_recording("simulated", "host", {{4, 11}, {16, 22}}), false);
}

Pair pair_without() {
  return compare_pair(make_recording("measured", "host", {{4, 10}}), make_recording("simulated", "host", {{4, 11}}),
                      false);
}

TEST(Prediction, IsHeldIfEveryTimeIsTheSame) {
  EXPECT_EQ(pair_with({{4, 11}, {16, 22}}).prediction, Prediction::held);
  EXPECT_EQ(pair_with({{4, 11}, {8, 15}, {16, 22}}).prediction, Prediction::held) << "more was expected";
  EXPECT_EQ(pair_with({{4, 11}, {16, 22.000000000000004}}).prediction, Prediction::held) << "the next number after 22";
}

TEST(Prediction, IsAnotherIfATimeDiffersOrIsMissing) {
  EXPECT_EQ(pair_with({{4, 11}, {16, 22.000001}}).prediction, Prediction::other);
  EXPECT_EQ(pair_with({{4, 11}, {16, 21.999999}}).prediction, Prediction::other);
  EXPECT_EQ(pair_with({{4, 12}, {16, 22}}).prediction, Prediction::other);
  EXPECT_EQ(pair_with({{4, 11}}).prediction, Prediction::other);
  EXPECT_EQ(pair_with({}).prediction, Prediction::other);
}

TEST(Prediction, IsUnknownOfAFileWithoutAnExpectation) { EXPECT_EQ(pair_without().prediction, Prediction::unknown); }

TEST(Prediction, AnExpectationThatCannotBeReadIsRefused) {
  auto measured = make_recording("measured", "host", {{4, 10}});
  measured.environment.set("expected", "11 us");
  EXPECT_THAT(
      [&] {
        compare_pair(measured, make_recording("simulated", "host", {{4, 11}}), false);
      },
      ThrowsMessage<InputError>(HasSubstr("host-measured.json: error: member 'environment.expected'")));
}

TEST(Prediction, TheReportSaysIt) {
  const auto said = [](Pair pair) { return render_report(compare({std::move(pair)}, {}), ReportFormat::text); };
  EXPECT_THAT(said(pair_with({{4, 11}, {16, 22}})),
              HasSubstr("The simulated file: Written before the measurement: the measured file holds it.\n"));
  EXPECT_THAT(said(pair_with({{4, 11}})), HasSubstr("The measured file holds another expectation.\n"));
  EXPECT_THAT(said(pair_without()), HasSubstr("Not known to be written before the measurement.\n"));
  EXPECT_EQ(json_report(compare({pair_with({{4, 11}})}, {})).at("pairs").at(0).at("expectation"), "other");
}

TEST(Prediction, TheEnvironmentNamesTheFileButListsNoTimes) {
  const auto text = render_report(compare({pair_with({{4, 11}, {16, 22}})}, {}), ReportFormat::markdown);
  EXPECT_THAT(
      text, AllOf(HasSubstr("| expected.file "), HasSubstr("| expected.platform "), Not(HasSubstr("expected.points"))));
}

TEST(Prediction, NobodyExpectsProbes) {
  auto measured = make_recording("measured", "probe", {{4, 10}});
  auto simulated = make_recording("simulated", "probe", {{4, 10}});
  measured.series.reset();
  simulated.series.reset();
  const auto comparison = compare({compare_pair(measured, simulated, false)}, {});
  EXPECT_THAT(render_report(comparison, ReportFormat::text), Not(HasSubstr("before the measurement")));
  EXPECT_FALSE(json_report(comparison).at("pairs").at(0).contains("expectation"));
}

TEST(Prediction, TheTableOfAccuracyCountsTheCurves) {
  const auto text =
      to_markdown(accuracy_table(compare({pair_with({{4, 11}, {16, 22}}), pair_with({{4, 11}}), pair_without()}, {})));
  EXPECT_THAT(text, ::testing::EndsWith("\n1 of 3 curves were simulated before they were measured; the measured files "
                                        "hold the expectations.\n"));
}

}  // namespace
}  // namespace twinlink::validate
