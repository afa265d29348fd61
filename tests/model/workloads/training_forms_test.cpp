// The closed form of a training step on an idle machine. Kernels and messages share nothing there, so what differs from
// the sum of the parts is arithmetic, far below 0.1 %.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "model/engine/simulation.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/registry.hpp"
#include "protocols/workloads/execution.hpp"
#include "protocols/workloads/training.hpp"
#include "tests/model/engine/one_message.hpp"

namespace twinlink::model {
namespace {

using namespace testing;    // NOLINT: the sample platform's numbers
using namespace workloads;  // NOLINT: what is tested

/// What each of some schedules takes on the slower of two peers, once buffers and connections are known.
std::vector<Seconds> times_of(const std::vector<std::function<Schedule(int rank)>>& schedules) {
  std::vector<Seconds> times(schedules.size());
  simulate(sample_platform(), std::vector{kFirstPeer, kSecondPeer}, [&](Rank& inner) {
    ConcurrentRank rank(inner);
    const RankId peer{1 - rank.id().value};
    const auto meet = [&] {
      ControlMessage message;
      wait(rank, rank.send_control(peer, tags::kFirstFree, message), kLong);
      wait(rank, rank.recv_control(peer, tags::kFirstFree, message), kLong);
    };
    const Protocol& protocol = find_protocol("gpudirect-v2");
    const Ways ways{&protocol, &protocol, protocol.defaults(), protocol.defaults()};
    constexpr std::uint64_t kRoom = 4U << 20U;
    const Buffers buffers(rank, Memory::device, kRoom, kRoom);
    {
      Connections connections(rank, ways);
      connections.open(std::set{peer});
      for (std::size_t i = 0; i < schedules.size(); ++i) {
        const Schedule schedule = schedules[i](rank.id().value);
        for (int round = 0; round < 2; ++round) {
          prepare(rank, schedule, buffers);
          meet();
          const Seconds start = rank.now();
          EXPECT_TRUE(run_once(rank, schedule, connections, buffers, kLong).ok());
          if (round == 1) times[i] = std::max(times[i], rank.now() - start);
          EXPECT_FALSE(fault_in(rank, schedule, buffers).has_value());
          meet();
        }
      }
    }
    meet();
  });
  return times;
}

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
  const std::vector<Seconds> times = times_of({whole, kernels, bucket});
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
