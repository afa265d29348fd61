// What commands say of one message, and what their pages show, word for word, of findings made by hand.
#include <map>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/cli/explanation.hpp"
#include "model/cli/pages.hpp"
#include "protocols/registry.hpp"
#include "tests/platforms/sample_platform.hpp"
#include "tests/support/drawn.hpp"

namespace twinlink::model {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Seconds us(double microseconds) { return Seconds{microseconds * 1e-6}; }

OpReport operation(int rank, const std::string& step, const std::string& cost, double began, double ended) {
  return {.rank = RankId{rank},
          .step = step,
          .verb = "copy",
          .size = 1_KiB,
          .cost = cost,
          .route = "gpu0 -> hub0",
          .started = us(began),
          .overhead = us(1),
          .latency = us(2),
          .flow = us(3),
          .ended = us(ended),
          .completion = us(4)};
}

/// Both ranks at work at once, which pack and unpack by several copies; some by another engine.
std::vector<OpReport> reports() {
  return {operation(0, "pack", "kernel", 0, 5),     operation(1, "pack", "kernel", 1, 6),
          operation(0, "pack", "kernel", 5, 10),    operation(0, "pack", "copies", 10, 15),
          operation(0, "send", "wire", 15, 20),     operation(0, "send", "wire", 20, 25),
          operation(1, "unpack", "kernel", 25, 30), operation(0, "wait", "", 25, 30),
          operation(1, "unpack", "kernel", 30, 36), operation(1, "unpack", "kernel", 36, 43)};
}

/// The pair of ranks and step by step what it says.
std::vector<std::string> in_short(const std::vector<ExplainedStep>& steps) {
  std::vector<std::string> all;
  for (const auto& [r, operations] : steps) {
    std::ostringstream text;
    text << r.rank.value << ' ' << r.step << ' ' << r.cost << ' ' << operations << ": " << r.size.count() << " in "
         << r.started.microseconds() << ".." << r.ended.microseconds() << " = " << r.overhead.microseconds() << " + "
         << r.latency.microseconds() << " + " << r.flow.microseconds() << " + " << r.completion.microseconds();
    all.push_back(text.str());
  }
  return all;
}

/// Those of one rank that follow each other and are alike; what the other rank does meanwhile is no matter.
TEST(StepsOf, AddUpTheCopiesOfOneMessage) {
  EXPECT_THAT(
      in_short(steps_of(reports())),
      ElementsAre("0 pack kernel 2: 2048 in 0..10 = 2 + 4 + 6 + 8", "1 pack kernel 1: 1024 in 1..6 = 1 + 2 + 3 + 4",
                  "0 pack copies 1: 1024 in 10..15 = 1 + 2 + 3 + 4", "0 send wire 1: 1024 in 15..20 = 1 + 2 + 3 + 4",
                  "0 send wire 1: 1024 in 20..25 = 1 + 2 + 3 + 4", "1 unpack kernel 3: 3072 in 25..43 = 3 + 6 + 9 + 12",
                  "0 wait  1: 1024 in 25..30 = 1 + 2 + 3 + 4"));
}

Explanation explanation() {
  Explanation all{.platform = "sample",
                  .places = {{0, 1, "A"}, {1, 2, "B"}},
                  .size = 1_MiB,
                  .path = {.same_node = false,
                           .peer_access = Answer::refused("far"),
                           .device_mapping = Answer::refused("farther"),
                           .device_memory_on_network = Answer::granted()},
                  .verdicts = {{"host", "not chosen"}, {"staging", "chosen"}},
                  .libraries = {{.library = "lib", .protocol = "staging", .reason = "far", .rules = "one\ntwo"}},
                  .protocol = "staging",
                  .settings = {.chunk = 64_KiB, .depth = 2},
                  .path_taken = "through the hosts",
                  .steps = steps_of(reports()),
                  .delivered = us(43),
                  .half_round_trip = us(43.04),
                  .links = {{"idle", 9, 0.25, us(0)}, {"busy", 9, 0.501, us(12)}, {"as busy", 9, 0.25, us(12)}}};
  all.steps[0].report.route.clear();
  all.steps.pop_back();
  return all;
}

template <class... Prints>
std::string printed(const Explanation& all, Prints... prints) {
  std::ostringstream out;
  (prints(all, out), ...);
  return out.str();
}

TEST(Explanation, SaysAllInWords) {
  EXPECT_EQ(printed(explanation(), print_choice, print_steps), R"(A message of 1M from 0/1 (A) to 1/2 (B) on sample

Path
  same node                  no
  peer access                no: far
  memory can be mapped       no: farther
  network reaches the GPUs   yes

Protocols (chosen is the first that needs no fallback; --compare compares their speeds)
  host           not chosen
  staging        chosen

A CUDA-aware library chooses for 1M
  lib           staging: far
                by the first of these rules that fits
                  one
                  two

Steps of staging (through the hosts), chunk 64K, depth 2, times in microseconds
  rank     start       end  step            = overhead   + latency  +    flow + completion  size    cost entry
     0     0.000    10.000  pack                 2.000      4.000      6.000        8.000  2K      kernel, 2 times
     1     1.000     6.000  pack                 1.000      2.000      3.000        4.000  1K      kernel
                            by gpu0 -> hub0
     0    10.000    15.000  pack                 1.000      2.000      3.000        4.000  1K      copies
                            by gpu0 -> hub0
     0    15.000    20.000  send                 1.000      2.000      3.000        4.000  1K      wire
                            by gpu0 -> hub0
     0    20.000    25.000  send                 1.000      2.000      3.000        4.000  1K      wire
                            by gpu0 -> hub0
     1    25.000    43.000  unpack               3.000      6.000      9.000       12.000  3K      kernel, 3 times
                            by gpu0 -> hub0

Delivered after 43.0 us
Held up by busy for 12.0 us, which was at 50.1 % of its rate
)");
}

TEST(Explanation, SaysMoreOfAMessageThatIsUnusual) {
  Explanation all = explanation();
  all.path.same_node = true;
  all.path.peer_access = Answer::granted();
  all.path.hypothetical = "nobody has it";
  all.within_node = "through shared memory";
  all.packing.layout = parse_layout("vector:64,128");
  all.half_round_trip = us(43.1);
  all.links.clear();
  const std::string choice = printed(all, print_choice);
  const std::size_t path = choice.find("\nPath");
  EXPECT_EQ(choice.substr(path, choice.find("\nProtocols") - path), R"(
Path
  same node                  yes
  peer access                yes
  memory can be mapped       no: farther
  network reaches the GPUs   yes
  but hypothetically only    nobody has it
  messages within the node   through shared memory
  layout                     vector:64,128, 2097088 of memory
)");
  const std::string text = printed(all, print_steps);
  EXPECT_EQ(
      text.substr(text.find("\nDelivered")),
      "\nDelivered after 43.0 us\nHeld up by no link: its own engines, blocks and CPUs set the pace\n"
      "Half of a round trip, as 'run' measures it, takes 43.1 us: the way back is another one, or a receiver gets "
      "ready only after its own message\n");
}

TEST(Explanation, IsJson) {
  Explanation all = explanation();
  all.steps.erase(all.steps.begin() + 1, all.steps.end());
  const json plain = to_json(all);
  EXPECT_EQ(plain, json::parse(R"({
  "kind": "twinlink-explanation", "schema": 1, "bytes": 1048576, "delivered_us": 42.99999999999999, "from": "0/1",
  "half_round_trip_us": 43.03999999999999,
  "held_up": "Held up by busy for 12.0 us, which was at 50.1 % of its rate",
  "libraries": {"lib": {"protocol": "staging", "reason": "far"}},
  "path": {
    "hypothetical": "", "memory_can_be_mapped": "no: farther", "network_reaches_gpus": "yes",
    "peer_access": "no: far", "same_node": false, "within_node": ""
  },
  "path_taken": "through the hosts", "platform": "sample", "protocol": "staging",
  "protocols": {"host": "not chosen", "staging": "chosen"}, "settings": "chunk 64K, depth 2",
  "steps": [
    {
      "bytes": 2048, "completion_us": 8.0, "cost_entry": "kernel", "end_us": 10.0, "flow_us": 6.0,
      "latency_us": 4.0, "operations": 2, "overhead_us": 2.0, "rank": 0, "route": "", "start_us": 0.0,
      "step": "pack"
    }
  ],
  "to": "1/2"
})"));
  all.half_round_trip = {};
  all.packing.layout = parse_layout("vector:64,128");
  all.links.resize(1);
  json other = plain;
  other.erase("half_round_trip_us");
  other["layout"] = "vector:64,128";
  other["held_up"] = "Held up by no link: its own engines, blocks and CPUs set the pace";
  EXPECT_EQ(to_json(all), other);
}

bench::Result result(const std::string& label, const std::string& world, std::vector<bench::Point> points) {
  bench::Result all{.world = world};
  all.series.label = label;
  all.series.points = std::move(points);
  return all;
}

bench::Point point(Bytes size, double median, double rate) {
  return {.size = size, .time_us = {.median = median, .p5 = median - 1, .p95 = median + 2}, .bandwidth_MBps = rate};
}

/// Curves whose points are at other sizes, of which only one tells of its CPUs.
TEST(CurvePlots, HaveARowForEachSize) {
  std::vector<bench::Result> results{result("one", "simulated", {point(4_KiB, 10, 400), point(1_MiB, 100, 10000)}),
                                     result("two", "measured", {point(1_KiB, 9, 110), point(4_KiB, 12, 340)})};
  results[0].series.points[1].cpu_us = 3.5;
  const report::Document plots = curve_plots("Rates", results);
  ASSERT_EQ(plots.size(), 2U);
  EXPECT_EQ(report::drawn({plots[0]}), R"(plot of Rates, MB/s
  one, colour 0, dashed: 4096:400 1.04858e+06:10000
  two, colour 1: 1024:110 4096:340
| size | one MB/s | one us | one p5 us | one p95 us | one cpu us | two MB/s | two us | two p5 us | two p95 us | two cpu us |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| 1K |  |  |  |  |  | 110.00 | 9.000 | 8.000 | 11.000 |  |
| 4K | 400.00 | 10.000 | 9.000 | 12.000 |  | 340.00 | 12.000 | 11.000 | 14.000 |  |
| 1M | 10000.00 | 100.000 | 99.000 | 102.000 | 3.500 |  |  |  |  |  |

)");
  EXPECT_THAT(report::drawn({plots[1]}), ::testing::StartsWith(R"(plot of Time of a message, us, logarithmic
  one, colour 0, dashed: 4096:10 from 9 to 12 1.04858e+06:100 from 99 to 102
  two, colour 1: 1024:9 from 8 to 11 4096:12 from 11 to 14
| size | one MB/s |)"));
  results[1].world = "simulated";
  EXPECT_THAT(report::drawn(curve_plots("Rates", results)), Not(HasSubstr("dashed"))) << "of one world alone";
}

PathPart part(int rank, const std::string& what, double began, double ended) {
  return {.rank = RankId{rank}, .what = what, .began = us(began), .ended = us(ended)};
}

TEST(WhyBlocks, HaveThePathByStepAndInOrderAndTheLinks) {
  PathPart before = part(1, "send", 103, 104);
  before.verb = "send";
  before.size = 2_KiB;
  before.phase = PathPart::Phase::before_bytes;
  PathPart bytes = before;
  bytes.phase = PathPart::Phase::bytes;
  bytes.began = us(104);
  bytes.ended = us(110);
  bytes.link = "wire";
  RoundFindings found{.links = {{"quick", 10, 0.25, us(1)},
                                {"slow", 20, 0.5, us(6)},
                                {"as slow", 20, 0.5, us(6)},
                                {"slow, more bytes", 21, 0.5, us(6)},
                                {"slow too", 20, 0.5, us(6)},
                                {"slow and busier", 20, 0.501, us(6)}},
                      .path = {part(0, "CPU", 100, 103), before, bytes}};
  EXPECT_EQ(report::drawn(why_blocks("1K", found)), R"(bars of Critical path by step, 1K, us
  send, 2K, held up by wire, critical path: 0..6
  CPU, critical path: 0..3
  send, 2K, overhead and latency, critical path: 0..1
| what | us | of all | parts |
| --- | ---: | ---: | ---: |
| send, 2K, held up by wire | 6.000 | 60.0 % | 1 |
| CPU | 3.000 | 30.0 % | 1 |
| send, 2K, overhead and latency | 1.000 | 10.0 % | 1 |

bars of Critical path in order, 1K, us
  CPU (rank 0), rank 0: 0..3
  send, 2K, overhead and latency (rank 1), rank 1: 3..4
  send, 2K (rank 1), rank 1: 4..10
| rank | what | start us | end us | link |
| ---: | --- | ---: | ---: | --- |
| 0 | CPU | 0.000 | 3.000 |  |
| 1 | send, 2K, overhead and latency | 3.000 | 4.000 |  |
| 1 | send, 2K | 4.000 | 10.000 | wire |

bars of Links: how long each held somebody up, 1K, us
  slow, and 2 alike, bottleneck: 0..6
  slow, more bytes, bottleneck: 0..6
  slow and busier, bottleneck: 0..6
  quick, bottleneck: 0..1
| link | bottleneck us | bytes | of its rate |
| --- | ---: | ---: | ---: |
| slow, and 2 alike | 6.000 | 20 | 50.0 % |
| slow, more bytes | 6.000 | 21 | 50.0 % |
| slow and busier | 6.000 | 20 | 50.1 % |
| quick | 1.000 | 10 | 25.0 % |

)");
  found.path.clear();
  EXPECT_EQ(why_blocks("1K", found).size(), 1U);
  EXPECT_TRUE(why_blocks("1K", {}).empty());
}

/// 25 kinds of parts, each a second longer than the one before, and 45 parts of half a second that are alike.
TEST(WhyBlocks, OfManyHaveTheMost) {
  RoundFindings found;
  double now = 0;
  for (int i = 0; i < 70; ++i) {
    found.links.push_back({"link " + std::to_string(i), 1, 0.5, us(i < 25 ? 1 + i : 1)});
    const double time = i < 25 ? 1 + i : 0.5;
    PathPart each = part(i, i < 25 ? "kind " + std::to_string(i) : "small", 0, 0);
    each.began = Seconds{now};
    each.ended = Seconds{now + time};
    found.path.push_back(std::move(each));
    now += time;
  }
  const report::Document blocks = why_blocks("1K", found);
  ASSERT_EQ(blocks.size(), 3U);
  const auto& kinds = std::get<report::Spans>(blocks[0]);
  EXPECT_THAT(kinds.table.rows.front(), ElementsAre("kind 24", "25000000.000", "7.2 %", "1"));
  EXPECT_THAT(kinds.table.rows.back(), ElementsAre("all else", "28000000.000", "8.1 %", "7"));
  const auto& order = std::get<report::Spans>(blocks[1]);
  EXPECT_EQ(order.title, "Critical path in order, 1K: the longest 60 of 70 parts");
  ASSERT_EQ(order.spans.size(), 60U);
  EXPECT_THAT(order.table.rows[24], ElementsAre("24", "kind 24", "300000000.000", "325000000.000", ""));
  EXPECT_THAT(order.table.rows[59], ElementsAre("59", "small", "342000000.000", "342500000.000", ""));
  const auto& links = std::get<report::Spans>(blocks[2]);
  EXPECT_EQ(links.title, "Links: how long each held somebody up, 1K: the first 20 of 25 kinds");
  ASSERT_EQ(links.spans.size(), 20U);
  EXPECT_EQ(links.spans[0].label, "link 24");
  EXPECT_EQ(links.spans[19].label, "link 5");
  found.links.resize(20);
  const report::Document fewer = why_blocks("1K", found);
  EXPECT_EQ(std::get<report::Spans>(fewer[2]).title, "Links: how long each held somebody up, 1K");
  EXPECT_EQ(std::get<report::Spans>(fewer[2]).spans.size(), 20U);
  EXPECT_EQ(kinds.spans.size(), 20U);
}

TEST(PrintWhy, HasWhatIsWishedFor) {
  const auto told = [](const RoundWishes& wishes) {
    std::ostringstream out;
    print_why({}, wishes, out);
    return out.str();
  };
  EXPECT_EQ(told({}), "");
  EXPECT_EQ(told({.links = true}), "# links: nothing crossed any\n");
  EXPECT_EQ(told({.path = true}), "# critical path: none, for nobody did anything\n");
}

/// Size 0 has no place on a logarithmic axis; of an algorithm that has no other size there is no curve.
TEST(WorkloadPage, HasCurvesPointsWhyAndTheMachine) {
  Platform machine = testing::sample_platform();
  bench::WorkloadFile file{.command = "twinlink-sim workload"};
  file.series = {.workload = "shift", .protocol = "host", .protocol_between = "staging", .ranks = 4, .nodes = 2};
  const auto add = [&](Bytes size, const char* algorithm, double median, double bus, double predicted) {
    file.series.points.push_back({.size = size,
                                  .algorithm = algorithm,
                                  .why = predicted > 0 ? "by time" : "",
                                  .steps = 3,
                                  .time_us = {.median = median},
                                  .fastest_us = median / 2,
                                  .slowest_rank = 1,
                                  .predicted_us = predicted,
                                  .bus_MBps = bus});
  };
  add(0_B, "empty", 1, 0, 0);
  add(0_B, "ring", 2, 0, 2.5);
  add(1_B, "direct", 3, 0.25, 0);
  add(1_B, "ring", 4, 0.125, 3);
  add(2_KiB, "ring", 8, 256, 9);
  report::Document page = workload_page(file, machine, {report::Paragraph{"Because."}});
  const auto picture = std::get<report::Picture>(page.back());
  EXPECT_EQ(picture.title, machine_picture(machine).title);
  page.pop_back();
  EXPECT_EQ(report::drawn(page), R"(# shift of 4 ranks on sample

Simulated over host, staging between nodes, 2 nodes.

twinlink-sim workload

plot of Time of an iteration, us, logarithmic
  ring, colour 1: 1:4 2048:8
  direct, colour 2: 1:3
| size | empty us | empty MB/s | ring us | ring MB/s | direct us | direct MB/s |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| 0 | 1.000 | 0.00 | 2.000 | 0.00 |  |  |
| 1 |  |  | 4.000 | 0.12 | 3.000 | 0.25 |
| 2K |  |  | 8.000 | 256.00 |  |  |

plot of Bus bandwidth, MB/s
  ring, colour 1: 1:0.125 2048:256
  direct, colour 2: 1:0.25
| size | empty us | empty MB/s | ring us | ring MB/s | direct us | direct MB/s |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| 0 | 1.000 | 0.00 | 2.000 | 0.00 |  |  |
| 1 |  |  | 4.000 | 0.12 | 3.000 | 0.25 |
| 2K |  |  | 8.000 | 256.00 |  |  |

| size | algorithm | steps | time us | first rank us | slowest rank | predicted us | chosen |
| ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |
| 0 | empty | 3 | 1.000 | 0.500 | 1 | - |  |
| 0 | ring | 3 | 2.000 | 1.000 | 1 | 2.500 | by time |
| 1 | direct | 3 | 3.000 | 1.500 | 1 | - |  |
| 1 | ring | 3 | 4.000 | 2.000 | 1 | 3.000 | by time |
| 2K | ring | 3 | 8.000 | 4.000 | 1 | 9.000 | by time |

## Why it takes so long

Because.

## The machine

)");
  file.series.points.resize(1);
  file.series.nodes = 1;
  EXPECT_THAT(report::drawn(workload_page(file, machine, {})),
              ::testing::AllOf(HasSubstr(", 1 node.\n"), Not(HasSubstr("plot of")), Not(HasSubstr("Why"))));
}

TEST(MachinePicture, HasTheLinksOfEveryKindOfNode) {
  Platform machine = testing::sample_platform();
  const std::size_t links = machine.node.links.size();
  machine.name = "mixed";
  machine.description = "two kinds";
  NodeKind stands_in{.name = "other"};
  stands_in.node = machine.node;
  stands_in.node.count = 1;
  stands_in.node.links.resize(1);
  stands_in.replaces = 2;
  NodeKind more = stands_in;
  more.name = "more";
  more.replaces = {};
  more.node.count = 3;
  machine.kinds = {stands_in, more, more};
  machine.kinds.back().name = "most";
  const report::Picture picture = machine_picture(machine);
  EXPECT_EQ(picture.title, "mixed: two kinds");
  EXPECT_EQ(picture.table.rows.size(), links + 3);
  EXPECT_EQ(picture.table.rows.front(), picture.table.rows.back());
  EXPECT_THAT(machine_drawing(machine).nodes, ElementsAre(0, 2, 4, 7)) << "4 nodes, of which one is replaced; 3; 3";
}

/// There and back by the same link, and the network; what a second piece takes is there once.
TEST(MessageDrawing, HasEachWayOnce) {
  Platform machine = testing::sample_platform();
  ObservedMessage message{.path_taken = "a way"};
  for (const char* route : {"gpu0 -> hub0 -> nic0 => nic0 -> hub0", "gpu0 -> hub0 -> nic0 => nic0 -> hub0"}) {
    message.reports.push_back({.rank = RankId{0}, .route = route});
  }
  message.reports.push_back({.rank = RankId{1}, .route = "hub0 -> gpu1"});
  const std::vector<Place> places{{3, 0, {}}, {1, 1, {}}};
  const Protocol& protocol = find_protocol("staging");
  const auto way = [&] {
    std::vector<std::string> crossings;
    for (const auto& [from, to] : message_drawing(machine, places, protocol, 1_KiB, message).way) {
      crossings.push_back(std::to_string(from.node) + from.name + " " + std::to_string(to.node) + to.name);
    }
    return crossings;
  };
  const Drawing drawing = message_drawing(machine, places, protocol, 1_KiB, message);
  EXPECT_EQ(drawing.title, "staging on " + machine.name + ": a message of 1K from 3/0 to 1/1, a way");
  EXPECT_THAT(drawing.nodes, ElementsAre(3, 1));
  EXPECT_THAT(way(), ElementsAre("3gpu0 3hub0", "3hub0 3nic0", "3nic0 1nic0", "1nic0 1hub0", "1hub0 1gpu1"));
  machine.node.domain = 2;
  EXPECT_THAT(way(), ElementsAre("2gpu0 2hub0", "2hub0 2nic0", "2nic0 0nic0", "0nic0 0hub0", "0hub0 0gpu1"));
  EXPECT_THAT(message_drawing(machine, places, protocol, 1_KiB, message).nodes, ElementsAre(2, 0));
  machine.node.domain = 4;
  EXPECT_THAT(message_drawing(machine, places, protocol, 1_KiB, message).nodes, ElementsAre(0));
}

/// Its steps that only wait for others are left out.
TEST(MessageBlocks, HaveTheWayAndTheSteps) {
  const report::Document blocks = message_blocks(
      testing::sample_platform(), {{0, 0, {}}, {1, 1, {}}}, find_protocol("gpudirect-v1"),
      find_protocol("gpudirect-v1").defaults(), {parse_layout("vector:64,128"), PackMethod::copies}, 128_B);
  EXPECT_EQ(
      report::drawn(blocks),
      R"(picture of gpudirect-v1 on sample: a message of 128 from 0/0 to 1/1, packed by a copy for each block into device memory, then staged through pinned host memory
| crossing | from | to |
| ---: | --- | --- |
| 1 | gpu0 of node 0 | hub0 of node 0 |
| 2 | hub0 of node 0 | memory0 of node 0 |
| 3 | memory0 of node 0 | hub0 of node 0 |
| 4 | hub0 of node 0 | nic0 of node 0 |
| 5 | nic0 of node 0 | nic0 of node 1 |
| 6 | nic0 of node 1 | hub0 of node 1 |
| 7 | hub0 of node 1 | memory0 of node 1 |
| 8 | memory0 of node 1 | memory1 of node 1 |
| 9 | memory1 of node 1 | hub1 of node 1 |
| 10 | hub1 of node 1 | gpu1 of node 1 |

bars of Steps of gpudirect-v1 on sample: a message of 128 from 0/0 to 1/1, packed by a copy for each block into device memory, then staged through pinned host memory, us
  pack (rank 0), rank 0: 0..10.0026
  copy out (rank 0), rank 0: 10.0026..15.0282
  send (rank 0), rank 0: 15.0282..20.0794
  copy in (rank 1), rank 1: 20.0794..25.1114
  unpack (rank 1), rank 1: 25.1114..35.1139
| rank | step | start us | end us | size | cost entry | way |
| ---: | --- | ---: | ---: | ---: | --- | --- |
| 0 | pack | 0.000 | 10.003 | 128 | device-to-device, 2 times | gpu0 |
| 0 | copy out | 10.003 | 15.028 | 128 | device-to-pinned | gpu0 -\> hub0 -\> memory0 |
| 0 | send | 15.028 | 20.079 | 128 | network | memory0 -\> hub0 -\> nic0 =\> nic0 -\> hub0 -\> memory0 -\> memory1 |
| 1 | copy in | 20.079 | 25.111 | 128 | pinned-to-device | memory1 -\> hub1 -\> gpu1 |
| 1 | unpack | 25.111 | 35.114 | 128 | device-to-device, 2 times | gpu1 |

)");
}

TEST(FigurePage, HasFiguresMachinesAndWays) {
  const FigureCurve first{.id = "first", .label = "First", .protocol = "staging", .of_the_page = true};
  const FigureCurve second{.id = "second", .label = "Second", .protocol = "host", .of_the_page = false};
  Figure figure{.id = "figure", .title = "A figure", .curves = {first, second}};
  bench::Series series{
      .label = "First", .from = "0/0", .to = "1/0", .points = {point(1_KiB, 1, 10), point(2_KiB, 2, 20)}};
  series.points[0].path = "a way";
  series.points[1].path = "another way";
  bench::Series none{.label = "Second", .from = "0/0", .to = "0/1"};
  Platform machine = testing::sample_platform();
  const std::vector<SimulatedFigure> figures(
      2, {&figure, machine, {{&figure.curves[0], series}, {&figure.curves[1], none}}});
  const report::Document page = figure_page(figures);
  std::vector<std::string> headings;
  std::size_t machines = 0;
  for (const report::Block& block : page) {
    if (const auto* heading = std::get_if<report::Heading>(&block)) {
      headings.push_back(std::to_string(heading->level) + " " + heading->text);
    }
    const auto* picture = std::get_if<report::Picture>(&block);
    machines += picture != nullptr && picture->title == machine_picture(machine).title ? 1 : 0;
  }
  EXPECT_EQ(machines, 1U) << "one for both figures";
  EXPECT_THAT(headings, ElementsAre("1 GPUDirect Performance on Keeneland, simulated", "2 A figure", "2 A figure",
                                    "2 The machines", "2 The ways of five protocols", "3 staging", "3 gpudirect-v1",
                                    "3 gpudirect-v2", "3 gpudirect-v3", "3 cuda-ipc"));
  EXPECT_EQ(report::drawn({page.begin() + 2, page.begin() + 6}), R"(## A figure

plot of A figure (simulated), MB/s
  (1) First, colour 0: 1024:10 2048:20
  (2) Second, colour 1, dashed:
| size | (1) First MB/s | (2) Second MB/s |
| ---: | ---: | ---: |
| 1K | 10.0 |  |
| 2K | 20.0 |  |

| curve | from | to | way |
| --- | --- | --- | --- |
| (1) First | 0/0 | 1/0 | another way |
| (2) Second | 0/0 | 0/1 |  |

The curves lie above each other as the page has them, at every size.

)");
  const std::string all = report::drawn(page);
  EXPECT_THAT(all, HasSubstr("staging on " + machine.name + ": a message of 1M from 0/0 to 1/0"));
  EXPECT_THAT(all, HasSubstr("gpudirect-v2 on " + machine.name + ": a message of 1M from 0/1 to 0/2")) << "on one hub";
  EXPECT_THAT(
      all,
      HasSubstr(
          "It does not run on these machines: Fermi has no GPUDirect RDMA: gpu1 (Sample) has compute capability 2.0"));
}

}  // namespace
}  // namespace twinlink::model
