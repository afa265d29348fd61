// Nodes that are not all alike or not all apart: a domain of nodes whose GPUs reach each other, and nodes of two kinds.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "model/engine/simulation.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/core/tags.hpp"
#include "tests/model/engine/one_message.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr Bytes kSize = 1_MiB;

Seconds warm(const Platform& platform, const Place& from, const Place& to, const std::string& protocol,
             const Settings& settings = {}) {
  return timed_message(platform, {from, to}, protocol, kSize, settings).warm;
}

/// Two domains of two nodes, each with a memory, a GPU and an adapter. A switch joins the GPUs of a domain.
Platform with_domains() {
  Platform platform = sample_platform();
  Node& node = platform.node;
  node.domain = 2;
  node.gpus.pop_back();
  node.gpus[1].nic = "nic1";
  node.nics.push_back({.name = "nic1"});
  node.hubs.push_back({.name = "nvswitch"});
  const auto join = [&](const std::string& name, const std::string& from, const std::string& to, Rate rate) {
    node.links.push_back(
        {.name = name, .from = from, .to = to, .forward = {.value = rate}, .backward = {.value = rate}});
  };
  std::erase_if(node.links, [](const Link& link) { return link.name == "sockets" || link.name == "bus2"; });
  join("second", "nic1", "hub1", Rate{8e9});
  join("nvlink0", "gpu0", "nvswitch", Rate{20e9});
  join("nvlink1", "gpu1", "nvswitch", Rate{20e9});
  return platform;
}

TEST(Domain, ItsNodesHaveAsManyPartsEach) {
  const Platform platform = with_domains();
  const Topology topology(platform);
  EXPECT_EQ(topology.nodes(), 4);
  EXPECT_EQ(topology.gpu_of({3, 0, {}}), 1U);
  EXPECT_EQ(topology.copy_of(3), 1);
  EXPECT_EQ(topology.memory_far(1), 1U) << "the other memory is another node's";
  EXPECT_THROW(topology.require({0, 1, {}}), UsageError);
  EXPECT_THROW(topology.require({4, 0, {}}), UsageError);
}

TEST(Domain, GpusReachEachOtherWithinIt) {
  const Platform platform = with_domains();
  const Topology topology(platform);
  const Path within = topology.path({2, 0, {}}, {3, 0, {}});
  EXPECT_FALSE(within.same_node);
  EXPECT_TRUE(within.peer_access);
  EXPECT_TRUE(within.device_mapping);
  const Path beyond = topology.path({1, 0, {}}, {2, 0, {}});
  EXPECT_FALSE(beyond.peer_access);
  EXPECT_FALSE(beyond.device_mapping);
}

/// The receiver says "ready" behind the message that starts the clock; then the copy, and the sender's "delivered".
constexpr Seconds kBetweenPeers = kHost + kOverhead + kSize / kPeer + kControl;

TEST(Domain, PeersOfTwoNodesAreAsFastAsThoseOfOne) {
  expect_near(warm(with_domains(), {0, 0, {}}, {1, 0, {}}, "gpudirect-v2"), kBetweenPeers);
  expect_near(warm(sample_platform(), {0, 1, {}}, {0, 2, {}}, "gpudirect-v2"), kBetweenPeers);
  // The mark of its signals lies in device memory, for host memory of another node is not mapped.
  expect_near(warm(with_domains(), {0, 0, {}}, {1, 0, {}}, "gpudirect-v2", {.options = {{"engine", "kernel-push"}}}),
              kHost + kOverhead + kSize / kKernelPush + kSignal);
  // Messages of the host go through the adapters.
  expect_near(warm(with_domains(), {0, 0, {}}, {1, 0, {}}, "host"), kOverhead + kSize / kWire);
}

TEST(Domain, PutsBetweenItsNodesNeedNoAdapter) {
  const Seconds put = warm(with_domains(), {0, 0, {}}, {1, 0, {}}, "symmetric-put");
  EXPECT_LT(put, kSize / kWire) << "and the adapter's wire would take that long";
  EXPECT_GT(put, kSize / kPeer);
}

/// Four nodes of the sample, and two whose adapters have twice the bandwidth and whose memories are not joined.
Platform with_two_kinds() {
  Platform platform = sample_platform();
  NodeKind other{.name = "new", .node = platform.node};
  other.node.count = 2;
  other.node.nics.front().link = Sourced<Rate>{Rate{5e9}, {}};
  platform.kinds.push_back(std::move(other));
  return platform;
}

TEST(Kinds, AreNumberedOneAfterTheOther) {
  const Platform platform = with_two_kinds();
  const Topology topology(platform);
  EXPECT_EQ(topology.nodes(), 6);
  EXPECT_EQ(topology.places().size(), 18U);
  EXPECT_EQ(topology.graph().gpus[topology.gpu_of({4, 1, {}})].name, "new-gpu1");
  EXPECT_EQ(topology.graph().gpus[topology.gpu_of({3, 1, {}})].name, "gpu1");
  EXPECT_TRUE(topology.path({5, 1, {}}, {5, 2, {}}).peer_access);
}

/// Between two kinds the slower end counts.
TEST(Kinds, AnAdapterHasItsOwnLink) {
  expect_near(warm(with_two_kinds(), {4, 0, {}}, {5, 0, {}}, "host"), kOverhead + kSize / Rate{5e9});
  expect_near(warm(with_two_kinds(), {0, 0, {}}, {4, 0, {}}, "host"), kOverhead + kSize / kWire);
}

TEST(Kinds, EachHasItsOwnPeers) {
  Platform platform = with_two_kinds();
  platform.kinds.front().node.peers.emplace().emplace_back("gpu0", "gpu1");
  const Topology topology(platform);
  EXPECT_TRUE(topology.path({4, 0, {}}, {4, 1, {}}).peer_access);
  EXPECT_FALSE(topology.path({4, 1, {}}, {4, 2, {}}).peer_access) << "the list leaves them out";
  EXPECT_TRUE(topology.path({0, 1, {}}, {0, 2, {}}).peer_access) << "here the ways decide";
}

/// Four nodes, of which node 1 is not as its like: its adapter's link has a quarter of the wire's rate.
constexpr Rate kSlow{kWire.bytes_per_second() / 4};
Platform with_slow_node() {
  Platform platform = sample_platform();
  NodeKind slow{.name = "node1", .node = platform.node, .replaces = 1};
  slow.node.count = 1;
  slow.node.nics.front().link = Sourced<Rate>{kSlow, {}};
  platform.kinds.push_back(std::move(slow));
  return platform;
}

TEST(SlowNode, ItsPairsAreSlowAndThoseOfOthersAreNot) {
  expect_near(warm(with_slow_node(), {1, 0, {}}, {2, 0, {}}, "host"), kOverhead + kSize / kSlow);
  expect_near(warm(with_slow_node(), {2, 0, {}}, {3, 0, {}}, "host"), kOverhead + kSize / kWire);
}

/// Each step of a ring waits for the neighbours, so that after as many steps as there are others all are as slow.
TEST(SlowNode, ItSetsThePaceOfARing) {
  constexpr int kRanks = 4;
  std::array<Seconds, kRanks> ends{};
  Seconds start{};
  simulate(with_slow_node(), std::vector<Place>{{0, 0, {}}, {1, 0, {}}, {2, 0, {}}, {3, 0, {}}}, [&](Rank& rank) {
    const View from(rank.allocate(Memory::pinned, kSize));
    const View to(rank.allocate(Memory::pinned, kSize));
    const int own = rank.id().value;
    start = rank.now();
    for (int step = 1; step < kRanks; ++step) {
      const Op received = rank.receive(RankId{(own + kRanks - 1) % kRanks}, tags::kData, to);
      const Op sent = rank.send(RankId{(own + 1) % kRanks}, tags::kData, from);
      EXPECT_EQ(wait(rank, sent, kLong), Status::delivered);
      EXPECT_EQ(wait(rank, received, kLong), Status::delivered);
    }
    ends.at(static_cast<std::size_t>(own)) = rank.now();
  });
  const Seconds step = kOverhead + kSize / kSlow;
  for (const int beside : {0, 1, 2}) expect_near(ends.at(static_cast<std::size_t>(beside)) - start, step * 3);
  expect_near(ends[3] - start, step * 2 + kOverhead + kSize / kWire);
}

/// With ACS a copy between two GPUs below one switch goes up to the root and back.
TEST(AccessControl, PeersBelowOneSwitchCrossTheLinkAboveIt) {
  Platform platform = sample_platform();
  constexpr Rate kUpLink{3e9};
  Link& up = *std::ranges::find(platform.node.links, "up1", &Link::name);
  up.forward.value = up.backward.value = kUpLink;
  platform.node.memories[1].passing.forwards = Forwards::all;
  platform.node.ways = {{.name = "acs", .from = "gpu1", .to = "gpu2", .via = {"hub1", "memory1", "hub1"}}};
  expect_near(warm(platform, {0, 1, {}}, {0, 2, {}}, "gpudirect-v2"), kHost + kOverhead + kSize / kUpLink + kControl);
}

}  // namespace
}  // namespace twinlink::model
