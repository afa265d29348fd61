// A picture holds all of a node and the way of a message, and nothing else is marked.
#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/reader/platform_reader.hpp"
#include "platforms/tools/drawing.hpp"
#include "platforms/tools/fabric_drawing.hpp"
#include "platforms/topology/topology.hpp"
#include "tests/platforms/whole_platform.hpp"

namespace twinlink::platforms {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Platform drawn_kids() { return read_platform("platforms/keeneland-kids.yaml"); }

/// The lines with `text` in them.
std::vector<std::string> lines_with(const std::string& dot, const std::string& text) {
  std::vector<std::string> found;
  std::istringstream lines(dot);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(text) != std::string::npos) found.push_back(line);
  }
  return found;
}

/// Nodes 0 and 100 are of different leaves.
TEST(Drawing, SaysWhatTheFabricIsAndByWhichCablesTheWayGoes) {
  const Platform platform = read_platform("platforms/selene.yaml");
  const Topology topology(platform);
  const std::vector<FabricWay::Hop> hops = topology.fabric_way(0, 100, {"hca0", "hca0"}).hops;
  ASSERT_GE(hops.size(), 2U);
  const auto network = [&](const Drawing& drawing) {
    return lines_with(to_dot(platform, drawing), "\"network\" [shape=").front();
  };
  const std::string way = network({.nodes = {0, 100}, .way = {{{0, "hca0"}, {100, "hca0"}}}});
  EXPECT_THAT(way, AllOf(HasSubstr("leaves of"), HasSubstr("bisection ")));
  for (const FabricWay::Hop& hop : hops) EXPECT_THAT(way, HasSubstr("1: " + fabric_link_name(hop.link)));
  EXPECT_THAT(network({.nodes = {0, 100}}), Not(HasSubstr("1: leaf")));
}

/// As many cables are drawn as have to be bought, of every machine whose fabric can be looked at, and each ends at two
/// switches, or groups, that are drawn.
TEST(FabricDrawing, HasTheCablesThatAFabricNeeds) {
  int drawn = 0;
  for (const auto& entry : std::filesystem::directory_iterator("platforms")) {
    if (entry.path().extension() != ".yaml") continue;
    Platform platform = read_platform(entry.path());
    if (!platform.fabric || !platform.kinds.empty()) continue;
    for (const std::int64_t nodes : {platform.nodes(), std::int64_t{2}, std::int64_t{9}, std::int64_t{64}}) {
      if (nodes > platform.fabric->nodes().value_or(nodes)) continue;
      if (platform.fabric->shape == FabricShape::torus && nodes != platform.fabric->nodes()) continue;
      platform.node.count = static_cast<int>(nodes);
      FabricPicture picture;
      try {
        picture = picture_of_fabric(platform);
      } catch (const UsageError&) {
        continue;
      }
      ++drawn;
      const FabricParts parts = parts_of(*platform.fabric, platform.nodes(), platform.most_nics());
      std::int64_t cables = 0;
      std::set<std::string> names;
      std::int64_t plugged = 0;
      for (const DrawnSwitch& each : picture.switches) {
        EXPECT_TRUE(names.insert(each.name).second) << each.name;
        names.insert(each.inside);
        plugged += each.nodes;
      }
      for (const DrawnCables& each : picture.cables) {
        cables += each.count;
        EXPECT_TRUE(names.contains(each.from) && names.contains(each.to)) << each.from << " " << each.to;
      }
      const std::string where = fmt::format("{} of {} nodes", platform.name, nodes);
      EXPECT_EQ(cables, parts.cables - platform.nodes() * platform.most_nics()) << where;
      const bool by_rail =
          platform.fabric->shape == FabricShape::rails || platform.fabric->shape == FabricShape::rail_only;
      EXPECT_EQ(plugged, platform.nodes() * (by_rail ? platform.most_nics() : 1)) << where;
    }
  }
  EXPECT_GT(drawn, 20);
}

/// A name of a fault is a name in the picture.
TEST(FabricDrawing, ShowsFaults) {
  Platform platform = read_platform("platforms/hgx-h100-64.yaml");
  for (const char* const name : {"leaf1-up3", "leaf2", "spine1"}) {
    Platform broken = platform;
    const auto faults = platform.fabric->cables(name, 0.5, platform.most_nics());
    for (const CableFault& fault : faults) broken.fabric->add_fault(fault);
    const FabricPicture picture = picture_of_fabric(broken);
    const auto slowed = std::ranges::count(picture.cables, 0.5, &DrawnCables::left);
    EXPECT_EQ(static_cast<std::size_t>(slowed), faults.size()) << name;
    for (const DrawnCables& each : picture.cables) {
      if (each.left == 1) continue;
      const std::string part = std::string(name).substr(0, std::string(name).find('-'));
      EXPECT_TRUE(each.from == part || each.to == part) << name << ": " << each.from << " " << each.to;
    }
  }
}

/// A node and one of another kind, and a message from a GPU to the other node's memory.
TEST(Drawing, IsAPictureOfEveryPartAndOfTheWay) {
  const std::vector<Crossing> way = crossings_of("gpu0 -> hub0 -> hca0 => odd-hca0 -> odd-numa0", 0, 1);
  EXPECT_THAT(way, ElementsAre(Crossing{{0, "gpu0"}, {0, "hub0"}}, Crossing{{0, "hub0"}, {0, "hca0"}},
                               Crossing{{0, "hca0"}, {1, "odd-hca0"}}, Crossing{{1, "odd-hca0"}, {1, "odd-numa0"}}));
  EXPECT_EQ(to_dot(testing::whole_platform(), {.nodes = {0, 1}, .way = way}),
            R"(digraph machine {
  graph [rankdir=TB, fontname="Helvetica", labelloc=t, label="whole\nevery key that a platform may have"];
  node [fontname="Helvetica", fontsize=11, style=filled, fillcolor=white];
  edge [fontname="Helvetica", fontsize=9, dir=none];
  subgraph "cluster_0" {
    label="node 0"; color=gray;
    "0/numa0" [shape=cylinder, fillcolor="#dcecf7", label="numa0\nhost memory\ncopies 8000.0 MB/s"];
    "0/numa1" [shape=cylinder, fillcolor="#dcecf7", label="numa1\nhost memory\ncopies 9000.0 MB/s"];
    { rank=same; "0/numa0"; "0/numa1"; }
    "0/hub0" [shape=ellipse, fillcolor="#eeeeee", label="hub0\n60.0 ns, peer traffic: adapters", color=red, penwidth=2];
    "0/hub1" [shape=ellipse, fillcolor="#eeeeee", label="hub1"];
    "0/hca0" [shape=hexagon, fillcolor="#f7eddc", label="hca0\nadapter", color=red, penwidth=2];
    "0/hca1" [shape=hexagon, fillcolor="#f7eddc", label="hca1\nadapter"];
    "0/gpu0" [shape=box3d, fillcolor="#e0f2e0", label="gpu0\nFast GPU\n0/0", color=red, penwidth=2];
    "0/gpu1" [shape=box3d, fillcolor="#e0f2e0", label="gpu1\nSlow GPU\n0/1"];
    "0/hub0" -> "0/gpu0" [label="1: bus0\n8000.0 MB/s / 10000.0 MB/s, together 12000.0 MB/s\n150 ns\n2 links", color=red, fontcolor=red, penwidth=3, dir=back];
    "0/hub1" -> "0/gpu1" [label="bus1\n7000.0 MB/s"];
    "0/numa0" -> "0/hub0" [label="up0\n10000.0 MB/s"];
    "0/numa1" -> "0/hub1" [label="up1\n10000.0 MB/s"];
    "0/hub0" -> "0/hca0" [label="2: nic0\n8000.0 MB/s", color=red, fontcolor=red, penwidth=3, dir=forward];
    "0/hub1" -> "0/hca1" [label="nic1\n8000.0 MB/s"];
    "0/numa0" -> "0/numa1" [label="qpi\n12000.0 MB/s", constraint=false];
    "0/numa0" -> "0/numa1" [label="old-qpi\n6000.0 MB/s", constraint=false];
  }
  subgraph "cluster_1" {
    label="node 1"; color=gray;
    "1/odd-numa0" [shape=cylinder, fillcolor="#dcecf7", label="odd-numa0\nhost memory\ncopies 7000.0 MB/s", color=red, penwidth=2];
    { rank=same; "1/odd-numa0"; }
    "1/odd-hca0" [shape=hexagon, fillcolor="#f7eddc", label="odd-hca0\nadapter", color=red, penwidth=2];
    "1/odd-gpu0" [shape=box3d, fillcolor="#e0f2e0", label="odd-gpu0\nSlow GPU\n1/0"];
    "1/odd-numa0" -> "1/odd-gpu0" [label="odd-bus0\n7000.0 MB/s"];
    "1/odd-numa0" -> "1/odd-hca0" [label="4: odd-nic0\n9000.0 MB/s", color=red, fontcolor=red, penwidth=3, dir=back];
  }
  "network" [shape=doubleoctagon, fillcolor="#f7f0f7", label="network\n10000.0 MB/s an adapter\nrails: 2 leaves of 2 ports down and 1 up, 2 cables between switches, bisection 100 %", color=red, penwidth=2];
  "0/hca0" -> "network" [label="3", color=red, fontcolor=red, penwidth=3, dir=forward];
  "0/hca1" -> "network" [label=""];
  "1/odd-hca0" -> "network" [label="3", color=red, fontcolor=red, penwidth=3, dir=back];
}
)");
}

TEST(Drawing, WithoutAWayNothingIsRed) {
  const std::string dot = to_dot(drawn_kids(), {.title = "a title"});
  EXPECT_THAT(dot, AllOf(HasSubstr(R"(label="a title\nKeeneland KIDS: 2 x )"), Not(HasSubstr("color=red"))));
  Platform alone = drawn_kids();
  alone.fabric.reset();
  alone.node.count = 1;
  EXPECT_THAT(to_dot(alone, {}), AllOf(HasSubstr(R"(label="node"; color=gray;)"), Not(HasSubstr("network"))));
}

TEST(Drawing, SeveralWaysAreOneAfterTheOther) {
  const std::vector<Crossing> ways = crossings_of("numa0 -> hca0 => hca0 and numa1 -> hca1 => hca0 -> numa0", 2, 5);
  EXPECT_THAT(ways, ElementsAre(Crossing{{2, "numa0"}, {2, "hca0"}}, Crossing{{2, "hca0"}, {5, "hca0"}},
                                Crossing{{2, "numa1"}, {2, "hca1"}}, Crossing{{2, "hca1"}, {5, "hca0"}},
                                Crossing{{5, "hca0"}, {5, "numa0"}}));
  EXPECT_TRUE(crossings_of("gpu0", 0, 0).empty());
  const std::string domain = to_dot(read_platform("platforms/gb200-nvl72.yaml"), {.nodes = {18}});
  EXPECT_THAT(lines_with(domain, "\"18/gpu5\" [shape="), ElementsAre(HasSubstr("\\n19/1\""))) << "in the second domain";
}

TEST(Drawing, AWayThereAndBackHasArrowsAtBothEnds) {
  const std::string dot = to_dot(drawn_kids(), {.way = crossings_of("gpu1 -> ioh1 -> gpu1", 0, 0)});
  EXPECT_THAT(lines_with(dot, "penwidth=3"), ElementsAre(AllOf(HasSubstr("1, 2: gpu1-pcie"), HasSubstr("dir=both"))));
}

TEST(Drawing, OfParallelLinksTheWidestIsTaken) {
  Platform platform = drawn_kids();
  Link wide = platform.node.links.front();
  wide.name = "wide";
  wide.forward.value = wide.backward.value = Rate{100e9};
  platform.node.links.push_back(wide);
  const std::string dot = to_dot(platform, {.way = crossings_of("gpu0 -> ioh0", 0, 0)});
  EXPECT_THAT(lines_with(dot, "penwidth=3"), ElementsAre(HasSubstr("1: wide")));
  platform.node.links.back().total = Sourced<Rate>{.value = 1.0_GBps};
  EXPECT_THAT(lines_with(to_dot(platform, {.way = crossings_of("gpu0 -> ioh0", 0, 0)}), "penwidth=3"),
              ElementsAre(HasSubstr("1: gpu0-pcie")))
      << "it has less both ways together";
}

TEST(Drawing, NamesMayHoldAnything) {
  Platform platform = drawn_kids();
  platform.description = R"(a "quoted" \ thing)";
  EXPECT_THAT(to_dot(platform, {}), HasSubstr(R"(a \"quoted\" \\ thing)"));
}

}  // namespace
}  // namespace twinlink::platforms
