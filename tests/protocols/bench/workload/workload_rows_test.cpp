// What a plan knows of its ranks, and how far a row says that a prediction is off.
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/bench/workload/workload_options.hpp"
#include "protocols/bench/workload/workload_rows.hpp"
#include "protocols/registry.hpp"
#include "tests/explore/explorer/fake_world.hpp"

namespace twinlink::bench {
namespace {

using workloads::Shape;

TEST(WorkloadPlans, KnowWhichRanksAreOnOneNode) {
  const auto per_node = [](const std::vector<int>& nodes) {
    std::vector<Place> places;
    for (const int node : nodes) places.push_back({.node = node});
    const Shape shape = shape_of(places);
    EXPECT_EQ(shape.ranks, static_cast<int>(nodes.size()));
    return shape.per_node;
  };
  EXPECT_EQ(per_node({4}), 1);
  EXPECT_EQ(per_node({0, 0, 0}), 3);
  EXPECT_EQ(per_node({3, 3, 1, 1, 2, 2}), 2);
  EXPECT_EQ(per_node({0, 1, 0, 1}), 1);
  for (const std::vector<int>& uneven : std::vector<std::vector<int>>{
           {0, 0, 1}, {0, 0, 0, 1}, {0, 0, 1, 0}, {0, 0, 1, 2}, {0, 0, 1, 1, 1, 1}, {0, 1, 1, 0}}) {
    EXPECT_EQ(per_node(uneven), 1);
  }
  for (const bool same_node : {true, false}) {
    run_fake_world({.ranks = 3, .same_node = same_node}, [&](MeasuredRank& rank) {
      const Protocol& host = find_protocol("host");
      const WorkloadSeries series = heading_of(rank, {.work = Scheduled{.title = "a job", .graph = 4},
                                                      .ways = {&host, &host, host.defaults(), host.defaults()}});
      EXPECT_EQ(series.workload, "a job");
      EXPECT_EQ(series.ranks, 3);
      EXPECT_EQ(series.nodes, same_node ? 1 : 3);
      EXPECT_EQ(series.places.at(2), same_node ? "0/2" : "2/0");
      EXPECT_THAT(series.settings, testing::EndsWith(", 4 in a graph"));
      EXPECT_EQ(series.protocols(), "host");
    });
  }
}

TEST(WorkloadRows, SayHowFarAPredictionIsOff) {
  const auto row = [](double predicted_us, bool trace = false) {
    const WorkloadFile file{.series = {.workload = "shift", .protocol = "host", .protocol_between = "host"}};
    std::ostringstream out;
    WorkloadPoint point{.size = 8_B, .algorithm = "direct", .steps = 1, .predicted_us = predicted_us};
    point.time_us.median = 12;
    if (trace) point.ranks.resize(1);
    live_rows(file, out)(point);
    return out.str();
  };
  for (const std::string& near : {row(12), row(10.01), row(0), row(9.6, true)}) {
    EXPECT_THAT(near, testing::Not(testing::HasSubstr("than predicted")));
  }
  EXPECT_THAT(row(9.6), testing::HasSubstr("# 25 % longer than predicted\n"));
  EXPECT_THAT(row(16), testing::HasSubstr("# 25 % shorter than predicted\n"));
}

}  // namespace
}  // namespace twinlink::bench
