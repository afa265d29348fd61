#include "real/discover/node_platform.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/machine/platform_numbers.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/reader/platform_writer.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/core/errors.hpp"
#include "tests/platforms/sample_platform.hpp"
#include "tests/real/rank/messages.hpp"

namespace twinlink::real {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Kind = PciFacts::Kind;

GpuFacts gpu(const std::string& bus_id) {
  return {.model = "Test GPU",
          .uuid = "GPU-" + bus_id,
          .bus_id = bus_id,
          .memory = 80_GiB,
          .capability_major = 9,
          .pcie_generation = 5,
          .pcie_lanes = 16};
}

/// Two sockets; on the first a switch with GPUs a and b and an InfiniBand adapter; on the second GPU c and a network
/// card. NVML's order is not that of the buses.
NodeDescription sample_node() {
  NodeDescription node{.name = "sample.host", .gpu_source = "NVML of driver 999.1"};
  node.sockets = {{"Test CPU"}, {"Test CPU"}};
  node.memories = {{0, {0}}, {1, {1}}};
  node.pci = {{.kind = Kind::host_bridge},
              {.kind = Kind::bridge, .bus_id = "0000:10:00.0", .parent = 0, .link_GBps = 31.5},
              {.kind = Kind::gpu, .bus_id = "0000:1a:00.0", .parent = 1},
              {.kind = Kind::gpu, .bus_id = "0000:1b:00.0", .parent = 1},
              {.kind = Kind::adapter,
               .bus_id = "0000:1c:00.0",
               .name = "mlx5_0",
               .parent = 1,
               .link_GBps = 31.5,
               .infiniband = true},
              {.kind = Kind::host_bridge, .socket = 1, .numa = 1},
              {.kind = Kind::gpu, .bus_id = "0000:8c:00.0", .parent = 5, .socket = 1, .numa = 1},
              {.kind = Kind::adapter,
               .bus_id = "0000:8d:00.0",
               .name = "eth 0.7",
               .parent = 5,
               .socket = 1,
               .numa = 1,
               .link_GBps = 7.88}};
  node.inventory.gpus = {gpu("0000:8c:00.0"), gpu("0000:1a:00.0"), gpu("0000:1b:00.0")};
  node.inventory.peer_access.assign(3, std::vector<std::string>(3));
  return node;
}

void add_switch(NodeDescription& node) {
  for (GpuFacts& gpu : node.inventory.gpus) {
    gpu.nvlinks.assign(18, {.remote = NvlinkFacts::Remote::nvswitch, .version = 6, .speed_MBps = 26562});
  }
}

void refuse(NodeDescription& node, std::size_t a, std::size_t b, const std::string& reason) {
  node.inventory.peer_access[a][b] = node.inventory.peer_access[b][a] = reason;
}

/// What the project's reader makes of the file.
model::Platform read_back(const NodePlatform& node) {
  const auto file = std::filesystem::path(::testing::TempDir()) /
                    (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + ".yaml");
  std::ofstream(file) << model::platform_text(node.platform, node.heading);
  model::Platform platform = model::read_platform(file);
  std::filesystem::remove(file);
  return platform;
}

const model::Link* link(const model::Platform& platform, const std::string& name) {
  const auto found = std::ranges::find(platform.node.links, name, &model::Link::name);
  return found == platform.node.links.end() ? nullptr : &*found;
}

double GBps(const model::Platform& platform, const std::string& name) {
  const model::Link* const found = link(platform, name);
  return found == nullptr ? 0 : found->forward.value.bytes_per_second() / 1e9;
}

template <class T>
std::vector<std::string> names(const std::vector<T>& things) {
  std::vector<std::string> result;
  for (const T& thing : things) result.push_back(thing.name);
  return result;
}

/// "01 02" of those that reach each other.
std::string peers(const model::Platform& platform) {
  const model::Topology topology(platform);
  std::string pairs;
  for (std::size_t a = 0; a < platform.node.gpus.size(); ++a) {
    for (std::size_t b = a + 1; b < platform.node.gpus.size(); ++b) {
      if (topology.peer_access(a, b)) pairs += (pairs.empty() ? "" : " ") + std::to_string(a) + std::to_string(b);
    }
  }
  return pairs;
}

TEST(NodePlatform, IsAcceptedByTheReaderAndComplete) {
  NodeDescription node = sample_node();
  add_switch(node);
  const NodePlatform made = make_platform(node, nullptr);
  const model::Platform platform = read_back(made);
  EXPECT_EQ(platform.name, "sample_host");
  EXPECT_EQ(platform.description, "2 x Test CPU; 3 x Test GPU; 2 NUMA domains");
  EXPECT_THAT(names(platform.node.hubs), ElementsAre("socket0", "socket1", "pcie0", "nvswitch"));
  EXPECT_THAT(names(platform.node.nics), ElementsAre("mlx5_0", "eth_0_7"));
  EXPECT_THAT(made.notes, IsEmpty());
  EXPECT_EQ(platform.copies.size(), static_cast<std::size_t>(model::kCopyKinds));
}

TEST(NodePlatform, NumbersGpusByBusIdAndKeepsTheirUuidsInTheHeading) {
  const NodePlatform made = make_platform(sample_node(), nullptr);
  const auto& gpus = made.platform.node.gpus;
  ASSERT_THAT(gpus, SizeIs(3));
  EXPECT_EQ(made.platform.type_of(0).memory.source.text, "as NVML of driver 999.1 tells of GPU-0000:1a:00.0");
  EXPECT_EQ(gpus[2].memory_near, "numa1");
  EXPECT_EQ(made.platform.type_of(0).capability_major, 9);
  EXPECT_THAT(made.heading, Contains("gpu2: Test GPU, GPU-0000:8c:00.0, 0000:8c:00.0"));
  EXPECT_THAT(made.heading, Contains("gpu0 reaches: gpu1 (PCIe), gpu2 (PCIe)"));
}

TEST(NodePlatform, RatesAreNominalAndSayHowTheyFollow) {
  const model::Platform platform = make_platform(sample_node(), nullptr).platform;
  EXPECT_NEAR(GBps(platform, "gpu0-pcie"), 63.015, 1e-3);
  EXPECT_EQ(link(platform, "gpu0-pcie")->to, "pcie0");
  EXPECT_EQ(link(platform, "gpu0-pcie")->forward.source.quality, model::Quality::derived);
  EXPECT_THAT(link(platform, "gpu0-pcie")->forward.source.text, StartsWith("nominal: PCIe Gen5 x16"));
  EXPECT_EQ(link(platform, "gpu2-pcie")->to, "socket1");
  EXPECT_NEAR(GBps(platform, "pcie0-pcie"), 31.508, 1e-3);
  EXPECT_EQ(link(platform, "pcie0-pcie")->to, "socket0");
  EXPECT_EQ(link(platform, "socket0-socket1")->forward.source.quality, model::Quality::assumed);
}

TEST(NodePlatform, AdaptersAreTheNearestAndInfiniBandFirst) {
  NodeDescription node = sample_node();
  EXPECT_EQ(make_platform(node, nullptr).platform.node.gpus[2].nic, "mlx5_0");
  node.pci[4].infiniband = false;
  EXPECT_EQ(make_platform(node, nullptr).platform.node.gpus[0].nic, "mlx5_0");
  EXPECT_EQ(make_platform(node, nullptr).platform.node.gpus[2].nic, "eth_0_7");
}

TEST(NodePlatform, PeersUseTheSwitch) {
  NodeDescription node = sample_node();
  add_switch(node);
  const model::Platform platform = read_back(make_platform(node, nullptr));
  EXPECT_NEAR(GBps(platform, "gpu0-nvlink"), 450, 1e-9);
  EXPECT_EQ(peers(platform), "01 02 12");
  const model::Topology topology(platform);
  const auto of_gpu = [](std::size_t index) { return model::Location{model::Location::Kind::gpu, index}; };
  // Also those below one PCIe switch, which is as many hops away.
  EXPECT_EQ(topology.describe("gpu0", topology.copy_route(of_gpu(0), of_gpu(1))), "gpu0 -> nvswitch -> gpu1");
  EXPECT_EQ(topology.describe("gpu0", topology.copy_route(of_gpu(0), of_gpu(2))), "gpu0 -> nvswitch -> gpu2");
}

TEST(NodePlatform, AVirtualMachinesSwitchIsAssumedWhereTheOtherEndIsHidden) {
  NodeDescription node = sample_node();
  for (GpuFacts& gpu : node.inventory.gpus) gpu.nvlinks.assign(18, {});
  const NodePlatform made = make_platform(node, nullptr);
  EXPECT_NEAR(GBps(made.platform, "gpu1-nvlink"), 450, 1e-9);
  EXPECT_THAT(made.heading, Contains(HasSubstr("gpu1 (18 NVLinks to NVSwitch)")));
}

TEST(NodePlatform, DirectNvlinksJoinPairs) {
  NodeDescription node = sample_node();
  node.inventory.gpus[1].nvlinks.assign(4, {NvlinkFacts::Remote::gpu, "0000:1b:00.0", 0, 25781});
  node.inventory.gpus[2].nvlinks.assign(4, {NvlinkFacts::Remote::gpu, "0000:1a:00.0", 0, 25781});
  refuse(node, 0, 1, "the chipset does not support it");
  refuse(node, 0, 2, "the chipset does not support it");
  const NodePlatform made = make_platform(node, nullptr);
  const model::Platform platform = read_back(made);
  EXPECT_NEAR(GBps(platform, "gpu0-gpu1-nvlink"), 100, 1e-9);
  EXPECT_EQ(peers(platform), "01");
  EXPECT_TRUE(platform.fallback);
  EXPECT_THAT(made.heading, Contains("gpu0 reaches: gpu1 (4 NVLinks); not gpu2 (the chipset does not support it)"));
}

TEST(NodePlatform, PeerAccessNeedNotBeTransitive) {
  NodeDescription node = sample_node();
  refuse(node, 0, 2, "not supported");  // 8c and 1b; 1a reaches both
  EXPECT_EQ(peers(read_back(make_platform(node, nullptr))), "01 02");
}

TEST(NodePlatform, WithoutADriverItGuessesAndSaysSo) {
  NodeDescription node = sample_node();
  node.gpu_source = "hwloc";
  node.inventory = {};
  node.inventory.gpus = {{.model = "A GPU", .bus_id = "0000:1a:00.0"}, {.model = "", .bus_id = "0000:ff:00.0"}};
  const NodePlatform made = make_platform(node, nullptr);
  const model::Platform platform = read_back(made);
  EXPECT_EQ(platform.type_of(0).memory.source.quality, model::Quality::assumed);
  EXPECT_EQ(platform.type_of(1).model, "unknown GPU");
  EXPECT_EQ(peers(platform), "");
  EXPECT_THAT(made.notes, Contains(HasSubstr("gpu0: no driver tells its memory, compute capability and NVLinks")));
  EXPECT_THAT(made.notes, Contains(HasSubstr("gpu1 (0000:ff:00.0): the system does not say to which socket")));
  EXPECT_THAT(made.notes, Contains(HasSubstr("gpu1: generation and width of its PCIe link are unknown")));
  EXPECT_THAT(made.notes, Contains("peer access between the GPUs is unknown; the file has none"));
}

TEST(NodePlatform, WithoutAGpuThereIsNone) {
  NodeDescription node = sample_node();
  node.inventory = {};
  EXPECT_THAT(message_of<UnavailableError>([&] { make_platform(node, nullptr); }), HasSubstr("a platform needs a GPU"));
}

TEST(NodePlatform, SeveralDomainsOfASocketShareIt) {
  NodeDescription node = sample_node();
  node.memories = {{0, {0}}, {1, {1}}, {2, {0}}, {3, {1}}};
  const model::Platform platform = read_back(make_platform(node, nullptr));
  EXPECT_NE(link(platform, "socket0-numa2"), nullptr);
  EXPECT_EQ(link(platform, "socket1-numa2"), nullptr);
}

TEST(NodePlatform, CostsOfABaseAreAssumedAndNameIt) {
  const model::Platform base = model::testing::sample_platform();
  const model::Platform platform = read_back(make_platform(sample_node(), &base));
  const model::Cost& peer = platform.copies.at(model::CopyKind::peer);
  EXPECT_EQ(peer.rate->value, model::testing::kPeer);
  EXPECT_EQ(peer.rate->source.quality, model::Quality::assumed);
  EXPECT_EQ(peer.rate->source.text, "as on sample (assumed: round numbers for tests)");
  EXPECT_EQ(platform.node.memories[1].copy_rate.value, Rate{8e9});
  ASSERT_TRUE(platform.fabric);  // there is an adapter for every GPU
  EXPECT_EQ(platform.fabric->link.value, model::testing::kWire);
  EXPECT_EQ(platform.node.count, 1);
}

/// Also of numbers that a platform need not have.
TEST(NodePlatform, NoCostOfABaseIsAMeasurementOfThisNode) {
  const auto measured = [](auto value) { return model::Sourced{value, {model::Quality::measured, "elsewhere"}}; };
  const auto curve = [&](Seconds cost) { return measured(model::Piecewise({{1_B, cost}})); };
  model::Platform base = model::testing::sample_platform();
  base.copies.at(model::CopyKind::pinned_to_device).cpu_written = curve(1.0_us);
  model::NetworkCosts& network = base.intra_node;
  network.gap = network.completion = curve(1.0_us);
  network.control_receive_overhead = base.runtime.failed_poll = base.runtime.completion = measured(1.0_us);
  base.node.memories.back().cache = measured(100_MiB);
  network.copied_by = model::CopiedBy::both;
  network.uncached = measured(1.0_GBps);
  network.fragment = measured(32_KiB);
  base.runtime.signal_gap = base.runtime.kernel_signal_gap = measured(1.0_us);
  const model::Platform platform = read_back(make_platform(sample_node(), &base));
  int borrowed = 0;
  for (const model::NumberEntry& entry : all_numbers(platform)) {
    if (!entry.path.starts_with("driver.") && !entry.path.starts_with("mpi.") && !entry.path.ends_with(".cache"))
      continue;
    EXPECT_EQ(entry.source.quality, model::Quality::assumed) << entry.path;
    borrowed += entry.source.text.find("measured: elsewhere") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(borrowed, 8 + 2 + 2) << "and a cache for each memory";
}

TEST(NodePlatform, CopiesThatABaseLacksAreGuessed) {
  model::Platform base = model::testing::sample_platform();
  base.copies.erase(model::CopyKind::pinned_to_device);
  const model::Platform platform = make_platform(sample_node(), &base).platform;
  EXPECT_THAT(platform.copies.at(model::CopyKind::pinned_to_device).latency.source.text, StartsWith("a guess"));
}

TEST(NodePlatform, WithoutAdaptersABasesFabricIsLeftOut) {
  const model::Platform base = model::testing::sample_platform();
  NodeDescription node = sample_node();
  for (PciFacts& pci : node.pci) {
    if (pci.kind == Kind::adapter) pci.kind = Kind::bridge;  // with nothing below
  }
  EXPECT_FALSE(read_back(make_platform(node, &base)).fabric);
}

TEST(NodePlatform, NamesOfTheSystemDoNotClash) {
  NodeDescription node = sample_node();
  node.pci[4].name = "gpu0";
  node.pci[7].name = "";
  const model::Platform platform = read_back(make_platform(node, nullptr));
  EXPECT_THAT(names(platform.node.nics), ElementsAre("nic_gpu0", "nic"));
}

}  // namespace
}  // namespace twinlink::real
