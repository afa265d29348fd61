// What ranks record of themselves, gathered on one clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/measure/timeline.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/trace/recorded_rank.hpp"
#include "tests/explore/explorer/fake_world.hpp"
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

/// Two copies queued in one stream, one by the copy engine and one by a kernel; two sends that overlap, the first of
/// which is received; and a link that it takes.
TEST(Timeline, IsAFileForAViewer) {
  const auto report = [](int rank, std::string_view verb, double started, double ended) {
    OpReport made{.rank = RankId{rank}, .step = "do " + std::string(verb), .verb = verb, .size = 64_B};
    made.started = Seconds{started * 1e-6};
    made.ended = Seconds{ended * 1e-6};
    if (verb != "copy") made.peer = RankId{1 - rank};
    if (verb == "copy") made.stream = 7;
    return made;
  };
  std::vector<OpReport> reports{report(0, "copy", 1, 5), report(0, "copy", 2, 8), report(0, "send", 8, 10),
                                report(1, "receive", 0, 10), report(0, "send", 9, 12)};
  reports[0].engine = "copy engine";
  reports[0].cost = "small";
  reports[0].route = "gpu0 -> numa0";
  reports[0].latency = 0.5_us;
  reports[0].flow = 2.0_us;
  reports[1].engine = "kernel";
  reports[1].flow = 1.0_us;
  reports[2].overhead = 0.25_us;
  reports[2].completion = 0.75_us;
  reports[4].tag = Tag{5};
  const std::vector<LinkSlice> links{{.link = "ib", .operation = 2, .began = 8.5_us, .ended = 9.5_us}};
  std::vector<std::string> said;
  const auto text = [](const nlohmann::json& value) {
    return value.is_string() ? value.get<std::string>() : fmt::format("{:g}", value.get<double>());
  };
  const auto file = nlohmann::json::parse(timeline_text(reports, {"here", "there"}, links));
  for (const auto& event : file.at("traceEvents")) {
    const std::string kind = event.at("ph");
    if (kind == "M" && !event.at("args").contains("name")) continue;
    std::string line = kind + " " + text(event.at("pid"));
    if (event.contains("tid")) line += "/" + text(event.at("tid"));
    line += " " + text(kind == "M" ? event.at("args").at("name") : event.at("name"));
    if (kind != "M") line += " " + text(event.at("ts"));
    if (kind == "X") {
      line += " + " + text(event.at("dur"));
      for (const auto& [key, value] : event.at("args").items()) line += ", " + key + " " + text(value);
    }
    said.push_back(line);
  }
  EXPECT_THAT(
      said,
      ElementsAre("M 0 rank 0 on here", "M 0/0 sends", "M 0/1 sends (2)", "M 0/2 stream 7", "M 0/3 copy engine, small",
                  "M 0/4 kernel", "M 1 rank 1 on there", "M 1/0 receives", "M 2 links", "M 2/0 ib",
                  "X 1/0 do receive 0 + 10, bytes 64, peer 0, verb receive",
                  "X 0/2 do copy 1 + 4, bytes 64, cost entry small, flow us 2, latency us 0.5, route gpu0 -> numa0, "
                  "verb copy",
                  "X 0/3 do copy 3 + 2, bytes 64, cost entry small, flow us 2, latency us 0.5, route gpu0 -> numa0, "
                  "verb copy",
                  "X 0/4 do copy 5 + 3, bytes 64, flow us 1, verb copy",
                  "X 0/2 do copy 5 + 3, bytes 64, flow us 1, verb copy",
                  "X 0/0 do send 8 + 2, bytes 64, completion us 0.75, overhead us 0.25, peer 1, verb send",
                  "X 2/0 rank 0: do send 8.5 + 1, bytes 64, completion us 0.75, overhead us 0.25, peer 1, verb send",
                  "X 0/1 do send 9 + 3, bytes 64, peer 1, verb send", "s 0/0 message 8", "f 1/0 message 9.999"));
}

TEST(GatheredTimeline, KeepsTheFirstOperations) {
  const std::vector<OpReport> reports = reports_of_talk(1);
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[0].step, "copy out");
}

}  // namespace
}  // namespace twinlink::bench
