// `twinlink-validate fleet` as a user runs it: what it reads, refuses and says, and what it keeps.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/validate/cli/validate_program.hpp"
#include "tests/validate/nodes/planted_fleet.hpp"
#include "validate/history/regressions.hpp"

namespace twinlink::validate {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The text of nccl-tests on one node.
std::string nccl_text(const std::string& host, double times, const std::string& version = "2.21.5") {
  std::string text = "NCCL version " + version + "+cuda12.4\n# nThread 1 nGpus 1\n# Using devices\n";
  for (int rank = 0; rank < 2; ++rank) {
    text += fmt::format("#  Rank {0} Group 0 Pid 1 on {1} device {0} [0x{2:02x}] NVIDIA H100 80GB HBM3\n", rank, host,
                        0x17 + rank);
  }
  text +=
      "#       size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
      "#        (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)\n";
  for (const double size : {65536.0, 1048576.0, 16777216.0}) {
    const double us = times * (20 + size / 2e5);
    text += fmt::format("{0:.0f} {1:.0f} float sum -1 {2:.3f} {3:.3f} {3:.3f} 0 {2:.3f} {3:.3f} {3:.3f} 0\n", size,
                        size / 4, us, size / us / 1e3);
  }
  return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth : 1\n";
}

std::string nvbandwidth_text(double rate, const std::string& version = "v0.8") {
  return "nvbandwidth Version: " + version +
         "\nBuilt from Git version: v0.8\nDevice 0: NVIDIA H100 80GB HBM3 (00000000:1b:00)\nDevice 1: NVIDIA H100 80GB "
         "HBM3 (00000000:2b:00)\n\nRunning device_to_device_memcpy_write_ce.\nmemcpy CE GPU(row) <- GPU(column) "
         "bandwidth "
         "(GB/s)\n           0         1\n 0       N/A     " +
         fmt::format("{:.2f}\n 1     {:.2f}       N/A\n\nSUM device_to_device_memcpy_write_ce 1.0\n", rate, rate);
}

class FleetProgram : public test::ValidateProgram {
 protected:
  void put(const std::string& name, const std::string& content) {
    const auto file = folder_.path() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content;
  }
  /// Ten nodes, of which number 4 is slow in both tests.
  void put_nodes(const std::string& folder = "fleet") {
    for (std::size_t node = 0; node < 10; ++node) {
      const double times = (node == 4 ? 1.5 : 1.0) * (1 + 0.001 * static_cast<double>(node % 3));
      const std::string name = folder + "/" + test::node_name(node);
      put(name + "/nccl.txt", nccl_text(test::node_name(node), times));
      put(name + "/nvbandwidth.txt", nvbandwidth_text(390 / times));
    }
  }
  test::Ended fleet(const std::string& rest) { return run("fleet fleet " + rest); }
};

TEST_F(FleetProgram, FindsTheSlowOneInTextsOfOtherTools) {
  put_nodes();
  const auto ended = fleet("--json fleet.json --report fleet.xml");
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("Verdict: 1 of 10 nodes is slower. The worst: node0004"),
                               HasSubstr("all_reduce_perf"), HasSubstr("GPU 0 (00000000:1b:00)")));
  const json result = json::parse(read("fleet.json"));
  EXPECT_EQ(result["nodes"][0]["node"], "node0004");
  EXPECT_NEAR(result["nodes"][0]["worst"], 0.5, 0.01);
  EXPECT_EQ(result["nodes"][1]["state"], "alike");
  EXPECT_THAT(read("fleet.xml"), AllOf(HasSubstr("tests=\"10\" failures=\"1\""),
                                       HasSubstr("name=\"node0004\"><failure message=\"node0004")));
  EXPECT_EQ(fleet("--node node0004 --report fleet.md").code, 1);
  const std::string page = read("fleet.md");
  const std::size_t begin = page.find("Node by test");
  ASSERT_NE(begin, std::string::npos) << page;
  const std::string map = page.substr(begin, page.find("\n#", begin) - begin);
  for (std::size_t node = 0; node < 10; ++node) {
    const std::string row = "\n| " + test::node_name(node) + " |";
    EXPECT_LT(page.find(row), begin) << node;
    EXPECT_NE(map.find(row), std::string::npos) << node;
  }
  EXPECT_EQ(fleet("--node node0003").code, 0);
  EXPECT_EQ(fleet("--node nobody").code, 2);
}

TEST_F(FleetProgram, FilesOfAFolderBelongToTheNodeOfTheirName) {
  for (std::size_t node = 0; node < 6; ++node) {
    put("fleet/" + test::node_name(node) + ".nvbandwidth.txt", nvbandwidth_text(node == 2 ? 200 : 390));
  }
  const auto ended = fleet("");
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("The worst: node0002"));
}

TEST_F(FleetProgram, WhatDoesNotBelongTogetherIsSaidAndLeftOut) {
  put_nodes();
  put("fleet/node0001/other.txt", nccl_text("elsewhere", 9));
  put("fleet/node0002/nccl.txt", nccl_text("node0002", 3, "2.18.1"));
  put("fleet/node0003/cut.txt", nccl_text("node0003", 1).substr(0, 420));
  put("fleet/node0005/nccl.txt", "a shell's prompt\n");
  put("fleet/node0006/twice.txt", nvbandwidth_text(100));
  put("fleet/node0007/run/begun.txt", "--base ''\n");
  put("fleet/node0008/nccl.part.json", "{");
  std::filesystem::remove(folder_.path() / "fleet/node0009/nccl.txt");
  const auto ended = fleet("--report all.txt");
  EXPECT_EQ(ended.code, 1) << ended.err;
  const std::string all = read("all.txt");
  EXPECT_THAT(all,
              AllOf(HasSubstr("node0001/other.txt is of another machine: of host elsewhere"),
                    HasSubstr("all_reduce_perf (NCCL 2.18.1+cuda12.4), all_reduce_perf (NCCL 2.21.5+cuda12.4); each"),
                    HasSubstr("node0003/cut.txt"), HasSubstr("left out: node0005/nccl.txt: error"),
                    HasSubstr("hold the same measurements, and no date: neither counts"),
                    HasSubstr("node0007/run was begun by validate/node and has no probes: half a folder"),
                    HasSubstr("node0008/nccl.part.json was not finished"),
                    HasSubstr("node0009: has no result of all_reduce_perf, which others have: not looked at")));
  // Another version's times, three times as long, make nobody slow.
  EXPECT_THAT(all, HasSubstr("Verdict: 1 of 10 nodes is slower. The worst: node0004"));
}

TEST_F(FleetProgram, AnonymousReportsNameNobody) {
  put_nodes();
  put("fleet/node0001/other.txt", nccl_text("elsewhere", 9));
  const auto ended = fleet("--anonymous --report all.md --json all.json");
  EXPECT_EQ(ended.code, 1) << ended.err;
  for (const std::string& text : {ended.out, read("all.md"), read("all.json")}) {
    EXPECT_THAT(text, AllOf(Not(HasSubstr("node000")), Not(HasSubstr("elsewhere")), HasSubstr("node05")));
  }
}

TEST_F(FleetProgram, CopiesOfANodeAreNoSecondNode) {
  test::PlantedFleet planted(folder_.path() / "fleet", 1, 0.01);
  bench::ProbeFile probes;
  probes.findings.lines.push_back({.name = "copy device-to-device",
                                   .gpu = "0/0",
                                   .size = Bytes{4096},
                                   .time_us = {.n = 9, .median = 5, .min = 5, .max = 5, .p5 = 5, .p95 = 5}});
  for (std::size_t node = 0; node < 6; ++node) planted.add(node, probes);
  std::filesystem::copy(folder_.path() / "fleet/node0001", folder_.path() / "fleet/node0099");
  const auto ended = fleet("");
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("node0099: has the same GPUs as node0001: one of the two was copied; left out"));
}

TEST_F(FleetProgram, NoFolderAndNoResultAreRefused) {
  EXPECT_EQ(run("fleet nowhere").code, 2);
  std::filesystem::create_directory(folder_.path() / "fleet");
  EXPECT_THAT(fleet("").err, HasSubstr("holds no result of any node"));
  put_nodes();
  EXPECT_EQ(fleet("--json fleet/node0000/nccl.txt").code, 2);
}

// --- Over time -----------------------------------------------------------------------------------------------------

class FleetHistory : public FleetProgram {
 protected:
  /// Of six nodes; the third takes `times` as long, and all points of the fourth may be unstable.
  test::Ended measure(const std::string& date, double times, bool unstable = false) {
    std::filesystem::remove_all(folder_.path() / "fleet");
    static unsigned seed = 0;
    test::PlantedFleet planted(folder_.path() / "fleet", ++seed, 0.02);
    for (std::size_t node = 0; node < 6; ++node) {
      bench::ProbeFile probes;
      for (Bytes size = 1_KiB; size <= 64_MiB; size = size * 16) {
        const double us = (node == 2 ? times : 1) * (5 + static_cast<double>(size.count()) / 4e5);
        probes.findings.lines.push_back({.name = "peer copy write direct",
                                         .gpu = "0/0",
                                         .peer = "0/1",
                                         .size = size,
                                         .time_us = {.n = 9, .median = us, .unstable = unstable && node == 3}});
      }
      planted.add(node, probes, date);
    }
    return fleet("--history all.sqlite --json all.json --report all.html");
  }
  json regressions_of(const std::string& node) {
    const json all = json::parse(read("all.json"));
    for (const json& row : all["nodes"]) {
      if (row["node"] == node) return row["regressions"];
    }
    return {};
  }
};

TEST_F(FleetHistory, SaysSinceWhen) {
  for (int day = 1; day <= 6; ++day) {
    EXPECT_EQ(measure(fmt::format("2026-11-{:02}T07:00:00Z", day), 1).code, 0) << day;
  }
  EXPECT_EQ(measure("2026-11-07T07:00:00Z", 0.7).code, 0);  // faster is no failure
  EXPECT_EQ(measure("2026-11-08T07:00:00Z", 1.3).code, 1);
  EXPECT_EQ(measure("2026-11-09T07:00:00Z", 1.3).code, 1);
  const json found = regressions_of("node0002");
  ASSERT_FALSE(found.empty());
  for (const json& each : found) {
    EXPECT_EQ(each["since"], "2026-11-08T07:00:00Z");
    EXPECT_NEAR(each["slower"].get<double>(), 0.3, 0.1);
  }
  EXPECT_TRUE(regressions_of("node0001").empty());
  EXPECT_THAT(read("all.html"), AllOf(HasSubstr("Since when"), HasSubstr("2026-11-08")));
  // What has recovered is none any more.
  EXPECT_EQ(measure("2026-11-10T07:00:00Z", 1).code, 0);
}

TEST_F(FleetHistory, WhatDoesNotRepeatItselfIsApart) {
  for (int day = 1; day <= 3; ++day) measure(fmt::format("2026-11-{:02}T07:00:00Z", day), 1);
  const auto ended = measure("2026-11-04T07:00:00Z", 1, true);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("3 whose newest point did not repeat itself (~)"),
                               HasSubstr("times that did not repeat themselves (~) are not judged")));
}

TEST_F(FleetHistory, AClockThatRunsBackwardIsSaid) {
  measure("2026-11-05T07:00:00Z", 1);
  EXPECT_THAT(measure("2026-11-02T07:00:00Z", 1).out, HasSubstr("they came late, or the clock runs backward"));
  EXPECT_THAT(measure("2999-01-01T07:00:00Z", 1).out, HasSubstr("still to come: whose clock is wrong?"));
}

TEST_F(FleetHistory, AFileOfSomethingElseIsRefused) {
  put_nodes();
  put("all.sqlite", std::string(5000, 'x'));
  EXPECT_EQ(fleet("--history all.sqlite").code, 2);
}

// --- Steps by themselves -------------------------------------------------------------------------------------------

FigureHistory figure(const std::string& test, const std::vector<double>& times, double deviation = 0.001) {
  FigureHistory history{.key = {.test = test, .name = test}};
  for (const double time : times) {
    const std::string date = fmt::format("2026-11-{:02}", history.dated.size() + 1);
    history.dated.push_back({.date = date, .log_us = std::log(time), .deviation = deviation});
  }
  return history;
}

TEST(Regressions, TheWorstOfANodeComesFirst) {
  const FigureHistory slow = figure("slow", {1, 1, 1, 1.5, 1.5});
  const FigureHistory slower = figure("slower", {1, 1, 2, 2, 2});
  const FigureHistory faster = figure("faster", {2, 2, 1, 1});
  const FigureHistory recovered = figure("recovered", {1, 1, 2, 2, 1});
  for (const auto& figures : {std::vector{slow, slower, faster, recovered}, {recovered, slower, faster, slow}}) {
    const auto found = find_regressions({{.figures = figures}, {.figures = {faster}}}, 0.1);
    ASSERT_EQ(found[0].regressions.size(), 2U);
    EXPECT_EQ(found[0].judged, 4U);
    EXPECT_NEAR(found[0].regressions[0].slower, 1, 1e-9);
    EXPECT_NEAR(found[0].regressions[1].slower, 0.5, 1e-9);
    EXPECT_EQ(in_words(found),
              (std::vector<std::string>{"slower slower by 100 % since 2026-11-03, and 1 more test", ""}));
  }
  EXPECT_TRUE(find_regressions({{.figures = {figure("near", {1, 1, 1.09, 1.09})}}}, 0.1)[0].regressions.empty());
}

TEST(Regressions, WithoutAPastNothingIsJudged) {
  FigureHistory odd = figure("odd", {1, 2});
  odd.dated.back().unstable = true;
  FigureHistory past = figure("past", {1, 2});
  past.dated.front().unstable = true;
  const auto found = find_regressions({{.figures = {figure("new", {1}), odd, past}}}, 0.1);
  EXPECT_EQ(std::tuple(found[0].judged, found[0].single, found[0].unstable), std::tuple(0U, 2U, 1U));
}

}  // namespace
}  // namespace twinlink::validate
