#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/osu_form.hpp"
#include "tests/support/said_by.hpp"
#include "tests/validate/fixtures.hpp"
#include "tests/validate/import/foreign_files.hpp"
#include "validate/import/import.hpp"

namespace twinlink::validate {
namespace {

using bench::Pattern;
using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

bench::Result imported_osu(const std::string& text, const ImportWishes& wishes = {}) {
  return std::get<bench::Result>(import_content(Tool::osu, text, "osu.txt", wishes));
}

std::string refusal_of_osu(const std::string& text, const ImportWishes& wishes = {}) {
  return said_by([&] { return imported_osu(text, wishes); });
}

/// osu_latency_75() with one row, or with `rows` in its place.
std::string latency_of(const std::string& rows) {
  return "# OSU MPI Latency Test v7.5\n# Size       Avg Latency(us)\n" + rows;
}

TEST(ImportOsu, LatencyIsOneWayInMicroseconds) {
  const auto result = imported_osu(test::osu_latency_75());
  EXPECT_EQ(result.world, "measured");
  EXPECT_EQ(result.program, "osu_latency 7.5");
  EXPECT_EQ(result.series.pattern, Pattern::pingpong);
  EXPECT_EQ(result.series.clock, "host");
  ASSERT_EQ(result.series.points.size(), 3U);
  EXPECT_EQ(result.series.points[0].size, Bytes{1});
  EXPECT_EQ(result.series.points[0].time_us, (bench::Statistics{.median = 8.01}));
  EXPECT_NEAR(result.series.points[2].bandwidth_MBps, 4194304 / 14.48, 1e-6);
  const auto& origin = result.environment->at("origin");
  EXPECT_EQ(origin.at("tool"), "osu");
  EXPECT_EQ(origin.at("file"), "osu.txt");
  EXPECT_EQ(origin.at("accelerator"), "CUDA");
  EXPECT_EQ(origin.at("figure"), "mean of all rounds");
}

TEST(ImportOsu, TellsNothingThatTheFileDoesNot) {
  const auto& series = imported_osu(test::osu_bw_72()).series;
  EXPECT_THAT(series.protocol, IsEmpty());
  EXPECT_THAT(series.from, IsEmpty());
  EXPECT_THAT(series.to, IsEmpty());
  EXPECT_FALSE(series.told.settings);
  EXPECT_FALSE(series.told.window);
  EXPECT_FALSE(series.told.cold_us);
  EXPECT_FALSE(series.points[0].verified);
  EXPECT_THAT(series.points[0].path, IsEmpty());
  EXPECT_EQ(series.points[0].time_us.n, 0U);
}

TEST(ImportOsu, OlderHeadersAndEmptyMessages) {
  const auto result = imported_osu(test::osu_latency_5());
  EXPECT_EQ(result.program, "osu_latency 5.6.3");
  EXPECT_EQ(result.series.points[0].size, Bytes{0});
  EXPECT_EQ(result.environment->at("origin").at("send_buffer"), "DEVICE");
  EXPECT_EQ(result.environment->at("origin").at("receive_buffer"), "HOST");
  for (const char* columns : {"#Size", "# Size", "Size"}) {
    EXPECT_EQ(imported_osu(std::string("# OSU MPI Latency Test v7.5\n") + columns + "  Latency (us)\n1 2.00\n")
                  .series.points.size(),
              1U);
  }
  EXPECT_EQ(imported_osu("# OSU MPI Bandwidth Test (Version 2.0)\n# Size\tBandwidth (MB/s)\n1\t3.549325\n").program,
            "osu_bw 2.0");
}

TEST(ImportOsu, ABandwidthIsATimePerMessage) {
  // 1 MB/s is 10^6 bytes per second: a byte per microsecond.
  const auto points = imported_osu(test::osu_bw_72()).series.points;
  EXPECT_EQ(points[1].time_us.median, 16);
  EXPECT_EQ(points[1].bandwidth_MBps, 65536);
}

TEST(ImportOsu, BothDirectionsCountInABidirectionalRate) {
  const auto result = imported_osu(test::osu_bibw_75());
  EXPECT_EQ(result.program, "osu_bibw 7.5");
  EXPECT_EQ(result.series.pattern, Pattern::bidirectional);
  EXPECT_EQ(result.series.points[1].time_us.median, 64);
  EXPECT_EQ(result.series.points[1].bandwidth_MBps, 32768);
  EXPECT_TRUE(result.series.points[1].verified);
}

TEST(ImportOsu, OfSeveralPairsItIsTheMeanOfOne) {
  const auto one = imported_osu(test::osu_mbw_mr_74(1));
  EXPECT_EQ(one.series.label, "osu_mbw_mr");
  EXPECT_EQ(one.series.window, 32);
  EXPECT_TRUE(one.series.told.window);
  EXPECT_EQ(one.series.points[1].bandwidth_MBps, 20000);
  const auto four = imported_osu(test::osu_mbw_mr_74(4));
  EXPECT_EQ(four.series.label, "osu_mbw_mr, 4 pairs");
  EXPECT_EQ(four.series.points[1].bandwidth_MBps, 5000);
  EXPECT_THAT(four.notes, ElementsAre(HasSubstr("means"), HasSubstr("4 pairs at once")));
}

TEST(ImportOsu, WhatTheUserKnowsIsAdded) {
  const auto series =
      imported_osu(test::osu_bw_72(), {.protocol = "cuda-ipc", .window = 64, .from = "0/0", .to = "0/1"}).series;
  EXPECT_EQ(series.protocol, "cuda-ipc");
  EXPECT_EQ(series.window, 64);
  EXPECT_TRUE(series.told.window);
  EXPECT_EQ(series.from, "0/0");
  EXPECT_EQ(series.to, "0/1");
}

TEST(ImportOsu, WishesThatContradictTheFileAreRefused) {
  EXPECT_THAT(refusal_of_osu(test::osu_bw_72(), {.pattern = Pattern::pingpong}),
              HasSubstr("osu.txt measures bandwidth"));
  EXPECT_THAT(refusal_of_osu(test::osu_mbw_mr_74(1), {.window = 64}), HasSubstr("--window 64: osu.txt says 32"));
  EXPECT_THAT(refusal_of_osu(test::osu_latency_75(), {.window = 2}), HasSubstr("--window 2: osu.txt says 1"));
  EXPECT_THAT(refusal_of_osu(test::osu_bw_72(), {.size = Bytes{1}}), HasSubstr("--size"));
}

TEST(ImportOsu, ABrokenRowIsNamedByItsLine) {
  EXPECT_THAT(refusal_of_osu(latency_of("1 8.01\n2\n")),
              HasSubstr("osu.txt:4: error: a row of 1 columns, where 2 are named"));
  EXPECT_THAT(refusal_of_osu(latency_of("1 8.01\n2 8.02 7\n")), HasSubstr("osu.txt:4: error: a row of 3 columns"));
  EXPECT_THAT(refusal_of_osu(latency_of("1 8.01\n2 eight\n")), HasSubstr("osu.txt:4: error: 'eight' is no number"));
  EXPECT_THAT(refusal_of_osu(latency_of("1 8.01\n2 nan\n")), HasSubstr("osu.txt:4: error: 'nan' is no number"));
  EXPECT_THAT(refusal_of_osu(latency_of("1.5 8.01\n")), HasSubstr("osu.txt:3: error: '1.5' is no size in bytes"));
  EXPECT_THAT(refusal_of_osu(latency_of("1K 8.01\n")), HasSubstr("osu.txt:3: error: '1K' is no size in bytes"));
  EXPECT_THAT(refusal_of_osu(latency_of("1 -8.01\n")), HasSubstr("osu.txt:3: error: the value must be positive"));
  EXPECT_THAT(refusal_of_osu(latency_of("1 0.00\n")), HasSubstr("osu.txt:3: error: the value must be positive"));
  EXPECT_THAT(refusal_of_osu(latency_of("2 8.01\n1 8.02\n")), HasSubstr("osu.txt:4: error: size 1 does not ascend"));
  EXPECT_THAT(refusal_of_osu(latency_of("2 8.01\r\n2 8.02\r\n")),
              HasSubstr("osu.txt:4: error: size 2 does not ascend"));
}

TEST(ImportOsu, ARowThatWasCutOffIsSeenByItsDecimals) {
  EXPECT_THAT(refusal_of_osu(latency_of("1 8.01\n2 128.0")),
              AllOf(HasSubstr("osu.txt:4: error:"), HasSubstr("cut off")));
  EXPECT_THAT(refusal_of_osu(latency_of("1 8.01\n2 12")), HasSubstr("cut off"));
  EXPECT_THAT(refusal_of_osu(latency_of("1 8\n")), HasSubstr("cut off"));
}

TEST(ImportOsu, ATruncatedFileIsRefused) {
  EXPECT_THAT(refusal_of_osu("# OSU MPI Latency Test v7.5\n"), HasSubstr("osu.txt: error: ends before its first row"));
  EXPECT_THAT(refusal_of_osu("# OSU MPI Latency Test v7.5\n1 8.01\n"),
              HasSubstr("osu.txt:2: error: a row before the line"));
  EXPECT_THAT(refusal_of_osu("1 8.01\n"), HasSubstr("osu.txt: error: has no title"));
  EXPECT_THAT(refusal_of_osu(""), HasSubstr("osu.txt: error: has no title"));
}

TEST(ImportOsu, UnknownTestsAndUnitsAreRefused) {
  EXPECT_THAT(refusal_of_osu("# OSU MPI-CUDA Non-blocking Allreduce Latency Test v7.0\n"),
              AllOf(HasSubstr("osu.txt:1: error: unknown test 'MPI-CUDA Non-blocking Allreduce Latency'"),
                    HasSubstr("Bi-Directional Bandwidth")));
  EXPECT_THAT(refusal_of_osu("# OSU MPI_Put Bandwidth Test v5.3\n"), HasSubstr("unknown test 'MPI_Put Bandwidth'"));
  EXPECT_THAT(refusal_of_osu("# OSU OpenSHMEM Latency Test v7.3\n"), HasSubstr("unknown test"));
  EXPECT_THAT(refusal_of_osu("# OSU MPI Bandwidth Test v7.3\n# Size Bandwidth (Gbit/s)\n"),
              HasSubstr("osu.txt:2: error: the values must be in MB/s"));
  EXPECT_THAT(refusal_of_osu("# OSU MPI Latency Test v7.3\n# Size Bandwidth (MB/s)\n"), HasSubstr("must be in us"));
  for (const std::string latency : {"Latency (", "Latency(", "Avg Latency(", "Avg Latency ("}) {
    for (const std::string test : {"Latency", "Multi Latency", "Allreduce Latency"}) {
      const auto text = [&](const std::string& unit) {
        return "# OSU MPI " + test + " Test v7.3\n# Size " + latency + unit + ")\n1 8.01\n";
      };
      for (const char* unit : {"ms", "ns", "s"}) {
        EXPECT_THAT(refusal_of_osu(text(unit), {.ranks = test.starts_with("All") ? std::optional(4) : std::nullopt}),
                    HasSubstr("osu.txt:2: error: the values must be in us: # Size " + latency + unit));
      }
      if (!test.starts_with("All")) {
        EXPECT_EQ(imported_osu(text("us")).series.points[0].time_us.median, 8.01);
      }
    }
  }
  EXPECT_THAT(refusal_of_osu("# OSU MPI Bandwidth Test v7.3\n# Size Bandwidth (MB/s)\n0 1.00\n"),
              HasSubstr("empty messages"));
  EXPECT_THAT(
      refusal_of_osu("# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n# [ pairs: 1 ] [ window size: varied ]\n"),
      HasSubstr("osu.txt:2: error: window size 'varied'"));
}

TEST(ImportOsu, OfSeveralTablesTheUserChooses) {
  const std::string both = test::osu_latency_75() + test::osu_bw_72() + "\n" + latency_of("1 8.01\n2 8.5.5\n");
  const std::string list =
      "\n  1: OSU MPI-CUDA Latency Test v7.5, line 4"
      "\n  2: OSU MPI-CUDA Bandwidth Test v7.2, line 11"
      "\n  3: OSU MPI Latency Test v7.5, line 19";
  EXPECT_EQ(refusal_of_osu(both), "osu.txt: error: holds 3 tables, of which --table N imports one:" + list);
  EXPECT_EQ(refusal_of_osu(both, {.table = 4}), "--table 4: osu.txt holds 3:" + list);
  const auto first = imported_osu(both, {.table = 1}).series;
  EXPECT_EQ(first.pattern, Pattern::pingpong);
  EXPECT_EQ(first.points.size(), 3U);
  const auto second = imported_osu(both, {.table = 2}).series;
  EXPECT_EQ(second.pattern, Pattern::bandwidth);
  EXPECT_EQ(second.points.size(), 3U);
  EXPECT_THAT(refusal_of_osu(both, {.table = 3}), HasSubstr("osu.txt:22: error: '8.5.5' is no number"))
      << "lines are those of the file";
}

TEST(ImportOsu, AChosenTableKeepsItsOwnSignature) {
  auto written = test::make_result("simulated", "gpudirect-v2", {{4, 7.12}});
  std::ostringstream text;
  print_osu(written, text);
  written.series.protocol = "staging";
  print_osu(written, text);
  EXPECT_EQ(imported_osu(text.str(), {.table = 1}).series.protocol, "gpudirect-v2");
  EXPECT_EQ(imported_osu(text.str(), {.table = 2}).series.protocol, "staging");
}

TEST(ImportOsu, MessagesInOtherMemoryThanTheProtocolsAreRefused) {
  EXPECT_EQ(refusal_of_osu(latency_of("1 8.01\n"), {.protocol = "cuda-ipc"}),
            "--protocol cuda-ipc: osu.txt was measured with messages in host memory; those of 'cuda-ipc' lie in device "
            "memory");
  EXPECT_EQ(refusal_of_osu(test::osu_bw_72(), {.protocol = "host"}),
            "--protocol host: osu.txt was measured with messages in device memory; those of 'host' lie in host memory");
  EXPECT_THAT(refusal_of_osu(test::osu_latency_5(), {.protocol = "host"}),
              HasSubstr("messages from device memory to host memory"));
  EXPECT_EQ(imported_osu(latency_of("1 8.01\n"), {.protocol = "host"}).series.protocol, "host");
}

TEST(ImportOsu, WhereTheMemoryIsUnsureANoteSaysSo) {
  EXPECT_THAT(
      imported_osu(test::osu_latency_75(), {.protocol = "host"}).notes,
      testing::Contains("the tool was told of CUDA, and not where its messages lay; those of 'host' lie in host "
                        "memory"));
  EXPECT_THAT(imported_osu(test::osu_latency_5(), {.protocol = "staging"}).notes,
              testing::Contains("measured with messages from device memory to host memory; those of 'staging' lie in "
                                "device memory"));
  EXPECT_THAT(imported_osu(test::osu_latency_75(), {.protocol = "staging"}).notes, ElementsAre(HasSubstr("means")));
}

TEST(ImportOsu, WhatMpiComplainsOfIsANote) {
  const std::string complaint = "The call to cuMemHostRegister(0x7f2c, 134217728, 0) failed.\n";
  const auto result = imported_osu(complaint + "  Host:  node-a\n" + latency_of("1 8.01\n" + complaint) +
                                   "[node-a] WARNING: no CUDA support\n");
  EXPECT_THAT(
      result.notes,
      ElementsAre(HasSubstr("means"), "line 1 of osu.txt: The call to cuMemHostRegister(0x7f2c, 134217728, 0) failed.",
                  "line 7 of osu.txt: [node-a] WARNING: no CUDA support"));
}

TEST(ImportOsu, OneTableAtATime) {
  EXPECT_THAT(refusal_of_osu(test::osu_bw_72() + "# Size      Bandwidth (MB/s)\n"),
              HasSubstr("osu.txt:8: error: a second"));
  // Under some launchers each rank prints the title.
  EXPECT_EQ(imported_osu("# OSU MPI Latency Test v7.1\n" + latency_of("1 8.01\n")).series.points.size(), 1U);
}

TEST(ImportOsu, WrongDataAreNoMeasurement) {
  const auto header = std::string("# OSU MPI Latency Test v7.5\n# Size       Avg Latency(us)        Validation\n");
  EXPECT_THAT(refusal_of_osu(header + "1 8.01 Fail\n"), HasSubstr("osu.txt:3: error: the benchmark found wrong data"));
  EXPECT_THAT(refusal_of_osu(header + "1 8.01 Pass\nDATA VALIDATION ERROR: osu_latency exited with status 1\n"),
              HasSubstr("osu.txt:4: error: the benchmark found wrong data"));
  EXPECT_THAT(refusal_of_osu(header + "1 8.01\n"), HasSubstr("a row of 2 columns, where 3 are named"));
}

TEST(ImportOsu, FurtherColumnsAreCounted) {
  const auto result = imported_osu(
      "# OSU MPI Latency Test v7.5\n"
      "# Size       Avg Latency(us)   P50 Tail Lat(us)   P99 Tail Lat(us)\n"
      "1                       8.01              7.99             12.01\n");
  EXPECT_EQ(result.series.points[0].time_us.median, 8.01);
}

TEST(ImportOsu, LinesOfAnyLengthArePassedOver) {
  const std::string noise = "# OSU " + std::string(1U << 20U, 'x') + "\n";
  EXPECT_EQ(imported_osu(noise + test::osu_latency_75() + noise).series.points.size(), 3U);
}

class OwnOsuForm : public ::testing::TestWithParam<Pattern> {};

/// Half of the last printed digit, and what a sum of rounding errors adds.
constexpr double kPrinted = 0.005 + 1e-9;

TEST_P(OwnOsuForm, ComesBackAsTheSameCurveWithinThePrintedDigits) {
  const Pattern pattern = GetParam();
  auto written = test::make_result("simulated", "gpudirect-v2", {{4, 7.123}, {4096, 8.456}, {67108864, 171.789}});
  written.series.pattern = pattern;
  written.series.window = pattern == Pattern::pingpong ? 1 : 16;
  for (auto& point : written.series.points) {
    point.bandwidth_MBps =
        (pattern == Pattern::bidirectional ? 2 : 1) * static_cast<double>(point.size.count()) / point.time_us.median;
  }
  std::ostringstream text;
  print_osu(written, text);

  const auto read = imported_osu(text.str());
  EXPECT_EQ(read.world, "simulated");
  EXPECT_EQ(read.program, written.program);
  EXPECT_EQ(read.series.protocol, "gpudirect-v2");
  EXPECT_EQ(read.series.pattern, pattern);
  EXPECT_EQ(read.series.window, written.series.window);
  EXPECT_EQ(read.series.from, written.series.from);
  EXPECT_EQ(read.series.to, written.series.to);
  EXPECT_EQ(read.series.clock, "simulated");
  EXPECT_EQ(read.environment->at("origin").at("figure"), "median");
  ASSERT_EQ(read.series.points.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& before = written.series.points[i];
    const auto& after = read.series.points[i];
    EXPECT_EQ(after.size, before.size);
    if (pattern == Pattern::pingpong) {
      EXPECT_THAT(after.time_us.median, DoubleNear(before.time_us.median, kPrinted));
    } else {
      EXPECT_THAT(after.bandwidth_MBps, DoubleNear(before.bandwidth_MBps, kPrinted));
      // A rate that is off by a share makes the time off by the same.
      const double share = kPrinted / before.bandwidth_MBps;
      EXPECT_THAT(after.time_us.median, DoubleNear(before.time_us.median, 1.01 * share * before.time_us.median));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Patterns, OwnOsuForm,
                         ::testing::Values(Pattern::pingpong, Pattern::bandwidth, Pattern::bidirectional),
                         [](const auto& pattern) { return std::string(to_string(pattern.param)); });

/// What was measured on emulated devices is not taken for a GPU's.
TEST(ImportOsu, TheOwnFormTellsEmulatedDevices) {
  for (const bool paced : {false, true}) {
    auto written = test::make_result("measured", "staging", {{4, 7.12}});
    written.environment = nlohmann::json{{"emulated_devices", true}};
    if (paced) written.environment.set("pace", "h200-nvlink");
    std::ostringstream text;
    print_osu(written, text);
    const auto read = imported_osu(text.str());
    EXPECT_EQ(read.world, "measured");
    EXPECT_EQ(read.series.clock, "host");
    EXPECT_EQ(bench::heading_world(read.world, read.environment), paced ? "paced" : "emulated");
  }
}

// ---- what launchers write before each line ------------------------------------------------------------------------

TEST(ImportOsu, WhatLaunchersPutBeforeLinesIsPassedOver) {
  const std::string text =
      "[1,0]<stdout>:# OSU MPI-CUDA Bandwidth Test v7.2\n0: #Size Bandwidth (MB/s)\n[0] 1 0.50\n 12: 2 1.00\n";
  EXPECT_EQ(imported_osu(text).series.points.size(), 2U);
}

TEST(ImportOsu, ASentenceThatBeginsWithANumberIsNoRow) {
  const auto result = imported_osu(latency_of("1 8.01\n2 total processes failed to start\n2 8.02\n"));
  EXPECT_EQ(result.series.points.size(), 2U);
  EXPECT_THAT(result.notes, testing::Contains(HasSubstr("line 4 of osu.txt: 2 total processes failed")));
}

// ---- collectives --------------------------------------------------------------------------------------------------

bench::WorkloadFile osu_collective(const std::string& text, const ImportWishes& wishes = {.ranks = 4}) {
  return std::get<bench::WorkloadFile>(import_content(Tool::osu, text, "osu.txt", wishes));
}

TEST(ImportOsuCollectives, AreWorkloads) {
  const auto file = osu_collective(
      "# OSU MPI-CUDA Allreduce Latency Test v7.5\n# Datatype: MPI_FLOAT.\n"
      "# Size       Avg Latency(us)\n4 10.00\n8 20.00\n");
  EXPECT_EQ(file.series.workload, "all-reduce");
  EXPECT_EQ(file.program, "osu_allreduce 7.5");
  ASSERT_EQ(file.series.points.size(), 2U);
  EXPECT_EQ(file.series.points[1].size, 8_B);
  EXPECT_EQ(file.series.points[1].time_us.median, 20);
  EXPECT_DOUBLE_EQ(file.series.points[1].bus_MBps, 0.4 * 1.5);
  EXPECT_EQ(file.environment->at("origin").at("datatype"), "MPI_FLOAT");
}

/// Of some the size is what goes from a rank to one other; what a bus carries is counted as nccl-tests do.
TEST(ImportOsuCollectives, HaveASizeAndABusFactorEach) {
  struct Case {
    const char *title, *program, *workload;
    std::uint64_t sizes;
    double factor;
  };
  for (const Case& each :
       {Case{"Allreduce", "osu_allreduce", "all-reduce", 1, 1.5},
        Case{"Allgather", "osu_allgather", "all-gather", 4, 0.75},
        Case{"Reduce_scatter", "osu_reduce_scatter", "reduce-scatter", 1, 0.75},
        Case{"Broadcast", "osu_bcast", "broadcast", 1, 1},
        Case{"All-to-All Personalized Exchange", "osu_alltoall", "all-to-all", 4, 0.75},
        Case{"Reduce", "osu_reduce", "reduce", 1, 1}, Case{"Gather", "osu_gather", "gather", 4, 0.75},
        Case{"Scatter", "osu_scatter", "scatter", 4, 0.75}}) {
    const auto file =
        osu_collective(fmt::format("# OSU MPI {} Latency Test v7.5\n# Size Avg Latency(us)\n1000 10.00\n"
                                   "# a line that says nothing\n2000 20.00\n",
                                   each.title));
    EXPECT_EQ(file.series.workload, each.workload);
    EXPECT_EQ(file.program, fmt::format("{} 7.5", each.program));
    EXPECT_EQ(file.series.ranks, 4);
    ASSERT_EQ(file.series.points.size(), 2U);
    EXPECT_EQ(file.series.points[0].size, Bytes{1000 * each.sizes}) << each.title;
    EXPECT_EQ(file.series.points[1].size, Bytes{2000 * each.sizes}) << each.title;
    EXPECT_DOUBLE_EQ(file.series.points[0].algorithm_MBps, 100.0 * static_cast<double>(each.sizes));
    EXPECT_DOUBLE_EQ(file.series.points[0].bus_MBps, each.factor * 100 * static_cast<double>(each.sizes));
    EXPECT_FALSE(file.series.points[0].verified);
    EXPECT_THAT(file.series.notes, ElementsAre("times are means of all ranks and rounds: the slowest took longer"));
  }
  const std::string most = "# OSU MPI Allgather Latency Test v7.5\n# Size Avg Latency(us)\n";
  EXPECT_EQ(osu_collective(most + "70368744177664 1.00\n").series.points[0].size, Bytes{std::uint64_t{1} << 48U});
  EXPECT_THAT(refusal_of_osu(most + "70368744177665 1.00\n", {.ranks = 4}), HasSubstr("between 4 ranks are too many"));
}

TEST(ImportOsuCollectives, WithTheFullColumnsTheSlowestRankCounts) {
  const auto file = osu_collective(
      "# OSU MPI Broadcast Latency Test v7.0\n"
      "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
      "1 95.12 42.33 142.47 1000\n");
  EXPECT_EQ(file.series.points[0].time_us.median, 142.47);
  EXPECT_EQ(file.series.points[0].fastest_us, 42.33);
}

TEST(ImportOsuCollectives, ABarrierHasNoSizes) {
  const auto file = osu_collective("# OSU MPI Barrier Latency Test v5.8\n# Avg Latency(us)\n             8.32\n");
  EXPECT_EQ(file.series.workload, "barrier");
  EXPECT_EQ(file.series.points.at(0).time_us.median, 8.32);
  EXPECT_EQ(file.series.points.at(0).size, 8_B);
  const auto full = osu_collective(
      "# OSU MPI Barrier Latency Test v7.5\n# Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations\n"
      " 8.32 7.11 9.44 1000\n");
  EXPECT_EQ(full.series.points.at(0).time_us.median, 9.44);
  EXPECT_EQ(full.series.points.at(0).fastest_us, 7.11);
  EXPECT_THAT(full.series.notes, ElementsAre("times are those of the slowest rank, means of all rounds"));
}

TEST(ImportOsuCollectives, TheRanksMustBeTold) {
  EXPECT_THAT(refusal_of_osu("# OSU MPI Allreduce Latency Test v7.5\n# Size Avg Latency(us)\n4 1.00\n"),
              HasSubstr("osu.txt: osu_allreduce does not tell its ranks: say it with --ranks"));
  EXPECT_THAT(refusal_of_osu(test::osu_latency_75(), {.ranks = 4}), HasSubstr("--ranks: osu.txt holds no collective"));
}

}  // namespace
}  // namespace twinlink::validate
