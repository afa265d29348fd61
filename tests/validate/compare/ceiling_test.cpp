#include "validate/compare/ceiling.hpp"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocols/core/errors.hpp"
#include "tests/validate/fixtures.hpp"

namespace twinlink::validate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

constexpr double kRounding = 1e-9;

bench::ProbeLine line(const std::string& name, const std::string& gpu, const std::string& peer, Bytes size, double us) {
  bench::ProbeLine line{.name = name, .gpu = gpu, .peer = peer, .size = size};
  line.time_us.median = us;
  return line;
}

ProbesFile probes() {
  bench::ProbeFile file{.world = "measured"};
  file.findings.lines = {line("peer copy", "0/0", "0/1", 4_B, 5),   line("peer copy", "0/0", "0/1", 64_KiB, 10),
                         line("peer copy", "0/0", "0/2", 4_B, 500), line("copy out", "0/0", "", 4_B, 6),
                         line("copy out", "0/0", "", 64_KiB, 20),   line("copy in", "0/1", "", 4_B, 7),
                         line("copy in", "0/1", "", 64_KiB, 15),    line("copy in", "0/3", "", 64_KiB, 900)};
  return {file, "p.json"};
}

ResultFile result(bench::Pattern pattern = bench::Pattern::pingpong) {
  bench::Result made = test::make_result("measured", "gpudirect-v2", {{4, 8}, {65536, 25}, {1 << 20, 100}});
  made.series.pattern = pattern;
  made.series.from = "0/0";
  made.series.to = "0/1";
  return {made, "r.json"};
}

TEST(Ceiling, IsTheShareOfThePrimitivesRate) {
  const Ceiling ceiling = hold_against(result(), probes(), std::array{std::string("peer copy")});
  ASSERT_THAT(ceiling.rows, SizeIs(2));
  EXPECT_THAT(ceiling.without_probe, ElementsAre(1_MiB));
  EXPECT_NEAR(ceiling.rows[0].share(), 5.0 / 8, kRounding);
  EXPECT_NEAR(ceiling.rows[0].added_us(), 3, kRounding);
  EXPECT_NEAR(ceiling.rows[1].share(), 10.0 / 25, kRounding);
}

TEST(Ceiling, OfAPipelineIsItsSlowestStageAtEitherEnd) {
  const Ceiling ceiling = hold_against(result(), probes(), std::array{std::string("copy out"), std::string("copy in")});
  EXPECT_EQ(ceiling.rows[0].slowest, "copy in");
  EXPECT_NEAR(ceiling.rows[0].bare_us, 7, kRounding);
  EXPECT_EQ(ceiling.rows[1].slowest, "copy out");
  EXPECT_NEAR(ceiling.rows[1].bare_us, 20, kRounding);
}

TEST(Ceiling, BothWaysAtOnceCountOneWay) {
  ResultFile both = result(bench::Pattern::bidirectional);
  both.content.series.points[1].bandwidth_MBps = 2 * 65536 / 12.5;
  const Ceiling ceiling = hold_against(both, probes(), std::array{std::string("peer copy")});
  EXPECT_NEAR(ceiling.rows[1].share(), 10 / 12.5, kRounding);
}

TEST(Ceiling, TheLimitIsForLargeSizesAlone) {
  const Ceiling ceiling = hold_against(result(), probes(), std::array{std::string("peer copy")});
  EXPECT_NEAR(least_share(ceiling, 0_B).value(), 0.4, kRounding);
  EXPECT_NEAR(least_share(ceiling, 4_B).value(), 0.4, kRounding);
  EXPECT_EQ(least_share(ceiling, 1_MiB), std::nullopt);
}

TEST(Ceiling, WithoutALineOrACommonSizeIsRefused) {
  EXPECT_THAT([] { hold_against(result(), probes(), std::array{std::string("no such line")}); },
              ThrowsMessage<InputError>("p.json: error: no line 'no such line' of 0/0 or 0/1"));
  ProbesFile other{.file = "o.json"};
  other.content.findings.lines = {line("peer copy", "0/0", "0/1", 2_B, 5)};
  EXPECT_THAT([&] { hold_against(result(), other, std::array{std::string("peer copy")}); },
              ThrowsMessage<InputError>("r.json and o.json: error: no size in common"));
}

TEST(Ceiling, WhatIsNoTimeIsRefusedByFileAndSize) {
  ResultFile both = result(bench::Pattern::bidirectional);
  both.content.series.points[1].bandwidth_MBps = 0;
  EXPECT_THAT([&] { hold_against(both, probes(), std::array{std::string("peer copy")}); },
              ThrowsMessage<InputError>(StartsWith("r.json: error: 64K: the time must be ")));
  ProbesFile tiny = probes();
  tiny.content.findings.lines[1].time_us.median = 1e-310;
  EXPECT_THAT([&] { hold_against(result(), tiny, std::array{std::string("peer copy")}); },
              ThrowsMessage<InputError>(StartsWith("p.json: error: peer copy 64K: the time must be from 1e-09 to ")));
}

TEST(Ceiling, IsPrintedWithTheTimeThatIsAdded) {
  const std::string text = to_text(hold_against(result(), probes(), std::array{std::string("peer copy")}));
  EXPECT_THAT(text, HasSubstr("64K"));
  EXPECT_THAT(text, HasSubstr("15.000"));
  EXPECT_THAT(text, HasSubstr("40.0 %"));
}

}  // namespace
}  // namespace twinlink::validate
