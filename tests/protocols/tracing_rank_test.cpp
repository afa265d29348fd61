#include "protocols/trace/tracing_rank.hpp"

#include <array>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "protocols/trace/op_report.hpp"
#include "protocols/trace/recorded_rank.hpp"
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

TEST_F(TracingRankTest, EveryEngineHasItsWords) {
  rank.copy(View(pinned), View(device), Stream{1}, Engine::dma);
  rank.copy(View(pinned), View(device), Stream{2}, Engine::kernel);
  rank.copy(View(pinned), View(device), Stream{3}, Engine::resident);
  rank.copy(View(pinned), View(device), Stream{4}, Engine::cpu);
  EXPECT_EQ(trace.order(),
            "rank 0 |  | copy device[0+4096] -> pinned[0+4096] stream 1\n"
            "rank 0 |  | copy device[0+4096] -> pinned[0+4096] stream 2 by kernel\n"
            "rank 0 |  | copy device[0+4096] -> pinned[0+4096] stream 3 by resident kernel\n"
            "rank 0 |  | copy device[0+4096] -> pinned[0+4096] stream 4 by CPU\n");
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

/// Messages of one pair and tag by their numbers since the first: those before the list count, whoever was ahead.
TEST(Exchanges, GoOnWhereEarlierOnesEnded) {
  const auto report = [](int rank, int peer, std::string_view verb, double started) {
    OpReport made{.rank = RankId{rank}, .verb = verb, .started = Seconds{started}};
    made.peer = RankId{peer};
    made.tag = Tag{5};
    return made;
  };
  // Sends of rank 0 and receives of rank 1, not in the order in which they began; others have another kind.
  const std::vector<OpReport> list{report(1, 0, "receive", 9),      report(0, 1, "send", 3),    report(0, 1, "send", 1),
                                   report(1, 0, "recv_control", 2), report(1, 0, "receive", 4), report(0, 1, "send", 7),
                                   report(0, 2, "send", 0),         report(1, 0, "send", 0)};
  for (int sent = 0; sent <= 3; ++sent) {
    for (int taken = 0; taken <= 3; ++taken) {
      EarlierExchanges earlier;
      for (int i = 0; i < sent; ++i) earlier.count(report(0, 1, "send", -1));
      for (int i = 0; i < taken; ++i) earlier.count(report(1, 0, "receive", -1));
      constexpr std::array<std::size_t, 3> kSent{2, 1, 5};
      constexpr std::array<std::size_t, 2> kTaken{4, 0};
      std::vector<std::pair<std::size_t, std::size_t>> expected;
      for (int s = 0; s < 3; ++s) {
        const int t = sent + s - taken;
        if (t >= 0 && t < 2)
          expected.emplace_back(kSent.at(static_cast<std::size_t>(s)), kTaken.at(static_cast<std::size_t>(t)));
      }
      std::vector<std::pair<std::size_t, std::size_t>> found;
      for (const auto& [from, to] : exchanges_of(list, earlier)) found.emplace_back(from, to);
      EXPECT_EQ(found, expected) << sent << " sent, " << taken << " taken";
    }
  }
}

/// Signals have tags below those of control messages.
TEST(RecordedRank, KeepsWhatEachOperationWas) {
  ScriptedRank scripted;
  RecordedRank rank(scripted, 9);
  const View own(scripted.allocate(Memory::device, 64_B, Locality::near));
  const View part = own.slice(Bytes{}, 24_B);
  const View theirs(rank.open_memory(RankId{1}, {.size = 64}));
  constexpr std::array kRows{Block{.to = 0_B, .from = 0_B, .length = 8_B}, Block{8_B, 16_B, 8_B}};
  std::uint64_t value = 0;
  ControlMessage into;
  rank.step("all of them");
  const std::array ops{rank.start_copy(own, own, {}, Stream{2}, Engine::dma),
                       rank.start_copy(own, own, kRows, kOnHost, Engine::cpu),
                       rank.put(theirs, part, Stream{3}, Engine::dma, Signal{Tag{2}, 1}),
                       rank.put(own, part, Stream{3}, Engine::dma, std::nullopt),
                       rank.await_signal(RankId{1}, Tag{2}, value),
                       rank.send(RankId{1}, Tag{2}, part),
                       rank.receive(RankId{1}, Tag{2}, own),
                       rank.send_control(RankId{1}, Tag{2}, ControlMessage(1)),
                       rank.recv_control(RankId{1}, Tag{2}, into),
                       rank.compute(1.0_us, Stream{3})};
  for (const Op op : ops) EXPECT_EQ(wait(rank, op, Seconds{1}), Status::delivered);
  std::vector<std::string> kept;
  for (const OpReport& report : rank.reports()) {
    EXPECT_EQ(report.step, "all of them");
    const std::string stream = report.stream ? ", stream " + std::to_string(*report.stream) : "";
    const std::string peer = report.peer ? ", rank " + std::to_string(report.peer->value) : "";
    kept.push_back(std::string(report.verb) + " " + std::to_string(report.size.count()) + stream + peer + ", tag " +
                   std::to_string(report.tag.value));
  }
  EXPECT_THAT(kept, testing::ElementsAre(
                        "copy 64, stream 2, tag 0", "copy 16, tag 0", "put 24, stream 3, rank 1, tag -3",
                        "put 24, stream 3, tag 0", "await signal 0, rank 1, tag -3", "send 24, rank 1, tag 2",
                        "receive 64, rank 1, tag 2", "send_control 4, rank 1, tag 2", "recv_control 0, rank 1, tag 2"));
  EXPECT_EQ(rank.left_out(), 1U) << "the kernel";
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
