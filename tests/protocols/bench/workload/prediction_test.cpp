// The closed forms that 'list workloads' prints, of a machine where every message takes as long: what is predicted is
// the longest way through the steps of all ranks.
#include "protocols/bench/workload/prediction.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "protocols/bench/workload/workload_options.hpp"
#include "protocols/bench/workload/workload_rows.hpp"
#include "protocols/registry.hpp"
#include "tests/explore/explorer/fake_world.hpp"

namespace twinlink::bench {
namespace {

using workloads::Shape;

constexpr double kMessage = 5;
constexpr double kAdd = 0.5;
constexpr double kCopy = 0.25;
constexpr double kFurther = 1;

MessageCosts every_message(double us) {
  MessageCosts costs{.further_us = kFurther};
  costs.alone.add(8_B, us);
  costs.all.add(8_B, us);
  return costs;
}

StepCosts even_costs() {
  StepCosts costs{.within = every_message(kMessage), .between = every_message(kMessage)};
  costs.adds.one.add(8_B, kAdd);
  costs.copies.one.add(8_B, kCopy);
  return costs;
}

double predicted(const std::string& workload, const std::string& algorithm, const Shape& shape, Bytes size,
                 const StepCosts& costs) {
  return predicted_us(find_algorithm(workloads::find_workload(workload), algorithm), shape, size.count() / 8, costs);
}

TEST(Prediction, IsTheLongestWayThroughAllRanks) {
  for (const Shape& shape : {Shape{8, 8}, Shape{64, 8}, Shape{64, 1}}) {
    const auto expect = [&](const std::string& workload, const std::string& algorithm, double us) {
      EXPECT_NEAR(predicted(workload, algorithm, shape, 1_MiB, even_costs()), us, 1e-9 * us)
          << workload << ", " << algorithm << ", " << shape.ranks;
    };
    const double n = shape.ranks;
    const double log = std::log2(n);
    expect("broadcast", "tree", log * kMessage);
    expect("broadcast", "chain", (n - 2 + 4) * kMessage);  // of four pieces
    expect("all-reduce", "ring", 2 * (n - 1) * kMessage + (n - 1) * kAdd);
    expect("all-reduce", "halving-doubling", 2 * log * kMessage + log * kAdd);
    expect("all-reduce", "tree", log * (2 * kMessage + kAdd));
    expect("all-gather", "ring", (n - 1) * kMessage);
    expect("all-to-all", "pairwise", (n - 1) * kMessage + kCopy);
    expect("all-to-all", "bruck", log * kMessage + (2 * n + n * log) * kCopy);
    expect("barrier", "dissemination", log * kMessage);
    expect("shift", "direct", kMessage);
  }
  const Shape node{8, 8};
  EXPECT_NEAR(predicted("all-to-all", "direct", node, 1_MiB, even_costs()), kMessage + 6 * kFurther + kCopy, 1e-9);
  EXPECT_NEAR(predicted("incast", "direct", node, 1_MiB, even_costs()), kMessage + 6 * kFurther, 1e-9);
}

TEST(Prediction, ChargesWhatIsSharedWhereItIs) {
  StepCosts costs = even_costs();
  costs.between.all = {};
  costs.between.all.add(8_B, 4 * kMessage);  // all ranks of a node at once
  const Shape shape{16, 4};
  EXPECT_NEAR(predicted("broadcast", "chain", shape, 8_B, costs), 15 * kMessage, 1e-9) << "one rank crosses at a time";
  // In two of four steps each way all ranks of a node cross.
  EXPECT_NEAR(predicted("all-reduce", "halving-doubling", shape, 1_MiB, costs), 2 * (2 + 2 * 4) * kMessage + 4 * kAdd,
              1e-9);
}

/// A rank that has a message from each other, and none back, takes them in one by one: no ring or pair shows that.
TEST(Prediction, TakesAStarForWhatItWasWhenTimed) {
  StepCosts costs = even_costs();
  costs.star.in.add(1_KiB, 300);
  costs.star.in.add(4_KiB, 600);
  costs.star.out.add(1_KiB, 40);
  const Shape shape{64, 8};
  EXPECT_NEAR(predicted("gather", "direct", shape, 64_KiB, costs), 300, 1e-9);
  EXPECT_NEAR(predicted("gather", "direct", shape, 128_KiB, costs), 400, 1e-9) << "between sizes, straight";
  EXPECT_NEAR(predicted("incast", "direct", shape, 4_KiB, costs), 600, 1e-9);
  EXPECT_NEAR(predicted("scatter", "direct", shape, 64_KiB, costs), 40, 1e-9);
  EXPECT_NEAR(predicted("gather", "tree", shape, 64_KiB, costs), 6 * kMessage, 1e-9) << "one message at a time";
}

TEST(Prediction, KnowsWhatFarPeersShare) {
  StepCosts costs = even_costs();
  costs.between.all = {};
  costs.between.all.add(0_B, 1);
  costs.between.all.add(1_MiB, 11);
  costs.between.alone = costs.between.all;
  costs.between.further_us = 0;
  costs.between.by_reach = {1, 1, 1, 4};
  const Shape shape{16, 1};
  const auto us = [&](const std::string& workload, const std::string& algorithm) {
    return predicted(workload, algorithm, shape, 1_MiB, costs);
  };
  EXPECT_NEAR(us("shift", "direct"), 11, 1e-9);
  EXPECT_NEAR(us("bisection", "direct"), 1 + 4 * 10, 1e-9) << "eight places further on";
  // A half to each of 8, 4, 2 and 1 places away, and back: halves of halves.
  const double halving = (1 + 4 * 5.0) + (1 + 2.5) + (1 + 1.25) + (1 + 0.625);
  EXPECT_NEAR(us("all-reduce", "halving-doubling"), 2 * halving + 4 * kAdd, 1e-9);
  costs.between.spread.add(0_B, 2);
  costs.between.spread.add(1_MiB, 32);
  EXPECT_NEAR(us("all-to-all", "direct"), 2 + 30 * 15.0 / 16 + kCopy, 1e-6) << "peers all over";
}

/// The CPU begins the messages within the node and between nodes one after the other.
TEST(Prediction, BeginsAllMessagesOfAStepOnOneCpu) {
  StepCosts costs = even_costs();
  EXPECT_NEAR(predicted("all-to-all", "direct", {64, 8}, 64_KiB, costs), kMessage + (6 + 55) * kFurther + kCopy, 1e-9);
  EXPECT_NEAR(predicted("all-gather", "ring", {64, 8}, 64_KiB, costs), 63 * kMessage, 1e-9);
  // Whichever of the two takes longer, the others' beginnings come on top.
  costs.between = every_message(20 * kMessage);
  EXPECT_NEAR(predicted("all-to-all", "direct", {64, 8}, 64_KiB, costs), 20 * kMessage + (55 + 6) * kFurther + kCopy,
              1e-9);
  costs.within = every_message(50 * kMessage);
  EXPECT_NEAR(predicted("all-to-all", "direct", {64, 8}, 64_KiB, costs), 50 * kMessage + (6 + 55) * kFurther + kCopy,
              1e-9);
}

TEST(Prediction, OfVeryLargeJobsIsTheSumOfAStepsOrNone) {
  const Shape shape{4096, 8};
  EXPECT_NEAR(predicted("all-gather", "ring", shape, 1_MiB, even_costs()), 4095 * kMessage, 1e-6);
  EXPECT_TRUE(std::isinf(predicted("broadcast", "chain", {1 << 17, 8}, 64_MiB, even_costs())));
  EXPECT_NEAR(predicted("broadcast", "tree", {1 << 17, 8}, 64_MiB, even_costs()), 17 * kMessage, 1e-9);
}

TEST(Prediction, GoesStraightBetweenSizes) {
  SizeCosts costs;
  EXPECT_EQ(costs.of(1_KiB), 0);
  costs.add(8_B, 2);
  EXPECT_EQ(costs.of(1_KiB), 2);
  costs.add(1000_B, 3);
  costs.add(2000_B, 5);
  EXPECT_DOUBLE_EQ(costs.of(1_B), 2);
  EXPECT_DOUBLE_EQ(costs.of(504_B), 2.5);
  EXPECT_DOUBLE_EQ(costs.of(1500_B), 4);
  EXPECT_DOUBLE_EQ(costs.of(3000_B), 7) << "and on";
  LocalCosts local{.one = costs};
  EXPECT_DOUBLE_EQ(local.further(1000_B), 3);
  local.several.add(8_B, 9);
  EXPECT_DOUBLE_EQ(local.further(8_B), 1);
}

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
