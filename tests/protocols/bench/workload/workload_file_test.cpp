#include "protocols/bench/workload/workload_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "protocols/core/errors.hpp"

namespace twinlink::bench {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

WorkloadFile sample() {
  WorkloadFile file{.world = "simulated",
                    .program = "twinlink-sim 1",
                    .command = "twinlink-sim workload all-reduce",
                    .environment = nlohmann::json{{"platform", "x"}}};
  file.series = {.workload = "all-reduce",
                 .protocol = "gpudirect-v2",
                 .protocol_between = "gpudirect-v2",
                 .protocol_between_domains = "gpudirect-v3",
                 .settings = "chunk whole message, depth 16",
                 .ranks = 4,
                 .nodes = 2,
                 .places = {"0/0", "0/1", "1/0", "1/1"},
                 .counters = {{"opened", 3}}};
  WorkloadPoint ring{.size = Bytes{1024},
                     .algorithm = "ring",
                     .why = "predicted",
                     .steps = 6,
                     .time_us = {.n = 2, .median = 10.5, .min = 10, .max = 11, .p5 = 10, .p95 = 11},
                     .fastest_us = 9,
                     .slowest_rank = 3,
                     .predicted_us = 9.5,
                     .algorithm_MBps = 97.5,
                     .bus_MBps = 146.3,
                     .verified = true};
  WorkloadPoint parts = ring;
  parts.algorithm = "trace";
  parts.why.clear();
  parts.ranks = {{.ended_us = 1, .waited_us = 0.5, .tasks = 3, .sent = Bytes{64}}};
  parts.training = TrainingPart{
      .compute_us = 5, .communication_us = 7, .buckets = 2, .bubble_us = 1.5, .dimensions = {{"tensor", 4, 3, 2}}};
  file.series.points = {ring, parts};
  file.links = {nlohmann::json::array({{{"link", "a"}}}), nlohmann::json::array()};
  return file;
}

TEST(WorkloadFiles, AreReadAsTheyWereWritten) {
  const nlohmann::json json = to_json(sample());
  EXPECT_EQ(to_json(workload_from_json(json, "w.json")), json);
}

/// A step may be longer than both halves one after the other, or shorter than its kernels by the noise of a clock.
TEST(WorkloadFiles, NothingIsHiddenOrExposedLessThanNotAtAll) {
  const TrainingPart part{.compute_us = 5, .communication_us = 7, .buckets = 2};
  EXPECT_DOUBLE_EQ(part.exposed_us(8), 3);
  EXPECT_DOUBLE_EQ(part.hidden_us(8), 4);
  EXPECT_DOUBLE_EQ(part.lost_us(8), 0);
  EXPECT_DOUBLE_EQ(part.exposed_us(15), 10);
  EXPECT_DOUBLE_EQ(part.hidden_us(15), 0);
  EXPECT_DOUBLE_EQ(part.lost_us(15), 3);
  EXPECT_DOUBLE_EQ(part.exposed_us(4.9), 0);
  EXPECT_DOUBLE_EQ(part.hidden_us(4.9), 7);
  const TrainingPart staged{.compute_us = 5, .communication_us = 7, .bubble_us = 2};
  EXPECT_DOUBLE_EQ(staged.exposed_us(8), 1) << "what stages wait for each other's kernels is no message's";
  EXPECT_DOUBLE_EQ(staged.hidden_us(8), 6);
  EXPECT_DOUBLE_EQ(staged.lost_us(15), 1);
  const ArrayPart array{.transforms_us = 5, .packing_us = 3, .exchange_us = 4};
  EXPECT_DOUBLE_EQ(array.hidden_us(10), 2);
  EXPECT_DOUBLE_EQ(array.hidden_us(13), 0);
  EXPECT_DOUBLE_EQ((TrainingDimension{"data", 2, 3, 5}.hidden_us()), 0);
  EXPECT_DOUBLE_EQ((TrainingDimension{"data", 2, 5, 3}.hidden_us()), 2);
}

TEST(WorkloadFiles, OfOtherToolsLackWhatNobodyTold) {
  WorkloadFile file{.world = "measured",
                    .program = "osu_allreduce 7.5",
                    .environment = nlohmann::json{{"origin", {{"tool", "osu"}}}}};
  file.series = {.workload = "all-reduce",
                 .ranks = 4,
                 .points = {{.size = Bytes{8}, .algorithm = "not told", .time_us = {.median = 20}, .verified = true}},
                 .notes = {"means"}};
  const nlohmann::json json = to_json(file);
  for (const char* const untold :
       {"command", "protocol", "protocol_between_nodes", "settings", "nodes", "places", "counters"}) {
    EXPECT_FALSE(json.contains(untold)) << untold;
  }
  for (const char* const untold : {"steps", "fastest_us", "slowest_rank", "predicted_us", "n", "min_us"}) {
    EXPECT_FALSE(json["points"][0].contains(untold)) << untold;
  }
  const WorkloadFile read = workload_from_json(json, "w.json");
  EXPECT_EQ(to_json(read), json);
  EXPECT_EQ(read.series.notes, file.series.notes);

  nlohmann::json own = json;
  own["environment"] = nlohmann::json::object();
  EXPECT_THAT([&] { workload_from_json(own, "w.json"); }, ThrowsMessage<InputError>(HasSubstr("is missing")));
}

TEST(WorkloadFiles, SayWhichMemberIsWrong) {
  const auto refused = [](const nlohmann::json& patch, const std::string& why) {
    nlohmann::json json = to_json(sample());
    json.merge_patch(patch);
    EXPECT_THAT([&] { workload_from_json(json, "w.json"); }, ThrowsMessage<InputError>(HasSubstr(why)));
  };
  refused({{"kind", "twinlink-result"}}, "w.json: error: member 'kind' is 'twinlink-result'");
  refused({{"schema", 2}}, "schema 1");
  refused({{"workload", nullptr}}, "member 'workload' is missing");
  refused({{"ranks", -1}}, "member 'ranks'");
  refused({{"places", {1}}}, "member 'places'");
  refused({{"counters", {{"opened", "3"}}}}, "member 'counters.opened'");
  refused({{"points", {{{"bytes", 1}}}}}, "member 'points[0].algorithm' is missing");
  refused({{"more", 1}}, "member 'more' is unknown");
}

}  // namespace
}  // namespace twinlink::bench
