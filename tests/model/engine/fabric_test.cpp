// What messages take that share the links of a fabric. Closed forms.
#include "platforms/machine/fabric.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "model/engine/simulation.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/core/tags.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::model {
namespace {

using namespace testing;

constexpr Seconds kSwitch = 0.25_us;
constexpr double kTolerance_us = 1e-4;

Fabric fabric(FabricShape shape, std::vector<int> size, int oversubscription = 1) {
  Fabric result{.link = {.value = kWire}, .latency = Sourced<Seconds>{.value = kSwitch}, .shape = shape};
  result.size = std::move(size);
  if (oversubscription != 1) result.oversubscription = {{oversubscription, 1}};
  return result;
}

/// The first two ranks send to the two others, at once; `expected` tells when each is through.
void expect_sent(const Platform& platform, const std::vector<Place>& places, Bytes size,
                 const std::function<Seconds(RankId)>& expected) {
  simulate(platform, places, [&](Rank& rank) {
    const bool sends = rank.id().value < 2;
    const RankId peer{(rank.id().value + 2) % 4};
    const Buffer buffer = rank.allocate(Memory::pinned, size);
    const Op op = sends ? rank.send(peer, tags::kData, View(buffer)) : rank.receive(peer, tags::kData, View(buffer));
    EXPECT_EQ(wait(rank, op, Seconds{10}), Status::delivered);
    EXPECT_NEAR(rank.now().microseconds(), expected(rank.id()).microseconds(), kTolerance_us);
  });
}

const std::vector<Place> kFourNodes{{0, 0, {}}, {1, 0, {}}, {2, 0, {}}, {3, 0, {}}};

TEST(Fabric, MessagesShareAnUplinkWhereThereIsOneForTwo) {
  Platform platform = sample_platform();
  platform.fabric = fabric(FabricShape::fat_tree, {2, 2}, 2);
  expect_sent(platform, kFourNodes, 1_MiB, [](RankId) { return kHost + kLatency + kSwitch * 2 + 2_MiB / kWire; });
}

TEST(Fabric, MessagesHaveALinkEachWhereAsManyGoUpAsDown) {
  Platform platform = sample_platform();
  platform.fabric = fabric(FabricShape::fat_tree, {2, 2});
  expect_sent(platform, kFourNodes, 1_MiB, [](RankId) { return kHost + kLatency + kSwitch * 2 + 1_MiB / kWire; });
}

TEST(Fabric, AnAdapterBeginsNoMessageSoonerThanItsGapAllows) {
  Platform platform = sample_platform();
  platform.node.nics.front().gap = Sourced<Seconds>{.value = 3.0_us};
  // Two ranks of one node, which share the adapter.
  expect_sent(platform, {{0, 0, {}}, {0, 0, {}}, {1, 0, {}}, {2, 0, {}}}, 1_KiB, [](RankId rank) {
    const bool second = rank.value % 2 == 1;
    return kHost + kLatency + (second ? 3.0_us : Seconds{}) + 1_KiB / kWire;
  });
}

TEST(Fabric, MessagesOfManyRanksWaitForOneGapEach) {
  Platform platform = sample_platform();
  platform.node.nics.front().gap = Sourced<Seconds>{.value = 3.0_us};
  simulate(platform, std::vector<Place>{{0, 0, {}}, {0, 0, {}}, {0, 0, {}}, {1, 0, {}}, {2, 0, {}}, {3, 0, {}}},
           [](Rank& rank) {
             const int number = rank.id().value % 3;
             const RankId peer{(rank.id().value + 3) % 6};
             const Buffer buffer = rank.allocate(Memory::pinned, 1_KiB);
             const Op op = rank.id().value < 3 ? rank.send(peer, tags::kData, View(buffer))
                                               : rank.receive(peer, tags::kData, View(buffer));
             EXPECT_EQ(wait(rank, op, Seconds{10}), Status::delivered);
             const Seconds expected = kHost + kLatency + 3.0_us * number + 1_KiB / kWire;
             EXPECT_NEAR(rank.now().microseconds(), expected.microseconds(), kTolerance_us) << rank.id().value;
           });
}

/// What each of so many ranks, of nodes of their own, gives to be added up, and gets; when the last one has it.
Seconds time_to_add_up(const Platform& platform, int ranks, Bytes size) {
  Seconds longest{};
  simulate(platform, std::span(kFourNodes).first(static_cast<std::size_t>(ranks)), [&](MeasuredRank& rank) {
    std::vector<RankId> all;
    for (int r = 0; r < ranks; ++r) all.emplace_back(r);
    const View from(rank.allocate(Memory::pinned, size));
    const View to(rank.allocate(Memory::pinned, size));
    rank.fill(from, summable(1 + static_cast<std::uint64_t>(rank.id().value)));
    const Seconds start = rank.now();
    EXPECT_EQ(wait(rank, rank.add_up(all, tags::kData, to, from), Seconds{10}), Status::delivered);
    longest = std::max(longest, rank.now() - start);
    EXPECT_TRUE(rank.check(to, summable(static_cast<std::uint64_t>(ranks * (ranks + 1) / 2))).intact());
  });
  return longest;
}

struct Summed {
  int ranks = 2;
  Rate rate = kWire;  ///< of the switches that add up
  FabricShape shape = FabricShape::one_switch;
};
class SumsOfTheFabric : public ::testing::TestWithParam<Summed> {};

/// Up and down at once. The one link up of a leaf, which two messages would share, carries the sum of both.
TEST_P(SumsOfTheFabric, TakeABytesWayUpAndDownOnce) {
  const auto& [ranks, rate, shape] = GetParam();
  const bool tree = shape == FabricShape::fat_tree;
  Platform platform = sample_platform();
  platform.fabric = tree ? fabric(shape, {2, 2}, 2) : fabric(shape, {});
  platform.fabric->reduces = Sourced<Rate>{.value = rate};
  EXPECT_NEAR(time_to_add_up(platform, ranks, 1_MiB).microseconds(),
              (kHost + kLatency + (tree ? kSwitch * 2 : Seconds{}) + 1_MiB / rate).microseconds(), kTolerance_us);
}

INSTANTIATE_TEST_SUITE_P(Fabric, SumsOfTheFabric,
                         ::testing::Values(Summed{}, Summed{4}, Summed{3, Rate{1e9}},
                                           Summed{4, kWire, FabricShape::fat_tree}));

TEST(Fabric, SumsAreRefusedWhereNoSwitchAddsUp) {
  simulate(sample_platform(), std::span(kFourNodes).first(2), [](MeasuredRank& rank) {
    const std::vector<RankId> both{RankId{0}, RankId{1}};
    const View from(rank.allocate(Memory::pinned, 1_KiB));
    const View to(rank.allocate(Memory::pinned, 1_KiB));
    EXPECT_THROW(rank.add_up(both, tags::kData, to, from), UnavailableError);
    EXPECT_THROW(rank.add_up(both, tags::kData, to, from.slice(Bytes{}, 8_B)), UsageError);
  });
}

Platform eight_hgx(FabricShape shape, std::vector<int> size, FabricRouting routing) {
  Platform platform = read_platform(TWINLINK_SOURCE_DIR "/platforms/hgx-h100.yaml");
  platform.node.count = 8;
  Fabric& fabric = platform.fabric.value();
  fabric.shape = shape;
  fabric.size = std::move(size);
  fabric.routing = routing;
  return platform;
}

/// All 64 GPUs of eight HGX H100 send to that of their number four nodes on, by their own adapters. The time of the
/// slowest beyond latencies: what the ports of the fabric leave of an adapter's link.
double bisection_us(const Platform& platform, Bytes bytes) {
  std::vector<Place> places;
  for (int rank = 0; rank < 64; ++rank) places.push_back({rank / 8, rank % 8, {}});
  Seconds longest{};
  simulate(platform, places, [&](Rank& rank) {
    const RankId peer{(rank.id().value + 32) % 64};
    const Buffer out = rank.allocate(Memory::device, bytes);
    const Buffer in = rank.allocate(Memory::device, bytes);
    rank.register_memory(out);
    rank.register_memory(in);
    const Seconds begun = rank.now();
    const Op receive = rank.receive(peer, tags::kData, View(in));
    const Op send = rank.send(peer, tags::kData, View(out));
    for (const Op op : {receive, send}) EXPECT_EQ(wait(rank, op, Seconds{10}), Status::delivered);
    longest = std::max(longest, rank.now() - begun);
  });
  return longest.microseconds();
}

struct Bisection {
  FabricShape shape = FabricShape::one_switch;
  std::vector<int> size{};
  int oversubscription = 1;
  FabricRouting routing = FabricRouting::by_target;
  std::string dead{};  ///< a cable
  double longer = 1;   ///< because of it
};

class Bisections : public ::testing::TestWithParam<Bisection> {};

TEST_P(Bisections, TakeWhatThePortsLeave) {
  const auto& [shape, size, oversubscription, routing, dead, longer] = GetParam();
  Platform platform = eight_hgx(shape, size, routing);
  Fabric& fabric = platform.fabric.value();
  if (oversubscription != 1) fabric.oversubscription = {{oversubscription, 1}};
  if (!dead.empty()) fabric.add_fault(fabric.cables(dead, 0, 8).front());
  const double expected = (64_MiB / 48.5_GBps).microseconds() * oversubscription * longer;
  EXPECT_NEAR(bisection_us(platform, 64_MiB), expected, expected * 0.01);
}

INSTANTIATE_TEST_SUITE_P(
    Fabric, Bisections,
    ::testing::Values(Bisection{}, Bisection{FabricShape::rail_only}, Bisection{FabricShape::fat_tree, {2, 4}},
                      Bisection{FabricShape::fat_tree, {2, 4}, 4, FabricRouting::adaptive},
                      Bisection{FabricShape::fat_tree, {4, 2}, 2}, Bisection{FabricShape::rails, {4, 2}},
                      Bisection{FabricShape::rails, {2, 4}, 1, FabricRouting::by_source},
                      Bisection{FabricShape::rails, {2, 2, 2}, 1, FabricRouting::adaptive},
                      Bisection{FabricShape::rails, {4, 2}, 2, FabricRouting::adaptive},
                      Bisection{FabricShape::fat_tree, {2, 4}, 1, FabricRouting::adaptive, "leaf1-up3", 16.0 / 15},
                      Bisection{FabricShape::rails, {4, 2}, 2, FabricRouting::adaptive, "leaf9-up1", 2},
                      Bisection{FabricShape::rails, {4, 2}, 1, FabricRouting::by_target, "leaf9-up1", 2}));

/// Of eight places round, four hops both ways: 64 messages of half of their bytes each way, on 16 links.
TEST(Fabric, HalfOfAMessageGoesEachWayRoundATorus) {
  Platform platform = eight_hgx(FabricShape::torus, {8}, FabricRouting::by_target);
  const double expected = (64_MiB / 48.5_GBps).microseconds() * 8 * 8 * 4 / 16;
  EXPECT_NEAR(bisection_us(platform, 64_MiB), expected, expected * 0.01);
}

/// Each of eight routers sends to one of its group by a link, and over six others, each of which is the first of one
/// detour and the second of another: four links' worth for eight adapters.
TEST(Dragonfly, WithinAGroupMessagesGoRoundAFullLink) {
  Platform platform = eight_hgx(FabricShape::dragonfly, {1, 8, 1}, FabricRouting::adaptive);
  const double times = bisection_us(platform, 64_MiB) / (64_MiB / 48.5_GBps).microseconds();
  EXPECT_NEAR(times, 2, 2 * 0.01);
}

/// Four groups of two nodes; a link between two of them is as wide as an adapter, and 16 adapters send over it.
double dragonfly_times_alone(FabricRouting routing) {
  Platform platform = eight_hgx(FabricShape::dragonfly, {4, 2, 1}, routing);
  Fabric& fabric = platform.fabric.value();
  fabric.core_link = fabric.link;
  fabric.switch_link = fabric.link;
  fabric.switch_link->value = Rate{100 * fabric.link.value.bytes_per_second()};
  return bisection_us(platform, 64_MiB) / (64_MiB / 48.5_GBps).microseconds();
}

TEST(Dragonfly, MinimalWaysFillOneLink) { EXPECT_NEAR(dragonfly_times_alone(FabricRouting::by_target), 16, 0.16); }

/// What goes over a third group loads two links, and all of four groups send: two links' worth each for 16 adapters.
TEST(Dragonfly, AdaptiveRoutingGoesRoundAFullLink) {
  EXPECT_NEAR(dragonfly_times_alone(FabricRouting::adaptive), 8, 8 * 0.01);
}

/// All GPUs of `nodes` nodes, each the only one of its router, send to all those of others at once.
double all_to_all_us(const Platform& platform, int nodes, Bytes bytes) {
  const int ranks = nodes * 8;
  std::vector<Place> places;
  for (int rank = 0; rank < ranks; ++rank) places.push_back({rank / 8, rank % 8, {}});
  Seconds longest{};
  simulate(platform, places, [&](Rank& rank) {
    const Buffer memory = rank.allocate(Memory::device, bytes);
    rank.register_memory(memory);
    const Seconds begun = rank.now();
    std::vector<Op> ops;
    for (int other = 0; other < ranks; ++other) {
      if (other / 8 == rank.id().value / 8) continue;
      ops.push_back(rank.receive(RankId{other}, tags::kData, View(memory)));
      ops.push_back(rank.send(RankId{other}, tags::kData, View(memory)));
    }
    for (const Op op : ops) EXPECT_EQ(wait(rank, op, Seconds{10}), Status::delivered);
    longest = std::max(longest, rank.now() - begun);
  });
  return longest.microseconds();
}

TEST(Dragonfly, SimGridDoesNotKnowPacketsThatGoRound) {
  Platform platform = eight_hgx(FabricShape::dragonfly, {4, 2, 1}, FabricRouting::adaptive);
  const std::vector<Place> places{{0, 0, {}}, {7, 0, {}}};
  const SimulationOptions exact{.engine = SimulationOptions::Engine::exact};
  EXPECT_THROW(simulate(
                   platform, places, [](Rank&) {}, exact),
               UsageError);
  platform.fabric->routing = FabricRouting::by_target;
  EXPECT_EQ(simulate(
                platform, places, [](Rank&) {}, exact),
            Seconds{});
}

/// Eight routers along one dimension are a group of a dragonfly. Of two dimensions of two and four all send to the
/// second half of four: links to it, and detours over two more.
TEST(Hyperx, IsAsItsBisectionSays) {
  Platform platform = eight_hgx(FabricShape::hyperx, {2, 4, 1}, FabricRouting::adaptive);
  const double share = platform.fabric->bisection(8, 8);
  EXPECT_DOUBLE_EQ(share, 2 / 8.0);
  EXPECT_NEAR(bisection_us(platform, 64_MiB) / (64_MiB / 48.5_GBps).microseconds(), 1 / share, 0.01 / share);
}
TEST(Hyperx, OfOneDimensionIsAGroup) {
  const Platform platform = eight_hgx(FabricShape::hyperx, {8, 1}, FabricRouting::adaptive);
  EXPECT_NEAR(bisection_us(platform, 64_MiB) / (64_MiB / 48.5_GBps).microseconds(), 2, 2 * 0.01);
}

struct Spread {
  int nodes = 0;
  FabricRouting routing = FabricRouting::adaptive;
  double times = 0;  ///< of a message through an adapter
};

class Spreads : public ::testing::TestWithParam<Spread> {};

/// 64 messages for each link of two routers. Where all eight send, all links are full, and a detour would cost two for
/// one. Where four do, seven links lead from each, of which those to the other four bring a third to each of three.
TEST_P(Spreads, ADetourCostsTheLinksThatItTakes) {
  const auto& [nodes, routing, expected] = GetParam();
  const Platform platform = eight_hgx(FabricShape::dragonfly, {1, 8, 1}, routing);
  const double times = all_to_all_us(platform, nodes, 4_MiB) / (4_MiB / 48.5_GBps).microseconds();
  EXPECT_GE(times, expected * (1 - 1e-6));
  EXPECT_LE(times, expected * 1.02);
}

INSTANTIATE_TEST_SUITE_P(Dragonfly, Spreads,
                         ::testing::Values(Spread{8, FabricRouting::by_target, 64},
                                           Spread{8, FabricRouting::adaptive, 64},
                                           Spread{4, FabricRouting::by_target, 64},
                                           Spread{4, FabricRouting::adaptive, 64 * 3 / 7.0}));

}  // namespace
}  // namespace twinlink::model
