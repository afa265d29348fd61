#include "platforms/import/node_sketch.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/import/gpu_models.hpp"
#include "platforms/machine/platform_numbers.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/reader/platform_writer.hpp"
#include "platforms/topology/topology.hpp"
#include "tests/platforms/import/sample_node.hpp"
#include "tests/platforms/import/summary.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::platforms {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Kind = PciFacts::Kind;

void add_switch(NodeDescription& node) {
  for (GpuFacts& gpu : node.gpus) {
    gpu.links.assign(18, {.remote = GpuLinks::Remote::nvswitch});
  }
}

void refuse(NodeDescription& node, std::size_t a, std::size_t b, const std::string& reason) {
  node.peer_access[a][b] = node.peer_access[b][a] = reason;
}

/// What the project's reader makes of the file.
Platform read_back(const SketchedPlatform& node) {
  const auto file = std::filesystem::path(::testing::TempDir()) /
                    (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + ".yaml");
  std::ofstream(file) << platform_text(node.platform, node.heading);
  Platform platform = read_platform(file);
  std::filesystem::remove(file);
  return platform;
}

template <class T>
std::vector<std::string> names(const std::vector<T>& things) {
  std::vector<std::string> result;
  for (const T& thing : things) result.push_back(thing.name);
  return result;
}

TEST(NodePlatform, IsWhatTheFactsSay) {
  NodeDescription node = sample_node();
  add_switch(node);
  const SketchedPlatform made = sketch(node, "title");
  EXPECT_EQ(testing::summary(made),
            "2 x Test CPU; 3 x Test GPU; 2 NUMA domains; 2 adapters; as NVML tells\n"
            "Test_GPU: Test GPU 9.0, 80 GiB measured\n"
            "numa0: adapters, peers 2 GB/s assumed\n"
            "numa1: adapters, peers 2 GB/s assumed\n"
            "root0: all, peers 11 GB/s assumed\n"
            "root1: all, peers 11 GB/s assumed\n"
            "switch0: all\n"
            "nvswitch: all\n"
            "mlx5_0\n"
            "eth_0_7: 3.125 GB/s assumed\n"
            "gpu0: Test_GPU at numa0, mlx5_0\n"
            "gpu1: Test_GPU at numa0, mlx5_0\n"
            "gpu2: Test_GPU at numa1, mlx5_0\n"
            "gpu0-nvlink: gpu0 - nvswitch, 18 x 25 GB/s derived\n"
            "gpu1-nvlink: gpu1 - nvswitch, 18 x 25 GB/s derived\n"
            "gpu2-nvlink: gpu2 - nvswitch, 18 x 25 GB/s derived\n"
            "gpu0-pcie: gpu0 - switch0, 63.015 GB/s derived, 150 ns\n"
            "gpu1-pcie: gpu1 - switch0, 63.015 GB/s derived, 150 ns\n"
            "gpu2-pcie: gpu2 - root1, 63.015 GB/s derived, 150 ns\n"
            "mlx5_0-pcie: mlx5_0 - switch0, 31.5 GB/s derived, 150 ns\n"
            "eth_0_7-pcie: eth_0_7 - root1, 7.88 GB/s derived, 150 ns\n"
            "switch0-pcie: switch0 - root0, 31.5 GB/s derived, 150 ns\n"
            "root0-numa0: root0 - numa0, 200 GB/s assumed\n"
            "root1-numa1: root1 - numa1, 200 GB/s assumed\n"
            "numa0-numa1: numa0 - numa1, 40 GB/s assumed, 60.0 ns\n"
            "fabric: 25 GB/s assumed, RDMA\n");
  EXPECT_EQ(testing::heading(made),
            "title\n\n"
            "switch0: PCIe bridge 0000:10:00.0\n"
            "mlx5_0: adapter 0000:1c:00.0\n"
            "eth_0_7: network card 0000:8d:00.0\n"
            "gpu0: Test GPU, GPU-0000:1a:00.0, 0000:1a:00.0\n"
            "gpu1: Test GPU, GPU-0000:1b:00.0, 0000:1b:00.0\n"
            "gpu2: Test GPU, GPU-0000:8c:00.0, 0000:8c:00.0\n"
            "nvswitch: all NVSwitches as one hub, since a copy is spread over them\n"
            "gpu0 reaches: gpu1 (18 NVLinks to NVSwitch), gpu2 (18 NVLinks to NVSwitch)\n"
            "gpu1 reaches: gpu0 (18 NVLinks to NVSwitch), gpu2 (18 NVLinks to NVSwitch)\n"
            "gpu2 reaches: gpu0 (18 NVLinks to NVSwitch), gpu1 (18 NVLinks to NVSwitch)\n"
            "\n"
            "note: nobody tells how fast mlx5_0 is: 200 Gbit/s is assumed. The XML of NCCL or hwloc tells, or --set "
            "fabric.link\n"
            "\n"
            "the XML that NCCL or hwloc writes\n"
            "* adapters have 200 Gbit/s\n"
            "* network cards have 25 Gbit/s\n"
            "* the adapters read and write device memory\n"
            "probes of the node: twinlink-real probe, then twinlink-validate calibrate\n"
            "* host memories forward what adapters read and write in GPUs, and nothing between GPUs\n"
            "* what passes a root complex from GPU or adapter to GPU gets 11 GB/s, between sockets 2\n"
            "* a root complex forwards peer traffic\n"
            "* each crossing of PCIe takes 150 ns\n"
            "* a root complex reaches the memory of its socket at 200 GB/s\n"
            "* every socket has links of 40 GB/s to each other one\n"
            "* the costs of copies, of the runtime and of messages\n");
  const Platform platform = read_back(made);
  EXPECT_EQ(platform.name, "sample_host");
  EXPECT_EQ(platform.copies.size(), static_cast<std::size_t>(kCopyKinds));
}

TEST(NodePlatform, AdaptersAreTheNearestAndInfiniBandFirst) {
  NodeDescription node = sample_node();
  EXPECT_EQ(sketch(node, "title").platform.node.gpus[2].nic, "mlx5_0");
  node.pci[4].infiniband = false;
  EXPECT_EQ(sketch(node, "title").platform.node.gpus[0].nic, "mlx5_0");
  EXPECT_EQ(sketch(node, "title").platform.node.gpus[2].nic, "eth_0_7");
}

TEST(NodePlatform, PeersUseTheSwitch) {
  NodeDescription node = sample_node();
  add_switch(node);
  const Platform platform = read_back(sketch(node, "title"));
  EXPECT_NEAR(GBps(platform, "gpu0-nvlink"), 450, 1e-9);
  EXPECT_EQ(peers(platform), "01 02 12");
  const Topology topology(platform);
  const auto of_gpu = [](std::size_t index) { return Location{Location::Kind::gpu, index}; };
  // Also those below one PCIe switch, which is as many hops away.
  EXPECT_EQ(topology.describe("gpu0", topology.copy_route(of_gpu(0), of_gpu(1))), "gpu0 -> nvswitch -> gpu1");
  EXPECT_EQ(topology.describe("gpu0", topology.copy_route(of_gpu(0), of_gpu(2))), "gpu0 -> nvswitch -> gpu2");
}

TEST(NodePlatform, AVirtualMachinesSwitchIsAssumedWhereTheOtherEndIsHidden) {
  NodeDescription node = sample_node();
  for (GpuFacts& gpu : node.gpus) gpu.links.assign(18, {});
  const SketchedPlatform made = sketch(node, "title");
  EXPECT_NEAR(GBps(made.platform, "gpu1-nvlink"), 450, 1e-9);
  EXPECT_THAT(made.heading, Contains(HasSubstr("gpu1 (18 NVLinks to NVSwitch)")));
}

TEST(NodePlatform, DirectNvlinksJoinPairs) {
  NodeDescription node = sample_node();
  const GpuLinks one{.remote = GpuLinks::Remote::gpu, .each = told(25)};
  node.gpus[0].links.assign(4, one);
  node.gpus[1].links.assign(4, one);
  for (GpuLinks& link : node.gpus[0].links) link.remote_bus_id = "0000:1b:00.0";
  for (GpuLinks& link : node.gpus[1].links) link.remote_bus_id = "0000:1a:00.0";
  refuse(node, 0, 2, "the chipset does not support it");
  refuse(node, 1, 2, "the chipset does not support it");
  const SketchedPlatform made = sketch(node, "title");
  const Platform platform = read_back(made);
  EXPECT_NEAR(GBps(platform, "gpu0-gpu1-nvlink"), 100, 1e-9);
  EXPECT_EQ(peers(platform), "01");
  EXPECT_TRUE(platform.fallback);
  EXPECT_THAT(made.heading, Contains("gpu0 reaches: gpu1 (4 NVLinks); not gpu2 (the chipset does not support it)"));
}

TEST(NodePlatform, PeerAccessNeedNotBeTransitive) {
  NodeDescription node = sample_node();
  refuse(node, 1, 2, "not supported");  // 0 reaches both
  const SketchedPlatform made = sketch(node, "title");
  EXPECT_EQ(peers(read_back(made)), "01 02");
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(made.platform.node.peers, (std::vector<Pair>{{"gpu0", "gpu1"}, {"gpu0", "gpu2"}})) << "each once, in order";
  EXPECT_THAT(made.heading, Contains("gpu1 reaches: gpu0 (PCIe); not gpu2 (not supported)"));
}

TEST(NodePlatform, EveryPairThatIsRefusedCounts) {
  for (const auto& [a, b, left] : {std::tuple{0, 1, "02 12"}, {0, 2, "01 12"}, {1, 2, "01 02"}}) {
    for (const bool forward : {true, false}) {  // the driver may say so of one direction alone
      NodeDescription node = sample_node();
      const auto from = static_cast<std::size_t>(forward ? a : b);
      const auto to = static_cast<std::size_t>(forward ? b : a);
      if (node.peer_access.empty()) node.peer_access.assign(3, std::vector<std::string>(3));
      node.peer_access[from][to] = "not supported";
      EXPECT_EQ(peers(read_back(sketch(node, "title"))), left) << from << " to " << to;
    }
  }
}

TEST(NodePlatform, WhatNobodyTellsIsAssumedAndSaid) {
  NodeDescription node = sample_node();
  node.origin = "hwloc";
  node.gpus = {{.model = "A GPU", .bus_id = "0000:1a:00.0", .links_told = false},
               {.bus_id = "0000:ff:00.0", .links_told = false}};
  node.peer_access.clear();
  node.pci[3].kind = node.pci[6].kind = Kind::bridge;
  node.pci.push_back({.kind = Kind::gpu, .bus_id = "0000:ff:00.0", .place_known = false});
  const SketchedPlatform made = sketch(node, "title");
  const Platform platform = read_back(made);
  EXPECT_EQ(platform.type_of(0).memory.source.quality, Quality::assumed);
  EXPECT_EQ(platform.type_of(1).model, "unknown GPU");
  EXPECT_EQ(peers(platform), "01") << "by the wiring";
  EXPECT_EQ(made.heading.front(), "title");
  EXPECT_THAT(made.heading, Contains("* GPUs reach each other where the wiring lets them, for no driver was asked"));
  EXPECT_THAT(made.heading, Contains("* the memory of a GPU: 80 GiB"));
  EXPECT_THAT(made.heading, Contains(HasSubstr("* PCIe links of gpu0 gpu1")));
  EXPECT_THAT(made.notes, Contains(HasSubstr("gpu1 (0000:ff:00.0): nobody tells to which socket it belongs")));
  EXPECT_THAT(made.notes, Contains(HasSubstr("hwloc does not tell which GPU this is")));
  EXPECT_THAT(made.notes, Contains(HasSubstr("hwloc does not tell of NVLinks, and this platform has none")));
}

TEST(NodePlatform, IdleGpusAreTakenForAsFastAsTheFastest) {
  NodeDescription node = sample_node();
  for (GpuFacts& facts : node.gpus) facts.pcie.reset();
  for (PciFacts& pci : node.pci) pci.link_may_idle = pci.kind == Kind::gpu;
  node.pci[2].link = told(31.5);
  node.pci[3].link = told(4);
  const Platform platform = sketch(node, "title").platform;
  EXPECT_NEAR(GBps(platform, "gpu1-pcie"), 31.5, 1e-9);
  EXPECT_THAT(link(platform, "gpu1-pcie")->forward.source.text, StartsWith("as fast as that of the fastest GPU"));
  EXPECT_NEAR(GBps(platform, "gpu2-pcie"), 63.015, 1e-3) << "nobody tells: by its generation";
}

TEST(NodePlatform, BoardsWithNvswitchesAreKnown) {
  NodeDescription node{.origin = "a file", .name = "cloud", .sockets = {{}}, .memories = {{0, {0}}}};
  for (int i = 0; i < 8; ++i) {
    const std::string bus = "000" + std::to_string(i) + ":00:00.0";
    node.pci.push_back({.kind = Kind::gpu, .bus_id = bus});
    node.gpus.push_back({.device_id = "10de:20b0", .bus_id = bus, .links_told = false});
  }
  const SketchedPlatform made = sketch(node, "title");
  EXPECT_NEAR(GBps(made.platform, "gpu7-nvlink"), 300, 1e-9) << "12 x 25";
  EXPECT_THAT(made.notes, Contains(HasSubstr("8 of this model are on a board where each has 12 to NVSwitches")));
  node.gpus.back().device_id = "10de:20b2";
  EXPECT_EQ(link(sketch(node, "title").platform, "gpu7-nvlink"), nullptr) << "not alike";
  node.gpus.back() = {.device_id = "10de:20b0", .bus_id = node.gpus.back().bus_id};
  EXPECT_EQ(link(sketch(node, "title").platform, "gpu0-nvlink"), nullptr) << "one tells that it has none";
}

TEST(NodePlatform, AGpuWithoutNvlinksAmongOthersIsRemarked) {
  for (const std::size_t gpu : {0U, 1U}) {
    NodeDescription node = sample_node();
    node.pci[4].device_id = "15b3:101b";
    add_switch(node);
    node.gpus[gpu].links.clear();
    EXPECT_THAT(sketch(node, "title").notes,
                ElementsAre(fmt::format("gpu{} has no NVLinks, and others have 18: are its links down?", gpu)));
  }
}

/// Two sockets have a memory each, and a third one none: it takes that of the first in the file.
TEST(NodePlatform, SocketsThatShareAMemoryAreJoinedToOthersOnce) {
  for (const std::vector<NumaFacts>& memories : {std::vector<NumaFacts>{{0, {0}}, {1, {1}}}, {{1, {0}}, {0, {1}}}}) {
    NodeDescription node = sample_node();
    node.sockets = {{}, {}, {}};
    node.memories = memories;
    const Platform platform = sketch(node, "title").platform;
    std::multiset<std::pair<std::string, std::string>> between;
    for (const Link& link : platform.node.links) {
      if (link.from.starts_with("numa") && link.to.starts_with("numa"))
        between.emplace(std::minmax(link.from, link.to));
    }
    EXPECT_THAT(between, ElementsAre(std::pair<std::string, std::string>("numa0", "numa1")));
  }
}

/// What a GPU and an adapter of the sample get of each other: below one switch, through the root, across the sockets.
TEST(NodePlatform, AdaptersThatAreFartherAwayAreSlower) {
  const Platform platform = read_back(sketch(sample_node(), "title"));
  const Topology topology(platform);
  const auto limit = [&](const std::string& gpu, const std::string& nic) {
    double least = 1e3;
    std::string here = gpu;
    for (const Hop& hop : topology.route(gpu, nic, Traffic::adapter)) {
      const Link& link = platform.node.links[hop.link];
      least = std::min(least, link_width(link, hop.forward).bytes_per_second() / 1e9);
      here = hop.forward ? link.to : link.from;
      for (const Hub& hub : platform.node.hubs) {
        if (hub.name == here && hub.passing.peer_read)
          least = std::min(least, hub.passing.peer_read->value.bytes_per_second() / 1e9);
      }
      for (const HostMemory& memory : platform.node.memories) {
        if (memory.name == here)
          least = std::min(least, memory.passing.peer_write.value().value.bytes_per_second() / 1e9);
      }
    }
    return least;
  };
  EXPECT_NEAR(limit("gpu0", "mlx5_0"), 31.5, 1e-9);
  EXPECT_NEAR(limit("gpu2", "eth_0_7"), 7.88, 1e-9);
  EXPECT_NEAR(limit("gpu2", "mlx5_0"), 2, 1e-9);
  NodeDescription shared = sample_node();
  shared.pci[4].parent = 0;
  const Platform beside = sketch(shared, "title").platform;
  EXPECT_EQ(Topology(beside).describe("gpu0", Topology(beside).route("gpu0", "mlx5_0", Traffic::adapter)),
            "gpu0 -> switch0 -> root0 -> mlx5_0");
  EXPECT_EQ(beside.node.hubs.front().passing.peer_read->value, 11.0_GBps);
}

/// POWER and Grace: the processor is no detour.
TEST(NodePlatform, NvlinksToTheProcessorReachItsMemory) {
  NodeDescription node = sample_node();
  for (GpuFacts& facts : node.gpus) {
    facts.links = {
        {.remote = GpuLinks::Remote::memory, .remote_numa = facts.bus_id == "0000:8c:00.0" ? 1 : 0, .count = 2}};
  }
  node.peer_access.clear();
  const Platform platform = read_back(sketch(node, "title"));
  EXPECT_EQ(link(platform, "gpu2-numa1-nvlink")->count, 2);
  EXPECT_FALSE(platform.node.hubs.front().passing.peer_read);
  const Topology topology(platform);
  EXPECT_EQ(topology.describe("gpu0", topology.route("gpu0", "numa0")), "gpu0 -> numa0");
  EXPECT_EQ(peers(platform), "01") << "below one switch, and not across the sockets";
}

TEST(NodePlatform, AdaptersHaveThePortsThatTheyAreSaidToHave) {
  NodeDescription node = sample_node();
  node.pci[4].ports = told(50);
  const Platform platform = read_back(sketch(node, "title"));
  EXPECT_EQ(platform.fabric->link.value, 50.0_GBps);
  EXPECT_FALSE(platform.node.nics[0].link);
  EXPECT_EQ(platform.node.nics[1].link->value, Rate{3.125e9}) << "a plain network card";
  EXPECT_TRUE(platform.fabric->rdma);
  node.pci[4].infiniband = false;
  EXPECT_FALSE(sketch(node, "title").platform.fabric->rdma) << "network cards";
}

TEST(NodePlatform, SeveralDomainsOfASocketShareIt) {
  NodeDescription node = sample_node();
  node.memories = {{0, {0}}, {1, {1}}, {2, {0}}, {3, {1}}};
  const Platform platform = read_back(sketch(node, "title"));
  EXPECT_NE(link(platform, "root0-numa2"), nullptr);
  EXPECT_EQ(link(platform, "root1-numa2"), nullptr);
}

TEST(NodePlatform, CostsOfABaseAreAssumedAndNameIt) {
  const Platform base = testing::sample_platform();
  const Platform platform = read_back(sketch(sample_node(), "title", &base));
  const Cost& peer = platform.copies.at(CopyKind::peer);
  EXPECT_EQ(peer.rate->value, testing::kPeer);
  EXPECT_EQ(peer.rate->source.quality, Quality::assumed);
  EXPECT_EQ(peer.rate->source.text, "as on sample (assumed: round numbers for tests)");
  EXPECT_EQ(platform.node.memories[1].copy_rate.value, Rate{8e9});
  ASSERT_TRUE(platform.fabric);  // there is an adapter for every GPU
  EXPECT_EQ(platform.fabric->link.value, testing::kWire);
  EXPECT_EQ(platform.node.count, 1);
}

TEST(NodePlatform, TheBufferOfABasesFallbackLiesWhereThisNodeHasMemory) {
  for (const auto& [there, here] :
       {std::pair("source", "source"), {"target", "target"}, {"memory1", "source"}, {"numa1", "numa1"}}) {
    Platform base = testing::sample_platform();
    base.fallback->through = there;
    EXPECT_EQ(sketch(sample_node(), "title", &base).platform.fallback->through, here);
  }
}

/// Also of numbers that a platform need not have.
TEST(NodePlatform, NoCostOfABaseIsAMeasurementOfThisNode) {
  const auto measured = [](auto value) { return Sourced{value, {Quality::measured, "elsewhere"}}; };
  const auto curve = [&](Seconds cost) { return measured(Piecewise({{1_B, cost}})); };
  Platform base = testing::sample_platform();
  base.copies.at(CopyKind::pinned_to_device).cpu_written = curve(1.0_us);
  NetworkCosts& network = base.intra_node;
  network.gap = network.completion = curve(1.0_us);
  network.control_receive_overhead = base.runtime.failed_poll = base.runtime.completion = measured(1.0_us);
  base.node.memories.back().cache = measured(100_MiB);
  network.copied_by = CopiedBy::both;
  network.uncached = measured(1.0_GBps);
  network.fragment = measured(32_KiB);
  base.runtime.signal_gap = base.runtime.kernel_signal_gap = measured(1.0_us);
  const Platform platform = read_back(sketch(sample_node(), "title", &base));
  int borrowed = 0;
  for (const NumberEntry& entry : all_numbers(platform)) {
    if (!entry.path.starts_with("driver.") && !entry.path.starts_with("mpi.") && !entry.path.ends_with(".cache"))
      continue;
    EXPECT_EQ(entry.source.quality, Quality::assumed) << entry.path;
    borrowed += entry.source.text.find("measured: elsewhere") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(borrowed, 8 + 2 + 2) << "and a cache for each memory";
}

/// What they do is probed and calibrated, and a calibration replaces what is there.
TEST(NodePlatform, GpusThatNcclRunsOnHaveBlocksOfThreads) {
  const Platform guessed = read_back(sketch(sample_node(), "title"));
  ASSERT_GE(guessed.gpu_types[0].capability_major, 7);
  EXPECT_THAT(guessed.gpu_types[0].blocks.value().simple.source.text, HasSubstr("a guess"));
  for (const int major : {6, 7}) {
    NodeDescription node = sample_node();
    for (GpuFacts& facts : node.gpus) facts.capability = {major, 0};
    EXPECT_EQ(sketch(node, "title").platform.gpu_types[0].blocks.has_value(), major == 7) << "NCCL's oldest";
  }

  Platform base = testing::sample_platform();
  base.gpu_types[0].blocks = BlockCosts{.rate = {7.0_GBps, {Quality::measured, "elsewhere"}}};
  const BlockCosts blocks = read_back(sketch(sample_node(), "title", &base)).gpu_types[0].blocks.value();
  EXPECT_EQ(blocks.rate.value, 7.0_GBps);
  EXPECT_EQ(blocks.rate.source.text, "as on sample (measured: elsewhere)");
}

/// Overhead and latency in microseconds, and GB/s; 0: whatever the links let through.
TEST(NodePlatform, CostsThatNobodyTellsAreThoseOfOneTable) {
  const Platform platform = sketch(sample_node(), "title").platform;
  std::string table;
  for (const auto& [kind, cost] : platform.copies) {
    table += fmt::format("{} {:g} {:g} {:g}\n", to_string(kind), cost.overhead.value.microseconds(),
                         cost.latency.value.at(1_MiB).microseconds(),
                         cost.rate ? cost.rate->value.bytes_per_second() / 1e9 : 0);
    EXPECT_EQ(cost.overhead.source.quality, Quality::assumed);
  }
  EXPECT_EQ(table,
            "pinned-to-device 1.6 3.5 0\n"
            "device-to-pinned 1.5 4.3 0\n"
            "pageable-to-device 1.6 6 10\n"
            "device-to-pageable 1.5 9 10\n"
            "device-to-device 1.7 3 500\n"
            "peer 1.7 3.4 0\n"
            "peer-read 1.7 3.4 0\n"
            "host-to-host 0.1 0 0\n"
            "kernel-push 3.5 4.2 0\n"
            "kernel-pull 3.5 4.2 0\n"
            "kernel-local 3.5 3 500\n"
            "kernel-to-pinned 3.5 5 0\n"
            "kernel-from-pinned 3.5 5 0\n"
            "resident-push 0.1 4.4 45\n"
            "cpu-to-device 0.1 0 10\n"
            "cpu-from-device 0.1 0.5 0.6\n");
  for (const HostMemory& memory : platform.node.memories) EXPECT_EQ(memory.copy_rate.value, 10.0_GBps);
  EXPECT_EQ(platform.fallback->through, "source");
  EXPECT_EQ(platform.intra_node.copied_by, CopiedBy::both);
  EXPECT_FALSE(sketch({.origin = "nobody",
                       .sockets = {{}},
                       .memories = {{0, {0}}},
                       .pci = {{.kind = Kind::gpu, .bus_id = "a"}},
                       .gpus = {gpu("a")}},
                      "title")
                   .platform.network)
      << "without adapters";
}

TEST(NodePlatform, CopiesThatABaseLacksAreGuessed) {
  Platform base = testing::sample_platform();
  base.copies.erase(CopyKind::pinned_to_device);
  const Platform platform = sketch(sample_node(), "title", &base).platform;
  EXPECT_THAT(platform.copies.at(CopyKind::pinned_to_device).latency.source.text, HasSubstr("a guess"));
}

TEST(NodePlatform, WithoutAdaptersABasesFabricIsLeftOut) {
  const Platform base = testing::sample_platform();
  NodeDescription node = sample_node();
  for (PciFacts& pci : node.pci) {
    if (pci.kind == Kind::adapter) pci.kind = Kind::bridge;  // with nothing below
  }
  EXPECT_FALSE(read_back(sketch(node, "title", &base)).fabric);
}

TEST(NodePlatform, NamesOfTheSystemDoNotClash) {
  NodeDescription node = sample_node();
  node.pci[4].name = "gpu0";
  node.pci[7].name = "";
  const Platform platform = read_back(sketch(node, "title"));
  EXPECT_THAT(names(platform.node.nics), ElementsAre("nic_gpu0", "unnamed"));
}

}  // namespace
}  // namespace twinlink::platforms
