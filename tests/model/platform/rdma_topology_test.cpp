// Where an adapter reads and writes device memory, and where it does not: the topology's answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/platform/topology.hpp"
#include "tests/model/engine/present.hpp"
#include "tests/model/engine/sample_platform.hpp"

namespace twinlink::model {
namespace {

using ::testing::HasSubstr;
using testing::present;

class RdmaTopologyTest : public ::testing::Test {
 protected:
  [[nodiscard]] Link& link(const std::string& name) {
    return *std::ranges::find(platform_.node.links, name, &Link::name);
  }
  [[nodiscard]] Rdma& rdma() { return platform_.fabric.value().rdma.value(); }
  [[nodiscard]] Path between_nodes(int from, int to) const { return topology_.path({0, from, {}}, {1, to, {}}); }
  /// Why an adapter does not reach the memory of two GPUs on different nodes.
  [[nodiscard]] std::string refusal(int from, int to) const {
    return between_nodes(from, to).device_memory_on_network.reason;
  }
  [[nodiscard]] std::string way_out(std::size_t gpu) const {
    return topology_.describe(platform_.node.gpus[gpu].name,
                              topology_.to_nic_route({Location::Kind::gpu, gpu}, "nic0"));
  }

  Platform platform_ = testing::sample_platform_with_rdma();
  Topology topology_{platform_};
};

TEST_F(RdmaTopologyTest, OneRootComplexIsNearAnotherSocketIsFar) {
  EXPECT_EQ(topology_.rdma_distance(0, "nic0"), RdmaDistance::near);
  EXPECT_EQ(topology_.rdma_distance(1, "nic0"), RdmaDistance::far);
  EXPECT_EQ(topology_.rdma_limits(0, "nic0")->read.value, testing::kNearRead);
  EXPECT_EQ(topology_.rdma_limits(1, "nic0")->read.value, testing::kFarRead);
  EXPECT_EQ(way_out(0), "gpu0 -> hub0 -> nic0");
  EXPECT_EQ(way_out(1), "gpu1 -> hub1 -> memory1 -> memory0 -> hub0 -> nic0");
}

TEST_F(RdmaTopologyTest, ASwitchBelowTheRootComplexHasNoLimitUnlessThePlatformGivesOne) {
  platform_.node.hubs.emplace_back("switch0");
  link("bus0").to = "switch0";
  link("nic").to = "switch0";
  Link up = link("up0");
  up.name = "switch-up";
  up.from = "switch0";
  up.to = "hub0";
  platform_.node.links.push_back(up);
  EXPECT_EQ(topology_.rdma_distance(0, "nic0"), RdmaDistance::through_switch);
  EXPECT_EQ(topology_.rdma_limits(0, "nic0"), nullptr);
  EXPECT_TRUE(between_nodes(0, 0).device_memory_on_network);
  rdma().through_switch = rdma().near;
  EXPECT_EQ(topology_.rdma_limits(0, "nic0"), &present(rdma().through_switch));
}

TEST_F(RdmaTopologyTest, AMemoryWithoutAHubIsTheRootComplexItself) {
  link("bus0").to = "memory0";
  link("nic").to = "memory0";
  EXPECT_EQ(topology_.rdma_distance(0, "nic0"), RdmaDistance::near);
}

TEST_F(RdmaTopologyTest, TwoRootComplexesThatAreJoinedAreTwoSockets) {
  Link bridge = link("sockets");
  bridge.name = "bridge";
  bridge.from = "hub0";
  bridge.to = "hub1";
  platform_.node.links.push_back(bridge);
  EXPECT_EQ(way_out(1), "gpu1 -> hub1 -> hub0 -> nic0");
  EXPECT_EQ(topology_.rdma_distance(1, "nic0"), RdmaDistance::far);
}

TEST_F(RdmaTopologyTest, DeviceMemoryTakesTheLongerWayPastHostMemory) {
  // From the GPU to the adapter it is two hops through memory0, and three past it.
  platform_.node.hubs.emplace_back("detour");
  link("bus0").to = "memory0";
  link("nic").to = "memory0";
  for (const auto& [name, from, to] :
       {std::tuple{"a", "gpu0", "detour"}, {"b", "detour", "hub0"}, {"c", "hub0", "nic0"}}) {
    Link part = link("sockets");
    part.name = name;
    part.from = from;
    part.to = to;
    platform_.node.links.push_back(part);
  }
  EXPECT_EQ(way_out(0), "gpu0 -> detour -> hub0 -> nic0");
  EXPECT_EQ(topology_.describe("memory0", topology_.to_nic_route({Location::Kind::memory, 0}, "nic0")),
            "memory0 -> nic0");
}

TEST_F(RdmaTopologyTest, BetweenNodesItMakesPutsPossibleAndMapsNothing) {
  const Path path = between_nodes(0, 1);
  EXPECT_TRUE(path.device_memory_on_network);
  EXPECT_TRUE(path.one_sided);
  EXPECT_FALSE(path.device_mapping);
  EXPECT_EQ(path.hypothetical, "");
}

TEST_F(RdmaTopologyTest, AFermiIsRefusedUnlessThePlatformSaysThatItIsHypothetical) {
  platform_.node.gpus[1].capability_major = 2;
  EXPECT_TRUE(between_nodes(0, 0).device_memory_on_network);
  for (const std::string& reason : {refusal(0, 1), refusal(1, 0)}) {
    EXPECT_EQ(reason, "Fermi has no GPUDirect RDMA: gpu1 (Sample) has compute capability 2.0, and it began with 3.0");
  }
  EXPECT_FALSE(between_nodes(0, 1).one_sided);
  rdma().hypothetical = "only on paper";
  EXPECT_TRUE(between_nodes(0, 1).device_memory_on_network);
  EXPECT_EQ(between_nodes(0, 1).hypothetical, "only on paper");
}

TEST_F(RdmaTopologyTest, WhatThePlatformDoesNotDescribeIsRefused) {
  rdma().far.reset();
  EXPECT_EQ(refusal(0, 1),
            "platform 'sample' has no 'fabric.rdma.far', and the way from gpu1 to nic0 leaves the socket");
  rdma().near.reset();
  EXPECT_EQ(refusal(0, 0),
            "platform 'sample' has no 'fabric.rdma.near', and the way from gpu0 to nic0 passes a root complex");
  platform_.fabric.value().rdma.reset();
  EXPECT_EQ(refusal(0, 0), "platform 'sample' describes no adapter that reads or writes device memory");
  platform_.fabric.reset();
  EXPECT_EQ(topology_.path({0, 0, {}}, {0, 1, {}}).device_memory_on_network.reason,
            "platform 'sample' has no network adapter");
}

TEST_F(RdmaTopologyTest, WithinANodeItNeedsLoopback) {
  const Place one{0, 0, {}};
  const Place other{0, 1, {}};
  EXPECT_THAT(topology_.path(one, other).device_memory_on_network.reason, HasSubstr("shared memory"));
  platform_.within_node.loopback = true;
  EXPECT_TRUE(topology_.path(one, other).device_memory_on_network);
  platform_.within_node.loopback = false;
  EXPECT_TRUE(topology_.path(one, other).one_sided) << "by mapping, as ever";
}

}  // namespace
}  // namespace twinlink::model
