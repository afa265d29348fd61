// Messages to GPUs of other nodes on another rail: with PXN they go over NVLink to the GPU beside that rail's adapter.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "model/engine/simulation.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/registry.hpp"
#include "tests/model/engine/one_message.hpp"

namespace twinlink::model {
namespace {

constexpr Rate kRailUp{5e9};
constexpr Rate kSpine{10e9};  ///< a leaf of two nodes has two links up, side by side
constexpr Bytes kRailSlot = 256_KiB;

/// Four HGX H100 on rails, two at each leaf; the leaves are joined by links that are narrower than an adapter's.
Platform on_rails() {
  Platform platform = read_platform(TWINLINK_SOURCE_DIR "/platforms/hgx-h100.yaml");
  Fabric& fabric = platform.fabric.value();
  fabric.shape = FabricShape::rails;
  fabric.size = {2, 2};
  platform.node.count = 4;
  fabric.switch_link = Sourced<Rate>{kRailUp, {Quality::assumed, "a narrow spine"}};
  return platform;
}

Settings with_pxn(bool pxn, int channels) {
  Settings settings{.chunk = kRailSlot, .depth = 8};
  settings.options = {{"proto", "simple"}, {"channels", std::to_string(channels)}, {"pxn_disable", pxn ? "0" : "1"}};
  return settings;
}

/// All ranks begin at that time.
void begin_at(MeasuredRank& rank, Seconds when) {
  EXPECT_EQ(wait(rank, rank.compute(when - rank.now(), kOnHost), testing::kLong), Status::delivered);
}

/// A message of one slot from a GPU of node 0 to GPU 1 of node 1, until the receiver has it.
struct ToGpuOne {
  int from = 0;
  bool pxn = true;
  Seconds time{};
  std::string way{};
};

/// One after the other. All three GPUs have ranks.
void measure(std::span<ToGpuOne> messages) {
  const std::vector<Place> places{{0, 0, {}}, {0, 1, {}}, {1, 1, {}}};
  simulate(on_rails(), places, [&](MeasuredRank& rank) {
    const RankId receiver{2};
    Seconds start{};
    for (ToGpuOne& message : messages) {
      start += Seconds{1.0};
      const RankId sender{message.from};
      const bool sends = rank.id() == sender;
      if (!sends && rank.id() != receiver) continue;
      const View data(rank.allocate(Memory::device, kRailSlot));
      rank.fill(data, sends ? Payload{7} : kSentinel);
      const auto channel = find_protocol("nccl").connect(rank, sends ? receiver : sender, with_pxn(message.pxn, 1));
      const auto move = [&] { return sends ? channel->send(data) : channel->receive(data); };
      EXPECT_TRUE(move().ok());
      begin_at(rank, start);
      EXPECT_TRUE(move().ok());
      if (sends) {
        message.way = channel->path_taken();
        continue;
      }
      message.time = rank.now() - start;
      EXPECT_TRUE(rank.check(data, Payload{7}).intact());
    }
  });
}

/// A block stores over NVLink as fast as into its own memory: then it is the other GPU's message. Without PXN it
/// crosses the spine, between two leaves.
TEST(OtherRail, AMessageTakesAsLongAsFromTheGpuBesideThatRail) {
  std::array<ToGpuOne, 3> messages{ToGpuOne{.from = 1}, ToGpuOne{.from = 0}, ToGpuOne{.from = 0, .pxn = false}};
  measure(messages);
  const auto& [own, crossing, spine] = messages;
  testing::expect_near(crossing.time, own.time);
  EXPECT_NE(crossing.way.find("from the GPU beside the peer's rail"), std::string::npos) << crossing.way;
  EXPECT_EQ(own.way.find("beside the peer's rail"), std::string::npos) << own.way;

  const Platform platform = on_rails();
  const Topology topology(platform);
  const Seconds switches =
      topology.fabric_latency(0, 1, {"hca0", "hca1"}) - topology.fabric_latency(0, 1, {"hca1", "hca1"});
  testing::expect_near(spine.time, own.time + kRailSlot / kSpine - kRailSlot / platform.fabric->link.value + switches);
  EXPECT_EQ(spine.way.find("beside the peer's rail"), std::string::npos) << spine.way;
}

/// Every GPU has messages for every rail, and none of them has to cross the spine.
TEST(OtherRail, AnAllToAllStaysOnItsRails) {
  std::vector<Place> places;
  for (int rank = 0; rank < 16; ++rank) places.push_back({rank / 8, rank % 8, {}});
  std::array<Seconds, 2> last{};
  simulate(on_rails(), places, [&](MeasuredRank& rank) {
    const View data(rank.allocate(Memory::device, 1_MiB * 32));
    Seconds start{};
    for (const bool pxn : {false, true}) {
      start += Seconds{1.0};
      const auto all = find_protocol("nccl").join(rank, with_pxn(pxn, 2));
      EXPECT_TRUE(all->run(Collective::all_to_all, data).ok());
      begin_at(rank, start);
      EXPECT_TRUE(all->run(Collective::all_to_all, data).ok());
      Seconds& longest = last.at(pxn ? 1 : 0);
      longest = std::max(longest, rank.now() - start);
      const std::string way = all->path_taken(Collective::all_to_all, data);
      EXPECT_EQ(way.find("NET/GDR/PXN") != std::string::npos, pxn) << way;
    }
  });
  // Each GPU sends eight messages of 1 MiB to the other node: over its adapter, or seven of them over the spine.
  const Seconds by_adapter = 8_MiB / on_rails().fabric->link.value;
  const Seconds by_spine = 7_MiB / kSpine;
  EXPECT_GE(last[0], by_spine);
  EXPECT_GE(last[1], by_adapter);
  EXPECT_LT(last[1], by_spine) << "some have crossed it";
}

}  // namespace
}  // namespace twinlink::model
