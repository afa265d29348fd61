// No answer beats a wire: what every algorithm sends, and random jobs on all machines, with faults. And how near they
// come to what is predicted.
//
// TWINLINK_JOBS=3000 tries as many, TWINLINK_SEED=7 begins elsewhere.
#include "model/study/jobs/referee.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/engine/simulation.hpp"
#include "model/study/child_process.hpp"
#include "model/study/jobs/simulated_job.hpp"
#include "platforms/machine/degraded.hpp"
#include "platforms/tools/faults.hpp"
#include "platforms/tools/placement.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/workloads/catalogue.hpp"
#include "tests/support/number_from.hpp"

namespace twinlink::model {
namespace {

using workloads::Algorithm;
using workloads::Workload;

/// What the messages of an algorithm carry over the edge of each group, as they are listed.
std::vector<Demand::Crossing> sent(const Algorithm& algorithm, int ranks, Bytes size, const std::vector<int>& group_of,
                                   int groups) {
  std::vector<Demand::Crossing> all(static_cast<std::size_t>(groups));
  const auto group = [&](int rank) { return static_cast<std::size_t>(group_of[static_cast<std::size_t>(rank)]); };
  for (int rank = 0; rank < ranks; ++rank) {
    const workloads::Schedule schedule =
        algorithm.schedule({.ranks = ranks}, rank, size.count() / workloads::kElement.count());
    for (const workloads::Step& step : schedule.steps) {
      for (const workloads::Transfer& transfer : step.transfers) {
        if (group(rank) == group(transfer.peer)) continue;
        const auto bytes = static_cast<double>(workloads::bytes_of(transfer.send.length).count());
        all[group(rank)].out += bytes;
        all[group(transfer.peer)].in += bytes;
      }
    }
  }
  return all;
}

TEST(Demand, NoAlgorithmSendsLess) {
  std::mt19937_64 random(1);
  std::set<std::string_view> known;
  for (const Workload& workload : workloads::all_workloads()) {
    for (int round = 0; round < 60; ++round) {
      const int ranks = 2 + static_cast<int>(random() % 15);
      const Bytes size{8 * (1 + random() % 300)};
      const auto demand = Demand::of_collective(workload.name, ranks, size);
      if (!demand) break;
      known.insert(workload.name);
      const int groups = 2 + static_cast<int>(random() % 3);
      std::vector<int> group_of;
      for (int rank = 0; rank < ranks; ++rank)
        group_of.push_back(static_cast<int>(random() % static_cast<unsigned>(groups)));
      const std::vector<Demand::Crossing> least = demand->crossings(group_of, groups);
      for (const Algorithm& algorithm : workload.algorithms) {
        if (algorithm.together || !algorithm.refuses({.ranks = ranks}).empty()) continue;
        const std::vector<Demand::Crossing> all = sent(algorithm, ranks, size, group_of, groups);
        for (std::size_t i = 0; i < all.size(); ++i) {
          EXPECT_GE(all[i].out, least[i].out) << workload.name << ' ' << algorithm.name << ' ' << ranks;
          EXPECT_GE(all[i].in, least[i].in) << workload.name << ' ' << algorithm.name << ' ' << ranks;
        }
      }
    }
  }
  EXPECT_EQ(known.size(), 8U);
}

/// All machines that are shipped, and the 1st to the 64th of their GPUs at most.
struct RandomJob {
  std::filesystem::path file{};
  Faults faults{};
  SimulatedJob job{};
  std::string text{};  ///< as a command line has it
};

RandomJob random_job(std::uint64_t seed, const std::vector<std::filesystem::path>& files) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  RandomJob made{.file = files[below(files.size())]};
  const Platform platform = read_platform(made.file, {}, Faults{});
  const std::span<const Workload> all = workloads::all_workloads();
  const Workload& workload = all[below(all.size())];
  const Algorithm& algorithm = workload.algorithms[below(workload.algorithms.size())];
  made.job.workload.workload = workload.name;
  made.job.workload.algorithm = algorithm.name;
  if (algorithm.together) made.job.workload.protocol = "nccl";
  made.job.workload.sweep.begin = made.job.workload.sweep.end = Bytes{std::uint64_t{1} << (10 + below(17))};
  made.job.place = below(2) == 0 ? "packed" : "spread";
  const std::int64_t gpus = platform.nodes() * static_cast<std::int64_t>(platform.node.gpus.size());
  made.job.ranks = static_cast<int>(2 + below(static_cast<std::uint64_t>(std::clamp<std::int64_t>(gpus - 1, 1, 23))));
  const std::vector<std::string> parts = degradable_parts(platform);
  made.text = "workload " + made.job.workload.workload + " --algorithm " + made.job.workload.algorithm +
              " --platform " + made.file.stem().string() + " --ranks " + std::to_string(made.job.ranks) + " --place " +
              made.job.place + " -b " + format_size(made.job.workload.sweep.begin) + " -e " +
              format_size(made.job.workload.sweep.begin);
  if (algorithm.together) made.text += " -p nccl";
  for (std::uint64_t count = below(3); count > 0; --count) {
    std::string part = parts[below(parts.size())];
    if (platform.fabric && platform.fabric->is_tree() && below(2) == 0) {
      part = "fabric/leaf" + std::to_string(below(2)) + "-up" + std::to_string(below(2));
    }
    if (below(3) == 0) {
      made.faults.failed.push_back(part);
      made.text += " --fail " + part;
    } else {
      made.faults.degraded.push_back(part + "=" + std::to_string(1 + below(99)) + "%");
      made.text += " --degrade " + made.faults.degraded.back();
    }
  }
  return made;
}

/// Begins with `kFault` where the referee had to speak, with `kTimes` and what was predicted by what it took where the
/// job ran; else why it did not.
constexpr std::string_view kFault = "fault: ";
constexpr std::string_view kTimes = "times: ";
std::string simulated(RandomJob made) {
  try {
    const Platform platform = read_platform(made.file, {}, made.faults);
    bench::WorkloadOptions& workload = made.job.workload;
    if (workload.protocol.empty()) {
      choose_protocols(workload, platform, places_of_ranks(platform, made.job.place, made.job.ranks));
    }
    ReadyJob ready = ready_job(platform, made.job);
    double times = 0;
    ready.plan.on_point = [&](const bench::WorkloadPoint& point) { times = point.predicted_us / point.time_us.median; };
    simulate(platform, ready.places, [&](MeasuredRank& rank) { bench::measure_workload(rank, ready.plan); });
    return std::string(kTimes) + std::to_string(times);
  } catch (const std::logic_error& error) {
    return std::string(kFault) + error.what();
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST(Referee, NoRandomJobBeatsAWireAndMostArePredicted) {
  const std::uint64_t jobs = number_from("TWINLINK_JOBS", 60);
  const std::uint64_t first = number_from("TWINLINK_SEED", 1);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(TWINLINK_SOURCE_DIR "/platforms")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::uint64_t ran = 0;
  std::uint64_t predicted = 0;
  std::uint64_t off = 0;
  in_each_child_process(
      jobs, [&](std::size_t i) { return simulated(random_job(first + i, files)); }, 2,
      [&](const ChildEnd& end) {
        const std::string& text = end.get();
        EXPECT_FALSE(text.starts_with(kFault)) << random_job(first + end.number, files).text << '\n' << text;
        // Nothing in a simulation is late by itself.
        EXPECT_EQ(text.find("timed out"), std::string::npos) << random_job(first + end.number, files).text << '\n'
                                                             << text;
        if (!text.starts_with(kTimes)) return;
        ++ran;
        const double times = std::stod(text.substr(kTimes.size()));
        predicted += times > 0 ? 1 : 0;
        off += times > 0 && std::abs(times - 1) > 0.2 ? 1 : 0;
      });
  std::cout << ran << " of " << jobs << " jobs ran; " << predicted << " were predicted, " << off
            << " of them more than a fifth off\n";
  EXPECT_GT(ran, jobs / 3);
  EXPECT_LE(off, std::max<std::uint64_t>(2, predicted / 10));
}

class Rows : public testing::Test {
 protected:
  Platform platform_ = read_platform(TWINLINK_SOURCE_DIR "/platforms/selene.yaml", {}, Faults{});
  std::vector<Place> places_ = places_of_ranks(platform_, "packed", 16);
  Referee referee_{platform_, places_};
  bench::WorkloadPlan plan_{.work = bench::Scheduled{.workload = &workloads::find_workload("all-reduce")}};
};

// Eight adapters of 25 GB/s a node, and each side must learn the other's sum.
TEST_F(Rows, ATimeBelowTheBoundIsAFaultOfOurs) {
  bench::WorkloadPoint point{.size = Bytes{200'000'000}, .algorithm = "ring"};
  const Bound bound = referee_.bound_of(plan_, point);
  const double adapters = platform_.fabric->link.value.bytes_per_second() * 8;
  EXPECT_DOUBLE_EQ(bound.time.value(), 200e6 / adapters);
  point.time_us.median = bound.time.microseconds() * 0.999;
  EXPECT_THROW(referee_.judge(plan_, point), std::logic_error);
  point.time_us.median = bound.time.microseconds();
  EXPECT_NO_THROW(referee_.judge(plan_, point));
}

TEST_F(Rows, APredictionIsNoLessThanTheBound) {
  bench::WorkloadPoint point{.size = Bytes{200'000'000}, .algorithm = "ring", .predicted_us = 1};
  const double least_us = referee_.bound_of(plan_, point).time.microseconds();
  point.time_us.median = 10 * least_us;
  referee_.judge(plan_, point);
  EXPECT_DOUBLE_EQ(point.predicted_us, least_us);
  point.predicted_us = 2 * least_us;
  referee_.judge(plan_, point);
  EXPECT_DOUBLE_EQ(point.predicted_us, 2 * least_us);
  point.predicted_us = 0;  // nothing is predicted
  referee_.judge(plan_, point);
  EXPECT_EQ(point.predicted_us, 0);
}

}  // namespace
}  // namespace twinlink::model
