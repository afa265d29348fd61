// Measured workloads: what their points say, by whom they are measured, and what is refused.
#include "protocols/bench/workload/measure_workload.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "protocols/bench/measure/check_error.hpp"
#include "protocols/bench/workload/array_job.hpp"
#include "protocols/bench/workload/times.hpp"
#include "protocols/registry.hpp"
#include "tests/explore/explorer/fake_world.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Times, AreOfTheSlowestRankOfEachIteration) {
  WorkloadPoint point;
  take_times(point, {.by_rank = {{5, 2, 9, 1}, {4, 8, 8, 6}, {6, 7, 1, 5}}});
  EXPECT_EQ(point.time_us, summarize(std::vector<double>{6, 8, 9, 6}));
  EXPECT_EQ(point.fastest_us, 1.5) << "half way between 1 and 2, of 4, 2, 1 and 1";
  EXPECT_EQ(point.slowest_rank, 1) << "of two iterations, the others of one each";
}

WorkloadPlan plan_of(const char* workload, const std::vector<const char*>& algorithms,
                     const Protocol& protocol = find_protocol("staging")) {
  Scheduled work{.workload = &workloads::find_workload(workload), .sizes = {1_KiB, 64_KiB}};
  for (const char* name : algorithms) work.algorithms.push_back(&find_algorithm(*work.workload, name));
  WorkloadPlan plan{.work = std::move(work)};
  plan.ways = {&protocol, &protocol, protocol.defaults(), protocol.defaults()};
  plan.iterations = 3;
  plan.timeout = Seconds{10};
  return plan;
}

/// Of rank 0; the others get nothing, and nobody keeps a buffer.
WorkloadSeries measured(const WorkloadPlan& plan, int ranks) {
  WorkloadSeries series;
  run_fake_world({.ranks = ranks}, [&](MeasuredRank& rank) {
    WorkloadSeries mine = measure_schedules(rank, plan);
    EXPECT_EQ(live_buffers(rank), 0U);
    if (rank.id() == RankId{0}) {
      series = std::move(mine);
    } else {
      EXPECT_TRUE(mine.points.empty() && mine.workload.empty());
    }
  });
  return series;
}

TEST(MeasuredWorkloads, HaveAPointForEachSizeAndAlgorithm) {
  WorkloadPlan plan = plan_of("all-reduce", {"tree", "ring"});
  std::vector<std::string> told;
  plan.on_point = [&](const WorkloadPoint& point) { told.push_back(point.algorithm); };
  std::mutex mutex;
  std::array<int, 2> rounds{};
  plan.on_round = [&](bool begins, RankId, Seconds) {
    const std::scoped_lock lock(mutex);
    ++rounds.at(begins ? 0 : 1);
  };
  const WorkloadSeries series = measured(plan, 3);
  EXPECT_EQ(rounds, (std::array{3 * 10 * 3, 3 * 10 * 3})) << "ranks, points, iterations";
  EXPECT_EQ(series.workload, "all-reduce");
  ASSERT_EQ(series.points.size(), 10U);
  const std::string each = "halving-doubling 4, ring 4, tree 4, direct 2, one-shot 1, ";
  std::string all;
  for (std::size_t i = 0; i < 10; ++i) {
    const WorkloadPoint& point = series.points[i];
    EXPECT_EQ(point.size, i < 5 ? 1_KiB : 64_KiB);
    EXPECT_EQ(told.at(i), point.algorithm);
    all += point.algorithm + " " + std::to_string(point.steps) + ", ";
    EXPECT_EQ(point.time_us.n, 3U);
    EXPECT_LE(point.fastest_us, point.time_us.max);
    EXPECT_DOUBLE_EQ(point.algorithm_MBps, static_cast<double>(point.size.count()) / point.time_us.median);
    EXPECT_DOUBLE_EQ(point.bus_MBps, point.algorithm_MBps * 4 / 3);
    EXPECT_EQ(point.predicted_us > 0, point.steps > 1) << "one step of all at once would be timed as it is";
    EXPECT_TRUE(point.verified && point.why.empty());
  }
  EXPECT_EQ(all, each + each) << "all that the shape allows";
}

/// Of one step nothing is predicted: it would be timed as it is.
TEST(MeasuredWorkloads, ArePredictedWhereTheyHaveSeveralTurns) {
  const auto predicted_us = [](const char* workload, const char* algorithm) {
    return measured(plan_of(workload, {algorithm}), 6).points.at(0).predicted_us;
  };
  EXPECT_GT(predicted_us("all-to-all", "pairwise"), 0);
  EXPECT_EQ(predicted_us("all-to-all", "direct"), 0);
  EXPECT_EQ(predicted_us("shift", "direct"), 0);
}

TEST(MeasuredWorkloads, AreByTheFastestWhereNobodyChooses) {
  const WorkloadSeries series = measured(plan_of("broadcast", {}, find_protocol("host")), 4);
  ASSERT_EQ(series.points.size(), 2U);
  for (const WorkloadPoint& point : series.points) {
    EXPECT_THAT(point.why, testing::MatchesRegex("(tried: .*; )?predicted us: .* [0-9.]+, .* [0-9.]+"));
    EXPECT_THAT(point.why, HasSubstr(point.algorithm + " "));
  }
}

/// All-reduces of an MPI library's choice, by CPUs.
WorkloadPlan tuned_plan(Sums sums) {
  WorkloadPlan plan = plan_of("all-reduce", {}, find_protocol("host"));
  plan.tuned = &workloads::mpi::find_library("openmpi 4.1", "");
  std::get<Scheduled>(plan.work).sums = sums;
  return plan;
}

TEST(MeasuredWorkloads, GoByTheRulesOfAnMpiLibrary) {
  for (const Sums sums : {Sums::on_host, Sums::copied_and_back}) {
    const WorkloadSeries series = measured(tuned_plan(sums), 4);
    ASSERT_EQ(series.points.size(), 2U);
    EXPECT_EQ(series.points[0].algorithm, "recursive_doubling");
    EXPECT_EQ(series.points[1].algorithm, "rabenseifner");
    for (const WorkloadPoint& point : series.points) {
      EXPECT_TRUE(point.verified);
      EXPECT_THAT(point.why, testing::StartsWith("openmpi 4.1"));
      EXPECT_EQ(point.predicted_us > 0, sums == Sums::on_host) << "copies are in no turn";
    }
  }
  EXPECT_THAT(said_by<UsageError>([] { measured(tuned_plan(Sums::on_gpus), 4); }), HasSubstr("adds up on GPUs"));
}

/// Copies to the GPU, or those to the host, leave the last element out.
class CutsCopies final : public DecoratedRank {
 public:
  CutsCopies(MeasuredRank& inner, bool to_gpu) : DecoratedRank(inner), to_gpu_(to_gpu) {}
  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override {
    const bool cut = (to_gpu_ ? to : from).buffer.memory == Memory::device;
    const Bytes length = to.length - (cut ? workloads::kElement : 0_B);
    return DecoratedRank::start_copy(to.slice(0_B, length), from.slice(0_B, length), blocks, stream, engine);
  }

 private:
  bool to_gpu_;
};

TEST(MeasuredWorkloads, VerifyWhatComesToTheHostAndBack) {
  const auto said = [](bool to_gpu) {
    return said_by<CheckError>([&] {
      run_fake_world({}, [&](MeasuredRank& rank) {
        CutsCopies broken(rank, to_gpu);
        measure_schedules(broken, tuned_plan(Sums::copied_and_back));
      });
    });
  };
  EXPECT_THAT(said(true), HasSubstr("on the GPU"));
  EXPECT_THAT(said(false), HasSubstr("of the elements from"));
}

/// Of messages of that length the last byte is another one than the sender's.
class Scrambles final : public DecoratedRank {
 public:
  explicit Scrambles(MeasuredRank& inner, Bytes length = 1_KiB) : DecoratedRank(inner), length_(length) {}
  Op send(RankId peer, Tag tag, View from) override {
    if (from.length == length_) fill(from.slice(length_ - 1_B, 1_B), Payload{90});
    return DecoratedRank::send(peer, tag, from);
  }

 private:
  Bytes length_;
};

TEST(MeasuredWorkloads, AreVerifiedIfAsked) {
  for (const bool verify : {true, false}) {
    WorkloadPlan plan = plan_of("broadcast", {"tree"}, find_protocol("host"));
    plan.verify = verify;
    const std::string said = said_by<CheckError>([&] {
      run_fake_world({}, [&](MeasuredRank& rank) {
        Scrambles broken(rank);
        measure_schedules(broken, plan);
      });
    });
    // The sender's own buffer has the other byte, too.
    EXPECT_THAT(said, testing::MatchesRegex(
                          verify ? "rank [01]: broadcast .tree. of 1K: scrambled at byte 1023 of the elements from 0 on"
                                 : "nothing was refused"));
  }
}

TEST(MeasuredWorkloads, ThatCannotBeAreRefusedWithTheReason) {
  const auto refused = [](const WorkloadPlan& plan, int ranks = 2) {
    return said_by([&] { run_fake_world({.ranks = ranks}, [&](Rank& rank) { require_schedules(rank, plan); }); });
  };
  EXPECT_EQ(refused(plan_of("all-reduce", {"ring"})), "nothing was refused");
  EXPECT_EQ(refused(plan_of("all-reduce", {"ring"}), 1), "a workload needs two ranks at least");
  EXPECT_EQ(refused(plan_of("all-reduce", {"hierarchical"})),
            "all-reduce, hierarchical: it is for several nodes with the same number of GPUs each, more than one");
  EXPECT_EQ(refused(plan_of("all-reduce", {"ring"}, find_protocol("host"))),
            "all-reduce: ring adds up on GPUs, and host has its messages in host memory");
  EXPECT_EQ(refused(plan_of("broadcast", {"tree"}, find_protocol("host"))), "nothing was refused");
  EXPECT_EQ(
      refused(plan_of("all-reduce", {"kernel"})),
      "all-reduce, kernel: staging does not do it by itself; this is by one kernel on each GPU, of protocols that "
      "have it: nccl");
  WorkloadPlan graph = plan_of("broadcast", {"tree"});
  std::get<Scheduled>(graph.work).graph = 2;
  EXPECT_EQ(refused(graph),
            "--graph: broadcast (tree) is no one launch of a kernel; the algorithm 'kernel' is, of "
            "protocols that have it");
  WorkloadPlan training = plan_of("training-step", {"ring"});
  std::get<Scheduled>(training.work).training.emplace().degrees = {.tensor = 3};
  EXPECT_THAT(refused(training), testing::StartsWith("training-step: "));
}

constexpr const char* kJob = R"(num_ranks 2
rank 0 {
  c: calc 3000
  s: send 1024b to 1 tag 1 nic 1
  s requires c
}
rank 1 {
  r: recv 1024b from -1 tag 1
  c: calc 500
  c requires r
}
)";

WorkloadPlan plan_of_job(const char* protocol) {
  WorkloadPlan plan = plan_of("broadcast", {}, find_protocol(protocol));
  plan.work = std::make_shared<const workloads::goal::Job>(workloads::goal::read_trace(kJob, "a.goal"));
  return plan;
}

TEST(MeasuredJobs, TellOfEachRank) {
  WorkloadSeries series;
  run_fake_world({}, [&](MeasuredRank& rank) {
    WorkloadSeries mine = measure_trace(rank, plan_of_job("staging"));
    if (rank.id() == RankId{0}) series = std::move(mine);
  });
  EXPECT_EQ(series.workload, "a.goal");
  EXPECT_THAT(series.notes,
              ElementsAre("1 receives take any message: each takes the one that would come first if messages took no "
                          "time",
                          "the numbers of the nics have no effect: the network library chooses the adapters",
                          ::testing::StartsWith("messages: 1 a rank, ")));
  ASSERT_EQ(series.points.size(), 1U);
  const WorkloadPoint& point = series.points.front();
  EXPECT_EQ(point.size, 1_KiB);
  EXPECT_EQ(point.steps, 2U);
  EXPECT_EQ(point.time_us.n, 3U);
  EXPECT_DOUBLE_EQ(point.predicted_us, 3.5);
  EXPECT_DOUBLE_EQ(point.bus_MBps, 1024 / point.time_us.median);
  EXPECT_DOUBLE_EQ(point.algorithm_MBps, point.bus_MBps);
  ASSERT_EQ(point.ranks.size(), 2U);
  for (std::size_t r = 0; r < 2; ++r) {
    EXPECT_EQ(point.ranks[r].tasks, 2U);
    EXPECT_EQ(point.ranks[r].sent, r == 0 ? 1_KiB : 0_B);
    EXPECT_GT(point.ranks[r].ended_us, point.ranks[r].waited_us);
  }
  EXPECT_EQ(said_by<CheckError>([] {
              run_fake_world({}, [](MeasuredRank& rank) {
                Scrambles broken(rank);
                measure_trace(broken, plan_of_job("host"));
              });
            }),
            "rank 1: a.goal:8: from rank 0: scrambled at byte 1023");
}

TEST(MeasuredJobs, ThatCannotBeAreRefusedWithTheReason) {
  const auto refused = [](const WorkloadPlan& plan, int ranks = 2) {
    return said_by<Error>([&] { run_fake_world({.ranks = ranks}, [&](Rank& rank) { require_playable(rank, plan); }); });
  };
  WorkloadPlan plan = plan_of_job("staging");
  EXPECT_EQ(refused(plan), "nothing was refused");
  EXPECT_EQ(refused(plan, 3), "a.goal:1: error: there are 2 ranks, and in this job 3");
  EXPECT_EQ(refused(plan_of_job("symmetric-put")),
            "symmetric-put has its messages on a symmetric heap, and a trace says no places there");
  plan.room = [](RankId rank) { return rank == RankId{0} ? 1_KiB : 1023_B; };
  EXPECT_EQ(refused(plan), "a.goal:8: error: with this message: rank 1 needs 1K of its GPU's memory, and has 1023");
}

/// Three ranks have three planes of 80 elements each, of 16 B, and then 4, 3 and 3 of 72.
TEST(MeasuredArrays, AreMovedByEachPackingAndProven) {
  WorkloadPlan plan = plan_of("broadcast", {});
  plan.work = share_out(
      *make_array_job("reshape", {.global = "9x8x10", .from = "slab-x", .to = "slab-z", .pack = "all"}), 3, {});
  WorkloadSeries series;
  run_fake_world({.ranks = 3}, [&](MeasuredRank& rank) {
    WorkloadSeries mine = measure_array(rank, plan);
    EXPECT_EQ(live_buffers(rank), 0U);
    if (rank.id() == RankId{0}) series = std::move(mine);
  });
  std::vector<std::string> packings;
  for (const WorkloadPoint& point : series.points) {
    packings.push_back(point.algorithm);
    EXPECT_EQ(point.size, Bytes{4 * 72 * 16}) << "the most that a rank has";
    EXPECT_EQ(point.steps, 1U);
    EXPECT_TRUE(point.verified);
    EXPECT_DOUBLE_EQ(point.algorithm_MBps, 4 * 72 * 16 / point.time_us.median);
    EXPECT_DOUBLE_EQ(point.bus_MBps, 3 * 8 * (4 + 3) * 16 / point.time_us.median) << "the most that a rank sends";
    EXPECT_EQ(point.array->transforms_us, 0);
    EXPECT_GT(point.array->exchange_us, 0);
    EXPECT_GT(point.array->packing_us, 0) << "at least of what it keeps";
  }
  EXPECT_THAT(packings, ElementsAre("kernel", "copies", "none"));
  EXPECT_THAT(said_by<CheckError>([&] {
                run_fake_world({.ranks = 3}, [&](MeasuredRank& rank) {
                  Scrambles broken(rank, Bytes{3 * 8 * 3 * 16});
                  measure_array(broken, plan);
                });
              }),
              testing::MatchesRegex("rank [0-2]: reshape of 9x8x10: .*"));
}

TEST(ArrayJobs, ThatMakeNoSenseAreRefusedWithTheReason) {
  const auto refused = [](const char* workload, const ArrayOptions& options) {
    return said_by([&] { share_out(*make_array_job(workload, options), 2, {}); });
  };
  const ArrayOptions reshape{.global = "8x8x8", .from = "slab-x", .to = "slab-z"};
  const auto with = [&](const std::function<void(ArrayOptions&)>& change) {
    ArrayOptions options = reshape;
    change(options);
    return refused("reshape", options);
  };
  EXPECT_EQ(refused("reshape", reshape), "nothing was refused");
  EXPECT_EQ(refused("fft", {.global = "8x8x8", .parts = 2}), "nothing was refused");
  EXPECT_EQ(refused("fft", {}), "fft needs --global, the size of the array: 512x512x512");
  EXPECT_EQ(with([](auto& o) { o.to.clear(); }),
            "reshape needs --from and --to: slab-x, pencil-z, or a file with a box for each rank");
  for (const Bytes size : {4_B, 8_B, 16_B}) EXPECT_EQ(with([&](auto& o) { o.element = size; }), "nothing was refused");
  EXPECT_EQ(with([](auto& o) { o.element = 12_B; }), "--element 12: elements have 4, 8 or 16 B");
  EXPECT_EQ(with([](auto& o) { o.shares = "1,2.5"; }), "nothing was refused");
  EXPECT_EQ(with([](auto& o) { o.shares = "1,2,3"; }), "--shares 1,2,3: 3 shares for 2 ranks");
  for (const char* wrong : {"1,0", "1,-2", "1,x", "1,inf", "1;2"}) {
    EXPECT_EQ(with([&](auto& o) { o.shares = wrong; }),
              std::string("--shares ") + wrong + ": numbers above zero with commas between, equal, or machine");
  }
  EXPECT_THAT(with([](auto& o) { o.shares = "machine"; }), testing::StartsWith("--shares machine: nobody tells here"));
  EXPECT_EQ(with([](auto& o) {
              o.in_place = true;
              o.pack = "none";
            }),
            "--in-place: rows are packed, for they would be overwritten");
}

}  // namespace
}  // namespace twinlink::bench
