#include "validate/compare/ceiling.hpp"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocols/core/errors.hpp"
#include "tests/validate/fixtures.hpp"

namespace twinlink::validate {
namespace {

using ::testing::ElementsAre;
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

/// The copy one way may be slower than the other, and each end than the other; of other GPUs nothing counts.
TEST(Ceiling, OfBothEndsAndBothWaysTheSlowerCounts) {
  ProbesFile more = probes();
  auto& lines = more.content.findings.lines;
  lines.push_back(line("peer copy", "0/1", "0/0", 4_B, 7));
  lines.push_back(line("peer copy", "0/1", "0/0", 64_KiB, 9));
  lines.push_back(line("copy out", "0/1", "", 4_B, 7.5));
  for (const auto& [gpu, peer] : {std::pair("0/1", "0/1"), {"0/2", "0/0"}, {"0/0", "0/0"}}) {
    lines.push_back(line("peer copy", gpu, peer, 4_B, 999));
  }
  const auto bare = [&](const std::string& name) {
    const Ceiling ceiling = hold_against(result(), more, std::array{name});
    return std::pair(ceiling.rows.at(0).bare_us, ceiling.rows.at(1).bare_us);
  };
  EXPECT_EQ(bare("peer copy"), std::pair(7.0, 10.0));
  EXPECT_EQ(bare("copy out"), std::pair(7.5, 20.0));
}

TEST(Ceiling, AnEmptyMessageHasNone) {
  ResultFile empty = result();
  empty.content.series.points.insert(empty.content.series.points.begin(),
                                     bench::Point{.size = 0_B, .time_us = {.median = 1}});
  const Ceiling ceiling = hold_against(empty, probes(), std::array{std::string("peer copy")});
  EXPECT_EQ(ceiling.rows.front().size, 4_B);
  EXPECT_THAT(ceiling.without_probe, ElementsAre(1_MiB));
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
  const Ceiling out = hold_against(result(), probes(), std::array{std::string("copy out")});
  EXPECT_NEAR(least_share(out, 4_B).value(), 0.75, kRounding);
  EXPECT_NEAR(least_share(out, 5_B).value(), 0.8, kRounding);
  EXPECT_NEAR(least_share(out, 64_KiB).value(), 0.8, kRounding);
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
  EXPECT_EQ(to_text(hold_against(result(), probes(), std::array{std::string("peer copy")})),
            "# gpudirect-v2 beside its slowest primitive\n"
            "# size      primitive us   protocol us    added us   reached  the primitive\n"
            "4                  5.000         8.000       3.000    62.5 %  peer copy\n"
            "64K               10.000        25.000      15.000    40.0 %  peer copy\n"
            "# 1M: not probed\n");
}

}  // namespace
}  // namespace twinlink::validate
