// Which iterations of a recorded job are left out, and of which jobs none is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "protocols/workloads/goal/job.hpp"
#include "protocols/workloads/goal/repetition.hpp"
#include "protocols/workloads/goal/steady.hpp"

namespace twinlink::workloads::goal {
namespace {

using testing::DoubleEq;
using testing::Eq;
using testing::Optional;

/// Two ranks that send to each other: rank 1 in two messages, each behind a calc of its own.
Trace iterations(int count, const std::string& before, const std::string& behind) {
  std::string first = before;
  std::string second;
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    const std::string last = std::to_string(i - 1);
    first += "c" + n + ": calc 500\n";
    if (i > 0) first += "c" + n + " requires q" + last + "\n";
    first += "s" + n + ": send 64b to 1\ns" + n + " requires c" + n + "\n";
    first += "r" + n + ": recv 8b from 1\nr" + n + " requires c" + n + "\n";
    first += "q" + n + ": recv 8b from 1\nq" + n + " requires r" + n + "\n";
    second += "r" + n + ": recv 64b from 0\n";
    if (i > 0) second += "r" + n + " requires sb" + last + "\n";
    std::string after = "r";
    for (const std::string half : {"a", "b"}) {
      second += half + n + ": calc 70\n" + half + n + " requires " + after + n + "\n";
      second += "s" + half + n + ": send 8b to 0\ns" + half + n + " requires " + half + n + "\n";
      after = "s" + half;
    }
  }
  return read_trace("num_ranks 3\nrank 0 {\n" + first + behind + "}\nrank 1 {\n" + second + "}\n", "a.goal");
}

std::vector<int> bodies_of(const RankTrace& trace) {
  std::vector<int> all;
  for (const Task& task : trace.tasks) {
    if (all.empty() || all.back() != task.body) all.push_back(task.body);
  }
  return all;
}

TEST(GoalRepetition, LeavesSixBodiesOfEachRank) {
  Trace trace = iterations(100, "x: calc 9\n", "y: calc 8\ny requires q99\n");
  ASSERT_TRUE(shorten(trace));
  EXPECT_EQ(trace.left_out, 99U - kKeptBodies) << "the first one waits for nothing";
  EXPECT_EQ(bodies_of(trace.ranks[0]), (std::vector{0, 1, 2, 3, 4, 5, 6, 0}));
  for (const std::size_t rank : {0U, 1U}) {
    for (const Need& need : trace.ranks[rank].needs) {
      EXPECT_LT(need.on, need.what);
      EXPECT_LE(need.what - need.on, 2U) << "nobody waits for what is another's";
    }
  }
  EXPECT_TRUE(trace.ranks[2].tasks.empty());
  const Job job(std::move(trace));
  EXPECT_TRUE(job.goes_on());
  const Job whole(iterations(100, "x: calc 9\n", "y: calc 8\ny requires q99\n"));
  EXPECT_DOUBLE_EQ(job.longest_path().value(), whole.longest_path().value());
  for (const int rank : {0, 1, 2}) {
    EXPECT_EQ(job.of(rank).sent(), whole.of(rank).sent());
    EXPECT_EQ(job.of(rank).tasks, whole.of(rank).tasks);
  }
}

TEST(GoalRepetition, BodiesMayBeSeveralIterations) {
  Trace trace = iterations(100, "", "");
  ASSERT_TRUE(shorten(trace, 2));
  EXPECT_EQ(trace.left_out, 49U - kKeptBodies);
  EXPECT_FALSE(shorten(trace, 2)) << "twelve iterations are too few";
  Trace few = iterations(24, "", "");
  EXPECT_FALSE(shorten(few));
}

TEST(GoalRepetition, NobodyWaitsForWhatIsLeftOut) {
  Trace trace = iterations(100, "", "y: calc 8\ny requires q50\n");
  EXPECT_FALSE(shorten(trace));
  EXPECT_EQ(trace.ranks[0].tasks.size(), 401U) << "nothing is changed";
  Trace first = iterations(100, "", "y: calc 8\ny requires c1\n");
  EXPECT_FALSE(shorten(first)) << "it would wait for the end of another one";
  Trace last = iterations(100, "", "y: calc 8\ny requires q99\n");
  EXPECT_TRUE(shorten(last));
}

/// What receives of any rank take is planned over the whole job.
TEST(GoalRepetition, ReceivesOfAnyRankStay) {
  Trace trace = iterations(100, "", "");
  for (Task& task : trace.ranks[0].tasks) {
    if (task.kind == Task::Kind::receive) task.peer = kAnyRank;
  }
  EXPECT_FALSE(shorten(trace));
}

/// A task before the bodies, six of these, and one behind.
RankTrace one_each() {
  RankTrace trace;
  for (const int body : {0, 1, 2, 3, 4, 5, 6, 0}) trace.tasks.push_back({.body = static_cast<std::uint8_t>(body)});
  return trace;
}

TEST(GoalPace, IsWhatAllTasksShowOfComparedBodies) {
  const std::vector<double> begins{0, 10, 13, 20, 30, 40, 50, 60};
  const std::vector<double> ends{9, 12, 20, 30, 40, 50, 59, 61};
  EXPECT_THAT(pace_of(one_each(), begins, ends).period(), Optional(DoubleEq(10)));
  std::vector<double> other = ends;
  other[4] += 1e-6;
  EXPECT_EQ(pace_of(one_each(), begins, other).period(), std::nullopt) << "one ends later";
}

TEST(GoalPace, IsNotSaidBesideWhatIsOfOtherBodies) {
  const std::vector<double> begins{0, 10, 13, 20, 30, 40, 50, 60};
  const std::vector<double> ends{9, 12, 20, 30, 40, 50, 59, 61};
  std::vector<double> late = ends;
  late[0] = 41;
  EXPECT_EQ(pace_of(one_each(), begins, late).period(), std::nullopt) << "what comes before is still under way";
  std::vector<double> soon = begins;
  soon[7] = 29;
  EXPECT_EQ(pace_of(one_each(), soon, ends).period(), std::nullopt) << "what comes behind is under way already";
}

/// A rank that goes at another pace would be late or early at some time.
TEST(GoalPace, IsOneOfAllRanks) {
  const std::vector<double> begins{0, 10, 20, 30, 40, 50, 60, 70};
  std::vector<double> slower;
  for (const double begin : begins) slower.push_back(1.5 * begin);
  Pace all = pace_of(one_each(), begins, begins);
  ASSERT_TRUE(all.period());
  const Pace other = pace_of(one_each(), slower, slower);
  ASSERT_TRUE(other.period());
  all.merge(other);
  EXPECT_THAT(all.period(), Eq(std::nullopt));
}

}  // namespace
}  // namespace twinlink::workloads::goal
