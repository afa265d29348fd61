#include "platforms/topology/topology.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/platforms/sample_platform.hpp"

namespace twinlink::model {
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

TEST_F(TopologyTest, ALinkIsAsNarrowAsItIsInTheDirectionOfTheWay) {
  platform_.node.links[3].forward.value = Rate{3e9};  // of gpu0, which it leaves
  platform_.node.links[3].backward.value = Rate{5e9};
  const auto narrowest = [&](Location from, Location to) {
    return topology().narrowest(topology().copy_route(from, to), Reach::cpu).value();
  };
  EXPECT_EQ(narrowest(gpu(0), memory(0)), Rate{3e9});
  EXPECT_EQ(narrowest(memory(0), gpu(0)), Rate{5e9});
}

TEST_F(TopologyTest, BetweenTwoMemoriesTheCpuCopiesAsFastAsInTheSlowerOne) {
  platform_.copies[CopyKind::host_to_host].rate.reset();
  platform_.node.memories[1].copy_rate.value = Rate{3e9};
  const auto rate = [&](std::size_t from, std::size_t to) {
    const Topology now = topology();
    return now.copy_cost({memory(from), Memory::pageable}, {memory(to), Memory::pageable}).rate;
  };
  EXPECT_EQ(rate(0, 0), Rate{8e9});
  EXPECT_EQ(rate(0, 1), Rate{3e9});
  EXPECT_EQ(rate(1, 0), Rate{3e9});
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
}

TEST_F(TopologyTest, WithoutPeerAccessTheWayLeadsThroughTheBounceBuffer) {
  EXPECT_EQ(way(gpu(0), gpu(1)), "gpu0 -> hub0 -> memory0 -> memory1 -> hub1 -> gpu1");
  platform_.node.links.front().latency = Sourced<Seconds>{.value = 1.0_us};
  EXPECT_EQ(topology().bounce_memory(0, 1), 0U);
  platform_.fallback->through = "target";
  EXPECT_EQ(topology().bounce_memory(0, 1), 1U);
  platform_.fallback->through = "memory0";
  EXPECT_EQ(topology().bounce_memory(1, 0), 0U);
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

TEST_F(TopologyTest, TheLatencyOfAWayIsThatOfItsLinksAndOfWhatLiesBetween) {
  const auto sourced = [](Seconds time) { return Sourced<Seconds>{.value = time}; };
  for (Link& link : platform_.node.links) link.latency = sourced(1.0_us);
  platform_.node.hubs.front().passing.latency = sourced(0.25_us);
  platform_.node.memories.front().passing.latency = sourced(0.5_us);
  const auto way_of = [&](Location from, Memory from_kind, Location to, Memory to_kind) {
    return topology().copy_cost({from, from_kind}, {to, to_kind}).way.microseconds();
  };
  using enum Memory;
  EXPECT_DOUBLE_EQ(way_of(gpu(0), device, memory(0), pinned), 2.25) << "written: one crossing";
  EXPECT_DOUBLE_EQ(way_of(memory(0), pinned, gpu(0), device), 4.5) << "read: the request crosses it first";
  EXPECT_DOUBLE_EQ(way_of(gpu(0), device, memory(1), pinned), 3.75) << "the far memory: one hop more";
  EXPECT_DOUBLE_EQ(way_of(gpu(1), device, gpu(2), device), 2.0);
}

TEST_F(TopologyTest, PageableCopiesRunAtTheRateOfTheCoreThatCopies) {
  platform_.copies[CopyKind::pageable_to_device].rate.reset();
  const End host{memory(0), Memory::pageable};
  EXPECT_EQ(topology().copy_cost(host, {gpu(0)}).rate, testing::kDown) << "8 GB/s of a core are more than the engine's";
  platform_.node.memories.front().copy_rate.value = Rate{3e9};
  EXPECT_EQ(topology().copy_cost(host, {gpu(0)}).rate, Rate{3e9});
}

TEST_F(TopologyTest, TheFallbackFillsItsBufferAndThenHidesTheShorterCopy) {
  const auto beside = [&](Bytes size) {
    const CopyCost copy = topology().copy_cost({gpu(0)}, {gpu(1)});
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

TEST_F(TopologyTest, NearAndFarMemory) {
  EXPECT_EQ(topology().memory_near(0), 0U);
  EXPECT_EQ(topology().memory_far(0), 1U);
  EXPECT_EQ(topology().memory_near(2), 1U);
  EXPECT_EQ(topology().memory_far(2), 0U);
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

TEST_F(TopologyTest, PathsAcrossNodesMapNothing) {
  const Path path = topology().path({0, 1, {}}, {3, 1, {}});
  EXPECT_FALSE(path.same_node);
  EXPECT_FALSE(path.same_device);
  EXPECT_FALSE(path.peer_access);
  EXPECT_FALSE(path.device_mapping);
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

TEST_F(TopologyTest, CopiesAreOfTheKindsOfTheDriver) {
  using enum Memory;
  const auto name = [&](Location from, Memory from_kind, Location to, Memory to_kind) {
    return topology().copy_cost({from, from_kind}, {to, to_kind}).name;
  };
  EXPECT_EQ(name(memory(0), pinned, gpu(0), device), "pinned-to-device");
  EXPECT_EQ(name(memory(1), shared_pinned, gpu(0), device), "pinned-to-device");
  EXPECT_EQ(name(gpu(1), device, memory(1), pageable), "device-to-pageable");
  EXPECT_EQ(name(gpu(1), device, memory(0), pageable), "device-to-pageable");
  EXPECT_EQ(name(gpu(1), device, gpu(1), device), "device-to-device");
  EXPECT_EQ(name(gpu(1), device, gpu(2), device), "peer");
  EXPECT_EQ(name(gpu(1), device, gpu(0), device), "fallback");
  EXPECT_EQ(name(memory(0), pinned, memory(1), pageable), "host-to-host");
  EXPECT_TRUE(topology().copy_cost({memory(0), pageable}, {gpu(0), device}).occupies_cpu);
  EXPECT_FALSE(topology().copy_cost({memory(0), pinned}, {gpu(0), device}).occupies_cpu);
}

TEST_F(TopologyTest, AMissingCostNamesTheEntry) {
  platform_.copies.erase(CopyKind::peer);
  try {
    static_cast<void>(topology().copy_cost({gpu(1), Memory::device}, {gpu(2), Memory::device}));
    FAIL() << "there is no such entry";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("sample.yaml: error: the platform has no 'driver.copies.peer'"));
  }
}

}  // namespace
}  // namespace twinlink::model
