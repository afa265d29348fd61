// Recorded jobs: what the reader takes and refuses, line by line, and that every rank's part comes to its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "protocols/core/errors.hpp"
#include "protocols/registry.hpp"
#include "protocols/workloads/goal/order.hpp"
#include "protocols/workloads/goal/player.hpp"
#include "tests/explore/explorer/fake_world.hpp"
#include "tests/support/meet_all.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::workloads::goal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Job job_of(const std::string& text) { return Job(read_trace(text, "a.goal")); }

std::string refusal_of(const std::string& text) {
  return said_by<InputError>([&] { job_of(text); });
}

constexpr const char* kPingPong = R"(// a comment
num_ranks 2
rank 0 { /* another,
            of two lines */
  l1: calc 1000
  l2: send 10b to 1 tag 7 cpu 0 nic 0
  l2 requires l1
  l3: recv 20 b from 1
  l3 irequires l2
  calc 5 cpu 3
}

rank 1 {
	a: recv 10b from 0 tag 7
	b: send 20b to 0 nic 2
	b requires a
}
)";

TEST(GoalReader, TakesWhatToolsWrite) {
  const Trace trace = read_trace(kPingPong, "a.goal");
  ASSERT_THAT(trace.ranks, SizeIs(2));
  EXPECT_EQ(trace.line, 2);
  const RankTrace& first = trace.ranks[0];
  ASSERT_THAT(first.tasks, SizeIs(4));
  EXPECT_EQ(first.tasks[0].amount, 1000U);
  EXPECT_EQ(first.tasks[1].kind, Task::Kind::send);
  EXPECT_EQ(first.tasks[1].tag, 7U);
  EXPECT_EQ(first.tasks[1].line, 6);
  EXPECT_EQ(first.tasks[3].cpu, 3);
  ASSERT_THAT(first.needs, SizeIs(2));
  EXPECT_FALSE(first.needs[0].at_start);
  EXPECT_TRUE(first.needs[1].at_start);
  EXPECT_EQ(first.needs[1].on, 1U);
}

TEST(GoalReader, TakesRanksThatDoNothingAndLineEndsOfWindows) {
  const Job job = job_of("num_ranks 3\r\nrank 2 { }\r\n");
  EXPECT_EQ(job.ranks(), 3);
  EXPECT_TRUE(job.of(0).peers().empty());
  EXPECT_EQ(job.of(0).memory(), 0_B);
}

TEST(GoalReader, NamesTheLineOfEachMistake) {
  const std::string two = "num_ranks 2\n";
  const std::vector<std::pair<std::string, std::string>> all{
      {"", "a.goal:1: error: there is no 'num_ranks N'"},
      {"rank 0 {\n}\n", "a.goal:1: error: 'num_ranks N' must stand before the first rank"},
      {"num_ranks 0\n", "a.goal:1: error: a job has one rank at least"},
      {"num_ranks 65537\n", "a.goal:1: error: the number of ranks is beyond 65536"},
      {two + "num_ranks 2\n", "a.goal:2: error: 'num_ranks' stands here twice"},
      {two + "rank 2 {\n}\n", "a.goal:2: error: there is no rank 2 of 2"},
      {two + "rank 0 {\n}\nrank 0 {\n}\n", "a.goal:4: error: rank 0 stands here twice"},
      {two + "rank 0 {\n", "a.goal:3: error: rank 0 has no '}'"},
      {two + "rank 0 {\nrank 1 {\n}\n", "a.goal:3: error: rank 0 has no '}' before this one"},
      {two + "}\n", "a.goal:2: error: a '}' without 'rank N {'"},
      {two + "calc 5\n", "a.goal:2: error: expected 'num_ranks N', 'group N {', 'rank N {' or a comment"},
      {two + "group 1 { 0 1 }\n", "a.goal:2: error: groups are counted: the next one is 0"},
      {two + "group 0 { 0 2 }\n",
       "a.goal:2: error: a group has ranks that are not there, or back to front; 'num_ranks N' stands before it"},
      {two + "group 0 { 1-0 }\n",
       "a.goal:2: error: a group has ranks that are not there, or back to front; 'num_ranks N' stands before it"},
      {two + "group 0 { 0 0 }\n", "a.goal:2: error: a group has a rank twice"},
      {two + "group 0 { 0-1 0-1 }\n", "a.goal:2: error: a group has a rank twice"},
      {two + "group 0 { 0 }\n", "a.goal:2: error: a group has two ranks at least"},
      {two + "rank 0 {\ngroup 0 { 0-1 }\n}\n", "a.goal:3: error: groups stand before the ranks"},
      {two + "rank 0 {\nall_reduce 8b in 0\n}\n", "a.goal:3: error: there is no group 0"},
      {two + "rank 0 {\na: all_reduces 8b in 0\n}\n",
       "a.goal:3: error: expected send, recv, calc or a collective, not 'all_reduces'"},
      {"num_ranks 3\ngroup 0 { 0-1 }\nrank 2 {\nall_reduce 8b in 0\n}\n",
       "a.goal:4: error: the rank is no member of group 0"},
      {two + "rank 0 {\nsend 5b to -1\n}\n", "a.goal:3: error: expected the peer's rank, a whole number, not '-'"},
      {two + "rank 0 {\nrecv 5b from -2\n}\n", "a.goal:3: error: expected '-1', not '2'"},
      {two + "rank 0 {\nsend 5b to 2\n}\n", "a.goal:3: error: there is no rank 2 of 2"},
      {two + "rank 0 {\nsend 5b from 1\n}\n", "a.goal:3: error: expected 'to', not 'from'"},
      {two + "rank 0 {\nsend 5 to 1\n}\n", "a.goal:3: error: expected 'b', not 'to'"},
      {two + "rank 0 {\nrecv 5b from -1\n}\n", "a.goal:3: error: nobody sends it: no rank has a send to 0 left for it"},
      {two + "rank 0 {\nsend 5b to 1 tag 18446744073709551615\n}\n",
       "a.goal:3: error: the tag is beyond 18446744073709551614"},
      {two + "rank 0 {\nsend 99999999999999999999999b to 1\n}\n", "a.goal:3: error: the size is beyond 1099511627776"},
      {two + "rank 0 {\ncalc 18446744073709551616\n}\n", "a.goal:3: error: the time in ns is beyond 1000000000000000"},
      {two + "rank 0 {\ncalc 5 cpu 1 cpu 2\n}\n", "a.goal:3: error: expected cpu or the line's end, not 'cpu'"},
      {two + "rank 0 {\ncalc 5 nic 1 nic 2\n}\n", "a.goal:3: error: expected cpu or the line's end, not 'nic'"},
      {two + "rank 0 {\nsend 5b to 1 nic 1 tag 2 cpu 3 nic 1\n}\n",
       "a.goal:3: error: expected tag, cpu, nic or the line's end, not 'nic'"},
      {two + "rank 0 {\nsend 5b to 1 cpu 1 nic 1 tag 2 tag 2\n}\n",
       "a.goal:3: error: expected tag, cpu, nic or the line's end, not 'tag'"},
      {two + "rank 0 {\ncalc x\n}\n", "a.goal:3: error: expected the time in ns, a whole number, not 'x'"},
      {two + "rank 0 {\ncalc\n}\n", "a.goal:3: error: expected the time in ns, a whole number, and the line ends"},
      {two + "rank 0 {\na: calc 1\na: calc 2\n}\n", "a.goal:4: error: the label 'a' stands in line 3 already"},
      {two + "rank 0 {\na: calc 1\na requires b\n}\n", "a.goal:4: error: there is no 'b' in rank 0"},
      {two + "rank 0 {\na: calc 1\na requires a\n}\n", "a.goal:4: error: a cycle: 'a' would wait for itself"},
      {two + "rank 0 {\na needs b\n}\n", "a.goal:3: error: expected ':', 'requires' or 'irequires', not 'needs'"}};
  for (const auto& [text, expected] : all) EXPECT_EQ(refusal_of(text), expected) << text;
}

TEST(GoalReader, ShowsTheFirstMistakesAndHowManyMore) {
  std::string text = "num_ranks 2\nrank 0 {\n";
  for (int i = 0; i < 30; ++i) text += "send 1b to 5\n";
  EXPECT_THAT(refusal_of(text + "}\n"),
              HasSubstr("a.goal:22: error: there is no rank 5 of 2\na.goal: error: and 10 more"));
}

TEST(GoalJob, NamesMessagesThatDoNotFindEachOther) {
  const auto ends = [](const std::string& first, const std::string& second) {
    return refusal_of("num_ranks 2\nrank 0 {\n" + first + "\n}\nrank 1 {\n" + second + "\n}\n");
  };
  EXPECT_EQ(ends("send 5b to 1 tag 3", ""),
            "a.goal:3: error: nobody receives it: rank 1 has no recv from 0 with tag 3 for it");
  EXPECT_EQ(ends("", "recv 5b from 0"), "a.goal:6: error: nobody sends it: rank 0 has no send to 1 with tag 0 for it");
  EXPECT_EQ(ends("send 6b to 1", "recv 5b from 0"),
            "a.goal:6: error: receives 5 B, and line 3 sends 6 B: MPI would cut it off");
  EXPECT_EQ(ends("send 5b to 1 tag 7030012001", "recv 6b from 0 tag 7030012001"), "nothing was refused")
      << "it may be longer";
  EXPECT_THAT(
      ends("send 5b to 1 tag 1", "recv 5b from 0 tag 2"),
      testing::AllOf(HasSubstr("a.goal:3: error: nobody receives it"), HasSubstr("a.goal:6: error: nobody sends")));
}

TEST(GoalJob, NamesACycle) {
  EXPECT_EQ(refusal_of("num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\nc: calc 1\n"
                       "c requires a\na requires b\nb irequires a\n}\n"),
            "a.goal:3: error: a cycle: line 3 waits for line 4 waits for line 3");
  // Each waits for the other's message before it sends: nobody ever does.
  EXPECT_EQ(refusal_of("num_ranks 2\nrank 0 {\nr: recv 1b from 1\ns: send 1b to 1\ns requires r\n}\n"
                       "rank 1 {\nr: recv 1b from 0\ns: send 1b to 0\ns requires r\n}\n"),
            "a.goal:3: error: a cycle: line 3 waits for line 9 waits for line 8 waits for line 4 waits for line 3");
}

/// Two groups of all pairs that cross, whose members have them in this order.
std::string crossing_groups(const std::string& order_of_last) {
  std::string text = "num_ranks 3\ngroup 0 { 0 1 }\ngroup 1 { 1 2 }\ngroup 2 { 0 2 }\n";
  const std::vector<std::string> orders{"0 2", "1 0", order_of_last};
  for (std::size_t r = 0; r < orders.size(); ++r) {
    text += "rank " + std::to_string(r) + " {\na: all_reduce 64b in " + orders[r].substr(0, 1) +
            "\nb: all_reduce 64b in " + orders[r].substr(2) + "\nb requires a\n}\n";
  }
  return text;
}

TEST(GoalJob, NamesCollectivesThatMembersDoNotShare) {
  const auto of_two = [](const std::string& first, const std::string& second) {
    return refusal_of("num_ranks 2\ngroup 0 { 0-1 }\nrank 0 {\n" + first + "}\nrank 1 {\n" + second + "}\n");
  };
  EXPECT_EQ(of_two("all_reduce 8b in 0\n", "all_reduce 16b in 0\n"),
            "a.goal:7: error: it is not what rank 0 does then in line 4");
  EXPECT_EQ(of_two("all_reduce 8b in 0\n", "broadcast 8b in 0\n"),
            "a.goal:7: error: it is not what rank 0 does then in line 4");
  EXPECT_EQ(of_two("all_reduce 8b in 0\n", ""), "a.goal:4: error: rank 1 has no such collective");
  EXPECT_EQ(of_two("", "all_reduce 8b in 0\n"), "a.goal:6: error: rank 0 has no such collective");
  EXPECT_EQ(refusal_of(crossing_groups("1 2")), "nothing was refused");
  EXPECT_THAT(refusal_of(crossing_groups("2 1")), HasSubstr(": error: a cycle: line ")) << "each waits for the next";
  EXPECT_THAT(
      refusal_of("num_ranks 2\ngroup 0 { 0-1 }\nrank 0 {\nsend 1b to 1\nbarrier 1b in 0\n}\nrank 1 {\nrecv 1b from "
                 "-1\nbarrier 1b in 0\n}\n"),
      HasSubstr("which comes first nobody knows"));
}

TEST(GoalCollectives, GroupsThatShareTwoRanksTakeTurns) {
  // Of all eight, of one that has none, and of others that share one rank, or the ranks of the first.
  std::string text =
      "num_ranks 8\ngroup 0 { 0-3 }\ngroup 1 { 0 4 }\ngroup 2 { 2-4 }\ngroup 3 { 0-7 }\ngroup 4 { 0-3 }\n";
  const std::vector<std::string> of_ranks{"0 1 4", "0 4", "0 2 4", "0 2 4", "1 2"};
  for (std::size_t r = 0; r < of_ranks.size(); ++r) {
    text += "rank " + std::to_string(r) + " {\n";
    for (const char group : of_ranks[r]) {
      if (group != ' ') text += "all_reduce 8b in " + std::string(1, group) + "\n";
    }
    text += "}\n";
  }
  Trace trace = read_trace(text, "a.goal");
  Findings findings("a.goal");
  const auto conflicts = conflicts_of(trace, joints_of(trace, findings));
  EXPECT_THAT(conflicts, ElementsAre(std::pair(0U, 2U), std::pair(0U, 4U), std::pair(2U, 4U)));
  const Job job(std::move(trace));
  EXPECT_THAT(job.of(0).collectives.at(1).after, SizeIs(0)) << "it shares rank 0 alone with the others";
  EXPECT_THAT(job.of(0).collectives.at(2).after, ElementsAre(0U));
  EXPECT_THAT(job.of(2).collectives.at(2).after, ElementsAre(0U, 1U));
}

TEST(GoalCollectives, GoInRingsOrAllAtOnceUnlessSomebodySaysOtherwise) {
  const auto steps_of = [](const std::string& what) {
    std::string text = "num_ranks 4\ngroup 0 { 0-3 }\n";
    for (int r = 0; r < 4; ++r) text += "rank " + std::to_string(r) + " {\n" + what + " 4096b in 0\n}\n";
    Trace trace = read_trace(text, "a.goal");
    expand(trace, {}, [](std::string_view) { return false; });
    return std::ranges::count(trace.ranks[1].tasks, Task::Kind::calc, &Task::kind) - 1;
  };
  EXPECT_EQ(steps_of("all_reduce"), 6) << "of a ring";
  EXPECT_EQ(steps_of("all_gather"), 3);
  EXPECT_EQ(steps_of("reduce_scatter"), 3);
  EXPECT_EQ(steps_of("all_to_all"), 1);
}

std::vector<std::uint64_t> sizes_of(const std::vector<Message>& messages) {
  std::vector<std::uint64_t> all;
  for (const Message& message : messages) all.push_back(message.size.count());
  return all;
}

TEST(GoalJob, BothEndsHaveMessagesInTheOrderInWhichTheyCanBeSent) {
  // The second in the file is sent first, and the receiver asks for them in the order of the file.
  const Job job = job_of(
      "num_ranks 2\nrank 0 {\nslow: calc 500\na: send 8b to 1 tag 1\na requires slow\na requires b\n"
      "b: send 16b to 1 tag 2\n}\n"
      "rank 1 {\na: recv 8b from 0 tag 1\nb: recv 16b from 0 tag 2\nb requires a\n}\n");
  EXPECT_THAT(sizes_of(job.of(0).sends), ElementsAre(16U, 8U));
  EXPECT_THAT(sizes_of(job.of(1).receives), ElementsAre(16U, 8U));
  EXPECT_DOUBLE_EQ(job.longest_path().value(), 500e-9);
}

// ---- lanes and windows --------------------------------------------------------------------------------------------

std::string hundred(const std::string& task, const std::string& needs) {
  std::string text;
  for (int i = 0; i < 100; ++i) {
    const std::string n = std::to_string(i);
    text += "t" + n + ": " + task + " tag " + n + "\n";
    if (i > 0 && !needs.empty()) text += "t" + n + needs + std::to_string(i - 1) + "\n";
  }
  return text;
}

std::string pair_text(const std::string& first, const std::string& second) {
  return "num_ranks 2\nrank 0 {\n" + first + "}\nrank 1 {\n" + second + "}\n";
}

TEST(GoalLanes, IndependentSendsAreOneWindow) {
  const Job job = job_of(pair_text(hundred("send 1000b to 1", ""), hundred("recv 1000b from 0", "")));
  EXPECT_THAT(by_lane(job.of(0).sends), SizeIs(1));
  EXPECT_THAT(by_window(job.of(0).sends), SizeIs(1));
  EXPECT_EQ(job.of(0).memory(), Bytes{100 * 1024}) << "multiples of 256 B";
  EXPECT_EQ(job.of(0).sent(), 100'000_B);
}

TEST(GoalLanes, BlockingReceivesDoNotBreakTheWindowOfIndependentSends) {
  const Job job = job_of(pair_text(hundred("send 1000b to 1", ""), hundred("recv 1000b from 0", " requires t")));
  EXPECT_THAT(by_window(job.of(1).receives), SizeIs(1));
}

TEST(GoalLanes, SendsOneAfterTheOtherShareALaneAndItsRoom) {
  const Job job = job_of(pair_text(hundred("send 1000b to 1", " requires t"), hundred("recv 1000b from 0", "")));
  EXPECT_THAT(by_lane(job.of(0).sends), SizeIs(1));
  EXPECT_THAT(by_window(job.of(0).sends), SizeIs(100));
  EXPECT_EQ(job.of(0).memory(), 1024_B);
}

TEST(GoalLanes, WhatOthersSeeOfAnEndIsNotHeldBack) {
  // Somebody waits for the first send, and somebody else for the second: they go side by side, and not as one.
  const Job job = job_of(pair_text(
      "a: send 8b to 1 tag 1\nb: send 8b to 1 tag 2\nx: calc 5\nx requires a\ny: calc 7 cpu 1\ny requires b\n",
      "recv 8b from 0 tag 1\nrecv 8b from 0 tag 2\n"));
  EXPECT_THAT(by_lane(job.of(0).sends), SizeIs(2));
  EXPECT_THAT(by_lane(job.of(1).receives), SizeIs(2));
}

TEST(GoalLanes, AnAnswerWaitsForItsQuestion) {
  // The second question comes after the answer to the first: they share a lane.
  const Job job = job_of(pair_text("a: send 8b to 1\nr: recv 8b from 1\nb: send 8b to 1\nb requires r\n",
                                   "a: recv 8b from 0\nr: send 8b to 0\nr requires a\nb: recv 8b from 0\n"));
  EXPECT_THAT(by_lane(job.of(0).sends), SizeIs(1));
}

TEST(GoalLanes, AMessageOfAnotherNicBeginsAnotherWindow) {
  const Job job = job_of(pair_text("send 8b to 1 tag 1\nsend 8b to 1 tag 2 nic 1\n",
                                   "recv 8b from 0 tag 1\nrecv 8b from 0 tag 2 nic 2\n"));
  EXPECT_TRUE(job.has_nics());
  ASSERT_THAT(by_lane(job.of(0).sends), SizeIs(2));
  EXPECT_EQ(job.of(0).sends[1].turn, (AdapterTurn{1, 2, true}));
}

// ---- any source, any tag ------------------------------------------------------------------------------------------

TEST(GoalAny, TakesWhatIsSentFirst) {
  const Job job = job_of(
      "num_ranks 3\nrank 0 {\na: recv 64b from -1 tag 1\nb: recv 64b from -1 tag -1\nb requires a\n}\n"
      "rank 1 {\nc: calc 10\ns: send 16b to 0 tag 1\ns requires c\n}\nrank 2 {\nsend 8b to 0 tag 1\n}\n");
  EXPECT_EQ(job.planned(), 2U);
  EXPECT_EQ(job.trace_of(0).tasks[0].peer, 2);
  EXPECT_EQ(job.trace_of(0).tasks[1].peer, 1);
  EXPECT_EQ(job.trace_of(0).tasks[1].tag, 1U);
}

/// The answer to the first request is what the second one of the same rank waits for.
TEST(GoalAny, NeverWaitsForWhatWaitsForIt) {
  const Job job = job_of(
      "num_ranks 3\nrank 0 {\na: recv 8b from -1\nx: send 8b to 1\nx requires a\nb: recv 8b from -1\nb requires a\n"
      "c: recv 8b from -1\nc requires b\n}\n"
      "rank 1 {\na: send 8b to 0\nr: recv 8b from 0\nb: send 8b to 0\nb requires r\n}\n"
      "rank 2 {\nsend 8b to 0\n}\n");
  EXPECT_EQ(job.trace_of(0).tasks[0].peer, 1);
}

/// The second recv is asked for first, and takes what the first one would have needed.
TEST(GoalAny, WhereThatStopsTheOrderOfTheFileDecides) {
  const Job job = job_of(
      "num_ranks 2\nrank 0 {\nw: recv 8b from 1\na: recv 8b from -1 tag 9\na requires w\nb: recv 8b from -1 tag 9\n"
      "x: send 8b to 1\nx requires a\n}\n"
      "rank 1 {\ns: send 8b to 0 tag 9\nc: send 8b to 0\nc requires s\nr: recv 8b from 0\nt: send 8b to 0 tag 9\n"
      "t requires r\n}\n");
  EXPECT_EQ(job.planned(), 2U);
}

TEST(GoalAny, LeavesToOthersWhatTheyAskFor) {
  const Job job = job_of(
      "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 1\nsend 8b to 1 tag 2\n}\n"
      "rank 1 {\na: recv 8b from -1 tag -1\nb: recv 8b from 0 tag 2\n}\n");
  EXPECT_EQ(job.trace_of(1).tasks[0].tag, 1U);
}

/// Who has asked first gets it, whether for one source and tag or for any.
TEST(GoalAny, GivesAMessageToWhoeverHasAskedFirst) {
  const auto tags = [](const std::string& receives) {
    const Job job = job_of(
        "num_ranks 2\nrank 0 {\nw: calc 10\na: send 8b to 1 tag 2\na requires w\n"
        "b: send 8b to 1 tag 1\nb requires a\n}\nrank 1 {\n" +
        receives + "}\n");
    return std::pair(job.trace_of(1).tasks[0].tag, job.trace_of(1).tasks[1].tag);
  };
  EXPECT_EQ(tags("recv 8b from 0 tag 2\nrecv 8b from -1 tag -1\n"), std::pair(std::uint64_t{2}, std::uint64_t{1}));
  EXPECT_EQ(tags("recv 8b from -1 tag -1\nrecv 8b from 0 tag 1\n"), std::pair(std::uint64_t{2}, std::uint64_t{1}));
}

TEST(Order, OfTenThousandTasksInAChain) {
  constexpr std::size_t kTasks = 10'000;
  std::vector<Before> befores;
  for (std::size_t i = 1; i < kTasks; ++i) befores.push_back({kTasks - i, true, kTasks - i - 1, false});
  const Order order(std::vector<double>(kTasks, 2.0), befores);
  EXPECT_THAT(order.cycle(), SizeIs(0));
  EXPECT_EQ(order.longest(), 2.0 * kTasks);
  EXPECT_EQ(order.start_of(0), 2.0 * (kTasks - 1));
}

// ---- played ---------------------------------------------------------------------------------------------------

constexpr Seconds kPatience{10};

/// What each rank says of one time through the job.
std::vector<Played> played(const Trace& trace, const std::string& protocol, FakeWorldOptions world = {}) {
  const Job job(trace);
  world.ranks = job.ranks();
  std::vector<Played> all(static_cast<std::size_t>(world.ranks));
  run_fake_world(world, [&](MeasuredRank& inner) {
    const auto live = [&] { return live_buffers(inner); };
    ConcurrentRank rank(inner);
    const Protocol& used = find_protocol(protocol);
    {
      Player player(rank, {&used, &used, used.defaults(), used.defaults()}, job);
      all[static_cast<std::size_t>(rank.id().value)] = player.play(true, kPatience);
      meet_all(rank);
      player.close();
      if (job.trace().groups.empty()) {
        EXPECT_EQ(live(), job.of(rank.id().value).memory() > Bytes{} ? 1U : 0U) << protocol << ": room for messages";
      }
      meet_all(rank);
    }
    EXPECT_EQ(live(), 0U) << protocol;
  });
  return all;
}

std::vector<Played> played(const std::string& text, const std::string& protocol, const FakeWorldOptions& world = {}) {
  return played(read_trace(text, "a.goal"), protocol, world);
}

void expect_delivered(const std::vector<Played>& all, const std::string& what) {
  for (const Played& rank : all) {
    EXPECT_TRUE(rank.outcome.ok()) << what << ": " << rank.outcome.reason;
    EXPECT_EQ(rank.fault, "") << what;
  }
}

// Both ways at once, several tags in another order at the receiver, sizes that no element divides, and nothing at all.
constexpr const char* kCrossing = R"(num_ranks 3
rank 0 {
  a: send 4099b to 1 tag 1
  b: send 7b to 1 tag 2
  b requires a
  w0: send 24b to 2 tag 20
  w1: send 8b to 2 tag 21
  w2: send 24b to 2 tag 22 nic 1
  w3: send 8b to 2 tag 23
  c: recv 100000b from 1 tag 1
  d: send 0b to 2
  d requires c
  e: calc 2000 cpu 1
  e irequires b
  f: calc 0
  f requires e
}
rank 1 {
  x: recv 7b from 0 tag 2
  y: recv 4099b from 0 tag 1
  y requires x
  z: send 100000b to 0 tag 1
  w: send 3b to 2 tag 9
  w requires z
}
rank 2 {
  v3: recv 80b from 0 tag 23
  v1: recv 8b from 0 tag 21
  v0: recv 24b from 0 tag 20
  v0 requires v1
  v2: recv 24b from 0 tag 22
  p: recv 0b from 0
  q: recv 3b from 1 tag 9
  q requires p
}
)";

TEST(GoalPlayer, DeliversOverEveryProtocol) {
  for (const Protocol* protocol : all_protocols()) {
    if (protocol->wants_same_places()) continue;
    bool refused = false;
    run_fake_world({}, [&](Rank& rank) {
      if (rank.id().value == 0) refused = !protocol->supports(rank.path_to(RankId{1})).usable();
    });
    if (refused) continue;
    expect_delivered(played(kCrossing, std::string(protocol->name())), std::string(protocol->name()));
  }
}

/// Beside work, in groups that cross; of 4000 bytes, which is no multiple of what an all-to-all shares out.
constexpr const char* kInGroups = R"(num_ranks 3
group 0 { 0-2 }
group 1 { 0 2 }
rank 0 {
  a: all_reduce 4000b in 0
  b: broadcast 800b in 1
  b requires a
  calc 3000
  c: send 9b to 1
  d: all_gather 4000b in 0
  d requires c
}
rank 1 {
  a: all_reduce 4000b in 0
  c: recv 9b from 0
  d: all_gather 4000b in 0
  d requires c
}
rank 2 {
  a: all_reduce 4000b in 0
  b: broadcast 800b in 1
  b requires a
  d: all_gather 4000b in 0
  d requires b
}
)";

TEST(GoalPlayer, CollectivesAreMessagesWhereTheProtocolHasNone) {
  Trace trace = read_trace(kInGroups, "a.goal");
  expand(trace, {}, [](std::string_view) { return false; });
  for (const RankTrace& rank : trace.ranks) {
    for (const Task& task : rank.tasks) EXPECT_NE(task.kind, Task::Kind::collective);
  }
  const std::vector<Played> all = played(trace, "host");
  expect_delivered(all, "messages");
  EXPECT_GT(Job(trace).of(1).sent(), Bytes{4000});
}

/// `count` collectives of all ranks.
Trace all_do(const std::string& what, int ranks, int count) {
  std::string text = "num_ranks " + std::to_string(ranks) + "\ngroup 0 { 0-" + std::to_string(ranks - 1) + " }\n";
  for (int r = 0; r < ranks; ++r) {
    text += "rank " + std::to_string(r) + " {\n";
    for (int i = 0; i < count; ++i) text += what + " 20000b in 0\n";
    text += "}\n";
  }
  return read_trace(text, "a.goal");
}

std::string refusal_to_expand(Trace trace, const Algorithms& algorithms) {
  return said_by<InputError>([&] { expand(trace, algorithms, [](std::string_view) { return false; }); });
}

TEST(GoalCollectives, TooManyMessagesAreRefusedBeforeTheyAreMade) {
  // Rings of 128 ranks have 128 x 2 x 127 messages, each with two ends: 512 collectives have 33.3 million.
  const Trace many = all_do("all_reduce", 128, 512);
  EXPECT_THAT(refusal_to_expand(many, {}),
              HasSubstr("up to this all-reduce its collectives are more than 22369621 sends and receives as messages, "
                        "which would take more than 16 GiB of memory: -p nccl does it by itself, --algorithm "
                        "all-reduce=NAME may name one with fewer"));
  Trace left = many;
  expand(left, {}, [](std::string_view) { return true; });
  EXPECT_EQ(Job(std::move(left)).of(127).collectives.size(), 512U);
}

/// Of a reduction and a broadcast the first rank receives and sends 127 messages, and each other one has one of each.
TEST(GoalCollectives, MessagesOfEachRankCount) {
  const Algorithms tuned{.library = &mpi::find_library("openmpi 4.1", "")};
  Trace trace = all_do("all_reduce", 128, 520);
  expand(trace, tuned, [](std::string_view) { return false; });
  std::size_t messages = 0;
  for (const RankTrace& rank : trace.ranks) {
    messages += static_cast<std::size_t>(
        std::ranges::count_if(rank.tasks, [](const Task& task) { return task.kind != Task::Kind::calc; }));
  }
  EXPECT_EQ(messages, 520U * 2 * 2 * 127) << "as many sends as receives";
}

TEST(GoalPlayer, SeesAByteThatIsNotWhatWasSent) {
  const std::vector<Played> all =
      played(kCrossing, "host", {.fault = Fault{Fault::Kind::scramble, RankId{1}, 0, 4098_B}});
  EXPECT_EQ(all[1].fault, "a.goal:20: from rank 0: scrambled at byte 4098");
  EXPECT_EQ(all[0].fault, "");
}

TEST(GoalPlayer, RanksWithoutTasksHaveNothingToDo) {
  expect_delivered(played("num_ranks 3\nrank 0 {\ncalc 10\n}\n", "host"), "one calc");
}

TEST(GoalPlayer, RanksSendToThemselves) {
  expect_delivered(played("num_ranks 2\nrank 0 {\na: send 100b to 0\nb: recv 200b from 0\nb requires a\n}\nrank 1 {\n"
                          "calc 10\n}\n",
                          "host"),
                   "to itself");
}

TEST(GoalPlayer, ManyCpusComputeSideBySide) {
  std::string text = "num_ranks 1\nrank 0 {\n";
  for (int cpu = 0; cpu < 40; ++cpu)
    text += "calc 10 cpu " + std::to_string(cpu) + "\ncalc 10 cpu " + std::to_string(cpu) + "\n";
  expect_delivered(played(text + "}\n", "host"), "forty cpus");
}

}  // namespace
}  // namespace twinlink::workloads::goal
