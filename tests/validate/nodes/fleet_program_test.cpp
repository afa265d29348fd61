// `twinlink-validate fleet` as a user runs it: what it reads, refuses and says, and what it keeps.
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/validate/cli/validate_program.hpp"
#include "tests/validate/nodes/made_up_fleet.hpp"

namespace twinlink::validate {
namespace {

using nlohmann::json;
using test::nccl_text;
using test::nvbandwidth_text;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

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
  const auto ended = fleet("--json fleet.json --report fleet.xml --metrics fleet.prom");
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("Verdict: 1 of 10 nodes is slower. The worst: node0004"),
                               HasSubstr("all_reduce_perf"), HasSubstr("GPU 0, GPU 1")));
  const json result = json::parse(read("fleet.json"));
  EXPECT_EQ(result["nodes"][0]["node"], "node0004");
  EXPECT_NEAR(result["nodes"][0]["worst"], 0.5, 0.01);
  EXPECT_EQ(result["nodes"][1]["state"], "alike");
  EXPECT_EQ(result["tolerance"], 0.1);
  EXPECT_EQ(result["of_many_curves"], 0.03);
  EXPECT_THAT(read("fleet.xml"), AllOf(HasSubstr("tests=\"10\" failures=\"1\""),
                                       HasSubstr("name=\"node0004\"><failure message=\"node0004")));
  EXPECT_THAT(read("fleet.prom"), AllOf(HasSubstr("\ntwinlink_node_slower{node=\"node0004\",part=\"\"} 1\n"),
                                        HasSubstr("\ntwinlink_node_slower{node=\"node0003\",part=\"\"} 0\n")));
  const auto checked = run("sh", "-c '! command -v promtool || promtool check metrics <fleet.prom' 2>&1");
  EXPECT_EQ(checked.code, 0) << checked.out;
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
  EXPECT_EQ(fleet("--tolerance 60 --of-many 60").code, 0);
  EXPECT_EQ(fleet("--tolerance 60").code, 1) << "the mean of many is judged as well";
  EXPECT_THAT(fleet("--explain 0").out, HasSubstr("of 1 nodes that are slower no part was looked for"));
  EXPECT_EQ(fleet("--report fleet.json").code, 1);
  EXPECT_EQ(json::parse(read("fleet.json")).at("nodes").size(), 10U);
}

/// Names of our metrics that stand behind `before`.
std::set<std::string> metrics_in(const std::string& text, const std::string& before) {
  const std::regex name(before + "(twinlink_[a-z_]+)");
  std::set<std::string> names;
  for (std::sregex_iterator found(text.begin(), text.end(), name), end; found != end; ++found)
    names.insert((*found)[1]);
  return names;
}

TEST_F(FleetProgram, TheDashboardShowsAllMetricsAndNoOthers) {
  put_nodes();
  EXPECT_EQ(fleet("--metrics fleet.prom").code, 1);
  const std::set<std::string> written = metrics_in(read("fleet.prom"), "# TYPE ");
  EXPECT_EQ(written.size(), 5U);
  std::ifstream file(TWINLINK_SOURCE_DIR "/validate/scripts/fleet-dashboard.json");
  const json dashboard = json::parse(file);
  std::string shown;
  std::set<int> ids;
  for (const json& panel : dashboard.at("panels")) {
    EXPECT_TRUE(ids.insert(panel.at("id").get<int>()).second) << panel;
    EXPECT_EQ(panel.at("datasource").at("uid"), "$source");
    for (const json& target : panel.at("targets")) shown += target.at("expr").get<std::string>() + "\n";
  }
  EXPECT_EQ(metrics_in(shown, ""), written);
  const json& chosen = dashboard.at("templating").at("list").at(1).at("query").at("query");
  EXPECT_THAT(written, ::testing::IsSupersetOf(metrics_in(chosen.get<std::string>(), "")));
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
  EXPECT_EQ(fleet("--anonymous --node node0003").code, 0) << "whoever asks knows the name";
  EXPECT_EQ(fleet("--anonymous --node node0004").code, 1);
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
  test::Ended measure(const std::string& date, double times, bool unstable = false, std::size_t nodes = 6) {
    std::filesystem::remove_all(folder_.path() / "fleet");
    static unsigned seed = 0;
    test::PlantedFleet planted(folder_.path() / "fleet", ++seed, 0.02);
    for (std::size_t node = 0; node < nodes; ++node) {
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
  EXPECT_EQ(fleet("--history all.sqlite --node node0002").code, 1);
  EXPECT_EQ(fleet("--history all.sqlite --node node0001").code, 0) << "of this node alone";
  EXPECT_EQ(fleet("--history all.sqlite --tolerance 40 --of-many 40").code, 0);
  fleet("--history all.sqlite --report all.xml");
  EXPECT_THAT(read("all.xml"), HasSubstr("name=\"node0002\"><failure message=\"node0002"));
  EXPECT_THAT(read("all.xml"), HasSubstr("peer copy write direct slower by "));
  EXPECT_THAT(read("all.html"), AllOf(HasSubstr("Since when"), HasSubstr("2026-11-08")));
  // What has recovered is none any more.
  EXPECT_EQ(measure("2026-11-10T07:00:00Z", 1).code, 0);
}

/// A node that was there is missed, unless a list says who is expected, or one node is asked about. A second look at
/// the same folder brings nothing late.
TEST_F(FleetHistory, WhoHasGoneIsMissed) {
  EXPECT_EQ(measure("2026-11-01T07:00:00Z", 1, false, 6).code, 0);
  const auto ended = measure("2026-11-02T07:00:00Z", 1, false, 5);
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.out,
              AllOf(HasSubstr("1 without a result. The worst: node0005: no result: has nothing here, and the "
                              "history has results of 2026-11-01T07:00:00Z"),
                    Not(HasSubstr("came late"))));
  EXPECT_THAT(fleet("--history all.sqlite").out, Not(HasSubstr("came late")));
  put("expected", "node000[0-4]\n");
  EXPECT_EQ(fleet("--history all.sqlite --nodes expected").code, 0);
  put("expected", "node000[0-6]\n");
  const auto more = fleet("--nodes expected");
  EXPECT_EQ(more.code, 1);
  EXPECT_THAT(more.out, HasSubstr("2 without a result"));
  EXPECT_EQ(fleet("--nodes nowhere").code, 2);
  EXPECT_EQ(fleet("--history all.sqlite --node node0001").code, 0);
}

/// Too few to be held against each other; each has its own past.
TEST_F(FleetHistory, WhoHasNoEqualsIsHeldAgainstItself) {
  const auto first = measure("2026-11-01T07:00:00Z", 1, false, 3);
  EXPECT_EQ(first.code, 1) << "nobody was judged";
  EXPECT_THAT(first.out, HasSubstr("; 3 could not be judged."));
  EXPECT_EQ(measure("2026-11-02T07:00:00Z", 1, false, 3).code, 0);
  EXPECT_EQ(measure("2026-11-03T07:00:00Z", 1.5, false, 3).code, 1);
}

TEST_F(FleetHistory, WhatDoesNotRepeatItselfIsApart) {
  for (int day = 1; day <= 3; ++day) measure(fmt::format("2026-11-{:02}T07:00:00Z", day), 1);
  const auto ended = measure("2026-11-04T07:00:00Z", 1, true);
  EXPECT_THAT(ended.out, AllOf(HasSubstr("3 whose newest point did not repeat itself (~)"),
                               HasSubstr("times that did not repeat themselves (~) are not judged")));
}

}  // namespace
}  // namespace twinlink::validate
