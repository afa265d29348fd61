#include "protocols/trace/tracing_rank.hpp"

#include <array>

#include <gmock/gmock.h>

#include "tests/protocols/scripted_rank.hpp"

namespace twinlink {
namespace {

using testing::HasSubstr;

class TracingRankTest : public testing::Test {
 protected:
  ScriptedRank scripted;
  Trace trace;
  TracingRank rank{scripted, trace};
  Buffer device = scripted.allocate(Memory::device, 4096_B, Locality::near);
  Buffer pinned = scripted.allocate(Memory::pinned, 4096_B, Locality::near);
};

TEST_F(TracingRankTest, WritesStartsAndEndsInTheOrderInWhichTheyHappen) {
  rank.step("copy out");
  const Op copy = rank.copy(View(pinned), View(device), Stream{2}, Engine::dma);
  rank.step("send");
  const Op send = rank.send(RankId{1}, Tag{1}, View(pinned, 1024_B, 512_B));
  EXPECT_EQ(wait(rank, send, Seconds{1}), Status::delivered);
  EXPECT_EQ(wait(rank, copy, Seconds{1}), Status::delivered);
  EXPECT_EQ(trace.order(),
            "rank 0 | copy out | copy device[0+4096] -> pinned[0+4096] stream 2\n"
            "rank 0 | send | send pinned[1024+512] -> rank 1\n"
            "rank 0 | send | send pinned[1024+512] -> rank 1 | ended\n"
            "rank 0 | copy out | copy device[0+4096] -> pinned[0+4096] stream 2 | ended\n");
}

TEST_F(TracingRankTest, TheOrderHoldsNoTimes) {
  const auto run = [](Seconds delay) {
    ScriptedRank inner;
    Trace trace_of_run;
    TracingRank traced(inner, trace_of_run);
    ControlMessage into;
    static_cast<void>(wait(inner, inner.begin(delay), Seconds{1}));
    static_cast<void>(wait(traced, traced.recv_control(RankId{1}, Tag{2}, into), Seconds{1}));
    return trace_of_run.order();
  };
  EXPECT_EQ(run(1.0_us), run(777.0_us));
}

TEST_F(TracingRankTest, EventsCarryTheirTimes) {
  static_cast<void>(wait(scripted, scripted.begin(5.0_us), Seconds{1}));
  const Op op = rank.send_control(RankId{1}, Tag{2}, ControlMessage(1));
  EXPECT_EQ(wait(rank, op, Seconds{1}), Status::delivered);
  ASSERT_EQ(trace.events().size(), 1U);
  const TraceEvent& event = trace.events()[0];
  EXPECT_NEAR(event.started.microseconds(), 5, 1e-9);
  EXPECT_NEAR(event.ended.microseconds(), 6, 1e-9);
  EXPECT_TRUE(event.finished);
  EXPECT_EQ(event.what, "send_control rank 1 4 B");
}

TEST_F(TracingRankTest, AnAbandonedOperationIsMarked) {
  rank.abandon(rank.receive(RankId{1}, Tag{1}, View(pinned)));
  ASSERT_EQ(trace.events().size(), 1U);
  EXPECT_FALSE(trace.events()[0].finished);
  EXPECT_THAT(trace.order(), HasSubstr("receive pinned[0+4096] <- rank 1 | abandoned\n"));
  EXPECT_EQ(scripted.abandoned(), 1U);
}

TEST_F(TracingRankTest, AnOperationThatIsStillInFlightHasNoEnd) {
  rank.copy(View(pinned), View(device), Stream{0}, Engine::kernel);
  EXPECT_EQ(trace.order(), "rank 0 |  | copy device[0+4096] -> pinned[0+4096] stream 0 by kernel\n");
  EXPECT_THAT(list_by_step(trace.events()), HasSubstr("(never ended)"));
}

TEST_F(TracingRankTest, AWaitThatTimesOutEndsNothing) {
  ControlMessage into;
  const Op op = rank.recv_control(RankId{1}, Tag{2}, into);
  EXPECT_FALSE(rank.wait_any({&op, 1}, 0.5_us));
  EXPECT_FALSE(trace.events()[0].finished);
  EXPECT_TRUE(rank.wait_any({&op, 1}, Seconds{1}));
  EXPECT_TRUE(trace.events()[0].finished);
}

TEST_F(TracingRankTest, AListByStepDependsOnNoSpeed) {
  const auto list = [&](bool second_piece_first) {
    ScriptedRank inner;
    Trace trace_of_run;
    TracingRank traced(inner, trace_of_run);
    const Buffer buffer = inner.allocate(Memory::pinned, 4096_B, Locality::near);
    std::array<Op, 2> copies;
    for (const std::uint64_t piece : {0U, 1U}) {
      traced.step("copy out");
      copies[piece] = traced.copy({buffer, Bytes{piece * 64}, 64_B}, {buffer, 1024_B, 64_B}, Stream{0}, Engine::dma);
    }
    for (const std::uint64_t turn : {0U, 1U}) {
      const std::uint64_t piece = second_piece_first ? 1 - turn : turn;
      static_cast<void>(wait(traced, copies[piece], Seconds{1}));
      traced.step(turn == 0 ? "send" : "copy out");  // whatever ends first, something begins in between
      if (turn == 0) static_cast<void>(wait(traced, traced.send(RankId{1}, Tag{1}, View(buffer)), Seconds{1}));
    }
    return list_by_step(trace_of_run.events());
  };
  EXPECT_EQ(list(false), list(true));
  EXPECT_EQ(list(false),
            "copy out          copy pinned[1024+64] -> pinned[0+64] stream 0\n"
            "copy out          copy pinned[1024+64] -> pinned[64+64] stream 0\n"
            "send              send pinned[0+4096] -> rank 1\n");
}

TEST_F(TracingRankTest, AListByStepMayBeginWithTimes) {
  static_cast<void>(wait(scripted, scripted.begin(5.0_us), Seconds{1}));
  rank.step("send ready");
  EXPECT_EQ(wait(rank, rank.send_control(RankId{1}, Tag{2}, ControlMessage(1)), Seconds{1}), Status::delivered);
  EXPECT_EQ(list_by_step(trace.events(), 2.0_us), "     3.000     4.000  send ready        send_control rank 1 4 B\n");
}

TEST_F(TracingRankTest, WhatNeverEndedHasNoEnd) {
  static_cast<void>(wait(scripted, scripted.begin(5.0_us), Seconds{1}));
  ControlMessage into;
  rank.step("receive");
  static_cast<void>(rank.recv_control(RankId{1}, Tag{2}, into));
  rank.abandon(rank.recv_control(RankId{1}, Tag{3}, into));
  EXPECT_EQ(list_by_step(trace.events(), 2.0_us),
            "     3.000         -  receive           recv_control rank 1  (never ended)\n"
            "     3.000         -  receive           recv_control rank 1  (never ended)\n");
}

TEST_F(TracingRankTest, CallsThatAreNoOperationsAreOneLineEach) {
  rank.step("set up");
  const Buffer buffer = rank.allocate(Memory::shared_pinned, 64_B, Locality::near);
  static_cast<void>(rank.export_memory(buffer));
  const Buffer opened = rank.open_memory(RankId{1}, IpcHandle{.size = 128});
  rank.close_memory(opened);
  rank.release(buffer);
  EXPECT_EQ(trace.order(),
            "rank 0 | set up | allocate shared pinned[0+64]\n"
            "rank 0 | set up | export memory shared pinned[0+64]\n"
            "rank 0 | set up | open memory of rank 1 device[0+128]\n"
            "rank 0 | set up | close memory device[0+128]\n"
            "rank 0 | set up | release shared pinned[0+64]\n");
}

TEST_F(TracingRankTest, PassesEverythingOnToTheRankItWraps) {
  EXPECT_EQ(rank.id(), scripted.id());
  EXPECT_EQ(rank.ranks(), scripted.ranks());
  EXPECT_EQ(rank.numa_domains(), scripted.numa_domains());
  EXPECT_EQ(&rank.path_to(RankId{1}), &scripted.path_to(RankId{1}));
  rank.step("words");
  EXPECT_THAT(scripted.steps(), testing::ElementsAre("words"));
  const Op op = rank.send(RankId{1}, Tag{1}, View(pinned));
  EXPECT_EQ(scripted.in_flight(), 1U);
  EXPECT_EQ(wait(rank, op, Seconds{1}), Status::delivered);
  EXPECT_EQ(rank.now(), scripted.now());
}

TEST_F(TracingRankTest, RanksMayShareOneTrace) {
  ScriptedRank other;
  TracingRank second(other, trace);
  rank.step("mine");
  second.step("theirs");
  static_cast<void>(rank.allocate(Memory::device, 1_B, Locality::near));
  static_cast<void>(second.allocate(Memory::device, 2_B, Locality::near));
  ASSERT_EQ(trace.events().size(), 2U);
  EXPECT_EQ(trace.events()[0].step, "mine");
  EXPECT_EQ(trace.events()[1].step, "theirs");
}

}  // namespace
}  // namespace twinlink
