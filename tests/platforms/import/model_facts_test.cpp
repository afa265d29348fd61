// What models of GPUs and adapters tell of a node beyond its source.
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/import/node_sketch.hpp"
#include "tests/platforms/import/sample_node.hpp"

namespace twinlink::platforms {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Kind = PciFacts::Kind;

TEST(ModelFacts, AdaptersHaveWhatTheirModelHas) {
  const auto made = [](const std::string& device, const std::string& name) {
    NodeDescription node = sample_node();
    node.pci[4].device_id = device;
    node.pci[4].name = name;
    return sketch(node, "title");
  };
  const auto gigabits = [&](const std::string& device, const std::string& name) {
    return made(device, name).platform.fabric->link.value.bytes_per_second() * 8 / 1e9;
  };
  EXPECT_NEAR(gigabits("15b3:101b", "mlx5_0"), 200, 1e-9) << "ConnectX-6";
  EXPECT_NEAR(gigabits("15b3:1021", "mlx5_0"), 400, 1e-9) << "ConnectX-7";
  EXPECT_NEAR(gigabits("15b3:1023", "mlx5_0"), 800, 1e-9) << "ConnectX-8";
  EXPECT_NEAR(gigabits("1d0f:efa1", "rdmap0s6"), 100, 1e-9) << "EFA of P4d";
  EXPECT_NEAR(gigabits("1d0f:efa3", "rdmap0s6"), 200, 1e-9) << "EFA of P5en";
  EXPECT_NEAR(gigabits("", "cxi0"), 200, 1e-9) << "Slingshot, by the names of its driver";
  EXPECT_THAT(made("15b3:1021", "mlx5_0").notes, IsEmpty());
  EXPECT_EQ(made("15b3:1021", "mlx5_0").platform.fabric->link.source.text,
            "the most of a ConnectX-7; ConnectX-7 data sheet: NDR");
  EXPECT_THAT(made("", "rdmap0s6").notes,
              ElementsAre(StartsWith("nobody tells how fast rdmap0s6 is: 100 Gbit/s is assumed")));
  EXPECT_THAT(made("15b3:9999", "mlx5_0").notes,
              ElementsAre(StartsWith("nobody tells how fast mlx5_0 is: 200 Gbit/s is assumed")));
}

/// As NCCL deals them: by the number of the GPU, with its bits reversed where they are a power of two.
TEST(ModelFacts, GpusTakeTurnsAtAdaptersThatAreAsNear) {
  const auto chosen = [](int adapters) {
    NodeDescription node{.origin = "a test", .sockets = {{}}, .memories = {{0, {0}}}};
    for (int i = 0; i < 4; ++i) {
      node.pci.push_back({.kind = Kind::gpu, .bus_id = fmt::format("0000:0{}:00.0", i)});
      node.gpus.push_back(gpu(node.pci.back().bus_id));
    }
    for (int i = 0; i < adapters; ++i) {
      node.pci.push_back({.kind = Kind::adapter,
                          .bus_id = fmt::format("0000:1{}:00.0", i),
                          .name = fmt::format("mlx5_{}", i),
                          .infiniband = true});
    }
    std::string text;
    for (const Gpu& each : sketch(node, "title").platform.node.gpus) text += each.nic.substr(each.nic.size() - 1);
    return text;
  };
  EXPECT_EQ(chosen(1), "0000");
  EXPECT_EQ(chosen(2), "0101");
  EXPECT_EQ(chosen(3), "0120");
  EXPECT_EQ(chosen(4), "0213");
}

TEST(ModelFacts, SlowBridgesAboveAFastGpuAreRemarked) {
  NodeDescription node = sample_node();
  node.pci[4].device_id = "15b3:101b";
  for (GpuFacts& facts : node.gpus) facts.pcie.reset();
  node.pci[2].link = pcie_rate_of_transfers(5, 16, "");
  const std::string note = "gpu0: 8 GB/s of PCIe on its way, where it has Gen5: bridges of virtual machines tell less";
  EXPECT_THAT(sketch(node, "title").notes, Contains(StartsWith(note)));
  node.pci[2].link = pcie_rate_of_transfers(8, 16, "");
  EXPECT_THAT(sketch(node, "title").notes, Each(::testing::Not(HasSubstr("of PCIe on its way"))));
}

/// Their drivers give peer access over NVLinks alone, unless a driver was asked.
TEST(ModelFacts, BoardsForConsumersHaveNoPeersOverPcie) {
  NodeDescription node = sample_node();
  node.peer_access.clear();
  for (GpuFacts& facts : node.gpus) facts.model = "NVIDIA GeForce RTX 3090";
  EXPECT_EQ(peers(sketch(node, "title").platform), "");
  node.gpus[0].links = {{.remote = GpuLinks::Remote::gpu, .remote_bus_id = node.gpus[2].bus_id, .count = 4}};
  const SketchedPlatform bridged = sketch(node, "title");
  EXPECT_EQ(peers(bridged.platform), "02");
  EXPECT_NEAR(GBps(bridged.platform, "gpu0-gpu2-nvlink"), 56.25, 1e-9);
  node.peer_access.assign(3, std::vector<std::string>(3));
  EXPECT_EQ(peers(sketch(node, "title").platform), "01 02 12") << "a driver that was changed";
  node.peer_access.clear();
  for (GpuFacts& facts : node.gpus) facts.model = "NVIDIA RTX A6000";
  EXPECT_EQ(peers(sketch(node, "title").platform), "01 02") << "a board for workstations";
}

/// A model that has NVLink-C2C has it whether or not the source tells of it, and copies get what they got there.
TEST(ModelFacts, GpusBesideAGraceReachItsMemoryByC2c) {
  NodeDescription node = sample_node();
  node.gpus.resize(1);
  node.peer_access.clear();
  node.gpus[0].model = "NVIDIA GH200 480GB";
  const SketchedPlatform made = sketch(node, "title");
  EXPECT_NEAR(GBps(made.platform, "gpu0-numa0-c2c"), 450, 1e-9);
  const CopyCosts& copies = made.platform.gpu_types[0].copies;
  EXPECT_NEAR(copies.at(CopyKind::pinned_to_device).rate->value.bytes_per_second(), 337.55e9, 1);
  EXPECT_NEAR(copies.at(CopyKind::device_to_pinned).rate->value.bytes_per_second(), 295.23e9, 1);
  EXPECT_EQ(made.platform.node.cpu, Cpu::arm);
  node.gpus[0].links = {{.kind = GpuLinks::Kind::c2c, .remote = GpuLinks::Remote::memory, .each = told(447)}};
  EXPECT_NEAR(GBps(sketch(node, "title").platform, "gpu0-numa0-c2c"), 447, 1e-9) << "as told";
  node.gpus[0] = {.bus_id = node.gpus[0].bus_id, .coherent = true};
  EXPECT_NEAR(GBps(sketch(node, "title").platform, "gpu0-numa0-c2c"), 450, 1e-9) << "its memory is a domain";
  node.gpus[0].model = "NVIDIA Unheard-Of";
  EXPECT_NEAR(GBps(sketch(node, "title").platform, "gpu0-numa0-c2c"), 450, 1e-9) << "whatever it is called";
  node.gpus[0].coherent = false;
  EXPECT_EQ(link(sketch(node, "title").platform, "gpu0-numa0-c2c"), nullptr);
}

}  // namespace
}  // namespace twinlink::platforms
