// The closed form of a training step on an idle machine. Kernels and messages share nothing there, so what differs from
// the sum of the parts is arithmetic, far below 0.1 %.
#include <gtest/gtest.h>

#include <vector>

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
    Schedule schedule = whole(rank);
    schedule.steps.clear();
    schedule.after.clear();
    return schedule;
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

}  // namespace
}  // namespace twinlink::model
