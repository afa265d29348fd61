// Jobs that share a wire, on a machine of round numbers: what they lose is known beforehand.
#include "model/study/clustering.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "protocols/core/errors.hpp"
#include "protocols/registry.hpp"
#include "protocols/workloads/goal/trace.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr Bytes kSize = 4_MiB;
constexpr double kTolerance = 1e-3;

bench::WorkloadPlan shift_over_hosts() {
  const Protocol& host = find_protocol("host");
  const workloads::Workload& shift = workloads::find_workload("shift");
  return {.work = bench::Scheduled{.workload = &shift, .algorithms = {&shift.algorithms.front()}, .sizes = {kSize}},
          .ways = {&host, &host, host.defaults(), host.defaults()}};
}

std::vector<Place> places(const std::string& text) {
  std::vector<Place> all;
  std::istringstream words(text);
  for (std::string word; words >> word;) all.push_back(parse_place(word));
  return all;
}

Seconds exchange(double sharing) { return kHost + kLatency + Seconds{(kSize / kWire).value() * sharing}; }

void expect_times(const JobTimes& job, Seconds alone, Seconds together) {
  // Ranks leave a barrier some microseconds apart, of 1700 and more.
  EXPECT_NEAR(job.alone_us, alone.microseconds(), alone.microseconds() * kTolerance);
  EXPECT_NEAR(job.together_us, together.microseconds(), together.microseconds() * kTolerance);
}

TEST(Clustering, JobsOnOneWireTakeTwiceTheTimeOfItsBytes) {
  const Cluster cluster{.jobs = 2, .ranks = 2, .places = places("0/0 1/0 0/1 1/1")};
  const auto points = measure_cluster(sample_platform(), shift_over_hosts(), cluster, {});
  ASSERT_EQ(points.size(), 1U);
  for (const JobTimes& job : points[0].jobs) expect_times(job, exchange(1), exchange(2));
}

TEST(Clustering, JobsOnWiresOfTheirOwnLoseNothing) {
  const Cluster cluster{.jobs = 2, .ranks = 2, .places = places("0/0 1/0 2/0 3/0")};
  const auto points = measure_cluster(sample_platform(), shift_over_hosts(), cluster, {});
  for (const JobTimes& job : points[0].jobs) {
    expect_times(job, exchange(1), exchange(1));
    EXPECT_NEAR(job.slower(), 1, kTolerance);
  }
}

TEST(Clustering, TheBackgroundIsAtWorkUntilAllJobsHaveEnded) {
  bench::WorkloadPlan plan = shift_over_hosts();
  plan.iterations = 5;
  const Cluster cluster{
      .jobs = 1, .ranks = 2, .places = places("0/0 1/0 0/1 1/1"), .background = plan.scheduled()->workload};
  const auto points = measure_cluster(sample_platform(), plan, cluster, {});
  const JobTimes& job = points[0].jobs[0];
  EXPECT_NEAR(job.alone_us, exchange(1).microseconds(), exchange(1).microseconds() * kTolerance);
  // Between two of its own exchanges the background meets and begins anew, and the job may have the wire to itself.
  const Seconds gap = kControl + kHost + kLatency;
  EXPECT_LE(job.together_us, exchange(2).microseconds() * (1 + kTolerance));
  EXPECT_GE(job.together_us, (exchange(2) - gap).microseconds() * (1 - kTolerance));
}

TEST(Clustering, AJobThatEndsFirstGoesOnUntilTheOtherHasItsIterations) {
  bench::WorkloadPlan plan = shift_over_hosts();
  plan.iterations = 4;
  // The second job stays in its node, at another rate: it is through long before, and nobody else uses that node's
  // memory. The others share a wire throughout.
  const Cluster cluster{.jobs = 3, .ranks = 2, .places = places("0/0 1/0 2/1 2/2 0/1 1/1")};
  const auto points = measure_cluster(sample_platform(), plan, cluster, {});
  expect_times(points[0].jobs[0], exchange(1), exchange(2));
  expect_times(points[0].jobs[2], exchange(1), exchange(2));
  EXPECT_NEAR(points[0].jobs[1].slower(), 1, kTolerance);
}

TEST(Clustering, TracesShareWiresToo) {
  bench::WorkloadPlan plan = shift_over_hosts();
  plan.work = std::make_shared<const workloads::goal::Job>(workloads::goal::read_trace(
      "num_ranks 2\nrank 0 {\nsend 4194304b to 1\n}\nrank 1 {\nrecv 4194304b from 0\n}\n", "a.goal"));
  const Cluster cluster{.jobs = 2, .ranks = 2, .places = places("0/0 1/0 0/1 1/1")};
  const auto points = measure_cluster(sample_platform(), plan, cluster, {});
  for (const JobTimes& job : points[0].jobs) expect_times(job, exchange(1), exchange(2));
}

TEST(Clustering, PlacesAreDealtOutJobByJob) {
  Cluster cluster{.jobs = 2, .ranks = 3, .places = places("0/0 0/1 0/2 1/0 1/1 1/2 2/0 2/1")};
  deal_places(cluster);
  EXPECT_EQ(cluster.places, places("0/0 1/0 2/0 0/1 1/1 2/1 0/2 1/2")) << "the last two are the background's";
}

TEST(Clustering, SeveralAlgorithmsAreRefused) {
  bench::WorkloadPlan plan = shift_over_hosts();
  auto& algorithms = std::get<bench::Scheduled>(plan.work).algorithms;
  algorithms.push_back(algorithms.front());
  const Cluster cluster{.jobs = 1, .ranks = 2, .places = places("0/0 1/0")};
  EXPECT_THROW(measure_cluster(sample_platform(), plan, cluster, {}), UsageError);
}

}  // namespace
}  // namespace twinlink::model
