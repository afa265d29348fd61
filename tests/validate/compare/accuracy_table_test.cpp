#include "validate/compare/accuracy_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/validate/fixtures.hpp"
#include "tests/validate/golden.hpp"

namespace twinlink::validate {
namespace {

using test::Curve;
using test::make_recording;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

Pair make_pair(const std::string& protocol, const Curve& measured, const Curve& simulated) {
  return compare_pair(make_recording("measured", protocol, measured), make_recording("simulated", protocol, simulated),
                      false);
}

std::string table_of(std::vector<Pair> pairs) { return to_markdown(accuracy_table(compare(std::move(pairs), {}))); }

TEST(AccuracyTable, HasARowForEachCurveAndOneForAll) {
  const std::string text = table_of({make_pair("staging", {{1024, 10}, {4096, 10}}, {{1024, 11}, {4096, 11}}),
                                     make_pair("host", {{1024, 10}, {4096, 10}}, {{1024, 10}, {4096, 8}})});
  // exp((0 + ln 1.25) / 2) - 1 = 11.8 %; over all four exp((2 ln 1.1 + ln 1.25) / 4) - 1 = 10.9 %. The percentiles lie
  // at 0.95 of the way from 0 to 20 %, and at 0.85 of that from 10 to 20 %.
  EXPECT_THAT(text, AllOf(HasSubstr("| pingpong | 10.0 % | 10.0 % | 10.0 % at 1K |"),
                          HasSubstr("| pingpong | 11.8 % | 19.0 % | 20.0 % at 4K |"),
                          HasSubstr("| all | 4 | 10.9 % | 18.5 % | 20.0 % at 4K of host")));
}

TEST(AccuracyTable, HasARowForTheStablePoints) {
  Pair pair = make_pair("staging", {{1024, 10}, {4096, 10}}, {{1024, 11}, {4096, 20}});
  EXPECT_THAT(table_of({pair}), Not(HasSubstr("stable")));
  pair.joined.rows.back().unstable = true;
  EXPECT_THAT(table_of({pair}),
              AllOf(HasSubstr("| all | 2 | 48.3 % |"),
                    HasSubstr("| all that are stable | 1 | 10.0 % | 10.0 % | 10.0 % at 1K of staging --chunk 256K |")));
  pair.joined.rows.front().unstable = true;
  EXPECT_THAT(table_of({pair}), Not(HasSubstr("stable")));
}

TEST(AccuracyTable, ListsWhereProtocolsCross) {
  // In log-log, lines through 10 and 40 against 20 and 20 meet half-way; simulated, the second curve is faster later.
  const std::string text =
      table_of({make_pair("staging", {{1024, 10}, {4096, 40}, {16384, 160}}, {{1024, 10}, {4096, 20}, {16384, 40}}),
                make_pair("host", {{1024, 20}, {4096, 20}, {16384, 20}}, {{1024, 20}, {4096, 20}, {16384, 20}})});
  EXPECT_THAT(
      text, AllOf(HasSubstr("1 in 1 pairs of ping-pong curves, 1 in both worlds"), HasSubstr(" | 2K | 4K | +1.00 |")));
}

/// Windows, several crossovers, and one that only one world has.
TEST(AccuracyTable, IsAsItWas) {
  const Curve flat{{1024, 20}, {4096, 20}, {16384, 20}};
  Pair window = make_pair("host", flat, {{1024, 18}, {4096, 20}, {16384, 25}});
  window.measured.series->pattern = bench::Pattern::bandwidth;
  window.measured.series->window = 16;
  window.joined.rows[2].unstable = true;
  const std::string text = table_of(
      {make_pair("staging", {{1024, 10}, {4096, 40}, {16384, 160}}, {{1024, 10}, {4096, 20}, {16384, 40}}),
       make_pair("host", flat, flat), window,
       make_pair("gpudirect-v1", {{1024, 30}, {4096, 30}, {16384, 15}}, {{1024, 30}, {4096, 30}, {16384, 30}})});
  test::expect_golden("accuracy.markdown", text);
}

TEST(AccuracyTable, SettingsOfOneProtocolDoNotCross) {
  const Curve flat{{1024, 20}, {4096, 20}};
  const Curve steep{{1024, 10}, {4096, 40}};
  EXPECT_THAT(table_of({make_pair("host", flat, flat), make_pair("host", steep, steep)}), Not(HasSubstr("Crossovers")));
}

TEST(AccuracyTable, ProbesAreRefused) {
  const auto recording = [](const std::string& world) {
    Recording probes = make_recording(world, "host", {{1024, 10}});
    probes.series.reset();
    return probes;
  };
  const Comparison comparison = compare({compare_pair(recording("measured"), recording("simulated"), false)}, {});
  EXPECT_THAT([&] { accuracy_table(comparison); }, ThrowsMessage<InputError>(HasSubstr("probes are no curve")));
}

}  // namespace
}  // namespace twinlink::validate
