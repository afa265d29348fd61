// Where an adapter reads and writes device memory, and where it does not: the topology's answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/topology/topology.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::platforms {
namespace {

using ::testing::HasSubstr;

class RdmaTopologyTest : public ::testing::Test {
 protected:
  [[nodiscard]] Link& link(const std::string& name) {
    return *std::ranges::find(platform_.node.links, name, &Link::name);
  }
  [[nodiscard]] Rdma& rdma() { return platform_.fabric.value().rdma.value(); }
  [[nodiscard]] Topology topology() const { return Topology(platform_); }
  [[nodiscard]] Path between_nodes(int from, int to) const { return topology().path({0, from, {}}, {1, to, {}}); }
  /// Why an adapter does not reach the memory of two GPUs on different nodes.
  [[nodiscard]] std::string refusal(int from, int to) const {
    return between_nodes(from, to).device_memory_on_network.reason;
  }
  [[nodiscard]] std::string way_out(std::size_t gpu) const {
    return topology().describe(platform_.node.gpus[gpu].name,
                               topology().to_nic_route({Location::Kind::gpu, gpu}, "nic0"));
  }

  Platform platform_ = testing::sample_platform_with_rdma();
};

TEST_F(RdmaTopologyTest, TheWayLeadsThroughWhatForwardsForAdapters) {
  EXPECT_EQ(way_out(0), "gpu0 -> hub0 -> nic0");
  EXPECT_EQ(way_out(1), "gpu1 -> hub1 -> memory1 -> memory0 -> hub0 -> nic0");
  EXPECT_FALSE(topology().peer_access(0, 1)) << "what a memory forwards for adapters it does not forward between GPUs";
}

TEST_F(RdmaTopologyTest, DeviceMemoryTakesTheLongerWayPastHostMemory) {
  // From the GPU to the adapter it is two hops through memory0, and three past it.
  platform_.node.hubs.push_back({.name = "detour"});
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
  EXPECT_EQ(topology().describe("memory0", topology().to_nic_route({Location::Kind::memory, 0}, "nic0")),
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
  platform_.gpu_types.push_back(platform_.gpu_types.front());
  platform_.gpu_types.back().name = "fermi";
  platform_.gpu_types.back().capability_major = 2;
  platform_.node.gpus[1].type = "fermi";
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
  for (HostMemory& memory : platform_.node.memories) memory.passing.forwards = Forwards::none;
  EXPECT_EQ(refusal(0, 1),
            "the way from gpu1 to nic0 leads through memory1, which forwards no peer traffic on platform 'sample'");
  platform_.node.hubs.front().passing.forwards = Forwards::none;
  EXPECT_EQ(refusal(0, 0),
            "the way from gpu0 to nic0 leads through hub0, which forwards no peer traffic on platform 'sample'");
  platform_.fabric.value().rdma.reset();
  EXPECT_EQ(refusal(0, 0), "platform 'sample' describes no adapter that reads or writes device memory");
  platform_.fabric.reset();
  EXPECT_EQ(topology().path({0, 0, {}}, {0, 1, {}}).device_memory_on_network.reason,
            "platform 'sample' has no network adapter");
}

TEST_F(RdmaTopologyTest, EveryAdapterOfAGpuReachesItAndOnRailsEveryOneOfItsNode) {
  for (HostMemory& memory : platform_.node.memories) memory.passing.forwards = Forwards::none;
  platform_.node.nics.push_back({.name = "nic1"});
  Link more = link("nic");
  more.name = "more";
  more.from = "nic1";
  more.to = "hub1";
  platform_.node.links.push_back(more);
  EXPECT_EQ(refusal(0, 0), "");
  platform_.node.gpus[0].more_nics = {"nic1"};
  const std::string far =
      "the way from gpu0 to nic1 leads through memory0, which forwards no peer traffic on platform 'sample'";
  EXPECT_EQ(refusal(0, 0), far);
  platform_.node.gpus[0].more_nics.clear();
  platform_.fabric->shape = FabricShape::rail_only;
  EXPECT_EQ(refusal(0, 0), far) << "what comes in comes by the sender's rail";
}

TEST_F(RdmaTopologyTest, WithinANodeItNeedsLoopback) {
  const Place one{0, 0, {}};
  const Place other{0, 1, {}};
  EXPECT_THAT(topology().path(one, other).device_memory_on_network.reason, HasSubstr("shared memory"));
  platform_.within_node.loopback = true;
  EXPECT_TRUE(topology().path(one, other).device_memory_on_network);
  platform_.within_node.loopback = false;
  EXPECT_TRUE(topology().path(one, other).one_sided) << "by mapping, as ever";
}

}  // namespace
}  // namespace twinlink::platforms
