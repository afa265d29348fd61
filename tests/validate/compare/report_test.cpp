#include "validate/compare/report.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "protocols/core/text.hpp"
#include "tests/validate/fixtures.hpp"
#include "tests/validate/golden.hpp"

namespace twinlink::validate {
namespace {

using test::make_recording;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

/// Two curves that cross once in each world, a note, a line in one file only, and a limit that one of them exceeds.
Comparison sample_comparison() {
  auto staging_simulated = make_recording("simulated", "staging", {{1024, 11}, {4096, 15.5}, {16384, 42}});
  staging_simulated.series->settings.depth = 4;
  return compare(
      {compare_pair(make_recording("measured", "staging", {{1024, 10}, {4096, 16}, {16384, 40}, {65536, 99}}),
                    std::move(staging_simulated), false),
       compare_pair(make_recording("measured", "gpudirect-v1", {{1024, 12}, {4096, 14}, {16384, 25}}),
                    make_recording("simulated", "gpudirect-v1", {{1024, 12}, {4096, 15.4}, {16384, 26}}), false)},
      {.geometric_mean = 0.05, .p95 = 0.2});
}

TEST(Report, IsAsItWas) {
  const Comparison comparison = sample_comparison();
  test::expect_golden("comparison.markdown", render_report(comparison, ReportFormat::markdown));
  test::expect_golden("comparison.txt", render_report(comparison, ReportFormat::text));
  test::expect_golden("comparison.xml", render_report(comparison, ReportFormat::junit));
  test::expect_golden("comparison.plots", test::drawn(full_report(comparison)));
}

TEST(Report, JsonHoldsEverythingUnrounded) {
  const auto comparison = sample_comparison();
  const auto written = nlohmann::json::parse(render_report(comparison, ReportFormat::json));
  EXPECT_EQ(written.at("kind"), "twinlink-comparison");
  EXPECT_EQ(written.at("schema"), kComparisonSchema);
  EXPECT_EQ(written.at("verdict"), "exceeded");
  EXPECT_EQ(written.at("exceeded").size(), 1U);
  EXPECT_EQ(written.at("limits"), (nlohmann::json{{"geometric_mean", 0.05}, {"p95", 0.2}}));

  const auto& staging = written.at("pairs").at(0);
  EXPECT_EQ(staging.at("label"), "staging");
  EXPECT_EQ(staging.at("rows").at(0),
            (nlohmann::json{
                {"bytes", 1024}, {"measured_us", 10.0}, {"simulated_us", 11.0}, {"error", 0.1}, {"unstable", false}}));
  EXPECT_EQ(staging.at("only_measured").at(0).at("bytes"), 65536);
  EXPECT_EQ(staging.at("only_simulated"), nlohmann::json::array());
  EXPECT_EQ(staging.at("notes").size(), 1U);
  EXPECT_EQ(staging.at("expectation"), "unknown");
  const ErrorSummary& errors = comparison.pairs[0].errors;
  EXPECT_EQ(staging.at("errors"), (nlohmann::json{{"n", 3},
                                                  {"geometric_mean", errors.geometric_mean},
                                                  {"bias", errors.bias},
                                                  {"p95", errors.p95},
                                                  {"slower", errors.slower},
                                                  {"max", errors.max},
                                                  {"max_at", {{"bytes", 1024}}}}));
  EXPECT_EQ(staging.at("simulated"), (nlohmann::json{{"file", "staging-simulated.json"},
                                                     {"program", "twinlink-sim 0.1.0"},
                                                     {"command", "twinlink-sim run --protocol staging"},
                                                     {"environment", {{"platform", "example"}}},
                                                     {"protocol", "staging"},
                                                     {"pattern", "pingpong"},
                                                     {"from", "0/0"},
                                                     {"to", "1/0"},
                                                     {"chunk_bytes", 262144},
                                                     {"depth", 4},
                                                     {"window", 1}}));
  const CurveOrder& order = comparison.orders[0];
  const auto held = [](const char* curve, const Lead& lead) {
    return nlohmann::json{{"faster", curve}, {"from_bytes", lead.from_bytes}};
  };
  EXPECT_EQ(written.at("orders"),
            (nlohmann::json::array(
                {{{"a", "staging"},
                  {"b", "gpudirect-v1"},
                  {"measured", {held("staging", order.measured[0]), held("gpudirect-v1", order.measured[1])}},
                  {"simulated", {held("staging", order.simulated[0]), held("gpudirect-v1", order.simulated[1])}},
                  {"crossovers", nlohmann::json::array({{{"faster", "gpudirect-v1"},
                                                         {"measured_bytes", *order.crossovers[0].measured_bytes},
                                                         {"simulated_bytes", *order.crossovers[0].simulated_bytes},
                                                         {"distance_log2", *order.crossovers[0].distance()}}})},
                  {"sizes", 3},
                  {"same_order", 3}}})));
}

TEST(Report, SaysWhichMeasuredTimesAreUnstable) {
  auto measured = make_recording("measured", "staging", {{1024, 10}, {4096, 16}});
  const auto simulated = make_recording("simulated", "staging", {{1024, 10}, {4096, 16}});
  measured.samples.back().unstable = true;
  const auto comparison = compare({compare_pair(measured, simulated, false)}, {});
  EXPECT_THAT(render_report(comparison, ReportFormat::text),
              AllOf(HasSubstr("unstable when measured ("), HasSubstr("median): 4K\n")));
  const auto written = nlohmann::json::parse(render_report(comparison, ReportFormat::json));
  EXPECT_EQ(written.at("pairs").at(0).at("rows").at(1).at("unstable"), true);
}

TEST(Report, SaysWhatRanBesideACurve) {
  auto measured = make_recording("measured", "staging", {{4, 1}});
  auto simulated = make_recording("simulated", "staging", {{4, 1}});
  for (auto* recording : {&measured, &simulated}) {
    recording->series->beside = {{.protocol = "host", .from = "0/2", .to = "0/3"}};
  }
  const auto comparison = compare({compare_pair(measured, simulated, false)}, {});
  EXPECT_THAT(render_report(comparison, ReportFormat::text), HasSubstr(", beside 0/2-0/3:host\n"));
  const auto written = nlohmann::json::parse(render_report(comparison, ReportFormat::json));
  EXPECT_EQ(written.at("pairs").at(0).at("measured").at("beside").at(0), "0/2-0/3:host");
}

/// An imported file may tell one of two places.
TEST(Report, SaysBetweenWhomAsFarAsThatIsTold) {
  for (const auto& [from, to, heading] : {std::tuple("0/0", "", "a: pingpong, 0/0 to \n"),
                                          {"", "1/0", "a: pingpong,  to 1/0\n"},
                                          {"", "", "a: pingpong\n"}}) {
    auto measured = make_recording("measured", "a", {{4, 1}});
    measured.series->from = from;
    measured.series->to = to;
    const auto comparison = compare({compare_pair(measured, make_recording("simulated", "a", {{4, 1}}), false)}, {});
    EXPECT_THAT(render_report(comparison, ReportFormat::text), ::testing::StartsWith(heading));
  }
}

TEST(Report, AWorldThatDoesNotCrossIsSaidInWordsAndAsNull) {
  const auto comparison = compare({compare_pair(make_recording("measured", "a", {{4, 1}, {16, 2}}),
                                                make_recording("simulated", "a", {{4, 1}, {16, 2}}), false),
                                   compare_pair(make_recording("measured", "b", {{4, 2}, {16, 1}}),
                                                make_recording("simulated", "b", {{4, 2}, {16, 3}}), false)},
                                  {});
  EXPECT_THAT(render_report(comparison, ReportFormat::text),
              HasSubstr("b takes the lead: measured 8, simulated nowhere\n"));
  const auto written = json_report(comparison);
  EXPECT_TRUE(written.at("orders").at(0).at("crossovers").at(0).at("simulated_bytes").is_null());
  EXPECT_TRUE(written.at("limits").at("p95").is_null());
  EXPECT_EQ(written.at("verdict"), "no limit");
}

TEST(Report, APageHasPercentilesWhereTheFileTellsThem) {
  auto measured = make_recording("measured", "staging", {{1024, 10}, {4096, 16}});
  measured.series->points[0].time_us = {.n = 2, .median = 10, .min = 8, .max = 13, .p5 = 8.5, .p95 = 12.5};
  const auto simulated = make_recording("simulated", "staging", {{1024, 10}, {4096, 16}});
  const auto page = full_report(compare({compare_pair(measured, simulated, false)}, {}));
  const auto plot = std::ranges::find_if(page, [](const report::Block& block) {
    return std::holds_alternative<report::Plot>(block) &&
           std::get<report::Plot>(block).title == "staging: time of a message";
  });
  ASSERT_NE(plot, page.end());
  const auto& [title, unit, logarithmic, names, curves, table] = std::get<report::Plot>(*plot);
  EXPECT_EQ(table.rows.at(0), (std::vector<std::string>{"1K", "10.000", "8.500", "12.500", "10.000", "+0.00 %"}));
  EXPECT_EQ(table.rows.at(1), (std::vector<std::string>{"4K", "16.000", "", "", "16.000", "+0.00 %"}));
  EXPECT_EQ(curves.at(0).points.at(0).low, 8.5);
  EXPECT_EQ(curves.at(0).points.at(1).high, std::nullopt);
}

TEST(Report, APageShowsAnotherExpectation) {
  const auto measured = test::expect(make_recording("measured", "staging", {{1024, 10}, {4096, 16}}), {{1024, 7}});
  const auto simulated = make_recording("simulated", "staging", {{1024, 10}, {4096, 16}});
  const auto text = render_report(compare({compare_pair(measured, simulated, false)}, {}), ReportFormat::markdown);
  EXPECT_THAT(text, AllOf(HasSubstr("| error | expected us |"), HasSubstr("| +0.00 % | 7.000 |")));
}

TEST(Report, JunitLetsAPairHaveItsLimit) {
  const Pair pair = compare_pair(make_recording("measured", "a", {{4, 10}, {8, 10}}),
                                 make_recording("simulated", "a", {{4, 11}, {8, 12}}), false);
  const ErrorSummary& errors = pair.errors;
  for (const auto& [limit, exceeded] : {std::pair{errors.p95, false}, {std::nextafter(errors.p95, 0.0), true}}) {
    const Comparison comparison = compare({pair}, {.geometric_mean = errors.geometric_mean, .p95 = limit});
    EXPECT_EQ(comparison.verdict(), exceeded ? Verdict::exceeded : Verdict::passed);
    EXPECT_THAT(render_report(comparison, ReportFormat::junit),
                HasSubstr(exceeded ? "tests=\"2\" failures=\"1\"" : "tests=\"2\" failures=\"0\""));
  }
}

TEST(Report, JunitCountsAPairWithoutALimitAsSkipped) {
  auto measured = make_recording("measured", "a", {{4, 1}});
  measured.series->label = "<a> & \"b\"";
  const auto text = render_report(
      compare({compare_pair(measured, make_recording("simulated", "a", {{4, 1}}), false)}, {}), ReportFormat::junit);
  EXPECT_THAT(text, HasSubstr("tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\""));
  EXPECT_THAT(text, HasSubstr("classname=\"&lt;a&gt; &amp; &quot;b&quot;\""));
}

/// XML 1.0 forbids control characters, two that are no characters, and what is no UTF-8.
TEST(Report, JunitHoldsNothingThatXmlForbids) {
  auto measured = make_recording("measured", "a", {{4, 1}});
  measured.series->label = "a\x01\x1B[2J\x7F \xFF \xEF\xBF\xBE \xC3\xBC";
  const auto text = render_report(
      compare({compare_pair(measured, make_recording("simulated", "a", {{4, 1}}), false)}, {}), ReportFormat::junit);
  EXPECT_EQ(text, plain_text(text));
  EXPECT_THAT(text, HasSubstr("[2J"));
  EXPECT_THAT(text, HasSubstr("\xC3\xBC"));
}

TEST(Report, OfManyProbesIsShortOnATerminalAndWholeInAFile) {
  test::Curve curve;
  for (std::uint64_t size = 1; size <= 400; ++size) curve.emplace_back(size, 10);
  const auto comparison = compare({compare_pair(test::make_recording_of_probes("measured", curve),
                                                test::make_recording_of_probes("simulated", curve), false)},
                                  {});
  const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
  const auto text = render_report(comparison, ReportFormat::text);
  EXPECT_LT(lines(text), 40);
  EXPECT_THAT(text, HasSubstr("400 lines, all of them with --report and --json; by primitive:"));
  EXPECT_THAT(text, ContainsRegex("host message +400 +0.00 %"));
  EXPECT_GT(lines(render_report(comparison, ReportFormat::markdown)), 400);
}

/// Up to 60 lines are shown, and up to 20 names of lines that only one file has.
TEST(Report, OnATerminalIsAsMuchAsAScreenHolds) {
  const auto text = [](std::uint64_t common, std::uint64_t alone) {
    test::Curve measured;
    for (std::uint64_t size = 1; size <= common + alone; ++size) measured.emplace_back(size, 10);
    const test::Curve simulated(measured.begin(), measured.begin() + static_cast<std::ptrdiff_t>(common));
    return render_report(compare({compare_pair(test::make_recording_of_probes("measured", measured),
                                               test::make_recording_of_probes("simulated", simulated), false)},
                                 {}),
                         ReportFormat::text);
  };
  EXPECT_THAT(text(60, 20), AllOf(HasSubstr("host message  0/0 to 1/0    60 "), Not(HasSubstr("by primitive")),
                                  HasSubstr(", host message 0/0 to 1/0 80\n")));
  EXPECT_THAT(text(61, 21), AllOf(HasSubstr("61 lines, all of them with --report"),
                                  HasSubstr("host message 0/0 to 1/0 81 and 1 more\n")));
}

TEST(Report, OneCurveHasNoOrder) {
  const auto comparison = compare(
      {compare_pair(make_recording("measured", "a", {{4, 1}}), make_recording("simulated", "a", {{4, 1}}), false)},
      {.geometric_mean = 0.1});
  const auto text = render_report(comparison, ReportFormat::text);
  EXPECT_THAT(text, Not(HasSubstr("Which curve is faster")));
  EXPECT_THAT(text, HasSubstr("Verdict: passed: geometric mean error at most 10 %.\n"));
}

TEST(Report, ProbesShowPrimitiveAndDevice) {
  auto measured = make_recording("measured", "probe", {});
  auto simulated = make_recording("simulated", "probe", {});
  measured.series.reset();
  simulated.series.reset();
  measured.samples = {{.key = {"pinned-out", "0/1", "0/2", Bytes{65536}}, .time_us = 10}};
  simulated.samples = {{.key = {"pinned-out", "0/1", "0/2", Bytes{65536}}, .time_us = 9}};
  const auto comparison = compare({compare_pair(measured, simulated, false)}, {});
  EXPECT_THAT(render_report(comparison, ReportFormat::text),
              HasSubstr("pinned-out  0/1 to 0/2   64K       10.000         9.000  -10.00 %\n"));
  EXPECT_EQ(json_report(comparison).at("pairs").at(0).at("rows").at(0).at("name"), "pinned-out");
}

TEST(FormatOf, GoesByTheExtension) {
  EXPECT_EQ(format_of("a/report.md"), ReportFormat::markdown);
  EXPECT_EQ(format_of("report.json"), ReportFormat::json);
  EXPECT_EQ(format_of("report.txt"), ReportFormat::text);
  EXPECT_EQ(format_of("report.html"), ReportFormat::html);
  EXPECT_EQ(format_of("report.xml"), ReportFormat::junit);
  EXPECT_THROW(format_of("report.pdf"), UsageError);
  EXPECT_THROW(format_of("report"), UsageError);
}

}  // namespace
}  // namespace twinlink::validate
