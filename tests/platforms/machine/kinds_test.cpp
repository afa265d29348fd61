// Nodes of several kinds, and of domains, as files describe them.
#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "platforms/reader/platform_reader.hpp"
#include "platforms/reader/platform_writer.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/core/errors.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::platforms {
namespace {

const std::string kFile = TWINLINK_SOURCE_DIR "/tests/data/two_kinds.yaml";

TEST(KindsOfNodes, ComeFromAnotherMachinesFile) {
  const Platform platform = read_platform(kFile);
  ASSERT_EQ(platform.kinds.size(), 1U);
  const Node& node = platform.kinds.front().node;
  EXPECT_EQ(platform.kinds.front().name, "new");
  EXPECT_EQ(node.count, 4);
  EXPECT_EQ(node.nics.size(), 2U);
  EXPECT_EQ(node.nics[1].link.value().value, Rate{6.4e9});
  EXPECT_EQ(node.gpus[1].nic, "hca1");
  EXPECT_EQ(platform.node.nics.size(), 1U) << "the other nodes are as they were";
  const Topology topology(platform);
  EXPECT_EQ(topology.nodes(), 124);
  const std::size_t gpu = topology.gpu_of({120, 2, {}});
  EXPECT_EQ(topology.graph().gpus[gpu].name, "new-gpu2");
  EXPECT_EQ(topology.graph().gpus[gpu].memory_near, "new-numa1");
}

/// Types of GPUs come with a machine, and what the file itself says stands above them.
TEST(KindsOfNodes, BringTheirTypesOfGpus) {
  const std::string top = TWINLINK_SOURCE_DIR;
  const std::string file = ::testing::TempDir() + "twinlink-brought.yaml";
  std::ofstream(file) << "include: " << top << "/platforms/keeneland-kids.yaml\ngpu_types: {m2090: {model: Mine}}\n"
                      << "kinds:\n  twin: {machine: " << top << "/tests/data/two_adapters.yaml, nodes: {count: 1}}\n"
                      << "  new: {machine: " << top << "/platforms/dgx-a100.yaml, nodes: {count: 2}}\n";
  const Platform platform = read_platform(file);
  EXPECT_EQ(platform.type_of(0).model, "Mine");
  const Topology topology(platform);
  EXPECT_EQ(topology.type_of(topology.gpu_of({120, 1, {}})).model, "Mine");
  EXPECT_EQ(topology.type_of(topology.gpu_of({122, 7, {}})).name, "a100-sxm");
  EXPECT_EQ(topology.nodes(), 123);
  EXPECT_EQ(platform.kinds[0].node.nics.size(), 2U);
  EXPECT_EQ(platform.kinds[1].node.nics.size(), 8U);
}

TEST(KindsOfNodes, AnswerToSet) {
  const std::vector<std::string> wider{"kinds.new.nodes.links.qpi.forward=5 GB/s"};
  const Platform platform = read_platform(kFile, wider);
  const auto qpi = [](const Node& node) { return std::ranges::find(node.links, "qpi", &Link::name)->forward.value; };
  EXPECT_EQ(qpi(platform.kinds.front().node), Rate{5e9});
  EXPECT_NE(qpi(platform.node), Rate{5e9});
}

TEST(KindsOfNodes, HaveNoDomain) {
  for (const std::string domain : {"2", "4"}) {
    const std::vector<std::string> joined{"kinds.new.nodes.domain=" + domain};
    try {
      read_platform(kFile, joined);
      ADD_FAILURE() << domain;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("nodes of several kinds have no 'domain'"), std::string::npos);
    }
  }
}

/// Four nodes with three GPUs, two "a" and three "b" with one, and one of the first four replaced.
Platform several_kinds() {
  Platform platform = testing::sample_platform();
  Node small = platform.node;
  small.gpus.resize(1);
  small.gpus[0].more_nics = {"nic0"};
  small.count = 2;
  small.ways = {{.name = "way", .from = "gpu0", .to = "memory1", .via = {"hub0", "memory0", "sockets"}}};
  small.peers.emplace().emplace_back("gpu0", "gpu0");
  platform.kinds = {
      {.name = "a", .node = small}, {.name = "r", .node = small, .replaces = 1}, {.name = "b", .node = small}};
  platform.kinds[1].node.count = 1;
  platform.kinds[2].node.count = 3;
  platform.kinds[2].node.nics.push_back({.name = "nic1"});
  return platform;
}

TEST(KindsOfNodes, AreNumberedOneBehindTheOtherInOneGraph) {
  const Platform platform = several_kinds();
  EXPECT_EQ(platform.nodes(), 9);
  EXPECT_EQ(platform.most_nics(), 2);
  const Topology topology(platform);
  EXPECT_EQ(topology.nodes(), 9);
  std::string nodes;
  for (int node = 0; node < topology.nodes(); ++node) {
    const NodePart& part = topology.part_of(node);
    nodes += fmt::format("{} of {}, {} of {}, {} of {}\n", part.gpus, topology.graph().gpus[part.first_gpu].name,
                         part.memories, topology.graph().memories[part.first_memory].name, part.nics,
                         topology.graph().nics[part.first_nic].name);
    EXPECT_EQ(topology.graph_of(node).gpus[0].name, topology.graph().gpus[part.first_gpu].name);
    EXPECT_EQ(topology.gpu_of({node, 0, {}}), part.first_gpu);
    EXPECT_EQ(topology.part_of(node).first_gpu, topology.parts()[topology.part_with(part.first_gpu)].first_gpu);
  }
  const std::string first = "3 of gpu0, 2 of memory0, 1 of nic0\n";
  const std::string a = "1 of a-gpu0, 2 of a-memory0, 1 of a-nic0\n";
  const std::string b = "1 of b-gpu0, 2 of b-memory0, 2 of b-nic0\n";
  EXPECT_EQ(nodes, first + "1 of r-gpu0, 2 of r-memory0, 1 of r-nic0\n" + first + first + a + a + b + b + b);
  EXPECT_EQ(topology.places().size(), 3U * 3 + 6);
  EXPECT_EQ(topology.fabric_nics(), 2);
}

TEST(KindsOfNodes, HaveNamesOfTheirOwnForAllParts) {
  const Platform platform = several_kinds();
  const Topology topology(platform);
  const Node b = topology.graph_of(8);
  EXPECT_EQ(b.gpus[0].memory_near + " " + b.gpus[0].nic + " " + b.gpus[0].more_nics[0], "b-memory0 b-nic0 b-nic0");
  EXPECT_EQ(b.links[0].name + " " + b.links[0].from + " " + b.links[0].to, "b-sockets b-memory0 b-memory1");
  EXPECT_EQ(b.hubs[1].name, "b-hub1");
  const ForcedWay& way = b.ways[0];
  EXPECT_EQ(way.name + " " + way.from + " " + way.to + " " + way.via[0] + " " + way.via[2],
            "b-way b-gpu0 b-memory1 b-hub0 b-sockets");
  EXPECT_EQ(b.peers->front(), std::pair(std::string("b-gpu0"), std::string("b-gpu0")));
  EXPECT_EQ(topology.graph().peers->size(), 3U);
  EXPECT_EQ(topology.graph().ways.size(), 3U);
  EXPECT_EQ(topology.graph_of(0).gpus[0].name, "gpu0");
  const std::size_t gpu = topology.gpu_of({8, 0, {}});
  Platform through = platform;
  EXPECT_EQ(Topology(through).bounce_memory(gpu, gpu), topology.parts()[3].first_memory) << "that of the source";
  through.fallback->through = "memory1";
  EXPECT_EQ(Topology(through).bounce_memory(gpu, gpu), topology.parts()[3].first_memory + 1) << "its own of that name";
  EXPECT_EQ(Topology(through).bounce_memory(0, 0), 1U);
  for (HostMemory& memory : through.kinds[2].node.memories) memory.name += "x";
  for (Gpu& each : through.kinds[2].node.gpus) each.memory_near += "x";
  EXPECT_EQ(Topology(through).bounce_memory(gpu, gpu), topology.parts()[3].first_memory) << "it has none of that name";
}

TEST(KindsOfNodes, AreWrittenAsTheyWereRead) {
  const Platform platform = read_platform(kFile);
  const Platform again = read_platform_text(platform_text(platform), "again");
  ASSERT_EQ(again.kinds.size(), 1U);
  EXPECT_EQ(platform_text(again), platform_text(platform));
  const Platform domains = read_platform(TWINLINK_SOURCE_DIR "/platforms/gb200-nvl72.yaml");
  EXPECT_EQ(read_platform_text(platform_text(domains), "again").node.domain, 18);
}

TEST(Domains, AreOfAsManyNodesAsTheFileSays) {
  const Platform platform = read_platform(TWINLINK_SOURCE_DIR "/platforms/gb200-nvl72.yaml");
  const Topology topology(platform);
  EXPECT_EQ(topology.nodes(), 36);
  EXPECT_EQ(topology.part_of(17).gpus, 4U);
  EXPECT_TRUE(topology.path({0, 0, {}}, {17, 3, {}}).peer_access);
  EXPECT_FALSE(topology.path({17, 0, {}}, {18, 0, {}}).peer_access) << "another rack";
  EXPECT_THROW(topology.require({0, 4, {}}), UsageError);
}

}  // namespace
}  // namespace twinlink::platforms
