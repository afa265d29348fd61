// Links that are slow or gone: what is left of a machine, and who is told that nothing is.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/reader/platform_reader.hpp"
#include "platforms/tools/faults.hpp"
#include "platforms/topology/idle_faults.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/core/errors.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::platforms {
namespace {

using ::testing::HasSubstr;

Platform sick(const std::string& name, const Faults& faults, const std::vector<std::string>& overrides = {}) {
  return read_platform("platforms/" + name + ".yaml", overrides, faults);
}

std::string refusal(const std::string& name, const Faults& faults) {
  return said_by([&] { return sick(name, faults); });
}

const Link& link_of(const Platform& platform, const std::string& name) {
  return *std::ranges::find(platform.node.links, name, &Link::name);
}

TEST(Faults, NoneIsTheMachineAsItIs) {
  const Platform platform = sick("keeneland-kids", {});
  EXPECT_EQ(platform.node.links.size(), read_platform("platforms/keeneland-kids.yaml").node.links.size());
}

TEST(Faults, WithoutNvlinkPeersGoAnotherWay) {
  const std::string file = "tests/data/nvlink_and_pcie.yaml";
  const auto way = [&](const Faults& faults) {
    const Platform platform = read_platform(file, {}, faults);
    const Topology topology(platform);
    EXPECT_TRUE(topology.peer_access(1, 2));
    return topology.describe("gpu1", topology.copy_route({Location::Kind::gpu, 1}, {Location::Kind::gpu, 2}));
  };
  EXPECT_EQ(way({}), "gpu1 -> gpu2");
  EXPECT_EQ(way({.failed = {"nvlink"}}), "gpu1 -> ioh1 -> gpu2");
  EXPECT_EQ(way({.degraded = {"nvlink=30%"}}), "gpu1 -> gpu2") << "6 GB/s, and no driver leaves it for PCIe's 7.31";
}

/// Why a place cannot be used; empty: it can.
std::string why_not(const Topology& topology, const Place& place) {
  return said_by([&] { return topology.require(place); });
}

TEST(Faults, AGpuThatIsCutOffIsGoneAndTheOthersAreThere) {
  for (const std::string part : {"gpu1", "gpu1-pcie"}) {
    const Platform platform = sick("keeneland-kids", {.failed = {part}});
    const Topology topology(platform);
    EXPECT_EQ(why_not(topology, {3, 1, {}}), "3/1 is gone: --fail " + part);
    EXPECT_EQ(why_not(topology, {3, 2, {}}), "nothing was refused") << "it keeps its number";
    const auto places = topology.places();
    EXPECT_EQ(places.size(), 240U);
    EXPECT_TRUE(std::ranges::none_of(places, [](const Place& place) { return place.gpu == 1; }));
  }
}

TEST(Faults, WithoutTheOnlyAdapterNodesDoNotReachEachOther) {
  const Platform platform = sick("keeneland-kids", {.failed = {"hca0-pcie"}});
  const Topology topology(platform);
  EXPECT_TRUE(topology.path({0, 1, {}}, {0, 2, {}}).peer_access);
  try {
    static_cast<void>(topology.path({0, 0, {}}, {1, 0, {}}));
    ADD_FAILURE();
  } catch (const UsageError& error) {
    EXPECT_EQ(error.what(), std::string("node 0 has no adapter left: --fail hca0-pcie"));
  }
}

TEST(Faults, AWholeNodeIsGone) {
  const Platform platform = sick("keeneland-kids", {.failed = {"node1"}});
  const Topology topology(platform);
  for (int gpu = 0; gpu < 3; ++gpu)
    EXPECT_EQ(why_not(topology, {1, gpu, {}}), "1/" + std::to_string(gpu) + " is gone: --fail node1");
  EXPECT_EQ(why_not(topology, {2, 0, {}}), "nothing was refused");
  EXPECT_EQ(topology.places().size(), 357U);
  EXPECT_FALSE(topology.path({0, 0, {}}, {2, 0, {}}).same_node);
}

TEST(Faults, APartOfANodeOfADomainIsThatOfEachDomain) {
  const Platform platform = sick("gb200-nvl72", {.degraded = {"1/hca-pcie2=50%"}, .failed = {"5/gpu2"}});
  const Topology topology(platform);
  const std::string why = " is gone: --fail 5/gpu2 (in every domain, which are alike)";
  EXPECT_EQ(why_not(topology, {5, 2, {}}), "5/2" + why);
  EXPECT_EQ(why_not(topology, {23, 2, {}}), "23/2" + why);
  EXPECT_EQ(topology.places().size(), 142U);
  EXPECT_DOUBLE_EQ(link_of(platform, "hca-pcie6").forward.value.bytes_per_second(), 57.6e9 / 2);
  EXPECT_EQ(Topology(sick("gb200-nvl72", {.failed = {"node5"}})).places().size(), 136U);
}

TEST(Faults, ADeadAdaptersGpusTakeTheNearestThatIsLeft) {
  const std::string file = "tests/data/two_adapters.yaml";
  const Platform well = read_platform(file);
  ASSERT_EQ(well.node.gpus[1].nic, "hca1");
  const Platform platform = read_platform(file, {}, Faults{.failed = {"hca1-pcie"}});
  EXPECT_EQ(platform.node.nics.size(), 1U);
  for (const Gpu& gpu : platform.node.gpus) EXPECT_EQ(gpu.nic, "hca0") << gpu.name;
  EXPECT_EQ(read_platform(file, {}, Faults{.failed = {"hca1"}}).node.nics.size(), 1U) << "by the adapter's own name";
}

TEST(Faults, AnUnknownNameIsToldFromARightOne) {
  EXPECT_THAT(refusal("keeneland-kids", {.failed = {"gpu1-pci"}}), HasSubstr("did you mean 'gpu1-pcie'?"));
  EXPECT_THAT(refusal("keeneland-kids", {.degraded = {"qpj=50%"}}), HasSubstr("did you mean 'qpi'?"));
  EXPECT_THAT(refusal("keeneland-kids", {.failed = {"node1-hca0"}}), HasSubstr("did you mean '1/hca0'?"));
}

TEST(Faults, AShareIsAboveNothingAndNotAboveAll) {
  for (const std::string text : {"qpi", "qpi=", "qpi=50", "qpi=0%", "qpi=-5%", "qpi=101%", "qpi=nan%", "qpi=5%%"}) {
    EXPECT_THAT(refusal("keeneland-kids", {.degraded = {text}}), HasSubstr("PART=PERCENT% is expected")) << text;
  }
}

TEST(Faults, AHubStandsForItsLinks) {
  const Platform platform = sick("keeneland-kids", {.failed = {"ioh1"}});
  const Topology topology(platform);
  for (const int gpu : {1, 2}) EXPECT_NE(why_not(topology, {0, gpu, {}}), "nothing was refused") << gpu;
  EXPECT_EQ(why_not(topology, {0, 0, {}}), "nothing was refused");
  EXPECT_THAT(refusal("keeneland-kids", {.failed = {"qpi"}}), HasSubstr("--fail qpi cuts parts off: no route from "));
}

TEST(Faults, WithATimeComeLater) {
  const Platform platform = sick("keeneland-kids", {.degraded = {"qpi=50%@2ms"}, .failed = {"hca0@1 s"}});
  EXPECT_DOUBLE_EQ(link_of(platform, "qpi").forward.value.bytes_per_second(), 11.4e9) << "until then";
  ASSERT_EQ(platform.later_faults.size(), 2U);
  EXPECT_EQ(platform.later_faults[0].part, "qpi");
  EXPECT_EQ(platform.later_faults[0].at, 2000.0_us);
  EXPECT_EQ(platform.later_faults[0].share, 0.5);
  EXPECT_EQ(platform.later_faults[1].part, "hca0");
  EXPECT_EQ(platform.later_faults[1].share, 0);
}

TEST(Faults, ATimeIsOne) {
  EXPECT_THAT(refusal("keeneland-kids", {.failed = {"qpi@soon"}}), HasSubstr("--fail qpi@soon: "));
  EXPECT_THAT(refusal("keeneland-kids", {.failed = {"qpj@1ms"}}), HasSubstr("did you mean 'qpi'?"));
  EXPECT_THAT(refusal("keeneland-kids", {.degraded = {"numa0=50%@1ms"}}),
              HasSubstr("--degrade numa0=50%@1ms: a memory has the same bandwidth all the time: leave @TIME out"));
  EXPECT_THAT(refusal("keeneland-kids", {.failed = {"numa0@1ms"}}), HasSubstr("no link, GPU, adapter or hub 'numa0'"));
}

TEST(Faults, PartsOfOtherKindsOfNodesHaveTheirKindBeforeThem) {
  const std::string file = "tests/data/two_kinds.yaml";
  const Platform slow = read_platform(file, {}, Faults{.degraded = {"new-qpi=50%"}});
  const auto qpi = [](const Node& node) {
    return std::ranges::find(node.links, "qpi", &Link::name)->forward.value.bytes_per_second();
  };
  EXPECT_DOUBLE_EQ(qpi(slow.kinds.front().node), 5.7e9);
  EXPECT_DOUBLE_EQ(qpi(slow.node), 11.4e9);
  const Platform without = read_platform(file, {}, Faults{.failed = {"new-hca1"}});
  EXPECT_EQ(without.kinds.front().node.nics.size(), 1U);
  EXPECT_EQ(without.kinds.front().node.gpus[1].nic, "hca0");
}

TEST(Faults, APartOfOneNodeIsThatOfNoOther) {
  const Platform platform = sick("keeneland-kids", {.degraded = {"5/gpu1-pcie=50%"}});
  const Topology topology(platform);
  EXPECT_EQ(topology.nodes(), Topology(sick("keeneland-kids", {})).nodes()) << "it takes its place";
  const auto rate = [&](int node) {
    const std::string name = topology.graph().gpus[topology.gpu_of({node, 1, {}})].name + "-pcie";
    return std::ranges::find(topology.graph().links, name, &Link::name)->forward.value.bytes_per_second();
  };
  EXPECT_DOUBLE_EQ(rate(5), 7.31e9 / 2);
  for (const int node : {0, 4, 6}) EXPECT_DOUBLE_EQ(rate(node), 7.31e9) << node;
  EXPECT_FALSE(topology.path({4, 1, {}}, {5, 1, {}}).same_node);
}

TEST(Faults, AWholeNodeIsSlow) {
  const Platform platform = sick("keeneland-kids", {.degraded = {"node2=25%", "2/qpi=50%@1ms", "node3=50%@2ms"}});
  ASSERT_EQ(platform.kinds.size(), 2U);
  const Platform well = sick("keeneland-kids", {});
  const Node& slow = platform.kinds.front().node;
  EXPECT_EQ(platform.kinds.front().replaces, 2);
  for (std::size_t i = 0; i < slow.links.size(); ++i) {
    const double rate = well.node.links[i].forward.value.bytes_per_second();
    EXPECT_DOUBLE_EQ(slow.links[i].forward.value.bytes_per_second(), rate / 4) << slow.links[i].name;
    EXPECT_DOUBLE_EQ(platform.node.links[i].forward.value.bytes_per_second(), rate) << slow.links[i].name;
    EXPECT_DOUBLE_EQ(platform.kinds[1].node.links[i].forward.value.bytes_per_second(), rate) << "until then";
  }
  ASSERT_EQ(platform.later_faults.size(), 1 + slow.links.size() + slow.nics.size()) << "with its adapters' ports";
  EXPECT_EQ(platform.later_faults[0].part, "node2-qpi");
  EXPECT_EQ(platform.later_faults[1].part, "node3-" + well.node.links[0].name);
}

TEST(Faults, OneNodesAdapterMayDie) {
  const std::string file = "tests/data/two_kinds.yaml";
  const Platform all_well = read_platform(file);
  const Topology well(all_well);
  const int last = well.nodes() - 1;
  ASSERT_EQ(well.part_of(last).nics, 2U);
  const Platform platform = read_platform(file, {}, Faults{.failed = {std::to_string(last) + "/hca1"}});
  const Topology topology(platform);
  EXPECT_EQ(topology.nodes(), well.nodes());
  EXPECT_EQ(topology.part_of(last).nics, 1U);
  EXPECT_EQ(topology.part_of(last - 1).nics, 2U) << "of the same kind";
}

TEST(Faults, NodesThatFollowEachOtherMayHaveAFaultTogether) {
  const Platform platform = sick("selene", {.failed = {"fabric/leaf9"}});
  const Topology topology(platform);
  ASSERT_EQ(platform.kinds.size(), 1U) << "of the twenty nodes of the second place";
  EXPECT_EQ(topology.nodes(), 560);
  for (const int node : {20, 39}) EXPECT_EQ(topology.part_of(node).nics, 7U) << node;
  for (const int node : {19, 40}) EXPECT_EQ(topology.part_of(node).nics, 8U) << node;
  EXPECT_EQ(Topology(sick("selene", {.failed = {"2-5/gpu0", "2-5/gpu1"}})).places().size(), 560 * 8 - 8U);
}

TEST(Faults, OfNodesThatOverlapEachNodeHasItsOwn) {
  const Platform platform =
      sick("selene", {.degraded = {"4-9/xgmi=50%@1ms"}, .failed = {"2-5/gpu0", "4/gpu1", "node8"}});
  const Topology topology(platform);
  std::map<int, std::size_t> gpus;
  for (const Place& place : topology.places()) ++gpus[place.node];
  const std::map<int, std::size_t> expected{{1, 8}, {2, 7}, {3, 7}, {4, 6}, {5, 7}, {6, 8}, {7, 8}, {9, 8}, {10, 8}};
  for (const auto& [node, left] : expected) EXPECT_EQ(gpus[node], left) << node;
  EXPECT_FALSE(gpus.contains(8)) << "nothing of it is left";
  std::vector<std::string> later;
  for (const LaterFault& fault : platform.later_faults) {
    later.push_back(fault.part);
    EXPECT_EQ(fault.text, "--degrade 4-9/xgmi=50%@1ms") << "as it was typed";
  }
  EXPECT_THAT(later, ::testing::ElementsAre("node4-xgmi", "node5-xgmi", "nodes6to7-xgmi", "node8-xgmi", "node9-xgmi"));
}

/// A leaf stands for the adapters of its nodes, of which one may have another fault.
TEST(Faults, APartOfEveryNodeIsOneOfOddNodesToo) {
  const Platform platform = sick("selene", {.degraded = {"hca0=50%", "2-3/gpu7=99%"}, .failed = {"node6"}});
  std::vector<std::string> slowed;
  for (const SlowedPart& part : platform.slowed_parts) slowed.push_back(part.part);
  EXPECT_THAT(slowed, ::testing::UnorderedElementsAre("hca0", "nodes2to3-gpu7", "nodes2to3-hca0"));
}

TEST(Faults, ANodeMayFailBesideItsLeaf) {
  const Platform platform = sick("selene", {.failed = {"node7", "fabric/leaf0"}});
  const Topology topology(platform);
  for (const int node : {0, 6, 7, 8, 19}) EXPECT_EQ(topology.part_of(node).nics, 7U) << node;
  EXPECT_EQ(topology.part_of(20).nics, 8U);
  EXPECT_EQ(topology.places().size(), 559 * 8U);
}

/// A node's other adapters stay at the leaves where they are plugged in.
TEST(Faults, ARailsLeafTakesItsAdaptersAlong) {
  const std::vector<std::string> small{"nodes.count=4"};
  const Platform well = sick("selene", {}, small);
  ASSERT_EQ(well.fabric->shape, FabricShape::rails);
  ASSERT_EQ(well.node.nics.size(), 8U);
  const Platform platform = sick("selene", {.failed = {"fabric/leaf0"}}, small);
  const Topology topology(platform);
  EXPECT_EQ(topology.part_of(3).nics, 7U);
  EXPECT_EQ(topology.fabric_nics(), 8);
  const std::string& second = well.node.nics[1].name;
  const Platform odd = sick("selene", {.failed = {"1/" + well.node.nics[0].name}}, small);
  const Topology one(odd);
  const Topology whole(well);
  const FabricWay now = one.fabric_way(1, 0, {"node1-" + second, second});
  EXPECT_EQ(now.switches, whole.fabric_way(1, 0, {second, second}).switches) << "one leaf";
  EXPECT_EQ(now.switches, 1);
}

TEST(Faults, AFabricThatIsCutIsAFailedCheckThatNamesIt) {
  const auto failure = [](const std::string& name, const Faults& faults) -> std::string {
    try {
      static_cast<void>(sick(name, faults));
    } catch (const UsageError& error) {
      return "bad usage: " + std::string(error.what());
    } catch (const Error& error) {
      return error.exit_code() == ExitCode::failed ? error.what() : "another exit code";
    }
    return "";
  };
  EXPECT_EQ(failure("keeneland-kids", {.failed = {"fabric/switch"}}),
            "--fail fabric/switch: it cuts off nodes 0 to 119, without another adapter");
  EXPECT_EQ(failure("selene", {.failed = {"fabric/leaf0", "fabric/leaf1", "fabric/leaf2", "fabric/leaf3",
                                          "fabric/leaf4", "fabric/leaf5", "fabric/leaf6", "fabric/leaf7"}}),
            "--fail fabric/leaf7: it cuts off nodes 0 to 19, without another adapter");
  EXPECT_THAT(failure("keeneland-kids", {.failed = {"fabric/leaf1"}}),
              HasSubstr("bad usage: --fail fabric/leaf1: a switch"));
}

/// Switches have the ports of adapters that have died; what is left of these need not divide by the oversubscription.
TEST(Faults, ADeadAdapterLeavesItsPort) {
  const std::string file = ::testing::TempDir() + "twinlink-four-to-one.yaml";
  std::ofstream(file) << "include: " << std::filesystem::absolute("platforms/selene.yaml").string() << "\n"
                      << "nodes: {count: 8}\nfabric: {shape: fat-tree, size: [2, 4], oversubscription: '4:1'}\n";
  const Platform well = read_platform(file, {});
  ASSERT_EQ(well.node.nics.size(), 8);
  for (const std::string fault : {"hca3", "1/hca3", "0-3/hca3", "0-7/hca3"}) {
    const Platform platform = read_platform(file, {}, Faults{.failed = {fault}});
    EXPECT_EQ(Topology(platform).fabric_nics(), 8) << fault;
  }
}

TEST(Faults, ACableMayFailLater) {
  const Platform platform = sick("selene", {.degraded = {"fabric/leaf3-up2=50%@1ms"}, .failed = {"fabric/spine1@2us"}});
  ASSERT_EQ(platform.later_faults.size(), 2U);
  EXPECT_EQ(platform.later_faults[0].part, "fabric/spine1");
  EXPECT_EQ(platform.later_faults[0].at, 2.0_us);
  EXPECT_EQ(platform.later_faults[1].part, "fabric/leaf3-up2");
  EXPECT_DOUBLE_EQ(platform.later_faults[1].share, 0.5);
  EXPECT_TRUE(platform.fabric->faults.empty()) << "nothing has failed yet";
}

TEST(Faults, OnlyNodesThatThereAreHaveParts) {
  EXPECT_THAT(refusal("keeneland-kids", {.failed = {"9999/qpi"}}),
              HasSubstr("--fail 9999/qpi: there are nodes 0 to 119"));
  for (const std::string beyond : {"120/qpi", "119-120/qpi"}) {
    EXPECT_THAT(refusal("keeneland-kids", {.failed = {beyond}}), HasSubstr(": there are nodes 0 to 119")) << beyond;
  }
  EXPECT_THAT(refusal("keeneland-kids", {.failed = {"5-4/hca0"}}), HasSubstr("5-4/hca0"));
  for (const std::string last : {"119/gpu0", "119-119/gpu0"}) {
    EXPECT_EQ(Topology(sick("keeneland-kids", {.failed = {last}})).places().size(), 359U) << last;
  }
  EXPECT_THAT(refusal("keeneland-kids", {.failed = {"1/qpj"}}), HasSubstr("did you mean '1/qpi'?"));
}

TEST(Faults, OfSeveralAdaptersThoseThatAreLeftStay) {
  const Platform well = read_platform("platforms/summit-256.yaml", {}, Faults{});
  ASSERT_EQ(well.node.gpus[0].more_nics.size(), 1U);
  const Platform platform = read_platform("platforms/summit-256.yaml", {}, Faults{.failed = {"hca0"}});
  EXPECT_EQ(platform.node.gpus[0].nic, "hca1");
  EXPECT_TRUE(platform.node.gpus[0].more_nics.empty());
}

/// Of links beside each other copies take the one that is wide in their direction.
TEST(IdleFaults, AreOfPartsThatNoWayOfTheRanksCrosses) {
  Platform platform = read_platform("platforms/keeneland-kids.yaml");
  const auto idle = [&](const std::string& part, const std::vector<Place>& places) {
    platform.slowed_parts = {{.part = part, .text = part}};
    return idle_faults(platform, places) ==
           std::vector{part + " makes no difference: no way of these ranks would cross it"};
  };
  const auto beside = [&](const std::string& name, Rate forward, Rate backward) {
    Link link = link_of(platform, "gpu0-pcie");
    link.name = name;
    link.forward.value = forward;
    link.backward.value = backward;
    platform.node.links.push_back(link);
  };
  beside("one-way", 90.0_GBps, 1.0_GBps);
  beside("other-way", 1.0_GBps, 90.0_GBps);
  const std::vector<Place> alone{{0, 0, {}}};
  const std::vector<Place> two{{0, 0, {}}, {0, 1, {}}};
  const std::vector<Place> nodes{{0, 0, {}}, {1, 0, {}}};
  for (const char* part : {"one-way", "other-way"}) EXPECT_FALSE(idle(part, alone)) << part;
  for (const char* part : {"gpu0-pcie", "gpu1-pcie", "hca0-pcie"}) EXPECT_TRUE(idle(part, alone)) << part;
  EXPECT_FALSE(idle("gpu1-pcie", two));
  EXPECT_TRUE(idle("gpu1-pcie", nodes));
  EXPECT_TRUE(idle("hca0-pcie", two));
  EXPECT_FALSE(idle("hca0-pcie", nodes));
  platform.within_node.loopback = true;
  EXPECT_FALSE(idle("hca0-pcie", two)) << "messages within the node go out and come back";
}

/// Does a cable of a made-up fabric, whose nodes have so many adapters, matter to ranks on these nodes?
struct CableCase {
  FabricShape shape = FabricShape::fat_tree;
  std::vector<int> size{};
  FabricRouting routing = FabricRouting::by_target;
  std::size_t nics = 1;

  [[nodiscard]] bool crossed(const std::string& cable, const std::vector<int>& nodes) const {
    Platform platform = read_platform("platforms/keeneland-kids.yaml");
    Fabric& fabric = platform.fabric.value();
    fabric.shape = shape;
    fabric.size = size;
    fabric.routing = routing;
    while (platform.node.nics.size() < nics) platform.node.nics.push_back({.name = "more"});
    std::vector<Place> places;
    for (const int node : nodes) places.push_back({node, 0, {}});
    return may_cross_cable(platform, "fabric/" + cable, places);
  }
};

TEST(IdleFaults, OfCablesAreThoseThatNoMessageOfTheRanksMayTake) {
  using enum FabricShape;
  const auto expect = [](const CableCase& made, const std::string& cable, const std::vector<std::vector<int>>& crossed,
                         const std::vector<std::vector<int>>& idle) {
    for (const std::vector<int>& nodes : crossed) EXPECT_TRUE(made.crossed(cable, nodes)) << cable << nodes.back();
    for (const std::vector<int>& nodes : idle) EXPECT_FALSE(made.crossed(cable, nodes)) << cable << nodes.back();
  };
  const CableCase flat{.size = {2, 3}};
  expect(flat, "leaf0-up1", {{0, 2}, {1, 5}, {0, 1, 4}}, {{0, 1}, {2, 3}, {2, 4}, {0}});
  expect(flat, "leaf1-up1=50%", {{3, 4}}, {{2, 3}, {0, 4}});
  expect(flat, "spine1", {{0, 2}}, {{0, 1}, {4, 5}});
  const CableCase pods{.size = {2, 2, 2}};
  expect(pods, "pod-switch0-up1", {{0, 4}, {3, 7}}, {{0, 2}, {4, 6}});
  expect(pods, "pod-switch2-up0", {{0, 4}, {3, 7}}, {{0, 2}, {4, 6}});
  const CableCase by_rail{.shape = rails, .size = {2, 2, 2}, .nics = 2};
  expect(by_rail, "leaf1-up0", {{0, 1}, {1, 2}}, {{2, 3}, {0}, {2, 4}});
  expect(by_rail, "leaf2-up0", {{2, 3}, {0, 2}}, {{0, 1}, {4, 5}});
  expect(by_rail, "pod-switch2-up0", {{0, 4}, {3, 7}}, {{0, 2}, {4, 6}});
  CableCase made{.shape = dragonfly, .size = {3, 2, 2}};
  expect(made, "router0-router1", {{0, 2}, {0, 4}, {3, 4}}, {{0, 1}, {2, 3}, {4, 8}});
  expect(made, "router2-router3", {{4, 6}, {0, 6}}, {{0, 2}, {4, 5}});
  for (const std::string cable : {"group0-group2", "group0-group2-cable"}) {
    expect(made, cable, {{0, 8}, {3, 11}}, {{0, 4}, {4, 8}, {0, 3}});
  }
  made.routing = FabricRouting::adaptive;
  expect(made, "group0-group2", {{0, 8}, {0, 4}, {4, 8}}, {{0, 3}, {4, 7}, {8, 11}});
  expect({.shape = torus, .size = {6}}, "node0-node1", {{2, 3}}, {{2}});
}

TEST(IdleFaults, AreFailuresThatNoRankMeets) {
  const auto idle = [](const std::string& part, const std::vector<Place>& places, bool uses_gpus = true) {
    const Platform platform = sick("keeneland-kids", {.failed = {part}});
    return idle_failures(platform, places, [&](const std::string&) { return uses_gpus; });
  };
  const std::vector<Place> one{{0, 0, {}}, {0, 2, {}}};
  const std::vector<Place> two{{0, 0, {}}, {1, 0, {}}};
  const std::vector<std::string> none;
  EXPECT_EQ(idle("gpu1", one), std::vector<std::string>{"--fail gpu1: no rank is on what is gone"});
  EXPECT_EQ(idle("node7", one), std::vector<std::string>{"--fail node7: no rank is on what is gone"});
  EXPECT_EQ(idle("hca0", one),
            std::vector<std::string>{"--fail hca0 makes no difference: no way of these ranks would cross it"});
  EXPECT_EQ(idle("5/hca0", two),
            std::vector<std::string>{"--fail 5/hca0 makes no difference: no way of these ranks would cross it"});
  EXPECT_EQ(idle("hca0", two), none);
  EXPECT_EQ(idle("gpu0", {{0, 0, {}}}), none) << "it would have been crossed";
  EXPECT_EQ(idle("gpu0", {{0, 0, {}}}, false).size(), 1U) << "by messages of host memory not";
  EXPECT_TRUE(idle_failures(read_platform("platforms/keeneland-kids.yaml"), one, {}).empty());
}

TEST(Faults, ASlowSwitchIsASlowPortOfAllAndCutsOffNobody) {
  const Platform platform = sick("keeneland-kids", {.degraded = {"fabric/switch=50%"}});
  EXPECT_EQ(platform.node.nics[0].link->value.bytes_per_second(), platform.fabric->link.value.bytes_per_second() / 2);
  EXPECT_EQ(platform.node.nics[0].port_share, 0.5);
  ASSERT_EQ(platform.slowed_parts.size(), 2U);
  EXPECT_EQ(platform.slowed_parts[0].part, "hca0");
  EXPECT_EQ(platform.slowed_parts[1].part, "fabric/switch=50%");
  for (const SlowedPart& part : platform.slowed_parts) EXPECT_EQ(part.text, "--degrade fabric/switch=50%");
}

/// Nodes of kinds are named one by one, and those without that adapter have no port there.
TEST(Faults, ARailOfOneKindIsThatOfItsNodes) {
  const std::string file = ::testing::TempDir() + "twinlink-two-rails.yaml";
  std::ofstream(file) << "include: " << std::filesystem::absolute("tests/data/two_kinds.yaml").string() << "\n"
                      << "fabric: {shape: rail-only}\n";
  const Platform platform = read_platform(file, {}, Faults{.failed = {"fabric/leaf1"}});
  const Topology topology(platform);
  EXPECT_EQ(topology.fabric_nics(), 2);
  for (const int node : {0, 119}) EXPECT_EQ(topology.graph().gpus[topology.gpu_of({node, 1, {}})].nic, "hca0");
  for (const int node : {120, 121, 123}) {
    EXPECT_EQ(topology.part_of(node).nics, 1U) << node;
    EXPECT_EQ(topology.graph().gpus[topology.gpu_of({node, 1, {}})].nic, "node" + std::to_string(node) + "-hca0");
  }
  EXPECT_THROW(read_platform(file, {}, Faults{.failed = {"fabric/leaf0"}}), Error);
}

/// Node 1 of the whole platform is of another kind, which the file puts in its place.
TEST(Faults, OfANodeThatIsReplacedAreOfTheKindInItsPlace) {
  const std::string whole = "../tests/bad_platforms/parts/whole";
  const auto parts = [](const auto& faults) {
    std::string names;
    for (const auto& fault : faults) names += fault.part + " ";
    return names;
  };
  const Platform gone = sick(whole, {.failed = {"node1"}});
  EXPECT_EQ(gone.kinds.size(), 1U);
  EXPECT_EQ(why_not(Topology(gone), {1, 0, {}}), "1/0 is gone: --fail node1");
  EXPECT_EQ(Topology(gone).places().size(), 2U);
  const Platform alone = sick(whole, {.failed = {"1/hca0"}});
  EXPECT_EQ(Topology(alone).why_off_network(1), "--fail 1/hca0");
  EXPECT_EQ(Topology(alone).why_off_network(0), "");
  const Platform slow = sick(whole, {.degraded = {"node1=50%", "1/bus0=50%", "0/bus1=50%"}});
  EXPECT_EQ(parts(slow.slowed_parts), "odd-bus0 odd-nic0 odd-hca0 odd-numa0 odd-bus0 node0-bus1 ");
  EXPECT_EQ(slow.kinds[0].node.links[0].forward.value, Rate{7e9 / 4});
  EXPECT_EQ(slow.kinds[0].node.memories[0].copy_rate.value, Rate{7e9 / 2});
  ASSERT_EQ(slow.kinds.size(), 2U);
  EXPECT_EQ(slow.kinds[1].name, "node0");
  EXPECT_EQ(slow.kinds[1].replaces, 0);
  EXPECT_EQ(slow.kinds[1].node.count, 1);
  EXPECT_EQ(parts(sick(whole, {.degraded = {"node1=50%@1ms"}}).later_faults), "odd-bus0 odd-nic0 odd-hca0 ")
      << "no memory";
}

/// What the file calls so comes before a node of that number.
TEST(Faults, APartMayBeCalledLikeANode) {
  const std::string file = ::testing::TempDir() + "twinlink-named-node.yaml";
  std::ofstream(file)
      << "include: " << std::filesystem::absolute("platforms/keeneland-kids.yaml").string() << "\n"
      << "nodes: {links: {node1: {from: gpu0, to: ioh0, bandwidth: {value: 4 GB/s, assumed: a guess}}}}\n";
  const Platform slow = read_platform(file, {}, Faults{.degraded = {"node1=50%"}});
  EXPECT_TRUE(slow.kinds.empty());
  EXPECT_EQ(link_of(slow, "node1").forward.value, 2.0_GBps);
  EXPECT_EQ(read_platform(file, {}, Faults{.failed = {"node1"}}).node.links.size(), slow.node.links.size() - 1);
}

TEST(Faults, OfDomainsAndKindsNodesAreNamedOneByOne) {
  const std::string one_by_one = "nodes of a domain, or of several kinds, are named one by one";
  EXPECT_EQ(refusal("gb200-nvl72", {.failed = {"2-3/gpu0"}}), "--fail 2-3/gpu0: " + one_by_one);
  EXPECT_EQ(refusal("../tests/data/two_kinds", {.degraded = {"0-1/gpu0=50%"}}),
            "--degrade 0-1/gpu0=50%: " + one_by_one);
  const Platform slow = sick("gb200-nvl72", {.degraded = {"node19=50%"}});
  std::vector<std::string> parts;
  for (const SlowedPart& part : slow.slowed_parts) {
    parts.push_back(part.part);
    EXPECT_EQ(part.text, "--degrade node19=50% (in every domain, which are alike)");
  }
  EXPECT_THAT(parts, ::testing::ElementsAre("gpu4", "gpu5", "gpu6", "gpu7", "hca4", "hca5", "hca6", "hca7"));
}

TEST(Faults, OfASingleDomainOfTwoAreThoseOfOneNode) {
  const std::string file = ::testing::TempDir() + "twinlink-domain-of-two.yaml";
  std::ofstream(file) << "include: " << std::filesystem::absolute("tests/bad_platforms/parts/good.yaml").string() << R"(
nodes:
  domain: 2
  memories: {numa1: {copy_rate: {value: 5 GB/s, assumed: guess}}}
  hubs: {hub1: {}}
  nics: {hca1: {}}
  gpus: {gpu1: {type: test-gpu}}
  links:
    pcie1: {from: gpu1, to: hub1, bandwidth: {value: 8 GB/s, assumed: guess}}
    nic1: {from: hca1, to: hub1, bandwidth: {value: 4 GB/s, assumed: guess}}
    memory1: {from: hub1, to: numa1, bandwidth: {value: 10 GB/s, assumed: guess}}
)";
  const Platform platform = read_platform(file, {}, Faults{.failed = {"1/gpu0"}});
  EXPECT_EQ(why_not(Topology(platform), {1, 0, {}}), "1/0 is gone: --fail 1/gpu0");
  EXPECT_EQ(why_not(Topology(platform), {0, 0, {}}), "nothing was refused");
  EXPECT_THROW(read_platform(file, {}, Faults{.failed = {"0-1/gpu0"}}), UsageError);
  const Platform node = read_platform(file, {}, Faults{.failed = {"node0"}});
  EXPECT_TRUE(node.kinds.empty());
  EXPECT_EQ(why_not(Topology(node), {0, 0, {}}), "0/0 is gone: --fail node0");
}

/// Bytes do not pass another GPU on their way to memory.
TEST(Faults, ANeighboursLinkIsNoWayToMemory) {
  const Platform platform = read_platform("tests/data/nvlink_and_pcie.yaml", {}, Faults{.failed = {"gpu1-pcie"}});
  EXPECT_EQ(why_not(Topology(platform), {0, 1, {}}), "0/1 is gone: --fail gpu1-pcie");
  EXPECT_EQ(why_not(Topology(platform), {0, 2, {}}), "nothing was refused");
}

}  // namespace
}  // namespace twinlink::platforms
