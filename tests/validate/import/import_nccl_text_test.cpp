// The text of nccl-tests, as people publish it.
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/said_by.hpp"
#include "validate/import/import.hpp"

namespace twinlink::validate::nccl_text {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string devices(int ranks, const std::string& group = "Group  0 ") {
  std::string text = "# nThread 1 nGpus 1 minBytes 1024 maxBytes 1048576 step: 1024(factor)\n#\n# Using devices\n";
  for (int rank = 0; rank < ranks; ++rank) {
    text += "#  Rank  " + std::to_string(rank) + " " + group + "Pid " + std::to_string(100 + rank) + " on host" +
            std::to_string(rank / 4) + " device  " + std::to_string(rank % 4) + " [0000:01:00] NVIDIA Sample\n";
  }
  return text;
}

constexpr const char* kHeader =
    "#\n#                                                  out-of-place                in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n";
constexpr const char* kEnd = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 12.3456\n#\n";

/// A megabyte in 100 us: 10.00 GB/s, and that times `factor` on the bus.
std::string row(const std::string& what, double factor, const std::string& in_place = "0") {
  const std::string rates = "  100.0   10.00   " + std::to_string(10 * factor).substr(0, 5) + "  ";
  return "     1000000        250000     float  " + what + "  " + rates + "    0" + rates + "    " + in_place + "\n";
}

std::string run_of(int ranks, const std::string& rows) { return devices(ranks) + kHeader + rows + kEnd; }

Imported imported(const std::string& text, const ImportWishes& wishes = {}) {
  return import_content(Tool::nccl_tests, text, "nccl.txt", wishes);
}
bench::WorkloadFile collective(const std::string& text, const ImportWishes& wishes = {}) {
  return std::get<bench::WorkloadFile>(imported(text, wishes));
}
std::string refusal_of(const std::string& text, const ImportWishes& wishes = {}) {
  return said_by([&] { return imported(text, wishes); });
}

TEST(ImportNcclText, AnAllReduceIsAWorkload) {
  const std::string text = run_of(8, row("sum      -1", 1.75));
  EXPECT_EQ(recognise(Content(text)), Tool::nccl_tests);
  const bench::WorkloadFile file = collective(text);
  EXPECT_EQ(file.series.workload, "all-reduce");
  EXPECT_EQ(file.series.ranks, 8);
  EXPECT_EQ(file.series.nodes, 2);
  EXPECT_EQ(file.series.places.at(5), "1/1");
  ASSERT_EQ(file.series.points.size(), 1U);
  EXPECT_EQ(file.series.points[0].size, Bytes{1'000'000});
  EXPECT_EQ(file.series.points[0].time_us.median, 100) << "out of place";
  EXPECT_DOUBLE_EQ(file.series.points[0].algorithm_MBps, 10'000);
  EXPECT_DOUBLE_EQ(file.series.points[0].bus_MBps, 17'500);
  EXPECT_TRUE(file.series.points[0].verified);
  EXPECT_THAT(file.series.notes, Contains(HasSubstr("its columns are those of all_reduce_perf")));
  const nlohmann::json written = bench::to_json(file);
  EXPECT_EQ(written.at("workload"), "all-reduce");
  EXPECT_FALSE(written.contains("protocol"));
}

TEST(ImportNcclText, TheColumnsTellWhichTestItWas) {
  const auto workload_of = [](const std::string& what, double factor, const std::string& in_place) {
    return collective(run_of(4, row(what, factor, in_place))).series.workload;
  };
  EXPECT_EQ(workload_of("sum      -1", 1.5, "0"), "all-reduce");
  EXPECT_EQ(workload_of("sum      -1", 0.75, "0"), "reduce-scatter");
  EXPECT_EQ(workload_of("none     -1", 0.75, "0"), "all-gather");
  EXPECT_EQ(workload_of("none     -1", 0.75, "N/A"), "all-to-all");
  EXPECT_EQ(workload_of("none      0", 1, "0"), "broadcast");
  EXPECT_EQ(workload_of("sum       0", 1, "0"), "reduce");
  EXPECT_EQ(workload_of("sum      -1", 1, "N/A"), "shift") << "sendrecv names an operation";
  EXPECT_EQ(workload_of("         -1", 0.75, "0"), "all-gather") << "releases that leave a gap";
}

TEST(ImportNcclText, WhatTheColumnsDoNotTellTheUserMust) {
  const std::string text = run_of(4, row("none      0", 0.75));
  EXPECT_THAT(refusal_of(text), HasSubstr("which may be gather_perf or scatter_perf: say it with --test"));
  EXPECT_EQ(collective(text, {.test = "scatter_perf"}).series.workload, "scatter");
  EXPECT_THAT(refusal_of(text, {.test = "all_reduce_perf"}),
              HasSubstr("busbw is 0.75 of algbw, which is not that of all_reduce_perf between 4 ranks"));
  EXPECT_THAT(refusal_of(text, {.test = "shuffle"}), HasSubstr("unknown test 'shuffle' (there are: all_reduce_perf"));
}

TEST(ImportNcclText, ACommandLineOrTheReleaseItselfNamesTheTest) {
  const std::string rows = row("none     -1", 0.75);
  const auto by_command = collective("$ mpirun -np 4 ./build/all_gather_perf -b 1M -g 1\n" + run_of(4, rows));
  EXPECT_EQ(by_command.series.workload, "all-gather");
  EXPECT_EQ(by_command.command, "mpirun -np 4 ./build/all_gather_perf -b 1M -g 1");
  EXPECT_EQ(collective("# Collective test starting: alltoall_perf\n" + run_of(4, rows)).series.workload, "all-to-all");
}

TEST(ImportNcclText, BetweenTwoRanksSendrecvIsACurve) {
  const auto result = std::get<bench::Result>(imported(run_of(2, row("sum      -1", 1, "N/A"))));
  EXPECT_EQ(result.series.pattern, bench::Pattern::bidirectional);
  EXPECT_EQ(result.series.from, "0/0");
  EXPECT_EQ(result.series.to, "0/1");
  EXPECT_EQ(result.series.points.at(0).bandwidth_MBps, 20'000);
}

TEST(ImportNcclText, OldReleasesHaveOtherColumns) {
  const std::string text =
      devices(8, "") +
      "#\n#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
      "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
      "     1000000        250000   float     sum    100.0   10.00   17.50  5e-07    100.0   10.00   17.50  5e-07\n";
  const auto file = collective(text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 17.5\n");
  EXPECT_EQ(file.series.workload, "all-reduce");
  EXPECT_TRUE(file.series.points[0].verified);
  const auto wrong = collective(text + "# Out of bounds values : 1 FAILED\n# Avg bus bandwidth    : 17.5\n");
  EXPECT_FALSE(wrong.series.points[0].verified);
  EXPECT_THAT(wrong.series.notes, Contains(AllOf(HasSubstr("not verified"), HasSubstr("1 FAILED"))));
}

/// Collectives that add nothing up have a gap in the place of the operation, and no root behind it.
TEST(ImportNcclText, OldReleasesLeaveAGapForNoOperation) {
  const auto file = std::get<bench::WorkloadFile>(import_content(
      Tool::nccl_tests,
      devices(8, "") +
          "#\n#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  "
          "error\n"
          "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
          "     1000000        125000   float            100.0   10.00    8.75    N/A    100.0   10.00    8.75    N/A\n"
          "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 8.75\n",
      "nccl.txt", {.test = "alltoall_perf"}));
  EXPECT_EQ(file.series.workload, "all-to-all");
  EXPECT_EQ(file.series.points.at(0).time_us.median, 100);
}

TEST(ImportNcclText, WrongElementsAreToldAndNotVerified) {
  std::string rows = row("sum      -1", 1.75);
  rows.replace(rows.find("    0  100.0"), 5, "   17");
  const auto file =
      collective(devices(8) + kHeader + rows + "# Out of bounds values : 1 FAILED\n# Avg bus bandwidth : 1\n");
  EXPECT_FALSE(file.series.points[0].verified);
  EXPECT_THAT(file.series.notes, Contains(HasSubstr("not verified: line 16 of nccl.txt tells of 17 wrong elements")));
}

TEST(ImportNcclText, LaunchersAndComplaintsStandInBetween) {
  std::string prefixed;
  const std::string text = run_of(2, row("sum      -1", 1, "N/A"));
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    prefixed += "[1,0]<stdout>:" + text.substr(at, text.find('\n', at) + 1 - at);
    prefixed += "[1,1]<stderr>:host1:101:101 [1] NCCL WARN something is slow\n";
  }
  const auto result = std::get<bench::Result>(imported(prefixed));
  EXPECT_EQ(result.series.points.size(), 1U);
  EXPECT_THAT(result.notes, Contains(HasSubstr("NCCL WARN something is slow")));
}

TEST(ImportNcclText, ARunThatDoesNotEndIsToldAndATornRowRefused) {
  const std::string begun = devices(8) + kHeader + row("sum      -1", 1.75);
  EXPECT_THAT(collective(begun).series.notes, Contains(HasSubstr("ends before the summary")));
  EXPECT_THAT(collective(begun + kEnd).series.notes, Not(Contains(HasSubstr("ends before the summary"))));
  EXPECT_THAT(refusal_of(begun + "     2000000        500000     float     sum      -1    200.0   10.00\n"),
              HasSubstr("nccl.txt:17: error: a row of 7 columns, where 13 are named: is it cut off?"));
  EXPECT_THAT(refusal_of(begun + "     2000000        500000     float     sum      -1    200.0   10.00   17.50      0"
                                 "    200.0   10.00   17.50      0 0\n"),
              HasSubstr("a row of 14 columns"));
  EXPECT_THAT(refusal_of(begun + "     2000000        500000     float     sum      -1     20.0   10.00   17.50      0"
                                 "    200.0   10.00   17.50      0\n"),
              HasSubstr("2000000 B in 20.0 us are 100.00 GB/s, and not 10.00: is the row torn?"));
}

TEST(ImportNcclText, OfSeveralRunsTheUserChooses) {
  const std::string text = "./all_reduce_perf -g 4\n" + run_of(4, row("sum      -1", 1.5)) + "./broadcast_perf -g 4\n" +
                           run_of(4, row("none      0", 1) + row("none      1", 1));
  EXPECT_THAT(refusal_of(text), HasSubstr("holds 3 tables, of which --table N imports one:\n"
                                          "  1: all_reduce_perf, float sum, 1 size from 1000000\n"
                                          "  2: broadcast_perf, float root 0, 1 size from 1000000\n"
                                          "  3: broadcast_perf, float root 1, 1 size from 1000000"));
  EXPECT_EQ(collective(text, {.table = 2}).series.workload, "broadcast");
}

/// What stands above the first run holds for the next, until a list of devices begins anew; its test does not.
TEST(ImportNcclText, EachRunHasWhatWasSaidBeforeIt) {
  const std::string text = "NCCL version 2.21.5+cuda12.4\n# nccl-tests version 2.17.6\n./all_reduce_perf -g 4\n" +
                           run_of(4, row("sum      -1", 1.5)) + kHeader + row("none      0", 1) + kEnd +
                           run_of(8, row("sum      -1", 1.75) +
                                         "           0             0     float     sum      -1   "
                                         "  5.00    0.00    0.00      0     5.00    0.00    0.00  "
                                         "    0\n") +
                           kHeader + row("sum      -1", 1.75, "0");
  const auto table = [&](int number) { return collective(text, {.table = number}); };
  const auto first = table(1);
  EXPECT_EQ(std::tuple(first.program, first.command, first.series.ranks),
            std::tuple("all_reduce_perf (NCCL 2.21.5+cuda12.4)", "./all_reduce_perf -g 4", 4));
  const auto& origin = first.environment->at("origin");
  EXPECT_EQ(origin.at("nccl_tests"), "2.17.6");
  EXPECT_EQ(origin.at("datatype"), "float");
  EXPECT_EQ(origin.at("config"), "nThread 1 nGpus 1 minBytes 1024 maxBytes 1048576 step: 1024(factor)");
  EXPECT_EQ(origin.at("out_of_bounds"), " 0 OK");
  EXPECT_EQ(origin.at("figure"), "mean of rounds that follow each other");
  ASSERT_EQ(origin.at("ranks").size(), 4U);
  EXPECT_EQ(
      origin.at("ranks").at(3),
      (nlohmann::json{
          {"place", "0/3"}, {"host", "host0"}, {"device", {{"pci_bus_id", "0000:01:00"}, {"name", "NVIDIA Sample"}}}}));
  EXPECT_THAT(first.series.notes,
              ElementsAre("measured in rounds that follow each other in a stream, without an answer",
                          "measured times are means, of which nobody told the spread"));
  const auto second = table(2);
  EXPECT_EQ(std::tuple(second.program, second.command, second.series.ranks, second.series.nodes),
            std::tuple("broadcast_perf (NCCL 2.21.5+cuda12.4)", "", 4, 1));
  EXPECT_THAT(second.series.notes,
              Contains("the text does not name its test: its columns are those of broadcast_perf"));
  const auto third = table(3);
  EXPECT_EQ(std::tuple(third.series.ranks, third.series.nodes, third.series.points.size()), std::tuple(8, 2, 1U));
  EXPECT_THAT(table(4).series.notes, Contains(HasSubstr("ends before the summary of its run")));
  for (const int ended : {1, 2, 3}) EXPECT_THAT(table(ended).series.notes, Not(Contains(HasSubstr("ends before"))));
}

TEST(ImportNcclText, WhereSomeDevicesAreListedNobodyKnowsThePlaces) {
  std::string text = run_of(4, row("sum      -1", 1.5));
  text.erase(text.find("#  Rank  1"), text.find("#  Rank  2") - text.find("#  Rank  1"));
  const auto file = collective(text);
  EXPECT_EQ(file.series.ranks, 4);
  EXPECT_EQ(file.series.nodes, 0);
  EXPECT_TRUE(file.series.places.empty());
}

TEST(ImportNcclText, ColumnsMayEndWithTheTimeOfDay) {
  std::string header = kHeader;
  header.insert(header.find("#wrong\n") + 6, " timestamp");
  std::string rows = row("sum      -1", 1.75);
  rows.insert(rows.size() - 1, "  2026-11-26 10:20:30");
  const auto file = collective(devices(8) + header + rows + kEnd);
  ASSERT_EQ(file.series.points.size(), 1U);
  EXPECT_TRUE(file.series.points[0].verified);
}

TEST(ImportNcclText, DataThatWereNotComparedAreNotVerified) {
  std::string rows = row("sum      -1", 1.75, "N/A");
  rows.replace(rows.find("    0  100.0"), 5, "  N/A");
  EXPECT_FALSE(collective(run_of(8, rows), {.test = "all_reduce_perf"}).series.points[0].verified);
  EXPECT_TRUE(collective(run_of(8, row("sum      -1", 1.75))).series.points[0].verified);
}

/// A rate has two decimals or three digits, so that of small ones half a digit is much.
TEST(ImportNcclText, FiguresThatAreNoneAreRefusedByTheirLine) {
  const auto with = [](const std::string& figures) {
    return refusal_of(devices(8) + kHeader + "     1000000        250000     float     sum      -1  " + figures + kEnd);
  };
  const std::string in_place = "   0  100.0   10.00   17.50    0\n";
  EXPECT_EQ(with("  100.0   10.00   17.50 " + in_place), "nothing was refused");
  EXPECT_EQ(with("  100.0   10.21   17.87 " + in_place), "nothing was refused");
  EXPECT_EQ(with("  100.0   10.23   17.50 " + in_place),
            "nccl.txt:16: error: 1000000 B in 100.0 us are 10.00 GB/s, and not 10.23: is the row torn?");
  EXPECT_THAT(with("  0.000   10.00   17.50 " + in_place),
              HasSubstr(":16: error: the time must be positive, but is 0.000"));
  EXPECT_THAT(with("  1e300   10.00   17.50 " + in_place), HasSubstr(":16: error: the time 1e300: "));
  EXPECT_THAT(with("  100.0   ten     17.50 " + in_place), HasSubstr(":16: error: 'ten' is no number"));
  EXPECT_THAT(with("  100.0   10.00   -1    " + in_place), HasSubstr(":16: error: '-1' is no number"));
  EXPECT_THAT(with("  100.0   10.00   inf   " + in_place), HasSubstr(":16: error: 'inf' is no number"));
  const auto header = [](const std::string& columns, const std::string& units = "") {
    return refusal_of("# " + columns + "\n" + units + row("sum      -1", 1.75));
  };
  EXPECT_EQ(header("size count type redop root algbw busbw"), "nccl.txt:1: error: there is no column of times");
  EXPECT_EQ(header("size count type redop root cputime algbw busbw"),
            "nccl.txt:1: error: cputime is the host's time alone; run without -C");
  EXPECT_EQ(header("size count type redop root time algbw busbw", "# (B) (elements) (ms) (GB/s)\n"),
            "nccl.txt:2: error: the times must be in us");
  EXPECT_EQ(header("size count type redop root algbw busbw time a b c d e"),
            "nccl.txt:2: error: algbw and busbw belong behind the time");
  EXPECT_EQ(refusal_of("hello\n"), "nccl.txt: error: has no line that names the columns of nccl-tests");
  EXPECT_THAT(refusal_of(run_of(8, row("sum       x", 1.75))), HasSubstr("'x' is no root"));
}

TEST(ImportNcclText, WithoutDevicesTheUserTellsTheRanks) {
  const std::string text = kHeader + row("sum      -1", 1.75) + kEnd;
  EXPECT_THAT(refusal_of(text), HasSubstr("does not tell how many ranks there were: say it with --ranks"));
  EXPECT_EQ(collective(text, {.ranks = 8}).series.ranks, 8);
  EXPECT_THAT(refusal_of("./all_reduce_perf\n" + text, {.ranks = 9}),
              HasSubstr("busbw is 1.75 of algbw, which is not that of all_reduce_perf between 9 ranks"));
  EXPECT_THAT(refusal_of(run_of(8, row("sum      -1", 1.75)), {.ranks = 4}),
              HasSubstr("--ranks 4: nccl.txt tells of 8"));
}

}  // namespace
}  // namespace twinlink::validate::nccl_text
