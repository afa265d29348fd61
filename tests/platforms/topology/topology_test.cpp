#include "platforms/topology/topology.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/costs/transfer_costs.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::platforms {
namespace {

using ::testing::HasSubstr;
using testing::kDown;
using testing::kPerChunk;
using testing::kUp;

class TopologyTest : public ::testing::Test {
 protected:
  static Location gpu(std::size_t index) { return {Location::Kind::gpu, index}; }
  static Location memory(std::size_t index) { return {Location::Kind::memory, index}; }
  [[nodiscard]] std::string way(Location from, Location to) const {
    const Topology now = topology();
    return now.describe(now.name(from), now.copy_route(from, to));
  }

  /// Of the platform as it is now.
  [[nodiscard]] Topology topology() const { return Topology(platform_); }

  Platform platform_ = testing::sample_platform();
};

TEST_F(TopologyTest, RoutesTakeTheFewestHops) {
  EXPECT_EQ(way(gpu(0), memory(0)), "gpu0 -> hub0 -> memory0");
  EXPECT_EQ(way(memory(1), gpu(0)), "memory1 -> memory0 -> hub0 -> gpu0");
  EXPECT_EQ(way(gpu(1), gpu(2)), "gpu1 -> hub1 -> gpu2");
}

TEST_F(TopologyTest, OfEquallyShortWaysTheWidestAndOfTheseTheFirst) {
  const auto add = [&](const std::string& hub, Rate rate) {
    platform_.node.hubs.push_back({.name = hub});
    using Wire = std::tuple<std::string, std::string, std::string>;
    for (const auto& [name, from, to] : {Wire{hub + "a", "gpu0", hub}, Wire{hub + "b", hub, "memory0"}}) {
      platform_.node.links.push_back(
          {.name = name, .from = from, .to = to, .forward = {.value = rate}, .backward = {.value = rate}});
    }
  };
  add("narrow", Rate{1e9});
  EXPECT_EQ(way(gpu(0), memory(0)), "gpu0 -> hub0 -> memory0");
  add("wide", Rate{20e9});
  EXPECT_EQ(way(gpu(0), memory(0)), "gpu0 -> wide -> memory0");
  add("alike", Rate{20e9});
  EXPECT_EQ(way(gpu(0), memory(0)), "gpu0 -> wide -> memory0");
}

TEST_F(TopologyTest, PeersTakeTheWidestWayEvenIfItIsLonger) {
  platform_.node.hubs.push_back({.name = "nvswitch1"});
  platform_.node.hubs.push_back({.name = "nvswitch2"});
  for (const auto& [name, from, to] : {std::tuple{"nvlink1", "gpu1", "nvswitch1"},
                                       {"trunk", "nvswitch1", "nvswitch2"},
                                       {"nvlink2", "nvswitch2", "gpu2"}}) {
    platform_.node.links.push_back(
        {.name = name, .from = from, .to = to, .forward = {.value = Rate{50e9}}, .backward = {.value = Rate{50e9}}});
  }
  EXPECT_EQ(way(gpu(1), gpu(2)), "gpu1 -> nvswitch1 -> nvswitch2 -> gpu2");
}

/// A driver that has NVLink or xGMI between two GPUs takes it, and PCIe may be the wider of the two.
TEST_F(TopologyTest, PeersDoNotLeaveGpuLinksForWiderPcie) {
  const auto join = [&](const std::string& name, const std::string& from, const std::string& to, double rate) {
    platform_.node.links.push_back(
        {.name = name, .from = from, .to = to, .forward = {.value = Rate{rate}}, .backward = {.value = Rate{rate}}});
  };
  EXPECT_EQ(way(gpu(1), gpu(2)), "gpu1 -> hub1 -> gpu2");
  platform_.node.hubs.push_back({.name = "nvswitch"});
  join("nvlink1", "gpu1", "nvswitch", 2e9);
  join("nvlink2", "nvswitch", "gpu2", 2e9);
  EXPECT_EQ(way(gpu(1), gpu(2)), "gpu1 -> nvswitch -> gpu2") << "narrower than PCIe, and as many hops";
  join("xgmi", "gpu1", "gpu2", 3e9);
  EXPECT_EQ(way(gpu(1), gpu(2)), "gpu1 -> gpu2") << "of GPU links the widest";
  platform_.node.links.pop_back();
  join("host", "nvswitch", "memory1", 3e9);
  EXPECT_EQ(way(gpu(1), gpu(2)), "gpu1 -> hub1 -> gpu2") << "a hub that leads to host memory is no GPU link";
  platform_.node.links.pop_back();
  join("net", "nvswitch", "nic0", 3e9);
  EXPECT_EQ(way(gpu(1), gpu(2)), "gpu1 -> hub1 -> gpu2") << "nor one that leads to an adapter";
  platform_.node.links.pop_back();
  platform_.node.hubs.push_back({.name = "beyond"});
  join("trunk", "nvswitch", "beyond", 3e9);
  EXPECT_EQ(way(gpu(1), gpu(2)), "gpu1 -> nvswitch -> gpu2") << "one that leads nowhere is";
  join("host", "beyond", "memory0", 3e9);
  EXPECT_EQ(way(gpu(1), gpu(2)), "gpu1 -> hub1 -> gpu2") << "unless another one leads on from it";
}

TEST_F(TopologyTest, WithoutPeerAccessTheWayLeadsThroughTheBounceBuffer) {
  EXPECT_EQ(way(gpu(0), gpu(1)), "gpu0 -> hub0 -> memory0 -> memory1 -> hub1 -> gpu1");
  platform_.node.links.front().latency = Sourced<Seconds>{.value = 1.0_us};
  EXPECT_EQ(topology().bounce_memory(0, 1), 0U);
  platform_.fallback->through = "target";
  EXPECT_EQ(topology().bounce_memory(0, 1), 1U);
  platform_.fallback->through = "memory0";
  EXPECT_EQ(topology().bounce_memory(1, 0), 0U);
  platform_.fallback.reset();
  EXPECT_EQ(topology().bounce_memory(1, 0), 1U) << "of the source";
}

TEST_F(TopologyTest, GpusAndAdaptersForwardNothing) {
  platform_.node.links.push_back({.name = "bridge", .from = "gpu0", .to = "gpu1"});
  EXPECT_EQ(way(memory(0), gpu(1)), "memory0 -> memory1 -> hub1 -> gpu1") << "not through gpu0";
}

TEST_F(TopologyTest, PeerToPeerTrafficDoesNotPassHostMemory) {
  EXPECT_FALSE(topology().peer_access(0, 1)) << "only memory joins their hubs";
  for (const char* hub : {"switch1", "switch2", "bridge"}) platform_.node.hubs.push_back({.name = hub});
  const auto join = [&](const char* name, const char* from, const char* to) {
    platform_.node.links.push_back(
        {.name = name, .from = from, .to = to, .forward = {.value = Rate{1e9}}, .backward = {.value = Rate{1e9}}});
  };
  join("long1", "hub0", "switch1");
  join("long2", "switch1", "switch2");
  join("long3", "switch2", "bridge");
  join("long4", "bridge", "hub1");
  EXPECT_TRUE(topology().peer_access(0, 1));
  EXPECT_EQ(way(gpu(0), gpu(1)), "gpu0 -> hub0 -> switch1 -> switch2 -> bridge -> hub1 -> gpu1");
  platform_.node.hubs.back().passing.forwards = Forwards::adapters;
  EXPECT_FALSE(topology().peer_access(0, 1)) << "the bridge forwards nothing between GPUs";
}

TEST_F(TopologyTest, PeerAccessNeedNotBeTransitive) {
  platform_.node.links.push_back({.name = "nvlink",
                                  .from = "gpu0",
                                  .to = "gpu1",
                                  .forward = {.value = Rate{20e9}},
                                  .backward = {.value = Rate{20e9}}});
  EXPECT_TRUE(topology().peer_access(0, 1));
  EXPECT_TRUE(topology().peer_access(1, 2));
  EXPECT_FALSE(topology().peer_access(0, 2)) << "a GPU forwards nothing";
}

TEST_F(TopologyTest, TheFileHasTheLastWordOnPeers) {
  platform_.node.peers.emplace().emplace_back("gpu0", "gpu1");
  EXPECT_TRUE(topology().peer_access(1, 0));
  EXPECT_THAT(topology().peer_access(1, 2).reason, HasSubstr("not among the 'peers'"));
}

TEST_F(TopologyTest, TheFallbackFillsItsBufferAndThenHidesTheShorterCopy) {
  const auto beside = [&](Bytes size) {
    const CopyCost copy = copy_cost(topology(), {gpu(0)}, {gpu(1)});
    EXPECT_EQ(copy.rate.value(), kDown) << "of 4 and 5 GB/s";
    return copy.in_chunks(size);
  };
  const auto expect = [&](Bytes size, Seconds time) {
    EXPECT_NEAR(beside(size).microseconds(), time.microseconds(), 1e-6) << size.count();
  };
  expect(Bytes{}, {});
  expect(256_KiB, 256_KiB / kUp);
  expect(1_MiB, 1_MiB / kUp);
  expect(1_MiB + 1_B, 1_MiB / kUp + kPerChunk);
  expect(8_MiB, 1_MiB / kUp + kPerChunk * 7);
  platform_.fallback->in_flight = 4;
  expect(4_MiB, 1_MiB / kUp + kPerChunk * 3);
  expect(5_MiB, 2_MiB / kUp + kPerChunk * 4);
  expect(4_MiB + 64_KiB, (1_MiB + 64_KiB) / kUp + kPerChunk * 4);
  expect(9_MiB, 3_MiB / kUp + kPerChunk * 8);
}

TEST_F(TopologyTest, PeerAccessNeedsAWayCapabilityAndUnifiedAddressing) {
  EXPECT_TRUE(topology().path({0, 1, {}}, {0, 2, {}}).peer_access);
  EXPECT_THAT(topology().path({0, 0, {}}, {0, 1, {}}).peer_access.reason, HasSubstr("between gpu0 and gpu1: no way"));
  platform_.gpu_types.push_back(platform_.gpu_types.front());
  platform_.gpu_types.back().name = "other";
  platform_.node.gpus[2].type = "other";
  platform_.gpu_types.back().unified_addressing = false;
  EXPECT_THAT(topology().path({0, 1, {}}, {0, 2, {}}).peer_access.reason, HasSubstr("gpu2 has no unified addressing"));
  platform_.gpu_types.back().capability_major = 1;
  EXPECT_THAT(topology().path({0, 1, {}}, {0, 2, {}}).peer_access.reason, HasSubstr("compute capability 1.0"));
}

TEST_F(TopologyTest, AWrongPlaceSaysWhatThereIs) {
  try {
    topology().require({4, 0, {}});
    FAIL() << "node 4 does not exist";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no device 4/0 on platform 'sample': nodes are 0 to 3, GPUs 0 to 2"));
  }
  EXPECT_THROW(topology().require({0, 3, {}}), UsageError);
  EXPECT_THROW(topology().require({-1, 0, {}}), UsageError);
}

TEST_F(TopologyTest, AMissingCostNamesTheEntry) {
  platform_.copies.erase(CopyKind::peer);
  try {
    static_cast<void>(copy_cost(topology(), {gpu(1), Memory::device}, {gpu(2), Memory::device}));
    FAIL() << "there is no such entry";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("sample.yaml: error: the platform has no 'driver.copies.peer'"));
  }
}

}  // namespace
}  // namespace twinlink::platforms
