#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/said_by.hpp"
#include "tests/validate/import/foreign_files.hpp"
#include "validate/import/import.hpp"

namespace twinlink::validate {
namespace {

using bench::Pattern;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

bench::Result imported(const json& content, const ImportWishes& wishes = {}) {
  return std::get<bench::Result>(import_content(Tool::nccl_tests, content, "sendrecv.json", wishes));
}

/// What is said of the file after `spoil`.
std::string refusal_after(const std::function<void(json&)>& spoil, const ImportWishes& wishes = {}) {
  json content = test::sendrecv_2();
  spoil(content);
  return said_by([&] { return imported(content, wishes); });
}

TEST(ImportNcclTests, BetweenTwoRanksSendrecvIsBidirectional) {
  const auto result = imported(test::sendrecv_2());
  EXPECT_EQ(result.world, "measured");
  EXPECT_EQ(result.program, "sendrecv_perf (NCCL 22809)");
  EXPECT_EQ(result.command, "./build/sendrecv_perf -b 1K -e 1M -f 1024 -g 2 -J sendrecv.json");
  EXPECT_EQ(result.series.pattern, Pattern::bidirectional);
  EXPECT_EQ(result.series.clock, "host");
  ASSERT_EQ(result.series.points.size(), 2U);
  EXPECT_EQ(result.series.points[1].size, Bytes{1048576});
  EXPECT_EQ(result.series.points[1].time_us, (bench::Statistics{.median = 32}));
  EXPECT_EQ(result.series.points[1].bandwidth_MBps, 65536) << "both directions, in MB of 10^6 bytes";
  EXPECT_TRUE(result.series.points[1].verified);
}

TEST(ImportNcclTests, TellsWhatTheFileTells) {
  const auto result = imported(test::sendrecv_2());
  EXPECT_EQ(result.series.from, "0/3");
  EXPECT_THAT(result.series.to, IsEmpty()) << "only the first rank of a process is listed";
  EXPECT_FALSE(result.series.told.window);
  EXPECT_FALSE(result.series.told.settings);
  const auto& origin = result.environment->at("origin");
  EXPECT_EQ(origin.at("tool"), "nccl-tests");
  EXPECT_EQ(origin.at("start_time"), "2026-11-21 10:00:00");
  EXPECT_EQ(origin.at("config").at("iterations"), 20);
  EXPECT_EQ(origin.at("env"), json({"NCCL_P2P_LEVEL=NVL"})) << "not the user's whole environment";
}

TEST(ImportNcclTests, TwoProcessesTellBothPlaces) {
  json content = test::sendrecv_2();
  auto& config = content["config"];
  config["ngpus"] = 1;
  auto second = config["devices"][0];
  second["rank"] = 1;
  second["hostname"] = "node-b";
  second["device"] = 0;
  config["devices"].push_back(second);
  const auto series = imported(content).series;
  EXPECT_EQ(series.from, "0/3");
  EXPECT_EQ(series.to, "1/0");
}

/// Only the first rank of a process may be listed: of two processes with two threads of two GPUs each there are eight.
TEST(ImportNcclTests, RanksAreThoseOfAllProcesses) {
  json content = test::sendrecv_2();
  auto& config = content["config"];
  config["nthreads"] = 2;
  const auto ranks = [&](int last) {
    config["devices"][0]["rank"] = last;
    return std::get<bench::WorkloadFile>(import_content(Tool::nccl_tests, content, "sendrecv.json", {})).series.ranks;
  };
  EXPECT_EQ(ranks(0), 4);
  EXPECT_EQ(ranks(3), 4);
  EXPECT_EQ(ranks(4), 8);
  EXPECT_EQ(ranks((1 << 20) - 1), 1 << 20);
}

TEST(ImportNcclTests, OfSeveralRootsEachIsATable) {
  json content = test::sendrecv_2();
  content["args"][0] = "./broadcast_perf";
  content["results"][0]["root"] = "     0";
  content["results"][1]["root"] = "     1";
  EXPECT_THAT(refusal_after([&](json& file) { file = content; }),
              HasSubstr("\n  1: broadcast_perf, float root 0, 1 size from 1K\n  2: broadcast_perf, float root 1"));
  content["results"][1]["root"] = "x";
  EXPECT_THAT(refusal_after([&](json& file) { file = content; }), HasSubstr("'results[1].root' is no rank"));
  content["results"][1]["out_of_place"]["nwrong"] = 0.5;
  content["results"][1]["root"] = "0";
  EXPECT_FALSE(imported(content).series.points[1].verified) << "half an element is one";
}

TEST(ImportNcclTests, RoundsTellTheSpread) {
  json content = test::sendrecv_2();
  for (auto& result : content["results"]) result["out_of_place_per_iter"] = {{"times_us", {30.0, 32.0, 40.0}}};
  const auto result = imported(content);
  EXPECT_EQ(result.series.points[0].time_us.n, 3U);
  EXPECT_EQ(result.series.points[0].time_us.median, 32);
  EXPECT_THAT(result.series.points[0].samples_us, ElementsAre(30, 32, 40));
  EXPECT_EQ(result.series.clock, "device");
  EXPECT_EQ(result.environment->at("origin").at("figure"), "median of rounds that follow each other");
}

TEST(ImportNcclTests, UncheckedDataAreNotVerified) {
  json content = test::sendrecv_2();
  content["results"][0]["out_of_place"]["nwrong"] = nullptr;
  EXPECT_FALSE(imported(content).series.points[0].verified);
}

TEST(ImportNcclTests, BroadcastBetweenTwoRanksIsOneWay) {
  json content = test::sendrecv_2();
  content["args"][0] = "/opt/nccl-tests/broadcast_perf_mpi";
  const auto series = imported(content).series;
  EXPECT_EQ(series.pattern, Pattern::bandwidth);
  EXPECT_EQ(series.points[1].bandwidth_MBps, 32768);
}

TEST(ImportNcclTests, VersionOneNamesNoNccl) {
  json content = test::sendrecv_2();
  content["version"] = 1;
  content.erase("nccl_version");
  EXPECT_EQ(imported(content).program, "sendrecv_perf");
}

TEST(ImportNcclTests, OtherVersionsAreRefused) {
  EXPECT_EQ(refusal_after([](json& file) { file["version"] = 3; }),
            "sendrecv.json: error: member 'version' is 3, but this program reads 1 to 2");
  EXPECT_THAT(refusal_after([](json& file) { file["version"] = 0; }), HasSubstr("this program reads 1 to 2"));
  EXPECT_THAT(refusal_after([](json& file) { file["version"] = "2"; }), HasSubstr("'version' is no whole number"));
  EXPECT_THAT(refusal_after([](json& file) { file.erase("version"); }), HasSubstr("'version' is missing"));
}

TEST(ImportNcclTests, UnknownTestsAreRefused) {
  EXPECT_THAT(
      refusal_after([](json& file) { file["args"][0] = "./all_shuffle_perf"; }),
      testing::AllOf(HasSubstr("unknown test 'all_shuffle_perf'"), HasSubstr("all_reduce_perf, all_gather_perf")));
  EXPECT_THAT(refusal_after([](json& file) { file["args"] = json::array(); }), HasSubstr("unknown test ''"));
}

bench::WorkloadFile json_collective(const json& content, const ImportWishes& wishes = {}) {
  return std::get<bench::WorkloadFile>(import_content(Tool::nccl_tests, content, "sendrecv.json", wishes));
}

TEST(ImportNcclTests, BetweenMoreRanksSendrecvIsAShift) {
  json content = test::sendrecv_2();
  content["config"]["ngpus"] = 4;
  EXPECT_EQ(json_collective(content).series.workload, "shift");
  const auto result = imported(content, {.pattern = Pattern::bidirectional});
  EXPECT_EQ(result.series.pattern, Pattern::bidirectional);
  EXPECT_THAT(result.notes, testing::Contains("measured with 4 ranks"));
}

TEST(ImportNcclTests, CollectivesBecomeWorkloads) {
  json content = test::sendrecv_2();
  content["args"][0] = "./build/all_reduce_perf";
  content["config"]["ngpus"] = 4;
  const bench::WorkloadFile file = json_collective(content);
  EXPECT_EQ(file.series.workload, "all-reduce");
  EXPECT_EQ(file.series.ranks, 4);
  ASSERT_EQ(file.series.points.size(), 2U);
  EXPECT_EQ(file.series.points[1].size, Bytes{1048576});
  EXPECT_EQ(file.series.points[1].time_us.median, 32);
  EXPECT_DOUBLE_EQ(file.series.points[1].bus_MBps, 32768 * 1.5) << "2 (n-1)/n";
  const json written = bench::to_json(file);
  EXPECT_EQ(written.at("kind"), "twinlink-workload");
  EXPECT_FALSE(written.at("points").at(0).contains("predicted_us")) << "nobody told it";
  EXPECT_THAT(refusal_after([&](json& all) { all = content; }, {.window = 4}), HasSubstr("holds a collective"));
}

TEST(ImportNcclTests, WrongElementsAreToldAndNotVerified) {
  json content = test::sendrecv_2();
  content["results"][1]["out_of_place"]["nwrong"] = 3.0;
  const auto result = imported(content);
  EXPECT_TRUE(result.series.points[0].verified);
  EXPECT_FALSE(result.series.points[1].verified);
  EXPECT_THAT(result.notes,
              testing::Contains("not verified: member 'results[1].out_of_place' of sendrecv.json tells of "
                                "3 wrong elements"));
}

TEST(ImportNcclTests, WishesThatContradictTheFileAreRefused) {
  const auto nothing = [](json&) {};
  EXPECT_THAT(refusal_after(nothing, {.pattern = Pattern::pingpong}),
              HasSubstr("sendrecv.json measures bidirectional"));
  EXPECT_THAT(refusal_after(nothing, {.from = "0/0", .to = "0/1"}),
              HasSubstr("--places 0/0: sendrecv.json says '0/3'"));
  EXPECT_THAT(refusal_after(nothing, {.size = Bytes{4}}), HasSubstr("--size"));
}

TEST(ImportNcclTests, ARunThatDidNotEndIsRefused) {
  EXPECT_THAT(refusal_after([](json& file) { file.erase("end_time"); }), HasSubstr("did not end"));
  EXPECT_THAT(refusal_after([](json& file) { file.erase("results"); }), HasSubstr("did not end"));
  EXPECT_THAT(refusal_after([](json& file) { file["results"] = json::array(); }),
              HasSubstr("holds no result: did the test end?"));
}

TEST(ImportNcclTests, OfSeveralTablesTheUserChooses) {
  json content = test::sendrecv_2();
  json& results = content["results"];
  for (const std::size_t place : {0, 1, 0}) results.push_back(results[place]);
  results[4]["type"] = "half";
  results[3]["out_of_place"]["time"] = 40.0;
  const std::string list =
      "\n  1: sendrecv_perf, float, 2 sizes from 1K\n  2: sendrecv_perf, float, 2 sizes from 1K"
      "\n  3: sendrecv_perf, half, 1 size from 1K";
  EXPECT_EQ(refusal_after([&](json& file) { file = content; }),
            "sendrecv.json: error: holds 3 tables, of which --table N imports one:" + list);
  EXPECT_EQ(imported(content, {.table = 1}).series.points[1].time_us.median, 32);
  EXPECT_EQ(imported(content, {.table = 2}).series.points[1].time_us.median, 40);
  EXPECT_EQ(imported(content, {.table = 3}).series.points.size(), 1U);
}

TEST(ImportNcclTests, MessagesInDeviceMemoryAreNotThoseOfHost) {
  EXPECT_THAT(refusal_after([](json&) {}, {.protocol = "host"}),
              HasSubstr("--protocol host: sendrecv.json was measured with messages in device memory"));
  EXPECT_EQ(imported(test::sendrecv_2(), {.protocol = "cuda-ipc"}).series.protocol, "cuda-ipc");
}

TEST(ImportNcclTests, BrokenResultsAreNamed) {
  const auto with = [](const std::function<void(json&)>& spoil) {
    return refusal_after([&](json& file) { spoil(file["results"][1]); });
  };
  EXPECT_EQ(with([](json& result) { result["out_of_place"]["time"] = 0; }),
            "sendrecv.json: error: member 'results[1].out_of_place.time' must be positive, but is 0");
  EXPECT_EQ(with([](json& result) { result["out_of_place"]["time"] = "nan"; }),
            "sendrecv.json: error: member 'results[1].out_of_place.time' is no number");
  EXPECT_THAT(with([](json& result) {
                auto& figures = result["out_of_place"];
                figures["cpu_time"] = figures["time"];
                figures.erase("time");
              }),
              HasSubstr("run without -C"));
  EXPECT_THAT(with([](json& result) { result["out_of_place"] = nullptr; }),
              HasSubstr("'results[1].out_of_place' is no object"));
  EXPECT_THAT(with([](json& result) { result["size"] = 0; }), HasSubstr("'results[1].size' is 0"));
  EXPECT_THAT(with([](json& result) { result.erase("size"); }), HasSubstr("'results[1].size' is missing"));
  EXPECT_THAT(with([](json& result) {
                result["out_of_place_per_iter"] = {{"times_us", {1.0, -1.0}}};
              }),
              HasSubstr("'results[1].out_of_place_per_iter.times_us' holds something that is no time"));
  EXPECT_THAT(refusal_after([](json& file) { file["config"]["ngpus"] = 0; }), HasSubstr("'config.ngpus' is 0"));
}

}  // namespace
}  // namespace twinlink::validate
