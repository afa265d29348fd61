#include "model/platform/topology.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/engine/sample_platform.hpp"

namespace twinlink::model {
namespace {

using ::testing::HasSubstr;

class TopologyTest : public ::testing::Test {
 protected:
  static Location gpu(std::size_t index) { return {Location::Kind::gpu, index}; }
  static Location memory(std::size_t index) { return {Location::Kind::memory, index}; }
  [[nodiscard]] std::string way(Location from, Location to) const {
    return topology_.describe(topology_.name(from), topology_.copy_route(from, to));
  }

  Platform platform_ = testing::sample_platform();
  Topology topology_{platform_};
};

TEST_F(TopologyTest, RoutesTakeTheFewestHops) {
  EXPECT_EQ(way(gpu(0), memory(0)), "gpu0 -> hub0 -> memory0");
  EXPECT_EQ(way(memory(1), gpu(0)), "memory1 -> memory0 -> hub0 -> gpu0");
  EXPECT_EQ(way(gpu(1), gpu(2)), "gpu1 -> hub1 -> gpu2");
}

TEST_F(TopologyTest, BetweenPeerDomainsTheWayLeadsThroughTheHostMemoryNextToTheSource) {
  EXPECT_EQ(way(gpu(0), gpu(1)), "gpu0 -> hub0 -> memory0 -> memory1 -> hub1 -> gpu1");
}

TEST_F(TopologyTest, GpusAndAdaptersForwardNothing) {
  platform_.node.links.push_back({.name = "bridge", .from = "gpu0", .to = "gpu1"});
  EXPECT_EQ(way(memory(0), gpu(1)), "memory0 -> memory1 -> hub1 -> gpu1") << "not through gpu0";
}

TEST_F(TopologyTest, PeerToPeerTrafficDoesNotPassHostMemory) {
  platform_.node.hubs.insert(platform_.node.hubs.end(), {"switch1", "switch2", "bridge"});
  platform_.node.gpus[0].peer_domain = "hub1";
  EXPECT_THROW(way(gpu(0), gpu(1)), InputError) << "one peer domain, but only memory joins its hubs";
  platform_.node.links.push_back({.name = "long1", .from = "hub0", .to = "switch1"});
  platform_.node.links.push_back({.name = "long2", .from = "switch1", .to = "switch2"});
  platform_.node.links.push_back({.name = "long3", .from = "switch2", .to = "bridge"});
  platform_.node.links.push_back({.name = "long4", .from = "bridge", .to = "hub1"});
  EXPECT_EQ(way(gpu(0), gpu(1)), "gpu0 -> hub0 -> switch1 -> switch2 -> bridge -> hub1 -> gpu1");
}

TEST_F(TopologyTest, NearAndFarMemory) {
  EXPECT_EQ(topology_.memory_near(0), 0U);
  EXPECT_EQ(topology_.memory_far(0), 1U);
  EXPECT_EQ(topology_.memory_near(2), 1U);
  EXPECT_EQ(topology_.memory_far(2), 0U);
}

TEST_F(TopologyTest, PeerAccessNeedsOneDomainCapabilityAndUnifiedAddressing) {
  EXPECT_TRUE(topology_.path({0, 1, {}}, {0, 2, {}}).peer_access);
  EXPECT_THAT(topology_.path({0, 0, {}}, {0, 1, {}}).peer_access.reason, HasSubstr("gpu0 (hub0) and gpu1 (hub1)"));
  platform_.node.gpus[2].unified_addressing = false;
  EXPECT_THAT(topology_.path({0, 1, {}}, {0, 2, {}}).peer_access.reason, HasSubstr("gpu2 has no unified addressing"));
  platform_.node.gpus[1].capability_major = 1;
  EXPECT_THAT(topology_.path({0, 1, {}}, {0, 2, {}}).peer_access.reason, HasSubstr("compute capability 1.0"));
}

TEST_F(TopologyTest, PathsAcrossNodesMapNothing) {
  const Path path = topology_.path({0, 1, {}}, {3, 1, {}});
  EXPECT_FALSE(path.same_node);
  EXPECT_FALSE(path.same_device);
  EXPECT_FALSE(path.peer_access);
  EXPECT_FALSE(path.device_mapping);
}

TEST_F(TopologyTest, AWrongPlaceSaysWhatThereIs) {
  try {
    topology_.require({4, 0, {}});
    FAIL() << "node 4 does not exist";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no device 4/0 on platform 'sample': nodes are 0 to 3, GPUs 0 to 2"));
  }
  EXPECT_THROW(topology_.require({0, 3, {}}), UsageError);
  EXPECT_THROW(topology_.require({-1, 0, {}}), UsageError);
}

TEST_F(TopologyTest, CopiesFallIntoTheClassesOfTheDriver) {
  using enum Memory;
  const auto name = [&](Location from, Memory from_kind, Location to, Memory to_kind) {
    return topology_.copy_cost({from, from_kind}, {to, to_kind}).name;
  };
  EXPECT_EQ(name(memory(0), pinned, gpu(0), device), "pinned-to-device-near");
  EXPECT_EQ(name(memory(1), shared_pinned, gpu(0), device), "pinned-to-device-far");
  EXPECT_EQ(name(gpu(1), device, memory(1), pageable), "device-to-pageable-near");
  EXPECT_EQ(name(gpu(1), device, memory(0), pageable), "device-to-pageable-far");
  EXPECT_EQ(name(gpu(1), device, gpu(1), device), "device-to-device");
  EXPECT_EQ(name(gpu(1), device, gpu(2), device), "peer");
  EXPECT_EQ(name(gpu(1), device, gpu(0), device), "staged peer hub1 -> hub0");
  EXPECT_EQ(name(memory(0), pinned, memory(1), pageable), "host-to-host");
  EXPECT_TRUE(topology_.copy_cost({memory(0), pageable}, {gpu(0), device}).occupies_cpu);
  EXPECT_FALSE(topology_.copy_cost({memory(0), pinned}, {gpu(0), device}).occupies_cpu);
}

TEST_F(TopologyTest, AMissingCostNamesTheEntry) {
  platform_.copies.erase(CopyClass::peer);
  try {
    static_cast<void>(topology_.copy_cost({gpu(1), Memory::device}, {gpu(2), Memory::device}));
    FAIL() << "there is no such entry";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("sample.yaml: error: the platform's costs have no 'peer'"));
  }
}

}  // namespace
}  // namespace twinlink::model
