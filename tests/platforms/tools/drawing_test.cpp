// A picture holds all of a node and the way of a message, and nothing else is marked.
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/reader/platform_reader.hpp"
#include "platforms/tools/drawing.hpp"
#include "platforms/topology/topology.hpp"

namespace twinlink::model {
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

TEST(Drawing, HasEveryPartAndEveryLinkOfANode) {
  const Platform platform = drawn_kids();
  const std::string dot = to_dot(platform, {});
  for (const std::string name : {"numa0", "numa1", "ioh0", "ioh1", "hca0", "gpu0", "gpu1", "gpu2"}) {
    EXPECT_EQ(lines_with(dot, "    \"0/" + name + "\" [shape=").size(), 1U) << name;
  }
  for (const Link& link : platform.node.links) {
    EXPECT_EQ(lines_with(dot, "[label=\"" + link.name + "\\n").size(), 1U) << link.name;
  }
  EXPECT_THAT(dot, HasSubstr(R"(label="qpi\n11400.0 MB/s\n250 ns")"));
  EXPECT_THAT(dot, Not(HasSubstr("color=red")));
}

TEST(Drawing, MemoriesAreAboveHubsAndHubsAboveGpus) {
  const std::string dot = to_dot(drawn_kids(), {});
  EXPECT_THAT(dot, AllOf(HasSubstr(R"("0/numa0" -> "0/ioh0")"), HasSubstr(R"("0/ioh0" -> "0/gpu0")")))
      << "the file has both links the other way round";
}

TEST(Drawing, MarksTheLinksOfAWayInTheDirectionOfItsBytes) {
  const std::string dot = to_dot(drawn_kids(), {.way = crossings_of("gpu0 -> ioh0 -> numa0", 0, 0)});
  ASSERT_EQ(lines_with(dot, "penwidth=3").size(), 2U);
  EXPECT_THAT(lines_with(dot, "1: gpu0-pcie"), ElementsAre(HasSubstr("dir=back"))) << "up, against the edge";
  EXPECT_THAT(lines_with(dot, "2: ioh0-qpi"), ElementsAre(HasSubstr("dir=back")));
}

TEST(Drawing, AWayThereAndBackHasArrowsAtBothEnds) {
  const std::string dot = to_dot(drawn_kids(), {.way = crossings_of("gpu1 -> ioh1 -> gpu1", 0, 0)});
  EXPECT_THAT(lines_with(dot, "penwidth=3"), ElementsAre(AllOf(HasSubstr("1, 2: gpu1-pcie"), HasSubstr("dir=both"))));
}

TEST(Drawing, AWayThroughTheNetworkEndsOnTheOtherNode) {
  const std::vector<Crossing> way = crossings_of("numa0 -> ioh0 -> hca0 => hca0 -> ioh0", 0, 3);
  EXPECT_THAT(way, ElementsAre(Crossing{{0, "numa0"}, {0, "ioh0"}}, Crossing{{0, "ioh0"}, {0, "hca0"}},
                               Crossing{{0, "hca0"}, {3, "hca0"}}, Crossing{{3, "hca0"}, {3, "ioh0"}}));
  for (const auto& [drawn, place] : {std::pair{way, "3"}, {{way[2]}, "1"}}) {
    const std::string dot = to_dot(drawn_kids(), {.nodes = {0, 3}, .way = drawn});
    const auto label = HasSubstr(std::string("label=\"") + place);
    EXPECT_THAT(lines_with(dot, R"("0/hca0" -> "network")"), ElementsAre(AllOf(HasSubstr("dir=forward"), label)));
    EXPECT_THAT(lines_with(dot, R"("3/hca0" -> "network")"), ElementsAre(AllOf(HasSubstr("dir=back"), label)));
  }
}

TEST(Drawing, OfParallelLinksTheWidestIsTaken) {
  Platform platform = drawn_kids();
  Link wide = platform.node.links.front();
  wide.name = "wide";
  wide.forward.value = wide.backward.value = Rate{100e9};
  platform.node.links.push_back(wide);
  const std::string dot = to_dot(platform, {.way = crossings_of("gpu0 -> ioh0", 0, 0)});
  EXPECT_THAT(lines_with(dot, "penwidth=3"), ElementsAre(HasSubstr("1: wide")));
}

TEST(Drawing, NamesMayHoldAnything) {
  Platform platform = drawn_kids();
  platform.description = R"(a "quoted" \ thing)";
  EXPECT_THAT(to_dot(platform, {}), HasSubstr(R"(a \"quoted\" \\ thing)"));
}

}  // namespace
}  // namespace twinlink::model
