// Nodes of several kinds, and of domains, as files describe them.
#include <gtest/gtest.h>

#include <algorithm>

#include "platforms/reader/platform_reader.hpp"
#include "platforms/reader/platform_writer.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {
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

TEST(KindsOfNodes, AreWrittenAsTheyWereRead) {
  const Platform platform = read_platform(kFile);
  const Platform again = read_platform_text(platform_text(platform), "again");
  ASSERT_EQ(again.kinds.size(), 1U);
  EXPECT_EQ(platform_text(again), platform_text(platform));
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
}  // namespace twinlink::model
