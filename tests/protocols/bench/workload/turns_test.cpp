// The closed forms that 'list workloads' prints, of a machine where every message takes as long: what is predicted is
// the longest way through the steps of all ranks, whose turns are timed.
#include "protocols/bench/workload/turns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace twinlink::bench {
namespace {

using workloads::Local;
using workloads::Schedule;
using workloads::Shape;
using workloads::Step;

constexpr double kMessage = 5;
constexpr double kAdd = 0.5;
constexpr double kCopy = 0.25;
constexpr double kFurther = 1;

double locals_us(const Step& step) {
  double us = 0;
  for (const Local& local : step.locals) us += local.kind == Local::Kind::add ? kAdd : kCopy;
  return us;
}

double even_us(const Shape&, int, const Step& step) {
  std::size_t sends = 0;
  std::size_t receives = 0;
  for (const workloads::Transfer& transfer : step.transfers) {
    sends += transfer.send.length > 0 ? 1 : 0;
    receives += transfer.receive.length > 0 ? 1 : 0;
  }
  const std::size_t messages = std::max(sends, receives);
  return locals_us(step) + (messages == 0 ? 0 : kMessage + static_cast<double>(messages - 1) * kFurther);
}

/// As a job does it, where what a rank takes is `cost`.
template <class Cost>
double predicted(const std::string& workload, const std::string& name, const Shape& shape, Bytes size,
                 const Cost& cost) {
  const auto& algorithm = find_algorithm(workloads::find_workload(workload), name);
  const std::uint64_t elements = size.count() / 8;
  const Turns turns(algorithm, shape, elements);
  EXPECT_TRUE(turns.known());
  const std::vector<TimedTurn> timed = turns_to_time(turns);
  std::vector<std::vector<double>> us;
  std::vector<std::size_t> messages;
  for (const TimedTurn& turn : timed) {
    us.emplace_back();
    messages.push_back(0);
    const std::vector<int> steps = turns.steps_of(turn.kind);
    for (int rank = 0; rank < shape.ranks; ++rank) {
      const int number = steps[static_cast<std::size_t>(rank)];
      const Schedule all = algorithm.schedule(shape, rank, elements);
      const Step step =
          number < 0 ? Step{} : part_of(all.steps[static_cast<std::size_t>(number)], shape, rank, turn.one_in);
      us.back().push_back(cost(shape, rank, step));
      messages.back() += step.transfers.size();
    }
  }
  return turns.longest_us(times_of_kinds(turns, timed, us, messages));
}

TEST(Prediction, IsTheLongestWayThroughAllRanks) {
  for (const Shape& shape : {Shape{8, 8}, Shape{64, 8}, Shape{64, 1}}) {
    const auto expect = [&](const std::string& workload, const std::string& algorithm, double us) {
      EXPECT_NEAR(predicted(workload, algorithm, shape, 1_MiB, even_us), us, 1e-9 * us)
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
    expect("all-to-all", "direct", kMessage + (n - 2) * kFurther + kCopy);
    expect("incast", "direct", kMessage + (n - 2) * kFurther);
  }
}

/// A rank is through when its own messages are, and goes on then.
TEST(Prediction, TakesEachRankForWhatItTookInTheTurn) {
  const auto us = [](const Shape& shape, int rank, const Step& step) {
    double most = 0;
    for (const auto& [peer, send, receive] : step.transfers) {
      most = std::max(most, rank / shape.per_node == peer / shape.per_node ? kMessage : 4 * kMessage);
    }
    return most;
  };
  const Shape shape{16, 4};
  EXPECT_NEAR(predicted("broadcast", "tree", shape, 8_B, us), (2 * 4 + 2) * kMessage, 1e-9);
  // One element is one piece, and crosses nodes three times.
  EXPECT_NEAR(predicted("broadcast", "chain", shape, 8_B, us), (12 + 3 * 4) * kMessage, 1e-9);
  EXPECT_NEAR(predicted("all-gather", "ring", shape, 1_MiB, us), 15 * 4 * kMessage, 1e-9);
}

TEST(Turns, OfTheSameMessagesAreOneKind) {
  using Counts = std::pair<std::size_t, std::size_t>;
  const auto kinds = [](const std::string& workload, const std::string& algorithm, int ranks) {
    const Turns turns(find_algorithm(workloads::find_workload(workload), algorithm), {ranks, 1}, 1U << 20U);
    return Counts(turns.count(), turns.kinds().size());
  };
  EXPECT_EQ(kinds("all-gather", "ring", 8), (Counts{7, 1}));
  EXPECT_EQ(kinds("all-reduce", "ring", 8), (Counts{14, 2})) << "with additions, and without";
  EXPECT_EQ(kinds("all-to-all", "pairwise", 8).second, 8U) << "and the rank's own block";
  EXPECT_EQ(kinds("shift", "direct", 8), (Counts{1, 1}));
  EXPECT_EQ(kinds("all-reduce", "tree", 8), (Counts{6, 6}));
}

/// Every message of a turn has its other end in the same turn, whatever part of it is taken: nobody waits for ever.
TEST(Turns, HaveBothEndsOfTheirMessages) {
  for (const workloads::Workload& workload : workloads::all_workloads()) {
    for (const workloads::Algorithm& algorithm : workload.algorithms) {
      for (const Shape& shape : {Shape{2, 1}, Shape{3, 3}, Shape{5, 1}, Shape{8, 4}, Shape{12, 4}, Shape{50, 5}}) {
        if (algorithm.together || !algorithm.refuses(shape).empty()) continue;
        const std::uint64_t elements = shape.ranks % 2 == 0 ? 4096 : 1;  // of one, some parts are empty
        const Turns turns(algorithm, shape, elements);
        ASSERT_TRUE(turns.known()) << workload.name << ", " << algorithm.name;
        for (std::size_t kind = 0; kind < turns.kinds().size(); ++kind) {
          for (const int one_in : {1, 3}) {
            std::map<std::pair<int, int>, std::vector<std::uint64_t>> sent;
            std::map<std::pair<int, int>, std::vector<std::uint64_t>> received;
            const std::vector<int> steps = turns.steps_of(kind);
            for (int rank = 0; rank < shape.ranks; ++rank) {
              const int number = steps[static_cast<std::size_t>(rank)];
              if (number < 0) continue;
              const Schedule all = algorithm.schedule(shape, rank, elements);
              for (const auto& [peer, send, receive] :
                   part_of(all.steps[static_cast<std::size_t>(number)], shape, rank, one_in).transfers) {
                EXPECT_GT(send.length + receive.length, 0U) << "its peer would not know";
                if (send.length > 0) sent[{rank, peer}].push_back(send.length);
                if (receive.length > 0) received[{peer, rank}].push_back(receive.length);
              }
            }
            ASSERT_EQ(sent, received) << workload.name << ", " << algorithm.name << ", " << shape.ranks;
          }
        }
      }
    }
  }
}

/// Of a turn with very many messages two parts say what all take.
TEST(Turns, OfVeryManyMessagesAreTimedInParts) {
  const Shape shape{512, 8};
  const Turns turns(find_algorithm(workloads::find_workload("all-to-all"), "direct"), shape, 1U << 20U);
  const std::vector<TimedTurn> timed = turns_to_time(turns);
  ASSERT_EQ(timed.size(), 2U);
  EXPECT_EQ(timed[0].one_in, 2 * timed[1].one_in);
  EXPECT_NEAR(predicted("all-to-all", "direct", shape, 1_MiB, even_us), kMessage + 510 * kFurther + kCopy, 1e-6);
}

TEST(Turns, OfVeryLargeJobsAreThoseOfOneRankOrUnknown) {
  const Shape shape{4096, 8};
  EXPECT_NEAR(predicted("all-gather", "ring", shape, 1_MiB, even_us), 4095 * kMessage, 1e-6);
  const workloads::Workload& broadcast = workloads::find_workload("broadcast");
  EXPECT_FALSE(Turns(find_algorithm(broadcast, "chain"), {1 << 19, 8}, 1U << 23U).known());
}

TEST(Turns, ThatAreNotTimedAreAsThoseBeside) {
  const Turns turns(find_algorithm(workloads::find_workload("all-to-all"), "pairwise"), {9, 1}, 1U << 20U);
  ASSERT_EQ(turns.kinds().size(), 9U);
  std::vector<std::vector<double>> us(9);
  us[1] = std::vector<double>(9, 1);
  us[5] = std::vector<double>(9, 5);
  us[7] = std::vector<double>(9, 1);
  EXPECT_NEAR(turns.longest_us(us), 1 + 1 + 2 + 3 + 4 + 5 + 3 + 1 + 1, 1e-9);
}

}  // namespace
}  // namespace twinlink::bench
