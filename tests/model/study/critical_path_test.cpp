// Critical paths of a few operations, written down by hand.
#include "model/study/watch/critical_path.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

namespace twinlink::model {
namespace {

using ::testing::ElementsAre;

Seconds at_us(double time) { return Seconds{time * 1e-6}; }

OpReport operation(int rank, std::string step, std::string_view verb, double started, double ended) {
  OpReport report{.rank = RankId{rank}, .step = std::move(step), .verb = verb};
  report.started = at_us(started);
  report.ready = at_us(started);
  report.ended = at_us(ended);
  report.woke = true;
  return report;
}

OpReport between(OpReport report, int peer) {
  report.peer = RankId{peer};
  report.tag = Tag{1};
  return report;
}

OpReport on_stream(OpReport report, double flow) {
  report.stream = 0;
  report.flow = at_us(flow);
  return report;
}

/// "RANK STEP FROM TO", of each part.
std::vector<std::string> path_of(const std::vector<OpReport>& reports, int last, double end,
                                 const std::vector<BlockStep>& blocks = {}) {
  const auto link_of = [](const std::vector<std::uint64_t>& flows) {
    return flows.empty() ? std::string() : fmt::format("link {}", flows.back());
  };
  std::vector<std::string> all;
  for (const PathPart& part : critical_path(reports, blocks, {}, RankId{last}, Seconds{}, at_us(end), link_of)) {
    all.push_back(fmt::format("{} {} {:.0f} {:.0f}", part.rank.value, part.what, part.began.microseconds(),
                              part.ended.microseconds()) +
                  (part.link.empty() ? "" : ", " + part.link));
  }
  return all;
}

TEST(CriticalPath, GoesFromTheReceiverToTheSender) {
  OpReport sent = between(operation(0, "send it", "send", 4, 10), 1);
  sent.flows = {7};
  sent.flow = at_us(5);
  EXPECT_THAT(path_of({operation(0, "copy out", "copy", 1, 4), sent,
                       between(operation(1, "take it", "receive", 0, 10), 0), operation(1, "copy in", "copy", 11, 15)},
                      1, 15),
              ElementsAre("0 CPU 0 1", "0 copy out 1 4", "0 send it 4 5", "0 send it 5 10, link 7", "1 CPU 10 11",
                          "1 copy in 11 15"));
}

TEST(CriticalPath, StaysWithAReceiverThatCameLate) {
  OpReport sent = between(operation(0, "send it", "send", 0, 10), 1);
  OpReport taken = between(operation(1, "take it", "receive", 6, 10), 0);
  const OpReport busy = operation(1, "be busy", "copy", 0, 6);
  EXPECT_THAT(path_of({sent, busy, taken}, 1, 10), ElementsAre("0 send it 0 10"));
  sent.awaited_receiver = true;
  EXPECT_THAT(path_of({sent, busy, taken}, 1, 10), ElementsAre("1 be busy 0 6", "0 send it 6 10"));
  // What had come before anybody asked for it, nobody waited for.
  sent.awaited_receiver = false;
  sent.ended = at_us(3);
  taken.ended = at_us(6);
  EXPECT_THAT(path_of({sent, busy, taken}, 1, 6), ElementsAre("1 be busy 0 6"));
}

TEST(CriticalPath, GoesThroughAStream) {
  const OpReport first = on_stream(operation(0, "first", "copy", 1, 5), 3);
  OpReport second = on_stream(operation(0, "second", "copy", 2, 9), 4);
  second.ready = at_us(4);
  EXPECT_THAT(path_of({first, second}, 0, 9), ElementsAre("0 CPU 0 1", "0 first 1 5", "0 second 5 9"));
  second.ready = at_us(5);  // its latency hid nothing
  EXPECT_THAT(path_of({first, second}, 0, 9), ElementsAre("0 CPU 0 2", "0 second 2 9"));
}

TEST(CriticalPath, GoesThroughControlMessagesAndSignals) {
  const OpReport told = between(operation(0, "tell", "send_control", 2, 2), 1);
  const OpReport heard = between(operation(1, "hear", "recv_control", 0, 5), 0);
  EXPECT_THAT(path_of({told, heard}, 1, 5), ElementsAre("0 CPU 0 2", "0 tell 2 5"));
  const OpReport put = between(on_stream(operation(0, "put", "put", 1, 6), 4), 1);
  const OpReport seen = between(operation(1, "see", "await signal", 0, 8), 0);
  EXPECT_THAT(path_of({put, seen}, 1, 8), ElementsAre("0 CPU 0 1", "0 put 1 6", "1 see 6 8"));
}

/// Three sends, one behind the other, whose latencies overlap; nobody waits for the first two.
TEST(CriticalPath, LeavesOutWhatNobodyWaitedFor) {
  std::vector<OpReport> sends;
  for (int i = 0; i < 3; ++i) {
    OpReport send = between(operation(0, "send", "send", i, i + 4), 1);
    send.ready = send.ended;
    send.woke = i == 2;
    sends.push_back(std::move(send));
  }
  EXPECT_THAT(path_of(sends, 0, 7), ElementsAre("0 CPU 0 2", "0 send 2 6", "0 CPU 6 7"));
}

/// Of two messages to rank 1 the first was sent before the round, and taken in it.
TEST(CriticalPath, KnowsWhichMessageWasSentBeforeIt) {
  EarlierExchanges earlier;
  earlier.count(between(operation(0, "tell", "send_control", -3, -2), 1));
  const std::vector<OpReport> reports{between(operation(1, "hear", "recv_control", 0, 1), 0),
                                      between(operation(0, "tell again", "send_control", 2, 2), 1),
                                      between(operation(1, "hear again", "recv_control", 1, 4), 0)};
  const auto exchanges = exchanges_of(reports, earlier);
  ASSERT_EQ(exchanges.size(), 1U);
  EXPECT_EQ(reports[exchanges[0].sent].step, "tell again");
  EXPECT_EQ(reports[exchanges[0].taken].step, "hear again");
  EXPECT_EQ(exchanges_of(reports).at(0).taken, 0U) << "without it the first one";
}

BlockStep block_step(std::uint64_t number, std::uint64_t before, int rank, std::string_view what, double began,
                     double ended) {
  return {.number = number,
          .before = before,
          .rank = RankId{rank},
          .what = what,
          .began = at_us(began),
          .ended = at_us(ended)};
}

OpReport launched(int rank, std::uint64_t number, double started, double flow, double ended) {
  OpReport report = on_stream(operation(rank, "launch", "launch", started, ended), flow);
  report.launch = number;
  return report;
}

/// Rank 1's block waited for rank 0's store, which waited for nothing but its launch.
TEST(CriticalPath, GoesThroughTheBlocksOfAllRanks) {
  const OpReport first = launched(0, 1, 0, 6, 8);
  OpReport second = launched(1, 2, 1, 9, 12);
  second.blocks = 5;
  BlockStep stored = block_step(3, 0, 0, "slot", 2, 6);
  stored.launch = 1;
  stored.flows = {7};
  const std::vector<BlockStep> blocks{stored, block_step(4, 3, 0, "hop", 6, 8), block_step(5, 4, 1, "slot", 8, 12)};
  EXPECT_THAT(path_of({first, second}, 1, 12, blocks),
              ElementsAre("0 launch 0 2", "0 slot of channel 0 2 6, link 7", "0 hop of channel 0 6 8",
                          "1 slot of channel 0 8 12"));
}

/// Rank 0's block filled a slot, its CPU sent that, and rank 1's CPU told the block of rank 1.
TEST(CriticalPath, GoesThroughTheCpusThatCarrySlots) {
  const OpReport first = launched(0, 1, 0, 1, 3);
  BlockStep stored = block_step(3, 0, 0, "slot", 2, 3);
  stored.launch = 1;
  OpReport slot = operation(0, "proxy: await slot", "await slot", 0, 4);
  slot.blocks = 4;
  const OpReport sent = between(operation(0, "proxy: send", "send", 5, 9), 1);
  const OpReport taken = between(operation(1, "proxy: receive", "receive", 0, 9), 0);
  OpReport second = launched(1, 2, 0, 10, 12);
  second.blocks = 6;
  const std::vector<BlockStep> blocks{stored, block_step(4, 3, 0, "hop to the proxy", 3, 4),
                                      block_step(5, 0, 1, "hop", 10, 11), block_step(6, 5, 1, "slot", 11, 12)};
  EXPECT_THAT(path_of({first, slot, sent, taken, second}, 1, 12, blocks),
              ElementsAre("0 launch 0 2", "0 slot of channel 0 2 3", "0 hop to the proxy of channel 0 3 4", "0 CPU 4 5",
                          "0 proxy: send 5 9", "1 CPU 9 10", "1 hop from the proxy of channel 0 10 11",
                          "1 slot of channel 0 11 12"));
}

TEST(CriticalPath, OfNothingIsTheRanksOwnWork) { EXPECT_THAT(path_of({}, 3, 5), ElementsAre("3 CPU 0 5")); }

}  // namespace
}  // namespace twinlink::model
