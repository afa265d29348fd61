// Training steps: buckets of gradients, groups of four dimensions, and who waits for whom; without a machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "protocols/workloads/catalogue.hpp"
#include "protocols/workloads/connections.hpp"
#include "protocols/workloads/training.hpp"
#include "tests/protocols/workloads/schedule_machine.hpp"

namespace twinlink::workloads {
namespace {

using ::testing::HasSubstr;

constexpr TrainingStep kFiveLayers{.layers = 5, .bucket = 56_B, .layer = 100.0_us};

const Algorithm& ring() { return find_algorithm(find_workload("training-step"), "ring"); }

std::size_t kernels_in(const std::vector<Step>& steps) {
  return static_cast<std::size_t>(
      std::ranges::count_if(steps, [](const Step& step) { return step.compute > Seconds{}; }));
}

TEST(TrainingSteps, ReduceEveryBucketByEveryAlgorithm) {
  for (const Algorithm& algorithm : find_workload("training-step").algorithms) {
    for (const Shape& shape : {Shape{2, 1}, Shape{3, 1}, Shape{8, 1}, Shape{11, 1}, Shape{12, 4}, Shape{8, 8}}) {
      if (algorithm.together || !algorithm.refuses(shape).empty()) continue;
      for (const std::uint64_t elements : {1, 7, 8, 100}) {
        Machine machine([&](int rank) { return training_schedule(kFiveLayers, algorithm, shape, rank, elements); },
                        shape.ranks);
        machine.run();
        ASSERT_TRUE(machine.all_ended()) << algorithm.name << ", " << shape.ranks << " ranks, " << elements;
        EXPECT_EQ(machine.compared(), shape.ranks * static_cast<int>(buckets_of(kFiveLayers, elements).size()));
      }
    }
  }
}

TEST(TrainingSteps, ABucketIsThereWhenTheLayerOfItsLastElementHasBeenBack) {
  // 20 elements in five layers of 4; buckets of 7, 7 and 6 end in layers 2, 4 and 5 of those that go back.
  std::vector<std::size_t> back;
  std::uint64_t next = 0;
  for (const Bucket& bucket : buckets_of(kFiveLayers, 20)) {
    EXPECT_EQ(bucket.slice.begin, next);
    next += bucket.slice.length;
    back.push_back(bucket.layers_back);
  }
  EXPECT_EQ(next, 20U);
  EXPECT_THAT(back, testing::ElementsAre(2U, 4U, 5U));
  const Schedule schedule = training_schedule(kFiveLayers, ring(), {2, 1}, 0, 20);
  EXPECT_EQ(kernels_in(schedule.steps), 10U);
  std::vector<std::size_t> waits;
  for (const Step& step : schedule.beside) {
    if (step.after > 0) waits.push_back(step.after);
  }
  EXPECT_THAT(waits, testing::ElementsAre(5U + 2, 5U + 4, 5U + 5)) << "behind the kernels of forward and so many more";
}

TEST(TrainingSteps, EndWithTheLastBucketOrWithTheQueueOfAll) {
  const auto time = [](Seconds each) {
    return training_time(kFiveLayers, 20, [each](std::uint64_t) { return each; }).microseconds();
  };
  EXPECT_DOUBLE_EQ(time(Seconds{}), 1500) << "nothing but kernels";
  EXPECT_DOUBLE_EQ(time(50.0_us), 1550) << "the last bucket";
  EXPECT_DOUBLE_EQ(time(2000.0_us), 500 + 2 * 200 + 3 * 2000) << "all, from the first on";
}

// ---- four dimensions

struct Case {
  Degrees degrees{};
  int micro_batches = 1;
  bool sharded = false;
};

TrainingStep step_of(const Case& each) {
  return {.layers = 4 * each.degrees.pipeline,
          .bucket = 56_B,
          .layer = 100.0_us,
          .degrees = each.degrees,
          .micro_batches = each.micro_batches,
          .activations = 88_B,
          .sharded = each.sharded};
}

int ranks_of(const Degrees& degrees) { return degrees.tensor * degrees.expert * degrees.data * degrees.pipeline; }

Shape shape_of(const Case& each, int per_node = 1) {
  return {.ranks = ranks_of(each.degrees), .per_node = per_node, .experts = {.count = 12, .top = 3, .skew = 0.7}};
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Degrees degrees : {Degrees{2, 1, 1, 1}, Degrees{1, 3, 1, 1}, Degrees{1, 1, 5, 1}, Degrees{1, 1, 1, 4},
                                Degrees{2, 2, 2, 2}, Degrees{3, 1, 2, 5}, Degrees{1, 2, 3, 3}, Degrees{4, 1, 1, 3}}) {
    for (const int batches : {1, 2, 3, 4, 9}) {
      for (const bool sharded : {false, true}) all.push_back({degrees, batches, sharded});
    }
  }
  return all;
}

TEST(FourDimensions, EveryMessageComesAndEverySumIsRight) {
  for (const Case& each : cases()) {
    const TrainingStep training = step_of(each);
    const Shape shape = shape_of(each);
    ASSERT_EQ(refuse_training(training, shape), "");
    Machine machine([&](int rank) { return training_schedule(training, ring(), shape, rank, 100); }, shape.ranks);
    machine.run();
    ASSERT_TRUE(machine.all_ended()) << shape.ranks << " ranks, " << each.micro_batches << " micro-batches";
    // Of each rank: two sums and two rounds of tokens for a layer forward, and backward; what each stage gets; buckets.
    const Degrees& degrees = each.degrees;
    const int of_layers = 4 * each.micro_batches * 4 * ((degrees.tensor > 1 ? 1 : 0) + (degrees.expert > 1 ? 1 : 0));
    int compared = shape.ranks * of_layers;
    compared += shape.ranks / degrees.pipeline * (degrees.pipeline - 1) * 2 * each.micro_batches;
    for (int rank = 0; rank < shape.ranks && degrees.data > 1; ++rank) {
      const Schedule schedule = training_schedule(training, ring(), shape, rank, 100);
      for (const Step& step : schedule.beside) compared += step.expected.empty() ? 0 : 1;
    }
    EXPECT_EQ(machine.compared(), compared) << shape.ranks << " ranks, " << each.micro_batches << " micro-batches";
  }
}

/// What goes on beside the micro-batches receives into elements of its own, of either buffer.
TEST(FourDimensions, WhatIsUnderWayAtOnceSharesNoElement) {
  for (const Case& each : cases()) {
    for (int rank = 0; rank < ranks_of(each.degrees); ++rank) {
      const Schedule schedule = training_schedule(step_of(each), ring(), shape_of(each), rank, 100);
      const auto received_by = [](const std::vector<Step>& steps) {
        std::set<std::pair<Where, std::uint64_t>> all;
        for (const Step& step : steps) {
          for (const Transfer& t : step.transfers) {
            for (std::uint64_t i = 0; i < t.receive.length; ++i) all.emplace(t.receive.where, t.receive.begin + i);
          }
        }
        return all;
      };
      const auto beside = received_by(schedule.beside);
      for (const auto& element : received_by(schedule.steps)) ASSERT_FALSE(beside.contains(element)) << rank;
    }
  }
}

/// One channel joins two ranks, so what goes on beside the micro-batches has other peers.
TEST(FourDimensions, HavePeersOfTheirOwn) {
  const Case each{{2, 2, 2, 2}, 3, true};
  const TrainingStep training = step_of(each);
  for (int rank = 0; rank < 16; ++rank) {
    const Schedule schedule = training_schedule(training, ring(), shape_of(each), rank, 100);
    const std::set<RankId> beside = peers_of({.steps = schedule.beside});
    EXPECT_THAT(beside, testing::ElementsAre(RankId{rank ^ 4})) << "tensors, then experts, then data, then stages";
    EXPECT_THAT(peers_of({.steps = schedule.steps}),
                testing::UnorderedElementsAre(RankId{rank ^ 1}, RankId{rank ^ 2}, RankId{rank ^ 8}));
  }
}

TEST(FourDimensions, APartOfAStepHasNothingOfTheOthers) {
  const Case each{{2, 2, 2, 2}, 3, false};
  const TrainingStep training = step_of(each);
  const auto peers = [&](const TrainingParts& parts) {
    return peers_of(training_schedule(training, ring(), shape_of(each), 0, 100, parts));
  };
  TrainingParts parts = TrainingParts::none();
  EXPECT_TRUE(peers(parts).empty());
  parts.tensor = true;
  EXPECT_THAT(peers(parts), testing::ElementsAre(RankId{1}));
  parts = TrainingParts::none();
  parts.expert = true;
  EXPECT_THAT(peers(parts), testing::ElementsAre(RankId{2}));
  parts = TrainingParts::none();
  parts.data = true;
  EXPECT_THAT(peers(parts), testing::ElementsAre(RankId{4}));
  parts = TrainingParts::none();
  parts.pipeline = TrainingParts::Pipeline::tokens;
  const Schedule stages = training_schedule(training, ring(), shape_of(each), 0, 100, parts);
  EXPECT_THAT(peers_of(stages), testing::ElementsAre(RankId{8}));
  EXPECT_EQ(kernels_in(stages.steps), 0U);
  for (const Step& step : stages.steps) {
    for (const Transfer& transfer : step.transfers) EXPECT_LE(transfer.send.length, 1U);
  }
  // Each rank has its part of the gradients: a stage's, a tensor's, an expert's.
  parts = TrainingParts::none();
  parts.data = true;
  EXPECT_EQ(training_schedule(training, ring(), shape_of(each), 0, 800, parts).data, 100U);
}

/// 1F1B: the first stage is as many micro-batches ahead as there are stages behind it.
TEST(FourDimensions, StagesTakeTurnsAsThePipelineFills) {
  const Case each{{1, 1, 1, 4}, 6, false};
  TrainingStep training = step_of(each);
  training.layers = 4;
  for (int stage = 0; stage < 4; ++stage) {
    const Schedule schedule = training_schedule(training, ring(), shape_of(each), stage, 100);
    int ahead = 0;
    int most = 0;
    for (const Step& step : schedule.steps) {
      if (step.compute == training.layer) ++ahead;
      if (step.compute == training.layer * 2) --ahead;
      most = std::max(most, ahead);
    }
    EXPECT_EQ(ahead, 0);
    EXPECT_EQ(most, 4 - stage);
  }
}

TEST(FourDimensions, ShardedParametersAreThereBeforeTheirLayer) {
  // 20 elements of four layers in buckets of 7, 7 and 6: the first layer has the last five elements.
  const Case each{{1, 1, 2, 1}, 1, true};
  const Schedule schedule = training_schedule(step_of(each), ring(), shape_of(each), 0, 20);
  std::vector<std::size_t> waits;
  for (const Step& step : schedule.steps) waits.push_back(step.after);
  // A bucket is gathered in one step between two: first that of the first layer.
  EXPECT_THAT(waits, testing::ElementsAre(1U, 2U, 3U, 3U, 0U, 0U, 0U, 0U));
}

TEST(FourDimensions, WhatDoesNotFitIsNamed) {
  const auto refused = [](const Degrees& degrees, int layers, int experts = 12, int ranks = 16) {
    Shape shape{.ranks = ranks};
    shape.experts.count = experts;
    return refuse_training({.layers = layers, .degrees = degrees}, shape);
  };
  EXPECT_EQ(refused({2, 2, 2, 2}, 24), "");
  EXPECT_EQ(refused({2, 2, 0, 2}, 24), "");
  EXPECT_THAT(refused({2, 2, 3, 2}, 24), HasSubstr("take 24 ranks, and there are 16"));
  EXPECT_THAT(refused({3, 1, 0, 1}, 24), HasSubstr("do not divide 16 ranks"));
  EXPECT_THAT(refused({64, 1, 0, 1}, 24), HasSubstr("do not divide 16 ranks"));
  EXPECT_THAT(refused({1, 1, 0, 16}, 24), HasSubstr("24 layers do not divide among 16 stages"));
  EXPECT_THAT(refused({1, 8, 0, 1}, 24), HasSubstr("12 experts do not divide among 8 ranks"));
  EXPECT_THAT(refused({1, 4, 0, 1}, 24, 4), HasSubstr("8 of 4 experts")) << "a token goes to eight";
  const Shape eight{.ranks = 8, .per_node = 4};
  const TrainingStep sharded{.sharded = true};
  const Workload& training = find_workload("training-step");
  EXPECT_EQ(refuse_gradients(sharded, ring(), eight), "");
  EXPECT_EQ(refuse_gradients(sharded, find_algorithm(training, "kernel"), eight), "");
  EXPECT_THAT(refuse_gradients(sharded, find_algorithm(training, "tree"), eight), HasSubstr("not by tree"));
  // The two of a group of data are on different nodes, each alone.
  const TrainingStep tensors{.degrees = {.tensor = 4}};
  const Algorithm& hierarchical = find_algorithm(training, "hierarchical");
  EXPECT_EQ(refuse_gradients({}, hierarchical, eight), "");
  EXPECT_THAT(refuse_gradients(tensors, hierarchical, eight), HasSubstr("several nodes"));
  const TrainingStep pairs{.degrees = {.tensor = 2}};
  EXPECT_EQ(refuse_gradients(pairs, hierarchical, eight), "");
  EXPECT_EQ(data_shape(pairs, eight).per_node, 2);
  EXPECT_EQ(data_shape(tensors, eight).per_node, 1);
}

}  // namespace
}  // namespace twinlink::workloads
