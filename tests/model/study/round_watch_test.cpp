// What crosses which link, and what a round waits for, on a machine of round numbers.
#include "model/study/watch/round_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <sstream>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "model/engine/simulation.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/registry.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr Bytes kMeasured = 4_MiB;

struct Seen {
  std::vector<LinkShare> links{};
  std::vector<PathPart> path{};
  double time_us = 0;
  std::string text{};
};

/// Of one iteration of a workload's first algorithm.
Seen watch_iteration(const char* workload, const char* protocol, const std::vector<Place>& places) {
  const Protocol& used = find_protocol(protocol);
  RoundWatch watch(static_cast<int>(places.size()));
  const workloads::Workload& taken = workloads::find_workload(workload);
  bench::WorkloadPlan plan{
      .work = bench::Scheduled{.workload = &taken, .algorithms = {&taken.algorithms.front()}, .sizes = {kMeasured}}};
  plan.ways = {&used, &used, used.defaults(), used.defaults()};
  plan.iterations = 2;
  plan.on_round = [&watch](bool begins, RankId rank, Seconds now) { watch.round(begins, rank, now); };
  SimulationOptions options;
  watch.watch(options, {.links = true, .path = true});
  Seen seen;
  plan.on_point = [&](const bench::WorkloadPoint& point) {
    const RoundFindings found = watch.findings();
    seen = {found.links, found.path, point.time_us.median};
    std::ostringstream text;
    print_path(found, text);
    seen.text = text.str();
  };
  simulate(
      sample_platform(), places, [&](MeasuredRank& rank) { measure_workload(rank, plan); }, options);
  return seen;
}

const LinkShare& find(const std::vector<LinkShare>& links, std::string_view name) {
  const auto found = std::ranges::find(links, name, &LinkShare::name);
  EXPECT_NE(found, links.end()) << name;
  static const LinkShare nothing;
  return found != links.end() ? *found : nothing;
}

Seconds time_held_up_by(const std::vector<PathPart>& path, std::string_view link) {
  return std::accumulate(path.begin(), path.end(), Seconds{}, [&](Seconds sum, const PathPart& part) {
    return part.link == link ? sum + part.time() : sum;
  });
}

/// Without a gap from the first rank's start to the last one's end.
void expect_whole(const Seen& seen) {
  ASSERT_FALSE(seen.path.empty());
  for (std::size_t i = 1; i < seen.path.size(); ++i) {
    EXPECT_EQ(seen.path[i].began.value(), seen.path[i - 1].ended.value());
  }
  const double all = (seen.path.back().ended - seen.path.front().began).microseconds();
  EXPECT_NEAR(all, seen.time_us, 0.01 * seen.time_us) << "but for how far apart ranks begin";
}

/// Progress counts the messages of a row's rounds: as many as were planned are sent, and none of tries and of learning.
TEST(RowMessages, AreAsManyAsWerePlanned) {
  const Protocol& used = find_protocol("gpudirect-v2");
  bench::WorkloadPlan plan{
      .work = bench::Scheduled{.workload = &workloads::find_workload("all-reduce"), .sizes = {64_KiB, kMeasured}}};
  plan.ways = {&used, &used, used.defaults(), used.defaults()};
  plan.iterations = 3;
  plan.warmup = 2;
  std::size_t planned = 0;
  std::size_t sent = 0;
  plan.on_messages = [&](std::size_t more, std::size_t now) {
    planned += more;
    sent += now;
  };
  std::vector<std::size_t> rows;
  plan.on_point = [&](const bench::WorkloadPoint&) {
    EXPECT_EQ(planned, sent);
    rows.push_back(std::exchange(planned, 0));
    sent = 0;
  };
  const std::vector<Place> pair{{0, 1, {}}, {0, 2, {}}};
  simulate(sample_platform(), pair, [&](MeasuredRank& rank) { measure_workload(rank, plan); });
  // Of two ranks each sends in two steps, but what is small at once; in three rounds, two before them, two verified.
  EXPECT_THAT(rows, ::testing::ElementsAre(2U * 1 * 7, 2U * 2 * 7));
}

TEST(LinkLevels, AddUpWhatIsAlike) {
  const std::vector<LinkShare> links{{"node 0 gpu0-pcie forward", 100, 0.5, 3.0_us},
                                     {"node 12 gpu7-pcie forward", 300, 0.75, 1.0_us},
                                     {"node 0 gpu0-pcie backward", 50, 0.1, {}},
                                     {"leaf 3 up 2", 60, 0.9, {}},
                                     {"leaf 12 up 0", 20, 0.1, {}}};
  const std::vector<LinkLevel> levels = levels_of(links);
  ASSERT_EQ(levels.size(), 3U);
  EXPECT_EQ(levels[0].name, "leaf * up *");
  EXPECT_EQ(levels[0].links, 2U);
  EXPECT_DOUBLE_EQ(levels[0].bytes, 80);
  EXPECT_DOUBLE_EQ(levels[0].busiest, 0.9);
  EXPECT_DOUBLE_EQ(levels[0].utilisation, 80 / (60 / 0.9 + 20 / 0.1));
  EXPECT_EQ(levels[1].name, "gpu*-pcie forward");
  EXPECT_DOUBLE_EQ(levels[1].utilisation, 400.0 / 600);
  EXPECT_EQ(levels[1].bottleneck, 3.0_us);
  EXPECT_EQ(levels[2].name, "gpu*-pcie backward");
}

TEST(RoundWatch, CountsOneIteration) {
  const Seen seen = watch_iteration("shift", "host", {parse_place("0/0"), parse_place("1/0")});
  const Seconds wire = kMeasured / kWire;
  for (const char* name : {"node 0 nic0 out", "node 0 nic0 in", "node 1 nic0 out", "node 1 nic0 in"}) {
    const LinkShare& link = find(seen.links, name);
    EXPECT_NEAR(link.bytes, static_cast<double>(kMeasured.count()), 1) << name;
    EXPECT_NEAR(link.utilisation * ((kHost + kLatency + wire).value() / wire.value()), 1, 1e-2) << name;
  }
  EXPECT_NEAR(seen.links.front().utilisation, find(seen.links, "node 0 nic0 out").utilisation, 1e-6)
      << "the limit comes first";
  expect_whole(seen);
}

TEST(RoundWatch, SeesThatTheReceiversWireLimitsAnIncast) {
  const Seen seen = watch_iteration("incast", "host", {parse_place("0/0"), parse_place("1/0"), parse_place("2/0")});
  const std::vector<LinkShare>& links = seen.links;
  EXPECT_EQ(links.front().name, "node 0 nic0 in");
  EXPECT_NEAR(links.front().bytes, 2 * static_cast<double>(kMeasured.count()), 1);
  EXPECT_GT(links.front().utilisation, 0.98);
  EXPECT_NEAR(find(links, "node 1 nic0 out").utilisation, links.front().utilisation / 2, 1e-6);
  // Both messages share it from the first byte to the last; each sender's own wire has twice the room.
  const Seconds both = Bytes{2 * kMeasured.count()} / kWire;
  EXPECT_NEAR(links.front().bottleneck.value() / both.value(), 1, 1e-3);
  EXPECT_EQ(find(links, "node 1 nic0 out").bottleneck, Seconds{});
  expect_whole(seen);
  EXPECT_NEAR(time_held_up_by(seen.path, "node 0 nic0 in").value() / both.value(), 1, 1e-2);
  double bytes_us = 0;
  for (const auto& part : to_json(seen.path)) {
    if (part.value("phase", "") == "bytes") bytes_us += part["time_us"].get<double>();
  }
  EXPECT_NEAR(bytes_us / both.microseconds(), 1, 1e-2) << "and a file says which part the bytes take";
}

/// Each of three ranks passes two parts of the buffer on, each after what comes from the rank before it.
TEST(RoundWatch, ThePathOfARingGoesThroughAllItsSteps) {
  const Seen seen =
      watch_iteration("all-gather", "staging", {parse_place("0/0"), parse_place("1/0"), parse_place("2/0")});
  expect_whole(seen);
  const auto messages = std::ranges::count_if(seen.path, [](const PathPart& part) {
    return part.verb == "send" && part.phase == PathPart::Phase::bytes && part.size * 3 >= kMeasured - 3_B;
  });
  EXPECT_EQ(messages, 2) << "a ring of three has two steps, one after the other";
  const auto copies = std::ranges::count_if(seen.path, [](const PathPart& part) {
    return part.engine == "copy engine" && part.phase == PathPart::Phase::bytes;
  });
  EXPECT_EQ(copies, 4) << "out and in, at each step";
  EXPECT_THAT(seen.text, ::testing::HasSubstr("by copy engine"));
}

}  // namespace
}  // namespace twinlink::model
