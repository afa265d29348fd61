// What ranks record of themselves, gathered on one clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "protocols/bench/measure/timeline.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/trace/recorded_rank.hpp"
#include "tests/support/fake_rank.hpp"
#include "tests/support/finish.hpp"

namespace twinlink::bench {
namespace {

using ::testing::ElementsAre;

constexpr Patience kPatience{Seconds{5}, Seconds{5}};

/// Rank 0 copies out and sends; rank 1 receives and answers.
void talk(Rank& rank) {
  const Buffer host = rank.allocate(Memory::pinned, 64_B, Locality::near);
  const Buffer device = rank.allocate(Memory::device, 64_B, Locality::near);
  const Seconds soon = rank.now() + Seconds{1};
  ControlMessage answer;
  if (rank.id() == RankId{0}) {
    rank.step("copy out");
    finish(rank, rank.copy(View(host), View(device), Stream{1}, Engine::dma), soon);
    rank.step("send");
    finish(rank, rank.send(RankId{1}, tags::kData, View(host)), soon);
    finish(rank, rank.recv_control(RankId{1}, tags::kDelivered, answer), soon);
  } else {
    rank.step("take it");
    finish(rank, rank.receive(RankId{0}, tags::kData, View(host)), soon);
    rank.step("say so");
    finish(rank, rank.send_control(RankId{0}, tags::kDelivered, answer), soon);
  }
  // What nobody waits for any more is not kept.
  rank.abandon(rank.recv_control(RankId{1 - rank.id().value}, tags::kReady, answer));
  rank.release(device);
  rank.release(host);
}

/// Of both ranks, where each keeps `most`.
std::vector<OpReport> reports_of_talk(std::size_t most) {
  std::vector<OpReport> all;
  run_fake_world({}, [&](MeasuredRank& rank) {
    RecordedRank recorded(rank, most);
    talk(recorded);
    GatheredReports gathered = gather_reports(rank, recorded, kPatience);
    if (rank.id() != RankId{0}) return;
    all = std::move(gathered.reports);
    EXPECT_EQ(all.size() + gathered.left_out, 5U) << "three of rank 0, two of rank 1";
  });
  return all;
}

TEST(GatheredTimeline, HasWhatEachRankDid) {
  const std::vector<OpReport> reports = reports_of_talk(100);
  std::vector<std::string> said;
  for (const OpReport& report : reports) {
    EXPECT_LE(report.started, report.ended) << report.step;
    EXPECT_GE(report.started, Seconds{});
    said.push_back(std::to_string(report.rank.value) + " " + report.step + ": " + std::string(report.verb) +
                   (report.stream ? " on stream " + std::to_string(*report.stream) : "") + " of " +
                   std::to_string(report.size.count()));
  }
  EXPECT_THAT(said, ElementsAre("0 copy out: copy on stream 1 of 64", "0 send: send of 64", "0 send: recv_control of 0",
                                "1 take it: receive of 64", "1 say so: send_control of 0"));
  const auto exchanges = exchanges_of(reports);
  ASSERT_EQ(exchanges.size(), 2U) << "the message and the answer";
  for (const auto& [sent, taken] : exchanges) EXPECT_NE(reports[sent].rank, reports[taken].rank);
}

TEST(GatheredTimeline, IsAFileForAViewer) {
  const auto events =
      nlohmann::json::parse(timeline_text(reports_of_talk(100), {"here", "there"}, {})).at("traceEvents");
  const auto count = [&](const char* kind) {
    return std::ranges::count_if(events, [&](const auto& event) { return event.at("ph") == kind; });
  };
  EXPECT_EQ(count("X"), 5);
  EXPECT_EQ(count("s"), 2);
  EXPECT_EQ(count("f"), 2);
}

TEST(GatheredTimeline, KeepsTheFirstOperations) {
  const std::vector<OpReport> reports = reports_of_talk(1);
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[0].step, "copy out");
}

}  // namespace
}  // namespace twinlink::bench
