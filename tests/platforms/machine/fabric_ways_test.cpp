// Fabrics in words: ways link by link, the cables and ports that a name stands for, and what is refused.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "platforms/machine/fabric.hpp"
#include "platforms/machine/fabric_links.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::platforms {
namespace {

using Faults = std::vector<std::pair<std::string, double>>;
constexpr FabricShape kTree = FabricShape::fat_tree;
constexpr FabricShape kRails = FabricShape::rails;
constexpr FabricShape kDragonfly = FabricShape::dragonfly;
constexpr FabricShape kTorus = FabricShape::torus;
constexpr FabricShape kHyperx = FabricShape::hyperx;

/// Adapters of 25 GB/s, links of 50 between switches and of 100 to the highest level, and what is left of cables.
struct Made {
  FabricShape shape = kTree;
  std::vector<int> size{};
  FabricRouting routing = FabricRouting::by_target;
  std::vector<Oversubscription> ratios{};
  int nics = 1;
  int seed = 1;
  Faults faults{};

  [[nodiscard]] Fabric fabric() const {
    Fabric result{.link = {.value = 25.0_GBps},
                  .switch_link = Sourced<Rate>{.value = 50.0_GBps},
                  .core_link = Sourced<Rate>{.value = 100.0_GBps},
                  .shape = shape,
                  .routing = routing,
                  .size = size,
                  .oversubscription = ratios,
                  .seed = seed};
    for (const auto& [name, share] : faults) {
      for (const CableFault& cable : result.cables(name, share, nics)) result.add_fault(cable);
    }
    return result;
  }
};

/// "3: leaf 0 up 1 @50, leaf 1 down 1 @50": how many switches it passes, and its links with their GB/s.
std::string said(const FabricWay& way) {
  std::vector<std::string> hops;
  for (const FabricWay::Hop& hop : way.hops) {
    hops.push_back(fmt::format("{} @{:g}", fabric_link_name(hop.link), hop.rate.bytes_per_second() / 1e9));
  }
  return fmt::format("{}: {}", way.switches, fmt::join(hops, ", "));
}

std::string way(const Made& made, FabricPort from, FabricPort to) {
  from.nics = to.nics = made.nics;
  return said(fabric_way(made.fabric(), from, to));
}

TEST(FabricWays, ThroughATreeGoUpByThePlaceOfTheTargetOrOfTheSource) {
  constexpr FabricRouting by_source = FabricRouting::by_source;
  const Made flat{.size = {4, 4}};
  EXPECT_EQ(way(flat, {0}, {5}), "3: leaf 0 up 1 @50, leaf 1 down 1 @50");
  EXPECT_EQ(way({.size = {4, 4}, .routing = by_source}, {0}, {5}), "3: leaf 0 up 0 @50, leaf 1 down 0 @50");
  EXPECT_EQ(way(flat, {4}, {7}), "1: ");
  // Eight ports below a leaf for four links up, two leaves of a pod for four.
  Made tree{.size = {4, 2, 2}, .ratios = {{2, 1}, {1, 2}}, .nics = 2};
  EXPECT_EQ(way(tree, {0, 0}, {13, 1}),
            "5: leaf 0 up 3 @50, pod switch 3 up 2 @100, pod switch 7 down 2 @100, leaf 3 down 3 @50");
  EXPECT_EQ(way(tree, {15, 0}, {6, 1}),
            "5: leaf 3 up 1 @50, pod switch 5 up 3 @100, pod switch 1 down 3 @100, leaf 1 down 1 @50");
  tree.routing = by_source;
  EXPECT_EQ(way(tree, {0, 0}, {13, 1}),
            "5: leaf 0 up 0 @50, pod switch 0 up 0 @100, pod switch 4 down 0 @100, leaf 3 down 0 @50");
  EXPECT_EQ(way(tree, {6, 1}, {13, 1}),
            "5: leaf 1 up 1 @50, pod switch 1 up 3 @100, pod switch 5 down 3 @100, leaf 3 down 1 @50");
  const Made rails{.shape = kRails, .size = {4, 2, 2}, .ratios = {{2, 1}, {1, 2}}, .nics = 2};
  EXPECT_EQ(way(rails, {0, 0}, {13, 1}),
            "5: leaf 0 up 1 @50, pod switch 1 up 6 @100, pod switch 3 down 6 @100, leaf 7 down 1 @50");
  EXPECT_EQ(way(rails, {1, 1}, {6, 1}), "3: leaf 1 up 0 @50, leaf 3 down 0 @50");
  EXPECT_EQ(way(rails, {1, 1}, {2, 1}), "1: ");
}

TEST(FabricWays, ThroughATreeTakeTheNextCableWhereOneIsGone) {
  Made tree{.size = {4, 2, 2}, .ratios = {{2, 1}, {1, 2}}, .nics = 2, .faults = {{"leaf0-up3", 0}}};
  const auto now = [&] { return way(tree, {0, 0}, {13, 1}); };
  const std::string round = "5: leaf 0 up 0 @50, pod switch 0 up 2 @100, pod switch 4 down 2 @100, leaf 3 down 0 @50";
  EXPECT_EQ(now(), round);
  tree.faults = {{"leaf3-up3", 0}};
  EXPECT_EQ(now(), round) << "gone at the other end";
  tree.faults = {{"pod-switch3-up2", 0}, {"pod-switch7-up3", 0}};
  EXPECT_EQ(now(), "5: leaf 0 up 3 @50, pod switch 3 up 0 @100, pod switch 7 down 0 @100, leaf 3 down 3 @50");
  tree.faults = {{"pod-switch3-up0", 0}, {"pod-switch3-up1", 0}, {"pod-switch7-up2", 0}, {"pod-switch7-up3", 0}};
  EXPECT_EQ(now(), round) << "no core is left to both";
  tree.faults = {{"leaf0-up3", 0.5}, {"core14", 0.25}};
  EXPECT_EQ(now(), "5: leaf 0 up 3 @25, pod switch 3 up 2 @25, pod switch 7 down 2 @25, leaf 3 down 3 @50");
}

/// The draws of the hash, which results of ECMP stand on.
TEST(FabricWays, ByEcmpAreTheSameInEveryRelease) {
  Made tree{.size = {8, 8}, .routing = FabricRouting::by_hash};
  EXPECT_EQ(way(tree, {0}, {9}), "3: leaf 0 up 1 @50, leaf 1 down 1 @50");
  EXPECT_EQ(way(tree, {9}, {0}), "3: leaf 1 up 5 @50, leaf 0 down 5 @50");
  tree.faults = {{"leaf0-up1", 0}};
  EXPECT_EQ(way(tree, {0}, {9}), "3: leaf 0 up 6 @50, leaf 1 down 6 @50");
  tree.faults = {{"leaf1-up5", 0}};
  EXPECT_EQ(way(tree, {0}, {9}), "3: leaf 0 up 1 @50, leaf 1 down 1 @50") << "what is left is drawn as ever";
  tree = {.size = {8, 8}, .routing = FabricRouting::by_hash, .seed = 2};
  EXPECT_EQ(way(tree, {0}, {9}), "3: leaf 0 up 2 @50, leaf 1 down 2 @50");
  tree = {.size = {8, 4, 4}, .routing = FabricRouting::by_hash, .nics = 2, .seed = 7};
  tree.shape = kRails;
  EXPECT_EQ(way(tree, {3, 1}, {90, 0}),
            "5: leaf 1 up 5 @50, pod switch 5 up 3 @100, pod switch 21 down 3 @100, leaf 22 down 5 @50");
  EXPECT_EQ(way(tree, {3, 0}, {90, 1}),
            "5: leaf 0 up 7 @50, pod switch 7 up 4 @100, pod switch 23 down 4 @100, leaf 23 down 7 @50");
  tree.faults = {{"pod-switch21-up3", 0}};
  EXPECT_EQ(way(tree, {3, 1}, {90, 0}),
            "5: leaf 1 up 1 @50, pod switch 1 up 3 @100, pod switch 17 down 3 @100, leaf 22 down 1 @50");
}

TEST(FabricWays, ThatFindThemselvesAreSpreadOverWhatIsLeft) {
  Made tree{.size = {4, 2, 2}, .routing = FabricRouting::adaptive, .ratios = {{2, 1}, {1, 2}}, .nics = 2};
  const auto now = [&] { return way(tree, {0, 0}, {13, 1}); };
  EXPECT_EQ(now(),
            "5: leaf 0 up, all links @200, pod 0 up, all links @1600, pod 1 down, all links @1600, leaf 3 down, all "
            "links @200");
  tree.faults = {{"leaf0-up1", 0}, {"leaf0-up2", 0.5}, {"core0", 0.25}, {"pod-switch5-up3", 0}};
  EXPECT_EQ(now(),
            "5: leaf 0 up, all links @125, pod 0 up, all links @1525, pod 1 down, all links @1425, leaf 3 down, all "
            "links @200");
}

/// What goes up by a cable comes down by that of the same switch.
TEST(FabricWays, CablesThatAreLeftMayNotMeet) {
  Made tree{.size = {4, 2}, .routing = FabricRouting::adaptive};
  for (const char* cable : {"leaf0-up0", "leaf0-up1", "leaf1-up2", "leaf1-up3"}) tree.faults.push_back({cable, 0.5});
  EXPECT_EQ(way(tree, {0}, {4}),
            "3: leaf 0 up, all links @150, leaf 1 down, all links @150, leaf 0 to 1, what their cables have in common "
            "@100");
  tree.faults = {{"leaf0-up0", 0}, {"leaf0-up1", 0}, {"leaf1-up2", 0}};
  EXPECT_EQ(way(tree, {4}, {0}),
            "3: leaf 1 up, all links @150, leaf 0 down, all links @100, leaf 1 to 0, what their cables have in common "
            "@50");
  tree.faults = {{"leaf0-up0", 0}};
  EXPECT_EQ(way(tree, {0}, {4}), "3: leaf 0 up, all links @150, leaf 1 down, all links @200");
  Made pods{.size = {2, 2, 2}, .routing = FabricRouting::adaptive};
  pods.faults = {{"pod-switch0-up0", 0}, {"pod-switch2-up1", 0}};
  EXPECT_EQ(
      way(pods, {0}, {4}),
      "5: leaf 0 up, all links @100, pod 0 up, all links @300, pod 1 down, all links @300, leaf 2 down, all links "
      "@100, leaf 0 to 2, what their cables have in common @50, pod 0 to 1, what their cables have in common @200")
      << "the first switches of the pods have no core in common";
}

TEST(FabricWays, ThroughADragonflyCrossRoutersAndGroups) {
  Made made{.shape = kDragonfly, .size = {5, 4, 2, 4}};
  EXPECT_EQ(way(made, {0}, {1}), "1: ");
  EXPECT_EQ(way(made, {0}, {7}), "2: router 0 to 3 @50");
  EXPECT_EQ(way(made, {0}, {39}), "3: group 0 to 4 @400, router 16 to 19 @50");
  EXPECT_EQ(way(made, {2}, {39}), "4: router 1 to 0 @50, group 0 to 4 @400, router 16 to 19 @50");
  EXPECT_EQ(way(made, {39}, {2}), "4: router 19 to 16 @50, group 4 to 0 @400, router 0 to 1 @50");
  EXPECT_EQ(way(made, {13}, {30}), "4: router 6 to 7 @50, group 1 to 3 @400, router 13 to 15 @50");
  made.faults = {{"router0-router3", 0}};
  EXPECT_EQ(way(made, {0}, {7}), "3: router 0 to 1 @50, router 1 to 3 @50");
  EXPECT_EQ(way(made, {7}, {0}), "3: router 3 to 1 @50, router 1 to 0 @50");
  made.faults = {{"router0-router3", 0}, {"router0-router1", 0}, {"router2-router3", 0.5}};
  EXPECT_EQ(way(made, {0}, {7}), "3: router 0 to 2 @50, router 2 to 3 @25");
  // Messages begin at different ones to look for a third group.
  made.faults = {{"group0-group4", 0}};
  EXPECT_EQ(way(made, {0}, {39}), "4: router 0 to 3 @50, group 0 to 3 @400, group 3 to 4 @400");
  EXPECT_EQ(way(made, {0}, {37}), "5: router 0 to 1 @50, group 0 to 1 @400, group 1 to 4 @400, router 17 to 18 @50");
  made.faults.push_back({"group3-group4", 0});
  EXPECT_EQ(way(made, {0}, {39}), "5: router 0 to 1 @50, group 0 to 1 @400, group 1 to 4 @400, router 17 to 19 @50");
}

TEST(FabricWays, ThroughADragonflyLeadRoundLinksWherePacketsFindThem) {
  Made made{.shape = kDragonfly, .size = {5, 4, 2, 4}, .routing = FabricRouting::adaptive};
  EXPECT_EQ(way(made, {0}, {1}), "1: ");
  EXPECT_EQ(way(made, {0}, {7}), "2: router 0 out, all links @150, router 0 to 3 @50, router 3 in, all links @150");
  EXPECT_EQ(way(made, {0}, {39}), "4: router 0 out, all links @150, group 0 to 4 @400, router 19 in, all links @150");
  const auto detours = [&](LinkKind kind, int from, int to) {
    std::vector<std::string> all;
    for (const auto& [there, on] : fabric_detours(made.fabric(), link_number(kind, from, to))) {
      all.push_back(said({.hops = {there, on}}));
    }
    return all;
  };
  using enum LinkKind;
  EXPECT_EQ(detours(global, 0, 4), (std::vector<std::string>{"1: group 0 to 1 @400, group 1 to 4 @400",
                                                             "1: group 0 to 2 @400, group 2 to 4 @400",
                                                             "1: group 0 to 3 @400, group 3 to 4 @400"}));
  EXPECT_EQ(detours(local, 4, 7), (std::vector<std::string>{"1: router 4 to 5 @50, router 5 to 7 @50",
                                                            "1: router 4 to 6 @50, router 6 to 7 @50"}))
      << "within a group";
  EXPECT_TRUE(detours(router_out, 0, 0).empty());
  made.faults = {{"group0-group1", 0}, {"group2-group4-cable", 0}, {"router0-router3", 0}, {"router17-router19", 0.5}};
  EXPECT_EQ(way(made, {0}, {39}), "4: router 0 out, all links @100, group 0 to 4 @400, router 19 in, all links @125");
  EXPECT_EQ(detours(global, 0, 4), (std::vector<std::string>{"1: group 0 to 2 @400, group 2 to 4 @300",
                                                             "1: group 0 to 3 @400, group 3 to 4 @400"}));
  EXPECT_EQ(way(made, {0}, {7}),
            "3: router 0 out, all links @100, router 0 to 1 @50, router 1 to 3 @50, router 3 in, all links @100");
  made.faults = {{"group0-group4", 0}};
  EXPECT_EQ(way(made, {0}, {39}),
            "5: router 0 out, all links @150, group 0 to 3 @400, group 3 to 4 @400, router 19 in, all links @150");
  made = {.shape = kDragonfly, .size = {3, 1, 2}, .routing = FabricRouting::adaptive};
  EXPECT_EQ(way(made, {0}, {5}), "2: group 0 to 2 @100") << "a group of one router";
  made.routing = FabricRouting::by_target;
  EXPECT_TRUE(detours(global, 0, 2).empty()) << "only where messages find their ways themselves";
}

TEST(FabricWays, ThroughAHyperxTakeOneDimensionAfterTheOther) {
  Made made{.shape = kHyperx, .size = {3, 4, 2}};
  EXPECT_EQ(way(made, {0}, {1}), "1: ");
  EXPECT_EQ(way(made, {0}, {4}), "2: router 0 to 2 @50");
  EXPECT_EQ(way(made, {0}, {18}), "2: router 0 to 9 @50") << "of the other dimension";
  EXPECT_EQ(way(made, {0}, {23}), "3: router 0 to 2 @50, router 2 to 11 @50");
  made.faults = {{"router0-router2", 0}, {"router11-router2", 0.5}};
  EXPECT_EQ(way(made, {0}, {23}), "4: router 0 to 1 @50, router 1 to 2 @50, router 2 to 11 @25");
  made.routing = FabricRouting::adaptive;
  const auto count = [&](int from, int to) {
    return fabric_detours(made.fabric(), link_number(LinkKind::local, from, to)).size();
  };
  EXPECT_EQ(count(0, 1), 0U) << "the third router of its line has lost its cable";
  EXPECT_EQ(count(0, 9), 2U);
}

TEST(FabricWays, ThroughATorusAndWhereNothingIsJoined) {
  const Made torus{.shape = kTorus, .size = {4, 3}, .faults = {{"node1-node2", 0.5}}};
  EXPECT_EQ(way(torus, {0}, {6}),
            "4: torus 0 forward in dimension 0 @50, torus 1 forward in dimension 0 @25, torus 2 forward in dimension 1 "
            "@50");
  EXPECT_EQ(way(torus, {0}, {11}), "3: torus 0 backward in dimension 0 @50, torus 3 backward in dimension 1 @50");
  EXPECT_EQ(
      way({.shape = kTorus, .size = {5, 3}, .faults = {{"node0-node1", 0}}}, {0}, {1}),
      "5: torus 0 backward in dimension 0 @50, torus 4 backward in dimension 0 @50, torus 3 backward in dimension 0 "
      "@50, torus 2 backward in dimension 0 @50")
      << "round its ring, though another dimension would be shorter";
  for (const FabricShape shape : {FabricShape::one_switch, FabricShape::rail_only}) {
    EXPECT_EQ(way({.shape = shape, .nics = 8}, {0, 3}, {5, 3}), "1: ");
  }
}

// ---- cables and ports -----------------------------------------------------------------------------------------------

/// "leaf 1-0, leaf 1-1", or why there are none.
std::string cables(const Made& made, const std::string& name) {
  constexpr std::array kCables{"leaf", "pod", "routers", "ring", "groups", "one of groups"};
  std::vector<std::string> all;
  try {
    for (const CableFault& cable : made.fabric().cables(name, 0.5, made.nics)) {
      EXPECT_EQ(cable.share, 0.5) << name;
      all.push_back(fmt::format("{} {}-{}", kCables.at(static_cast<std::size_t>(cable.cable)), cable.a, cable.b));
    }
  } catch (const UsageError& error) {
    return error.what();
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

void expect_cables(const Made& made, const std::vector<std::pair<std::string, std::string>>& expected) {
  for (const auto& [name, text] : expected) EXPECT_EQ(cables(made, name), text) << name;
}

TEST(Cables, OfATreeHaveNamesAndTheirSwitchesToo) {
  const std::string names = "a rails has leaf0, leaf0-up0, pod-switch0, pod-switch0-up0, core0";
  expect_cables({.shape = kRails, .size = {4, 2, 2}, .ratios = {{1, 1}, {1, 2}}, .nics = 2},
                {{"leaf5-up3", "leaf 5-3"},
                 {"leaf7", "leaf 7-0, leaf 7-1, leaf 7-2, leaf 7-3"},
                 {"core13", "pod 1-5, pod 5-5"},
                 {"pod-switch6",
                  "leaf 4-2, leaf 5-2, leaf 6-2, leaf 7-2, pod 6-0, pod 6-1, pod 6-2, pod 6-3, pod 6-4, pod 6-5, pod "
                  "6-6, pod 6-7"},
                 {"pod-switch6-up7", "pod 6-7"},
                 {"leaf8", "there is no leaf 8; there are 0 to 7"},
                 {"leaf8-up0", "there is no leaf 8; there are 0 to 7"},
                 {"leaf5-up4", "there is no link up of a leaf 4; there are 0 to 3"},
                 {"leaf", "there is no leaf -1; there are 0 to 7"},
                 {"core32", "there is no switch of the third level 32; there are 0 to 31"},
                 {"pod-switch8", "there is no switch of the second level 8; there are 0 to 7"},
                 {"pod-switch8-up0", "there is no switch of the second level 8; there are 0 to 7"},
                 {"pod-switch7-up8", "there is no link up of the second level 8; there are 0 to 7"},
                 {"spine0", names},
                 {"leaf1up2", names},
                 {"leaf0--up1", names},
                 {"leaf1-up99999999999", names},
                 {"", names}});
  const std::string flat = "a fat-tree has leaf0, leaf0-up0, pod-switch0 or spine0";
  expect_cables({.size = {4, 2}}, {{"spine3", "leaf 0-3, leaf 1-3"},
                                   {"pod-switch3", "leaf 0-3, leaf 1-3"},
                                   {"spine4", "there is no switch of the second level 4; there are 0 to 3"},
                                   {"core0", flat},
                                   {"pod-switch0-up0", flat},
                                   {"router0-router1", flat}});
}

TEST(Cables, OfOtherShapesHaveNamesAndTheirSwitchesToo) {
  const std::string names = "a dragonfly has router0, router0-router1, group0-group1, group0-group1-cable";
  expect_cables({.shape = kDragonfly, .size = {3, 4, 2, 2}},
                {{"router5", "routers 4-5, routers 5-6, routers 5-7"},
                 {"router7-router4", "routers 4-7"},
                 {"group2-group0", "groups 0-2"},
                 {"group0-group2-cable", "one of groups 0-2"},
                 {"router3-router4", "a cable joins two routers of one group"},
                 {"router1-router1", "a cable joins two routers of one group"},
                 {"group1-group1", "a cable joins two groups"},
                 {"group0-group3", "there is no group 3; there are 0 to 2"},
                 {"router0-router12", "there is no router 12; there are 0 to 11"},
                 {"router12", "there is no router 12; there are 0 to 11"},
                 {"group0-group1-cable2", names},
                 {"group0", names}});
  expect_cables({.shape = kTorus, .size = {4, 3}}, {{"node3-node0", "ring 0-3"},
                                                    {"node4-node0", "ring 0-4"},
                                                    {"node0-node2", "nodes 0 and 2 are no neighbours"},
                                                    {"node1-node1", "nodes 1 and 1 are no neighbours"},
                                                    {"node0-node12", "there is no node 12; there are 0 to 11"},
                                                    {"node0", "a torus has node0-node1"}});
  expect_cables({.shape = kHyperx, .size = {3, 2, 4}}, {{"router4", "routers 1-4, routers 3-4, routers 4-5"},
                                                        {"router5-router2", "routers 2-5"},
                                                        {"router0-router4", "a cable joins two routers of one line"},
                                                        {"router6", "there is no router 6; there are 0 to 5"},
                                                        {"group0-group1", "a hyperx has router0, router0-router1"}});
  const std::string none = "a switch has no cables that messages could go round";
  expect_cables({.shape = FabricShape::one_switch}, {{"switch", ""}, {"switch0", none}, {"leaf0", none}});
  expect_cables({.shape = FabricShape::rail_only, .nics = 8},
                {{"leaf7", ""},
                 {"leaf8", "there is no leaf 8; there are 0 to 7"},
                 {"spine0", "a rail-only fabric has leaf0, the switch of the first rail"}});
}

/// "2/1 3/1", of nodes with four adapters.
std::string ports(const Made& made, const std::string& name, int nodes) {
  const std::optional<std::vector<FabricPort>> found = made.fabric().ports_at(name, nodes, 4);
  if (!found) return "no switch of nodes";
  std::vector<std::string> all;
  for (const FabricPort& port : *found) {
    EXPECT_EQ(port.nics, 4);
    all.push_back(fmt::format("{}/{}", port.node, port.nic));
  }
  return fmt::format("{}", fmt::join(all, " "));
}

TEST(Ports, AreThoseOfTheNodesAtASwitch) {
  const Made rails{.shape = kRails, .size = {2, 2}, .nics = 4};
  EXPECT_EQ(ports(rails, "leaf5", 4), "2/1 3/1");
  EXPECT_EQ(ports(rails, "leaf5", 3), "2/1") << "the last place is empty";
  EXPECT_EQ(ports(rails, "spine1", 4), "no switch of nodes");
  const Made tree{.size = {2, 3}, .nics = 4};
  EXPECT_EQ(ports(tree, "leaf1", 4), "2/0 2/1 2/2 2/3 3/0 3/1 3/2 3/3");
  EXPECT_EQ(ports(tree, "leaf1-up0", 4), "no switch of nodes");
  EXPECT_EQ(ports({.shape = FabricShape::rail_only}, "leaf3", 2), "0/3 1/3");
  EXPECT_EQ(ports({.shape = kDragonfly, .size = {3, 4, 2}}, "router3", 7), "6/0 6/1 6/2 6/3");
  EXPECT_EQ(ports({.shape = kDragonfly, .size = {3, 4, 2}}, "leaf0", 7), "no switch of nodes");
  EXPECT_EQ(ports({.shape = kHyperx, .size = {2, 2, 1}}, "router3", 4), "3/0 3/1 3/2 3/3");
  EXPECT_EQ(ports({.shape = FabricShape::one_switch}, "switch", 1), "0/0 0/1 0/2 0/3");
  EXPECT_EQ(ports({.shape = FabricShape::one_switch}, "switch0", 1), "no switch of nodes");
  EXPECT_THROW(ports(tree, "leaf3", 4), UsageError);
  EXPECT_THROW(ports({.shape = kDragonfly, .size = {3, 4, 2}}, "router12", 7), UsageError);
}

TEST(Cables, OfOneTheLeastShareStandsAndThoseOfGroupsAddUp) {
  const auto share = [](const Made& made) {
    const std::vector<CableFault> faults = made.fabric().faults;
    EXPECT_EQ(faults.size(), 1U);
    return faults.front().share;
  };
  EXPECT_EQ(share({.size = {4, 2}, .faults = {{"leaf1-up1", 0.5}, {"leaf1-up1", 0.25}}}), 0.25);
  EXPECT_EQ(share({.size = {4, 2}, .faults = {{"leaf1-up1", 0.25}, {"leaf1-up1", 0.5}}}), 0.25);
  const auto groups = [&](int links, const Faults& faults) {
    return share({.shape = kDragonfly, .size = {3, 4, 2, links}, .faults = faults});
  };
  const std::string one = "group0-group2-cable";
  EXPECT_DOUBLE_EQ(groups(4, {{one, 0}}), 0.75);
  EXPECT_DOUBLE_EQ(groups(4, {{one, 0}, {one, 0.5}}), 0.625);
  EXPECT_DOUBLE_EQ(groups(4, {{one, 0}, {"group0-group2", 0.5}}), 0.5);
  EXPECT_EQ(groups(10, Faults(10, {one, 0})), 0) << "and nothing of rounding";
  EXPECT_EQ(groups(4, {{one, 0}, {one, 0}, {one, 0}, {one, 0}, {one, 0}}), 0) << "no less than nothing";
  EXPECT_EQ(
      Made({.size = {4, 2}, .faults = {{"leaf1-up1", 0}, {"leaf0-up1", 0}, {"leaf1-up0", 0}}}).fabric().faults.size(),
      3U);
}

TEST(Cables, ThatAreGoneMayCutOffWhatIsNamed) {
  const auto cut = [](const Made& made) { return made.fabric().cut_off(made.nics); };
  const std::vector<int> pods{4, 2, 3};
  EXPECT_EQ(cut({.size = {4, 3}, .faults = {{"leaf2", 0}}}), "leaves 0 and 2");
  EXPECT_EQ(cut({.size = {4, 3}, .faults = {{"leaf2", 0.01}}}), "");
  EXPECT_EQ(cut({.size = {4, 3}, .faults = {{"spine0", 0}, {"spine1", 0}, {"spine2", 0}}}), "");
  EXPECT_EQ(cut({.size = {2, 3}, .faults = {{"leaf1-up0", 0}, {"leaf2-up1", 0}}}), "leaves 1 and 2");
  Made third{.size = pods};
  for (int pod_switch = 8; pod_switch < 12; ++pod_switch) {
    EXPECT_EQ(cut(third), "") << pod_switch;
    for (const char* up : {"-up0", "-up1"}) third.faults.push_back({fmt::format("pod-switch{}{}", pod_switch, up), 0});
  }
  EXPECT_EQ(cut(third), "leaves 0 and 4") << "the third pod";
  Made crossed{.size = {2, 2, 2}};
  crossed.faults = {{"pod-switch0-up0", 0}, {"pod-switch2-up1", 0}, {"pod-switch1-up0", 0}, {"pod-switch3-up1", 0}};
  EXPECT_EQ(cut(crossed), "leaves 0 and 2") << "no core has a cable of both pods";
  crossed.faults.pop_back();
  EXPECT_EQ(cut(crossed), "");
  const auto dragonfly = [&](const Faults& faults) {
    return cut({.shape = kDragonfly, .size = {3, 4, 2}, .faults = faults});
  };
  EXPECT_EQ(dragonfly({{"group0-group1", 0}}), "");
  EXPECT_EQ(dragonfly({{"group0-group1", 0}, {"group1-group2", 0}}), "groups 0 and 1");
  EXPECT_EQ(dragonfly({{"group0-group1", 0}, {"group1-group2", 0.1}}), "");
  EXPECT_EQ(dragonfly({{"router4-router5", 0}, {"router4-router6", 0}}), "") << "router 7 is left";
  EXPECT_EQ(dragonfly({{"router4-router5", 0}, {"router4-router6", 0}, {"router4-router7", 0}}), "routers 4 and 5");
  const auto hyperx = [&](const Faults& faults) {
    return cut({.shape = kHyperx, .size = {3, 4, 2}, .faults = faults});
  };
  EXPECT_EQ(hyperx({{"router0-router2", 0}}), "");
  EXPECT_EQ(hyperx({{"router0-router2", 0}, {"router1-router2", 0}}), "routers 0 and 2");
  EXPECT_EQ(dragonfly({{"router4-router5", 0}, {"router0-router2", 0}, {"router8-router9", 0}}), "") << "three groups";
}

// ---- sizes ----------------------------------------------------------------------------------------------------------

TEST(Sizes, HaveAsManyNumbersAsTheShape) {
  const auto wrong = [](FabricShape shape, std::vector<int> size, std::size_t ratios = 0) {
    return Made{.shape = shape, .size = std::move(size), .ratios = std::vector<Oversubscription>(ratios)}
        .fabric()
        .wrong_size();
  };
  EXPECT_EQ(wrong(FabricShape::one_switch, {}), "");
  EXPECT_EQ(wrong(FabricShape::one_switch, {2}), "a switch has no 'size'");
  EXPECT_EQ(wrong(FabricShape::rail_only, {2, 2}), "a rail-only has no 'size'");
  const std::string tree = "a tree has 2 or 3 numbers: nodes of a leaf, leaves of a pod, pods";
  for (const std::vector<int>& size : {std::vector<int>{}, {4}, {1, 2, 3, 4}}) EXPECT_EQ(wrong(kTree, size), tree);
  for (const FabricShape shape : {kTree, kRails}) {
    EXPECT_EQ(wrong(shape, {4, 2}, 1), "");
    EXPECT_EQ(wrong(shape, {4, 2, 2}, 2), "");
    EXPECT_EQ(wrong(shape, {4, 2}, 2), "a tree of 2 numbers has 1 level with links up, and 'oversubscription' has 2");
    EXPECT_EQ(wrong(shape, {4, 2, 2}, 3),
              "a tree of 3 numbers has 2 levels with links up, and 'oversubscription' has 3");
    EXPECT_EQ(wrong(shape, {}, 1), tree);
  }
  const std::string dragonfly =
      "a dragonfly has 3 or 4 numbers: groups, routers of a group, nodes of a router, links between two groups";
  for (const std::vector<int>& size : {std::vector{3, 4}, {1, 2, 3, 4, 5}})
    EXPECT_EQ(wrong(kDragonfly, size), dragonfly);
  for (const std::vector<int>& size : {std::vector{3, 4, 2}, {3, 4, 2, 1}}) EXPECT_EQ(wrong(kDragonfly, size), "");
  for (const std::size_t length : {0U, 1U, 8U, 9U}) {
    EXPECT_EQ(wrong(kTorus, std::vector<int>(length, 2)),
              length == 0 || length == 9 ? "a torus has 1 to 8 numbers: nodes along each dimension" : "");
  }
}

TEST(Sizes, SayHowManyNodesThereAreAndWhatJoinsThem) {
  const auto says = [](FabricShape shape, std::vector<int> size, int nics, std::int64_t nodes) {
    const Fabric fabric{.link = {.value = 25.0_GBps}, .shape = shape, .size = std::move(size)};
    return fmt::format("{} places; {}", fabric.nodes().value_or(-1), describe(fabric, nodes, nics));
  };
  EXPECT_EQ(says(FabricShape::one_switch, {}, 8, 4), "-1 places; switch: bisection 100 %");
  EXPECT_EQ(says(FabricShape::rail_only, {}, 8, 4), "-1 places; rail-only: 8 switches of 4 ports, bisection 100 %");
  EXPECT_EQ(says(kTree, {4, 2, 3}, 2, 17),
            "24 places; fat-tree: 5 leaves of 8 ports down and 8 up, 88 cables between switches, bisection 100 %");
  EXPECT_EQ(says(kRails, {4, 2, 2}, 2, 9),
            "16 places; rails: 6 leaves of 4 ports down and 4 up, 56 cables between switches, bisection 100 %");
  EXPECT_EQ(says(kDragonfly, {6, 8, 4}, 1, 100),
            "192 places; dragonfly: 4 groups of 8 routers, 112 cables within and 6 between groups, bisection 6.25 %");
  EXPECT_EQ(says(kDragonfly, {5, 4, 2, 2}, 1, 40),
            "40 places; dragonfly: 5 groups of 4 routers, 30 cables within and 20 between groups, bisection 62.5 %");
  EXPECT_EQ(says(kDragonfly, {5, 4, 2, 2}, 1, 8),
            "40 places; dragonfly: 1 groups of 4 routers, 6 cables within and 0 between groups, bisection 100 %");
  EXPECT_EQ(says(kTorus, {8, 2}, 2, 16), "16 places; torus: 2 dimensions, bisection 25 %");
  EXPECT_EQ(says(kTorus, {2, 2}, 2, 4), "4 places; torus: 2 dimensions, bisection 50 %");
  EXPECT_EQ(says(kTorus, {7}, 1, 7), "7 places; torus: 1 dimension, bisection 57.1 %");
  EXPECT_EQ(says(kTree, {4, 2, 3}, 2, 4),
            "24 places; fat-tree: 1 leaves of 8 ports down and 8 up, 0 cables between switches, bisection 100 %");
  EXPECT_EQ(says(kTree, {4, 2, 3}, 2, 8),
            "24 places; fat-tree: 2 leaves of 8 ports down and 8 up, 16 cables between switches, bisection 100 %");
  const int million = 1'000'000;
  EXPECT_EQ(Made({.shape = kTorus, .size = {million, million, million}}).fabric().nodes(), 1'000'000'000'000);
}

/// Half of the nodes send to the other half; a level of its own that is narrower decides.
TEST(Sizes, SayWhatCrossesTheMiddle) {
  const auto share = [](const Made& made, std::int64_t nodes) { return made.fabric().bisection(nodes, made.nics); };
  EXPECT_EQ(share({.size = {4, 3, 2}, .ratios = {{8, 1}}}, 4), 1) << "one leaf";
  EXPECT_EQ(share({.size = {4, 3, 2}, .ratios = {{4, 1}}}, 5), 1) << "the fifth has no partner";
  EXPECT_EQ(share({.size = {4, 3, 2}, .ratios = {{4, 1}}}, 6), 1) << "one pair of three is in the first leaf";
  EXPECT_EQ(share({.size = {4, 3, 2}, .ratios = {{4, 1}}}, 8), 0.5);
  EXPECT_EQ(share({.shape = kRails, .size = {4, 3, 2}, .ratios = {{4, 1}}, .nics = 2}, 4), 0.5)
      << "each adapter of a node has its own leaf";
  EXPECT_EQ(share({.shape = kRails, .size = {4, 3, 2}, .ratios = {{4, 1}}}, 4), 1) << "and one alone none";
  const Made levels{.size = {4, 3, 2}, .ratios = {{4, 1}, {3, 1}}, .nics = 2};
  EXPECT_EQ(share(levels, 12), 0.5) << "one pod";
  EXPECT_EQ(share(levels, 13), 0.5) << "the thirteenth has no partner";
  EXPECT_DOUBLE_EQ(share(levels, 24), 1.0 / 3);
  const Fabric wide{.link = {.value = Rate{25e9}}, .shape = kTree, .size = {8, 8}, .oversubscription = {{2, 1}}};
  for (const auto& [nodes, expected] : {std::pair{8, 1.0}, {9, 1.0}, {12, 1.0}, {14, 4.0 / 6}, {16, 0.5}, {64, 0.5}}) {
    EXPECT_DOUBLE_EQ(wide.bisection(nodes, 1), expected) << nodes;
  }
  // A router's 15 links: of 16 routers that all send, half of those that go over a third one are needed there.
  const Fabric group{.link = {.value = Rate{25e9}}, .shape = kDragonfly, .size = {24, 16, 4, 4}};
  EXPECT_DOUBLE_EQ(group.bisection(64, 4), 0.5);
  EXPECT_DOUBLE_EQ(group.bisection(8, 4), 15.0 / 16);
  EXPECT_DOUBLE_EQ(group.bisection(4, 4), 1);
  EXPECT_DOUBLE_EQ(share({.size = {4, 3}, .faults = {{"leaf1", 0.25}, {"leaf2-up3", 0}}}, 12), 0.5);
}

TEST(Sizes, FitTheSwitches) {
  const auto wrong = [](Made made, int radix) {
    Fabric fabric = made.fabric();
    fabric.radix = radix;
    return fabric.wrong_ports(made.nics);
  };
  EXPECT_EQ(wrong({.size = {20, 28}, .nics = 8}, 0), "");
  EXPECT_EQ(wrong({.size = {20, 28}, .nics = 8}, 64),
            "a leaf has 160 ports down and 160 up, and a switch has 64 ('radix')");
  EXPECT_EQ(wrong({.shape = kRails, .size = {32, 4}, .nics = 8}, 64), "");
  EXPECT_EQ(wrong({.shape = kRails, .size = {32, 4}, .nics = 8}, 63),
            "a leaf has 32 ports down and 32 up, and a switch has 63 ('radix')");
  EXPECT_EQ(wrong({.shape = kRails, .size = {20, 28}, .nics = 8}, 64),
            "a switch of the second level has 224 ports down and 0 up, and a switch has 64 ('radix')");
  EXPECT_EQ(wrong({.size = {4, 40, 2}}, 64),
            "a switch of the second level has 40 ports down and 40 up, and a switch has 64 ('radix')");
  EXPECT_EQ(wrong({.size = {4, 2, 64}}, 64), "");
  EXPECT_EQ(wrong({.size = {4, 2, 65}}, 64),
            "a switch of the third level has 65 ports down and 0 up, and a switch has 64 ('radix')");
  EXPECT_EQ(wrong({.shape = kRails, .size = {20, 2}, .ratios = {{3, 1}}}, 0),
            "a leaf has 20 ports down, which 3:1 does not divide");
  EXPECT_EQ(wrong({.size = {4, 3, 2}, .ratios = {{1, 1}, {2, 1}}}, 0),
            "a switch of the second level has 3 ports down, which 2:1 does not divide");
  EXPECT_EQ(wrong({.shape = kDragonfly, .size = {3, 4, 2}}, 1), "") << "no tree";
}

}  // namespace
}  // namespace twinlink::platforms
