#include "model/study/watch/timeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/engine/flows/machine.hpp"
#include "protocols/core/tags.hpp"

namespace twinlink::model {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

const std::vector<Place> kTwoPlaces{{0, 0, {}}, {1, 0, {}}};

Seconds us(double time) { return Seconds{time * 1e-6}; }

OpReport report(int rank, std::string step, std::string_view verb, double started, double ended) {
  return {.rank = RankId{rank}, .step = std::move(step), .verb = verb, .started = us(started), .ended = us(ended)};
}

OpReport copy(int stream, double started, double ended, double flow) {
  OpReport all = report(0, "copy out", "copy", started, ended);
  all.cost = "device-to-pinned";
  all.stream = stream;
  all.engine = "copy engine";
  all.flow = us(flow);
  return all;
}

OpReport message(int rank, std::string_view verb, int peer, Tag tag, double started, double ended) {
  OpReport all = report(rank, std::string(verb), verb, started, ended);
  all.peer = RankId{peer};
  all.tag = tag;
  return all;
}

json events_of(const std::vector<OpReport>& reports) {
  Timeline timeline;
  SimulationOptions options;
  timeline.watch(options);
  for (const OpReport& each : reports) options.observer(each);
  return json::parse(timeline.text(kTwoPlaces)).at("traceEvents");
}

/// "track: name from to", of each slice.
std::vector<std::string> slices_of(const json& events) {
  std::map<std::pair<int, int>, std::string> tracks;
  std::vector<std::string> all;
  for (const json& event : events) {
    if (event.at("name") == "thread_name") {
      tracks[{event.at("pid"), event.at("tid")}] = event.at("args").at("name");
    } else if (event.at("ph") == "X") {
      const double from = event.at("ts");
      const double to = from + event.at("dur").get<double>();
      all.push_back(tracks.at({event.at("pid"), event.at("tid")}) + ": " + event.at("name").get<std::string>() + " " +
                    std::to_string(std::lround(from)) + " " + std::to_string(std::lround(to)));
    }
  }
  return all;
}

TEST(Timeline, ACopyHasItsTurnInItsStreamAndThenMovesBytes) {
  EXPECT_THAT(slices_of(events_of({copy(0, 0, 10, 6), copy(0, 1, 18, 8)})),
              UnorderedElementsAre("stream 0: copy out 0 10", "copy engine, device-to-pinned: copy out 4 10",
                                   "stream 0: copy out 10 18", "copy engine, device-to-pinned: copy out 10 18"));
}

TEST(Timeline, WhatOverlapsHasAnotherTrackOfTheSameName) {
  EXPECT_THAT(slices_of(events_of({message(0, "send", 1, tags::kData, 0, 10), message(0, "send", 1, tags::kData, 5, 20),
                                   message(0, "send", 1, tags::kData, 10, 12)})),
              UnorderedElementsAre("sends: send 0 10", "sends (2): send 5 20", "sends: send 10 12"));
}

TEST(Timeline, ArrowsLeadFromEachSendToItsReceiveInOrder) {
  const json events =
      events_of({message(0, "send", 1, tags::kData, 4, 9), message(0, "send", 1, tags::kData, 2, 8),
                 message(1, "receive", 0, tags::kData, 0, 8), message(1, "receive", 0, tags::kData, 1, 9),
                 message(1, "receive", 0, tags::kReady, 0, 3)});
  std::map<int, std::pair<double, double>> arrows;
  for (const json& event : events) {
    if (event.at("ph") == "s") arrows[event.at("id")].first = event.at("ts");
    if (event.at("ph") == "f") arrows[event.at("id")].second = event.at("ts");
  }
  ASSERT_EQ(arrows.size(), 2U);  // the third receive has no send
  EXPECT_NEAR(arrows[1].first, 2, 1e-6);
  EXPECT_NEAR(arrows[1].second, 8, 0.01);
  EXPECT_NEAR(arrows[2].first, 4, 1e-6);
  EXPECT_NEAR(arrows[2].second, 9, 0.01);
}

TEST(Timeline, ASignalLeadsFromItsPut) {
  OpReport put = report(0, "put", "put", 1, 5);
  put.stream = 0;
  put.peer = RankId{1};
  put.tag = Tag{7};
  const json events = events_of({put, message(1, "await signal", 0, Tag{7}, 0, 6), copy(1, 0, 2, 1)});
  std::vector<std::string> ends;
  for (const json& event : events) {
    if (event.at("ph") == "s" || event.at("ph") == "f") ends.push_back(event.at("ph"));
  }
  EXPECT_THAT(ends, ElementsAre("s", "f"));
}

TEST(Timeline, TheProgramsOwnWordsAreNotTheProtocols) {
  OpReport own = message(0, "send_control", 1, tags::kFirstFree, 0, 1);
  own.step = "copy out";
  EXPECT_THAT(slices_of(events_of({own})), ElementsAre("control messages: program: send_control 0 1"));
}

/// Who else listens is told first; links are those that somebody may see, at the last rank's end.
TEST(Timeline, LinksShowWhatCrossedThem) {
  Timeline timeline;
  SimulationOptions options;
  std::vector<std::string> told;
  options.observer = [&](const OpReport& each) { told.push_back(each.step); };
  options.on_flow = [&](const FlowRecord& flow) { told.push_back(std::to_string(flow.number)); };
  timeline.watch(options);
  const SharedLink wire{};
  const SharedLink bus{};
  const SharedLink unknown{};
  int reads = 0;
  *options.link_use = [&] {
    ++reads;
    return std::vector<LinkUse>{{&wire, "wire", Rate{1}, 1}, {&bus, "bus", Rate{1}, 1}};
  };
  options.on_flow({.number = 3, .links = {&bus, &unknown}, .began = us(4), .ended = us(6)});
  options.on_flow({.number = 4, .links = {&bus}, .began = us(4), .ended = us(6)});  // of nobody
  OpReport sent = message(1, "send", 0, tags::kData, 0, 12);
  sent.flows = {3, 7};
  options.observer(message(0, "send", 1, tags::kData, 1, 2));
  options.observer(sent);
  options.on_flow({.number = 7, .links = {&wire, &bus}, .began = us(6), .ended = us(12)});
  timeline.rank_ends(2);
  EXPECT_EQ(reads, 0);
  timeline.rank_ends(2);
  EXPECT_EQ(reads, 1);
  EXPECT_THAT(told, ElementsAre("3", "4", "send", "send", "7"));
  EXPECT_THAT(slices_of(json::parse(timeline.text(kTwoPlaces)).at("traceEvents")),
              UnorderedElementsAre("sends: send 1 2", "sends: send 0 12", "bus: rank 1: send 4 6",
                                   "wire: rank 1: send 6 12", "bus: rank 1: send 6 12"));
}

TEST(Timeline, IsCutWhereAViewerWouldGetSlow) {
  Timeline timeline;
  SimulationOptions options;
  timeline.watch(options);
  const OpReport each = message(0, "send", 1, tags::kData, 0, 1);
  for (std::size_t i = 0; i < bench::kMostInTimeline + 3; ++i) options.observer(each);
  EXPECT_EQ(timeline.left_out(), 3U);
}

}  // namespace
}  // namespace twinlink::model
