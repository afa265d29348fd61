// The closed form of a training step on an idle machine. Kernels and messages share nothing there, so what differs from
// the sum of the parts is arithmetic, far below 0.1 %.
#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "protocols/workloads/catalogue.hpp"
#include "protocols/workloads/training.hpp"
#include "tests/model/engine/one_message.hpp"
#include "tests/model/workloads/schedule_times.hpp"

namespace twinlink::model {
namespace {

using namespace testing;    // NOLINT: the sample platform's numbers
using namespace workloads;  // NOLINT: what is tested

constexpr Shape kPair{2, 2};
constexpr std::uint64_t kElements = 8U << 17U;  // 8 MiB of gradients

const Algorithm& ring() { return find_algorithm(find_workload("all-reduce"), "ring"); }

void expect_within_a_thousandth(Seconds actual, Seconds expected) {
  EXPECT_NEAR(actual.microseconds(), expected.microseconds(), expected.microseconds() * 1e-3);
}

/// Eight buckets of 1 MiB, one for each layer, and what one of them takes alone.
struct Step {
  Seconds whole{};
  Seconds kernels{};
  Seconds bucket{};
};
Step step_of(const TrainingStep& training) {
  const auto whole = [&](int rank) { return training_schedule(training, ring(), kPair, rank, kElements); };
  const auto kernels = [&](int rank) {
    TrainingParts parts = TrainingParts::none();
    parts.kernels = true;
    return training_schedule(training, ring(), kPair, rank, kElements, parts);
  };
  const auto bucket = [&](int rank) { return ring().schedule(kPair, rank, kElements / 8); };
  const std::vector<Seconds> times = times_of(sample_platform(), std::vector{kFirstPeer, kSecondPeer},
                                              std::vector<MakeSchedule>{whole, kernels, bucket});
  return {times[0], times[1], times[2]};
}

TEST(TrainingForms, OnlyTheLastBucketIsExposedWhereBackwardTakesLonger) {
  const TrainingStep training{.layers = 8, .bucket = 1_MiB, .layer = 1000.0_us};
  const Step step = step_of(training);
  expect_within_a_thousandth(step.kernels, kOverhead + training.compute());
  ASSERT_LT(step.bucket, training.layer * 2) << "or it is another case";
  expect_within_a_thousandth(step.whole, step.kernels + step.bucket);
}

TEST(TrainingForms, AllReducesFollowEachOtherWhereTheyTakeLonger) {
  const TrainingStep training{.layers = 8, .bucket = 1_MiB, .layer = 20.0_us};
  const Step step = step_of(training);
  ASSERT_GT(step.bucket, training.layer * 2) << "or it is another case";
  // The first bucket is there when the last layer has been back.
  expect_within_a_thousandth(step.whole, kOverhead + training.layer * (8 + 2) + step.bucket * 8);
}

// ---- each dimension alone, of two ranks

/// What a pair takes for the step, and for each of `others`.
std::vector<Seconds> pair_times(const TrainingStep& training, const Shape& shape, std::uint64_t gradients,
                                std::vector<MakeSchedule> others) {
  others.insert(others.begin(), [&](int rank) { return training_schedule(training, ring(), shape, rank, gradients); });
  return times_of(sample_platform(), std::vector{kFirstPeer, kSecondPeer}, others);
}

constexpr std::uint64_t kActivations = 1U << 17U;  // 1 MiB

MakeSchedule by(std::string_view workload, std::string_view algorithm, const Shape& shape, std::uint64_t elements) {
  return [=](int rank) { return find_algorithm(find_workload(workload), algorithm).schedule(shape, rank, elements); };
}

TEST(TrainingForms, TensorsAreAddedUpTwiceALayerForwardAndBackward) {
  const TrainingStep training{
      .layers = 3, .layer = 300.0_us, .degrees = {.tensor = 2}, .micro_batches = 2, .activations = 1_MiB};
  const auto times = pair_times(training, kPair, kElements, {by("all-reduce", "ring", kPair, kActivations)});
  constexpr int kHalves = 3 * 2 * 4;  // of layers: a kernel and a sum each, one launched behind the other
  expect_within_a_thousandth(times[0], training.compute() + (kOverhead + times[1]) * kHalves);
}

TEST(TrainingForms, TokensGoToTheirExpertsAndBackForwardAndBackward) {
  Shape shape = kPair;
  shape.experts = {.count = 4, .top = 2};  // as popular as each other, so that nobody is ahead of the other
  const TrainingStep training{.layers = 3, .layer = 300.0_us, .degrees = {.expert = 2}, .activations = 1_MiB};
  const auto times =
      pair_times(training, shape, kElements,
                 {by("dispatch", "direct", shape, 2 * kActivations), by("combine", "direct", shape, 2 * kActivations)});
  // Each half of a layer is a kernel of its own.
  expect_within_a_thousandth(times[0], training.compute() + kOverhead * (3 * 4) + (times[1] + times[2]) * (3 * 2));
}

TEST(TrainingForms, APipelineFillsAndDrains) {
  constexpr int kBatches = 5;
  const TrainingStep training{
      .layers = 2, .layer = 300.0_us, .degrees = {.pipeline = 2}, .micro_batches = kBatches, .activations = 1_MiB};
  const auto message = [](bool both) {
    return [both](int rank) {
      const Slice out{Where::data, 0, kActivations};
      const Slice in{Where::data, kActivations, kActivations};
      const Slice none{};
      Schedule schedule{.data = 2 * kActivations};
      schedule.steps = {{.transfers = {{1 - rank, rank == 0 || both ? out : none, rank == 1 || both ? in : none}}}};
      return schedule;
    };
  };
  const auto times = pair_times(training, kPair, kElements, {message(false), message(true)});
  const Seconds layer = training.layer;
  // The second stage has a micro-batch forward and backward in one queue, and between two of them one goes each way.
  const Seconds turn = kOverhead + layer * 3;
  const Seconds fills = kOverhead + layer + times[1];
  const Seconds drains = times[1] + kOverhead + layer * 2;
  expect_within_a_thousandth(times[0], fills + turn * kBatches + times[2] * (kBatches - 1) + drains);
}

TEST(TrainingForms, OneBucketHidesNothing) {
  const TrainingStep training{.layers = 8, .bucket = 8_MiB, .layer = 1000.0_us};
  const auto times = pair_times(training, kPair, kElements, {by("all-reduce", "ring", kPair, kElements)});
  expect_within_a_thousandth(times[0], kOverhead + training.compute() + times[1]);
}

TEST(TrainingForms, ShardedParametersHoldTheirFirstLayerUpAndGradientsEndBehindTheLast) {
  const TrainingStep training{.layers = 8, .bucket = 1_MiB, .layer = 1000.0_us, .sharded = true};
  const auto times =
      pair_times(training, kPair, kElements,
                 {by("all-gather", "ring", kPair, kElements / 8), by("reduce-scatter", "ring", kPair, kElements / 8)});
  ASSERT_LT(times[1], training.layer) << "or other layers wait, too";
  ASSERT_LT(times[2], training.layer * 2);
  // Whoever waits for parameters is not queued ahead: each layer forward is launched by itself.
  expect_within_a_thousandth(times[0], times[1] + kOverhead * 8 + training.compute() + times[2]);
}

}  // namespace
}  // namespace twinlink::model
