// Least times by wires, on machines of round numbers.
#include "platforms/topology/bounds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/platforms/sample_platform.hpp"

namespace twinlink::platforms {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr double kBlock = 1e6;  // bytes of an all-to-all from each rank to each

std::vector<Place> one_on_each(int nodes) {
  std::vector<Place> places;
  for (int node = 0; node < nodes; ++node) places.push_back({node, 0, {}});
  return places;
}

/// Of an all-to-all with a rank on each node, in times of a block over one wire.
struct Wires {
  double blocks = 0;
  std::string of{};
};
Wires all_to_all(const Fabric& fabric, int nodes) {
  Platform platform = sample_platform();
  platform.node.count = nodes;
  platform.fabric = fabric;
  platform.fabric->link = Sourced<Rate>{.value = kWire};
  const Topology topology(platform);
  const auto demand = Demand::of_collective(
      "all-to-all", nodes, Bytes{static_cast<std::uint64_t>(kBlock) * static_cast<std::uint64_t>(nodes)});
  const Bound bound = least_time(topology, one_on_each(nodes), *demand, true);
  return {bound.time.value() * kWire.bytes_per_second() / kBlock, bound.of};
}

TEST(Bounds, AGpuHasItsLinks) {
  const Platform platform = sample_platform();
  const Topology topology(platform);
  const std::vector<Place> places{{0, 0, {}}, {0, 1, {}}};
  const Demand message = Demand::of_messages(2, {{0, 1, Bytes{8'000'000'000}}});
  const Bound bound = least_time(topology, places, message, true);
  EXPECT_DOUBLE_EQ(bound.time.value(), 1);  // its bus has 8 GB/s
  EXPECT_EQ(bound.of, "gpu 0/0, out");
  EXPECT_EQ(least_time(topology, places, message, false).time, Seconds{});
}

TEST(Bounds, ANodeHasItsAdapters) {
  const Platform platform = sample_platform();
  const Topology topology(platform);
  const std::vector<Place> places{{0, 0, {}}, {0, 1, {}}, {1, 0, {}}, {1, 1, {}}};
  const auto demand = Demand::of_collective("all-reduce", 4, Bytes{2'500'000'000});
  const Bound bound = least_time(topology, places, *demand, true);
  EXPECT_DOUBLE_EQ(bound.time.value(), 1);
  EXPECT_EQ(bound.of, "adapters of node 0, out");
}

TEST(Bounds, ALeafHasItsCablesUp) {
  // Two nodes of a leaf send to two others, over one cable; a node alone has three blocks for its adapter.
  const Wires wires = all_to_all({.shape = FabricShape::fat_tree, .size = {2, 2}, .oversubscription = {{2, 1}}}, 4);
  EXPECT_DOUBLE_EQ(wires.blocks, 4);
  EXPECT_EQ(wires.of, "leaves 0, out");
}

TEST(Bounds, CablesToDifferentSpinesDoNotMeet) {
  // Of four spines one is left to both leaves.
  for (const FabricRouting routing : kFabricRoutings) {
    const Wires wires = all_to_all({.shape = FabricShape::fat_tree,
                                    .routing = routing,
                                    .size = {4, 2},
                                    .faults = {{CableFault::Cable::leaf, 0, 0, 0},
                                               {CableFault::Cable::leaf, 0, 1, 0},
                                               {CableFault::Cable::leaf, 1, 2, 0}}},
                                   8);
    EXPECT_DOUBLE_EQ(wires.blocks, 16);
    EXPECT_EQ(wires.of, "leaves 0, out");
  }
}

TEST(Bounds, APodHasItsCablesToTheCores) {
  // Pods of two leaves of two nodes; 2:1 at the second level, so that four nodes of a pod have two cables.
  const Wires wires =
      all_to_all({.shape = FabricShape::fat_tree, .size = {2, 2, 2}, .oversubscription = {{1, 1}, {2, 1}}}, 8);
  EXPECT_DOUBLE_EQ(wires.blocks, 8);
  EXPECT_EQ(wires.of, "pod 0, out");
}

TEST(Bounds, HalfOfATorusHasTwoCables) {
  const Wires ring = all_to_all({.shape = FabricShape::torus, .size = {8}}, 8);
  EXPECT_DOUBLE_EQ(ring.blocks, 8);
  EXPECT_EQ(ring.of, "half of the torus one of dimension 0 from 0 on, out");
  // A cable gone between places 3 and 4 leaves the other one.
  const Wires cut =
      all_to_all({.shape = FabricShape::torus, .size = {8}, .faults = {{CableFault::Cable::ring, 3, 4, 0}}}, 8);
  EXPECT_DOUBLE_EQ(cut.blocks, 16);
}

TEST(Bounds, AGroupOfADragonflyHasItsCablesToOthers) {
  const Wires two = all_to_all({.shape = FabricShape::dragonfly, .size = {2, 1, 2}}, 4);
  EXPECT_DOUBLE_EQ(two.blocks, 4);
  EXPECT_EQ(two.of, "group 0, out");
  // With two cables between them each node's own is the narrowest.
  EXPECT_DOUBLE_EQ(all_to_all({.shape = FabricShape::dragonfly, .size = {2, 1, 2, 2}}, 4).blocks, 3);
}

/// Of four routers two have nodes: from one of these lead three cables, of which two go round.
TEST(Bounds, RoutersOfADragonflyHaveTheirCablesToOthers) {
  const Wires routers = all_to_all({.shape = FabricShape::dragonfly, .size = {1, 2, 4}}, 8);
  EXPECT_DOUBLE_EQ(routers.blocks, 16);
  EXPECT_EQ(routers.of, "routers before 1, out");
  EXPECT_DOUBLE_EQ(all_to_all({.shape = FabricShape::dragonfly, .size = {1, 4, 6}}, 12).blocks, 12);
}

/// Lines of two routers of four nodes: four cables between the halves of eight nodes each.
TEST(Bounds, LinesOfAHyperxHaveTheirCables) {
  const Wires lines = all_to_all({.shape = FabricShape::hyperx, .size = {2, 2, 4}}, 16);
  EXPECT_DOUBLE_EQ(lines.blocks, 8 * 8 / 2.0);
  EXPECT_EQ(lines.of, "routers before 1 of dimension 0, out");
}

TEST(Bounds, OneSwitchBoundsNothing) {
  const Wires wires = all_to_all({}, 4);
  EXPECT_DOUBLE_EQ(wires.blocks, 3);
  EXPECT_EQ(wires.of, "adapters of node 0, out");
}

}  // namespace
}  // namespace twinlink::platforms
