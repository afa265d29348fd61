// What is read of many nodes' files: whose they are, and what does not belong.
#include "validate/nodes/node_files.hpp"

#include <cmath>
#include <fstream>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "protocols/core/errors.hpp"
#include "tests/validate/fixtures.hpp"
#include "tests/validate/nodes/made_up_fleet.hpp"
#include "tests/validate/scratch_folder.hpp"
#include "validate/nodes/anonymous.hpp"
#include "validate/nodes/dates.hpp"
#include "validate/nodes/file_facts.hpp"
#include "validate/nodes/node_list.hpp"

namespace twinlink::validate {
namespace {

using nlohmann::json;
using test::nccl_text;
using test::nvbandwidth_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;
using Texts = std::vector<std::string>;

class NodeFiles : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& content) {
    const auto file = folder_.path() / "fleet" / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content;
  }
  void put(const std::string& name, const bench::ProbeFile& probes) { put(name, bench::to_json(probes).dump()); }
  /// Of GPUs of this node, or of others where `place` says so.
  static bench::ProbeFile probes(const std::string& host, const Texts& uuids, const std::string& world = "measured") {
    bench::ProbeFile file = test::make_probes(world, {{4, 1}});
    json ranks = json::array();
    for (const std::string& uuid : uuids) {
      ranks.push_back({{"host", host},
                       {"place", fmt::format("0/{}", ranks.size())},
                       {"device", {{"uuid", uuid}, {"name", "B200"}}}});
    }
    file.environment.set("ranks", ranks);
    return file;
  }
  FleetFiles read(const FleetWishes& wishes = {}) { return read_fleet(folder_.path() / "fleet", wishes); }
  static Texts names_of(const FleetNode& node) {
    Texts names;
    for (const NodeFile& file : node.files) names.push_back(file.file);
    return names;
  }

  test::ScratchFolder folder_;
};

TEST(NodeList, IsExpandedAsSlurmWritesIt) {
  EXPECT_THAT(expand_hostlist("node[08-10,3],login"), ElementsAre("node08", "node09", "node10", "node3", "login"));
  EXPECT_THAT(expand_hostlist("r[1-2]n[1-2]"), ElementsAre("r1n1", "r1n2", "r2n1", "r2n2"));
  for (const auto& [text, why] : {std::pair("node[1-", "a '[' without a ']'"),
                                  {"node1]", "a ']' without a '['"},
                                  {"node[a-b]", "'a-b' is no range of numbers"},
                                  {"node[3-1]", "'3-1' ends before it begins"},
                                  {"node[]", "'' is no range of numbers"},
                                  {"a,,b", "a name is missing"},
                                  {"node[1-9999999]", "more than a million"},
                                  {"node[1-9999][1-9999]", "more than a million"}}) {
    const std::string list = text;
    EXPECT_THAT([&] { expand_hostlist(list); }, ThrowsMessage<UsageError>(HasSubstr(why))) << text;
  }
}

TEST(NodeList, SaysWhoIsMissing) {
  const test::ScratchFolder folder;
  const auto file = folder.write("nodes", "# all\nnode000[0-2]  # three\n\n node0001\n");
  EXPECT_THAT(read_node_list(file), ElementsAre("node0000", "node0001", "node0002"));
  FleetFiles files = test::fleet_of(2, [](std::size_t) { return std::vector<NodeFile>(1); });
  files.nodes.push_back({.name = "other"});
  expect_nodes(files, read_node_list(file));
  ASSERT_EQ(files.nodes.size(), 4U);
  EXPECT_EQ(files.nodes[2].name, "node0002");
  EXPECT_THAT(files.nodes[2].remarks, ElementsAre("is on the list of nodes, and has nothing here"));
  EXPECT_THAT(files.nodes[3].remarks, ElementsAre("is not on the list of nodes"));
  EXPECT_THROW(read_node_list(folder.write("none", "# nobody\n")), InputError);
  EXPECT_THAT([&] { read_node_list(folder.write("bad", "a\nb[\n")); },
              ThrowsMessage<InputError>(HasSubstr("bad:2: error: 'b[' is no list of nodes")));
  EXPECT_THROW(read_node_list(folder.path() / "nowhere"), InputError);
}

TEST_F(NodeFiles, AFolderOrTheNameOfAFileTellsTheNode) {
  put("alpha/nccl.txt", nccl_text("alpha", 1));
  put("alpha/2026-11-24/deep/nccl.txt", nccl_text("alpha", 2));
  put("beta.nvbandwidth.txt", nvbandwidth_text(390));
  put("beta.more.log", nccl_text("beta", 1));
  for (const char* name : {".hidden/nccl.txt", ".hidden.txt", "alpha/.nccl.txt", "alpha/page.html", "gamma.png"}) {
    put(name, "what nobody reads");
  }
  const FleetFiles fleet = read();
  ASSERT_EQ(fleet.nodes.size(), 2U);
  EXPECT_EQ(fleet.nodes[0].name, "alpha");
  EXPECT_THAT(names_of(fleet.nodes[0]), ElementsAre("alpha/2026-11-24/deep/nccl.txt", "alpha/nccl.txt"));
  EXPECT_EQ(fleet.nodes[0].files[0].date, "2026-11-24");
  EXPECT_EQ(fleet.nodes[0].files[1].date, "");
  EXPECT_EQ(fleet.nodes[1].name, "beta");
  EXPECT_THAT(names_of(fleet.nodes[1]), ElementsAre("beta.more.log", "beta.nvbandwidth.txt"));
  for (const FleetNode& node : fleet.nodes) EXPECT_THAT(node.remarks, IsEmpty());
  EXPECT_THAT(fleet.remarks, IsEmpty());
  // What nccl-tests say of a GPU's place on the bus is short; nvbandwidth says more.
  ASSERT_EQ(fleet.nodes[1].gpus.size(), 2U);
  EXPECT_EQ(fleet.nodes[1].gpus[1].text(), "GPU 1 (00000000:2b:00)");
  EXPECT_EQ(fleet.nodes[1].gpus[1].model, "NVIDIA H100 80GB HBM3");
}

TEST_F(NodeFiles, OfARunOfAWholeNodeWhatItMeasuredCounts) {
  const std::string probes = bench::to_json(test::make_probes("measured", {{4, 1}})).dump();
  put("a/run/begun.txt", "--base ''\n");
  put("a/run/measured/a-probes.json", probes);
  put("a/run/measured/a-host.part.json", "{");
  put("a/run/measured/log.txt", "words");
  put("a/run/expected/a-host.json", "predictions");
  put("b/begun.txt", "");
  put("b/measured/b-host.json", probes);
  put("b/measured/b-probes.part.json", "{");
  put("c/run/begun.txt", "");
  const FleetFiles fleet = read();
  EXPECT_THAT(names_of(fleet.nodes[0]), ElementsAre("a/run/measured/a-probes.json"));
  EXPECT_THAT(fleet.nodes[0].remarks, ElementsAre("a/run/measured/a-host.part.json was not finished: left out"));
  EXPECT_THAT(names_of(fleet.nodes[1]), ElementsAre("b/measured/b-host.json"));
  EXPECT_THAT(fleet.nodes[1].remarks, ElementsAre("b/measured/b-probes.part.json was not finished: left out",
                                                  "b was begun by validate/node and has no probes: half a folder"));
  EXPECT_THAT(fleet.nodes[2].files, IsEmpty());
  EXPECT_THAT(fleet.nodes[2].remarks, ElementsAre("c/run was begun by validate/node and has no probes: half a folder"));
}

TEST_F(NodeFiles, ResultsOfAnotherHostAreLeftOut) {
  put("alpha/1.txt", nccl_text("elsewhere", 1));
  put("alpha/2.txt", nccl_text("alpha", 1));
  put("alpha/3.txt", nvbandwidth_text(390));
  put("beta/1.txt", nccl_text("host9", 1));
  put("beta/2.txt", nccl_text("host8", 1));
  put("gamma/1.txt", nccl_text(Texts{"alpha", "gamma"}, 1));
  put("gamma/2.txt", nccl_text(Texts{"alpha", "beta"}, 1));
  const FleetFiles fleet = read();
  EXPECT_THAT(names_of(fleet.nodes[0]), ElementsAre("alpha/2.txt", "alpha/3.txt"));
  EXPECT_THAT(fleet.nodes[0].remarks,
              ElementsAre("alpha/1.txt is of another machine: of host elsewhere, and not of alpha; left out"));
  EXPECT_THAT(names_of(fleet.nodes[1]), ElementsAre("beta/1.txt"));
  EXPECT_THAT(fleet.nodes[1].remarks,
              ElementsAre("beta/2.txt is of another machine: of host host8, and not of host9; left out",
                          "calls itself 'host9'"));
  EXPECT_THAT(names_of(fleet.nodes[2]), ElementsAre("gamma/1.txt"));
  EXPECT_THAT(fleet.nodes[2].remarks,
              ElementsAre("gamma/2.txt is of 2 hosts (alpha, beta), and none of them is this node: left out"));
  EXPECT_EQ(fleet.nodes[2].gpus.size(), 2U) << "of a job of several its own alone";
  EXPECT_THAT(fleet.remarks, ElementsAre("2 nodes say that their host is 'alpha', alpha and gamma among them; they "
                                         "are told apart by their folders"));
}

TEST_F(NodeFiles, TheGpusOfANodeAreTheSameInAllFiles) {
  put("a/1.json", probes("a", {"GPU-0", "", "GPU-2", "3", "4", "5", "6", "7", "8", "9", "GPU-10"}));
  put("a/2.json", probes("a", {"GPU-9", "GPU-1"}));
  put("a/3.txt", nvbandwidth_text(390));
  const FleetFiles fleet = read();
  const FleetNode& node = fleet.nodes[0];
  ASSERT_EQ(node.gpus.size(), 11U);
  EXPECT_EQ(node.gpus[2].place, "0/2");
  EXPECT_EQ(node.gpus[10].place, "0/10") << "by number";
  EXPECT_EQ(node.gpus[0].text(), "GPU 0 (00000000:1b:00, GPU-0)");
  EXPECT_EQ(node.gpus[1].text(), "GPU 1 (00000000:2b:00, GPU-1)");
  EXPECT_EQ(node.gpus[0].model, "B200") << "who is first says it";
  EXPECT_THAT(node.remarks, ElementsAre("GPU 0 is GPU-9 in a/2.json, and GPU-0 in others: another GPU, or another "
                                        "order"));
}

TEST_F(NodeFiles, WhoHasTheGpusOfAnotherNodeIsACopyOfIt) {
  put("a/1.json", probes("", {"GPU-0", "GPU-1"}));
  put("b/1.json", probes("", {"GPU-2", "GPU-1"}));
  put("c/1.json", probes("", {"", ""}));
  put("d/1.json", probes("", {"", "GPU-3"}));
  const FleetFiles fleet = read();
  EXPECT_THAT(fleet.nodes[1].remarks, ElementsAre("has the same GPUs as a: one of the two was copied; left out"));
  for (const std::size_t node : {0U, 1U, 2U, 3U}) {
    EXPECT_EQ(fleet.nodes[node].files.empty(), node == 1);
    EXPECT_EQ(fleet.nodes[node].remarks.empty(), node != 1);
  }
}

TEST_F(NodeFiles, SimulatedTimesAreNoNodes) {
  put("a/1.json", probes("", {}, "simulated"));
  put("a/2.json", probes("", {}));
  put("b/1.json", probes("", {}));
  FleetFiles fleet = read();
  EXPECT_THAT(names_of(fleet.nodes[0]), ElementsAre("a/2.json"));
  EXPECT_THAT(fleet.nodes[0].remarks, ElementsAre("a/1.json is simulated, and others are measured: left out"));
  for (const char* name : {"a/2.json", "b/1.json"}) put(name, probes("", {}, "simulated"));
  fleet = read();
  EXPECT_EQ(fleet.nodes[0].files.size(), 2U) << "where all are";
  EXPECT_THAT(fleet.nodes[0].remarks, IsEmpty());
}

TEST_F(NodeFiles, WithoutAFolderOrAResultItIsRefusedAndSaysWhy) {
  const std::string folder = (folder_.path() / "fleet").string();
  EXPECT_THAT([&] { read(); }, ThrowsMessage<InputError>(folder + ": error: is no folder"));
  bench::Result nothing = test::make_result("measured", "host", {{4, 0}});
  put("a/1.json", bench::to_json(nothing).dump());
  put("a/2.txt", "a shell's prompt\n");
  put("b/1.json", R"({"kind": "of something else"})");
  EXPECT_THAT(
      [&] { read(); },
      ThrowsMessage<InputError>(
          folder +
          ": error: holds no result of any node\na: a/1.json: host pingpong, chunk 256K, depth 2 at 4 left out: "
          "the time must be positive, but is 0 us\na: a/1.json holds no time: left out\na: left out: a/2.txt: "
          "error: neither a result of this project nor of a tool that import knows\nb: left out: b/1.json: "
          "error: neither a result of this project nor of a tool that import knows"));
}

TEST_F(NodeFiles, EveryTableOfAFileCounts) {
  const auto runs = [](const std::string& hosts) {
    return nccl_text(hosts, 1) + nccl_text(hosts, 2).replace(0, 0, "all_reduce_perf again\n");
  };
  put("a/nccl.txt", runs("a"));
  const FleetFiles fleet = read({.ranks = 2});
  ASSERT_EQ(fleet.nodes[0].files.size(), 2U);
  EXPECT_NEAR(fleet.nodes[0].files[1].curves[0].points[0].log_us - fleet.nodes[0].files[0].curves[0].points[0].log_us,
              std::log(2), 1e-4);
}

TEST_F(NodeFiles, WhatFilesDoNotTellIsWishedFor) {
  std::string text = nccl_text("a", 1);
  text.erase(0, text.find("#       size"));
  put("a/collective.txt", "all_reduce_perf\n" + text);
  put("a/curve.txt", "# OSU MPI Latency Test v7.5\n# Size       Avg Latency(us)\n1   8.01\n");
  put("a/rates.txt", nvbandwidth_text(400));
  EXPECT_THAT(read().nodes[0].remarks,
              ElementsAre("left out: a/collective.txt: does not tell how many ranks there were: say it with --ranks"));
  const FleetFiles fleet = read({.size = 1_MiB, .ranks = 2});
  EXPECT_THAT(names_of(fleet.nodes[0]), ElementsAre("a/collective.txt", "a/curve.txt", "a/rates.txt"));
  const NodePoint& copy = fleet.nodes[0].files[2].curves[0].points[0];
  EXPECT_EQ(copy.size, 1_MiB);
  EXPECT_NEAR(copy.log_us, std::log((1 << 20) / 400e3), 1e-9);
  EXPECT_THAT(read({.ranks = 4}).nodes[0].remarks,
              ElementsAre(HasSubstr("left out: a/collective.txt: error: busbw is 1 of algbw, which is not that of "
                                    "all_reduce_perf between 4 ranks")));
}

// --- One file ----------------------------------------------------------------------------------------------------

TEST(FileFacts, ProbesAreOfTests) {
  const std::vector<std::pair<std::string, Texts>> tests{
      {"copies from the host",
       {"copy pinned-to-device near", "queued copy pinned-to-device near", "copy pinned-to-device near cpu-written",
        "copy kernel-from-pinned"}},
      {"copies to the host", {"copy device-to-pinned far", "copy kernel-to-pinned"}},
      {"copies within a GPU", {"copy device-to-device", "copy kernel-local"}},
      {"copies by the CPU", {"copy host-to-host"}},
      {"pageable copies", {"copy pageable-to-device near", "copy device-to-pageable near"}},
      {"peer copies", {"peer copy write direct", "peer copy read staged", "copy kernel-push", "copy resident-push"}},
      {"several GPUs at once",
       {"copy host-to-host of 2 GPUs", "peer copy write direct of 2 GPUs", "copy pinned near both-ways"}},
      {"calls of the CPU",
       {"start copy pinned-to-device near", "start message other-node", "start receive same-node", "finish ended copy",
        "look copy"}},
      {"messages within", {"message pinned same-node", "queued message same-node", "control message same-node"}},
      {"messages between nodes", {"message pageable other-node both-ways", "control message other-node"}},
      {"signals", {"put and signal same-node", "queued put and signal by kernel same-node"}},
      {"copies of blocks", {"engine-block device-to-pinned of 64 B", "kernel-block device-to-pinned of 64 B"}},
      {"programs of thread blocks", {"program", "start program", "graph of 2 programs"}},
      {"memory and handles",
       {"allocate pinned", "release device", "handle export", "handle open", "handle close", "register device",
        "deregister device"}},
      {"others", {"something new"}}};
  for (const auto& [test, names] : tests) {
    for (const std::string& name : names) EXPECT_EQ(test_of_probe(name), test) << name;
  }
}

TEST(FileFacts, ADateIsInThePath) {
  EXPECT_EQ(date_in("node/2026-11-26/nccl.txt"), "2026-11-26");
  EXPECT_EQ(date_in("2026-11-20/2026-11-26/nccl.txt"), "2026-11-26") << "the innermost";
  EXPECT_EQ(date_in("2026-11-26/nccl-2026-11-27T0815.txt"), "2026-11-27T0815");
  EXPECT_EQ(date_in("node/2026-11-26T08:15:30/x"), "2026-11-26T08:15");
  EXPECT_EQ(date_in("node/1999-11-26/2026-21-26/2026-13-01/2026-02-30/x"), "") << "there are no such days";
}

/// "test | curve | from to | size:us+deviation~ ..."
Texts curves_of(const NodeFile& file) {
  Texts all;
  for (const NodeCurve& curve : file.curves) {
    all.push_back(fmt::format("{} | {} | {} {} |", curve.test, curve.name, curve.from, curve.to));
    for (const NodePoint& point : curve.points) {
      all.back() += fmt::format(" {}:{:.4g}+{:.2f}{}", point.size.count(), std::exp(point.log_us), point.deviation,
                                point.unstable ? "~" : "");
    }
  }
  return all;
}

TEST(FileFacts, OfProbesEachNameBetweenTwoIsACurve) {
  bench::ProbeFile probes = test::make_probes("measured", {{16, 4}, {4, 1}});
  auto& lines = probes.findings.lines;
  lines[0].time_us = {.n = 9, .median = 4, .min = 3, .max = 5, .p5 = std::exp(-0.329), .p95 = 1, .unstable = true};
  lines.push_back({.name = "copy device-to-device", .gpu = "0/1", .size = 4_B, .time_us = {.median = 2}});
  lines.push_back({.name = "copy device-to-device", .gpu = "0/1", .size = 8_B, .time_us = {.median = 0}});
  lines.push_back({.name = "copy device-to-device", .gpu = "0/0", .size = 4_B, .time_us = {.median = 3}});
  const NodeFile file = file_of(probes, "p.json");
  EXPECT_TRUE(file.probes);
  EXPECT_THAT(curves_of(file), ElementsAre("others | host message | 0/0 1/0 | 4:1+0.00 16:4+0.10~",
                                           "copies within a GPU | copy device-to-device | 0/1  | 4:2+0.00",
                                           "copies within a GPU | copy device-to-device | 0/0  | 4:3+0.00"));
  EXPECT_THAT(file.notes, ElementsAre("p.json: copy device-to-device at 8 left out: the time must be positive, but is "
                                      "0 us"));
}

TEST(FileFacts, ACurveIsOfItsProtocolAndSettings) {
  bench::Result result = test::make_result("measured", "gpudirect-v2", {{4, 1}, {16, 4}});
  result.series.label = "mine";
  EXPECT_THAT(curves_of(file_of(result, "r.json")),
              ElementsAre("gpudirect-v2 | mine pingpong, chunk 256K, depth 2 | 0/0 1/0 | 4:1+0.00 16:4+0.00"));
  result.series.pattern = bench::Pattern::bandwidth;
  result.series.window = 16;
  result.series.told.settings = false;
  result.program = "osu_bw 7.2";
  const NodeFile imported = file_of(result, "r.json");
  EXPECT_FALSE(imported.probes);
  EXPECT_THAT(curves_of(imported), ElementsAre("osu_bw | osu_bw bandwidth window 16 | 0/0 1/0 | 4:1+0.00 16:4+0.00"));
}

/// Of two algorithms the faster one counts.
TEST(FileFacts, AWorkloadIsOfItsNameOrItsProgram) {
  bench::WorkloadFile workload{.world = "measured", .program = "twinlink-real 0.1.0"};
  workload.series = {.workload = "all-reduce", .protocol = "nccl", .protocol_between = "nccl", .ranks = 4, .nodes = 1};
  for (const double us : {7.0, 5.0, 6.0}) {
    workload.series.points.push_back({.size = 4_B, .time_us = {.median = us, .unstable = us < 6}});
  }
  EXPECT_THAT(curves_of(file_of(workload, "w.json")),
              ElementsAre("all-reduce | all-reduce over nccl of 4 ranks |   | 4:5+0.00~"));
  workload.program = "all_reduce_perf (NCCL 2)";
  EXPECT_THAT(curves_of(file_of(workload, "w.json")),
              ElementsAre("all_reduce_perf | all_reduce_perf of 4 ranks |   | 4:5+0.00~"));
}

TEST(FileFacts, TheEnvironmentTellsWhoMeasured) {
  bench::ProbeFile probes = test::make_probes("measured", {{4, 1}});
  const auto rank = [](const char* host, const char* place, const char* model) {
    return json{{"host", host}, {"place", place}, {"device", {{"name", model}, {"pci_bus_id", "1b"}, {"uuid", "U"}}}};
  };
  probes.environment =
      json{{"date", "2026-11-26T01:02:03Z"},
           {"platform", "no machine of a measured file"},
           {"versions", {{"cuda_driver", "13.0"}, {"cuda_runtime", "12.9"}, {"mpi", "Open MPI v4, x"}}},
           {"ranks",
            {rank("a", "0/10", "B"), rank("a", "0/2", "A"), rank("b", "0/2", "C"), rank("", "1/0", "A"),
             rank("", "", "D"), 7}}};
  const NodeFile file = file_of(probes, "p.json");
  EXPECT_EQ(std::tuple(file.date, file.machine, file.software, file.program, file.simulated),
            std::tuple("2026-11-26T01:02:03Z", "2 x A, 1 x B", "driver 13.0, CUDA 12.9, MPI Open MPI v4",
                       "twinlink probe", false));
  EXPECT_EQ(file.kind(), "twinlink probe, 2 x A, 1 x B");
  EXPECT_THAT(file.hosts, ElementsAre("a", "b"));
  Texts gpus;
  for (const NamedGpu& gpu : file.gpus) gpus.push_back(gpu.place + " " + gpu.text() + " " + gpu.model);
  EXPECT_THAT(gpus, ElementsAre("0/2 GPU 2 (1b, U) A", "1/0 GPU 0 of another node A", "0/10 GPU 10 (1b, U) B"));

  json hot = rank("a", "0/3", "A");
  hot["health"] = {{"start", {{"pcie_replays", 9U}, {"throttle_reasons", 0x40U}}}, {"end", {{"pcie_replays", 12U}}}};
  json damaged = rank("a", "0/4", "A");
  damaged["health"] = {{"start", 7}, {"end", {{"pcie_replays", "many"}, {"row_remapping_pending", -1}}}};
  json far = rank("b", "1/2", "A");
  far["health"] = {{"end", {{"pcie_width", 8U}, {"pcie_width_max", 16U}}}};
  probes.environment.set("ranks", json{hot, hot, damaged, far, rank("a", "0/5", "A"), 7});
  EXPECT_THAT(file_of(probes, "p.json").health,
              ElementsAre("GPU 3: throttles by temperature", "GPU 3: 12 PCIe replays, 3 of them meanwhile",
                          "GPU 1/2: PCIe link x8 of x16"));

  probes.world = "simulated";
  EXPECT_EQ(file_of(probes, "p.json").machine, "no machine of a measured file");
  probes.environment = json{{"origin",
                             {{"Hostname", "c"},
                              {"Driver Version", "580"},
                              {"CUDA Runtime Version", "13"},
                              {"nccl_tests", "2.17"},
                              {"ranks", {rank("d", "0/0", "E")}},
                              {"GPU Device list", {"1: NVIDIA X (00:06:00)", "0: Y (00:05:00)", "2 of them", 3}}}}};
  const NodeFile imported = file_of(probes, "p.json");
  EXPECT_EQ(std::tuple(imported.machine, imported.software, imported.date),
            std::tuple("1 x E, 1 x NVIDIA X", "driver 580, CUDA 13, nccl-tests 2.17", ""));
  EXPECT_THAT(imported.hosts, ElementsAre("d", "c"));
  EXPECT_EQ(imported.gpus.at(1).text(), "GPU 1 (00:06:00)");
  probes.environment = json::object();
  EXPECT_EQ(file_of(probes, "p.json").kind(), "twinlink probe");
}

// --- Names -------------------------------------------------------------------------------------------------------

TEST(FleetNode, NamesItsGpus) {
  FleetNode node{.gpus = {{.place = "0/0", .bus = "1b"}, {.place = "0/1", .uuid = "U"}, {.place = "0/2"}}};
  EXPECT_EQ(node.gpus_at({}), "");
  EXPECT_EQ(node.gpus_at({"0/1", "0/0"}), "GPU 1 (U), GPU 0 (1b)");
  EXPECT_EQ(node.gpus_at({"0/2", "0/7", "1/3"}), "all 3 GPUs");
  EXPECT_EQ(node.gpus_at({"0/7", "1/3"}), "GPU 7, GPU 3 of another node");
  node.gpus.pop_back();
  EXPECT_EQ(node.gpus_at({"0/0", "0/1"}), "GPU 0 (1b), GPU 1 (U)") << "two are named";
}

TEST(Anonymous, NamesStandForNobody) {
  FleetFiles files{.folder = "/home/me/fleet"};
  for (std::size_t i = 1; i <= 10; ++i) {
    files.nodes.push_back({.name = fmt::format("gpu{}", i), .names = {fmt::format("gpu{}", i)}});
  }
  FleetNode& node = files.nodes[0];
  node.names = {"gpu1", "gpu1.txt", "gpu1/run.json", "login", "GPU-77", "MIG-5"};
  node.files = {
      {.file = "gpu1/run.json", .hosts = {"login"}, .gpus = {{.place = "0/0", .bus = "1b", .uuid = "GPU-77"}}},
      {.file = "gpu1.txt"}};
  node.gpus = node.files[0].gpus;
  node.remarks = {"gpu1/run.json is of gpu1 on login, gpu10, GPU-77 and MIG-5; gpu1-b, xgpu1 and gpu1_ are others"};
  files.remarks = {"gpu10 and gpu2 have gpu1.txt, gpu1"};
  make_anonymous(files);
  EXPECT_EQ(node.name, "node01");
  EXPECT_EQ(files.nodes[9].name, "node10");
  EXPECT_THAT(node.remarks, ElementsAre("node01/file2 is of node01 on node01, node10, a UUID and a UUID; gpu1-b, xgpu1 "
                                        "and gpu1_ are others"));
  EXPECT_THAT(files.remarks, ElementsAre("node10 and node02 have node01/file1, node01"));
  EXPECT_EQ(std::tuple(node.files[0].file, node.files[1].file), std::tuple("node01/file2", "node01/file1"));
  EXPECT_THAT(node.files[0].hosts, IsEmpty());
  EXPECT_EQ(node.files[0].gpus[0].text(), "GPU 0 (1b)");
  EXPECT_EQ(node.gpus[0].text(), "GPU 0 (1b)");
  EXPECT_EQ(files.folder, "the fleet");
}

}  // namespace
}  // namespace twinlink::validate
