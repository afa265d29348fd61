#include "real/discover/node_topology.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/import/pcie_tree.hpp"
#include "protocols/core/errors.hpp"
#include "tests/real/rank/messages.hpp"

namespace twinlink::real {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

HwlocTopology topology_of(const std::string& name) {
  return HwlocTopology::of_xml(TWINLINK_TOPOLOGIES "/" + name + ".xml");
}

NodeDescription node_of(const std::string& name) { return describe_topology(topology_of(name), name); }

std::size_t index_of(const NodeDescription& node, const std::string& bus_id) {
  for (std::size_t i = 0; i < node.pci.size(); ++i) {
    if (node.pci[i].bus_id == bus_id) return i;
  }
  ADD_FAILURE() << "there is no " << bus_id;
  return 0;
}

double GBps(const PcieTree::Uplink& way) { return way.rate ? way.rate->rate.bytes_per_second() / 1e9 : 0; }

TEST(NodeTopology, FindsSocketsAndDomains) {
  const NodeDescription node = node_of("two_sockets");
  ASSERT_THAT(node.sockets, SizeIs(2));
  EXPECT_EQ(node.sockets[1].cpu_model, "Made-up CPU 9000");
  ASSERT_THAT(node.memories, SizeIs(2));
  EXPECT_EQ(node.memories[1].number, 1);
  EXPECT_THAT(node.memories[1].sockets, ElementsAre(1));
}

TEST(NodeTopology, KnowsWhereDevicesAre) {
  const NodeDescription node = node_of("two_sockets");
  const PciFacts& near = node.pci[index_of(node, "0000:13:00.0")];
  EXPECT_EQ(near.kind, PciFacts::Kind::gpu);
  EXPECT_EQ(near.socket, 0);
  EXPECT_TRUE(near.place_known);
  const PciFacts& far = node.pci[index_of(node, "0000:81:00.0")];
  EXPECT_EQ(far.socket, 1);
  EXPECT_EQ(far.numa, 1);
  const PciFacts& adapter = node.pci[index_of(node, "0000:15:00.0")];
  EXPECT_EQ(adapter.kind, PciFacts::Kind::adapter);
  EXPECT_EQ(adapter.name, "mlx5_0");  // and not ib0, which is the same device
  EXPECT_TRUE(adapter.infiniband);
  EXPECT_FALSE(node.pci[index_of(node, "0000:82:00.0")].infiniband);
  for (const PciFacts& pci : node.pci) EXPECT_NE(pci.bus_id, "0000:83:00.0") << "a disk";
}

TEST(NodeTopology, WithoutADriverGpusAreWhatHwlocHasOfThem) {
  const HwlocTopology topology = topology_of("two_sockets");
  const GpuInventory inventory = gpus_of_topology(topology, describe_topology(topology, "two_sockets"));
  ASSERT_THAT(inventory.gpus, SizeIs(3));
  EXPECT_EQ(inventory.gpus[0].model, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(inventory.gpus[0].uuid, "GPU-11111111-0000-0000-0000-000000000013");
  EXPECT_EQ(inventory.gpus[0].memory, 80_GiB);
  EXPECT_EQ(inventory.gpus[1].model, "GH100 [H100 SXM5 80GB]");
  EXPECT_FALSE(inventory.gpus[1].memory);
  EXPECT_THAT(inventory.peer_access, IsEmpty());
}

TEST(NodeTopology, DevicesAtTheMachineItselfAreAtItsOnlySocket) {
  const NodeDescription node = node_of("virtual_machine");
  const PciFacts& gpu = node.pci[index_of(node, "0000:00:05.0")];
  EXPECT_EQ(gpu.socket, 0);
  EXPECT_TRUE(gpu.place_known);
  EXPECT_EQ(gpu.link_GBps, 0);
}

TEST(NodeTopology, AFileThatIsNoTopologyIsRefusedByName) {
  EXPECT_THAT(message_of<InputError>([] { HwlocTopology::of_xml(__FILE__); }), HasSubstr("error: this is no"));
  EXPECT_THAT(message_of<InputError>([] { topology_of("nowhere"); }), HasSubstr("nowhere.xml: error"));
}

TEST(PcieTree, ABridgeWithSeveralDevicesBelowIsAHub) {
  const NodeDescription node = node_of("two_sockets");
  const PcieTree tree(node.pci);
  ASSERT_THAT(tree.hubs(), SizeIs(1));
  EXPECT_EQ(tree.hubs()[0].name, "pcie0");
  EXPECT_EQ(node.pci[tree.hubs()[0].bridge].bus_id, "0000:11:00.0");
  EXPECT_EQ(tree.up(index_of(node, "0000:13:00.0")).to, "pcie0");
  EXPECT_EQ(tree.up(index_of(node, "0000:15:00.0")).to, "pcie0");
  EXPECT_EQ(tree.up(tree.hubs()[0].bridge).to, "socket0");
  EXPECT_EQ(tree.up(index_of(node, "0000:81:00.0")).to, "socket1");
}

TEST(PcieTree, AChainIsAsWideAsItsNarrowestLink) {
  std::vector<PciFacts> pci(3);
  pci[0] = {.kind = PciFacts::Kind::bridge, .parent = std::nullopt, .socket = 1, .link_GBps = 15.75};
  pci[1] = {.kind = PciFacts::Kind::bridge, .parent = 0, .link_GBps = 63.0};
  pci[2] = {.kind = PciFacts::Kind::gpu, .parent = 1, .socket = 1, .link_GBps = 63.0};
  const PcieTree tree(pci);
  EXPECT_THAT(tree.hubs(), IsEmpty());
  EXPECT_NEAR(GBps(tree.up(2)), 15.75, 0.01);
}

TEST(PcieTree, AnIdleGpusLinkIsAsWideAsItsDriverKnows) {
  const NodeDescription node = node_of("two_sockets");
  const PcieTree tree(node.pci);
  EXPECT_NEAR(GBps(tree.up(index_of(node, "0000:81:00.0"))), 4.0, 0.01);
  EXPECT_NEAR(GBps(tree.up(index_of(node, "0000:81:00.0"), pcie_rate(5, 16))), 63.0, 0.1);
  const NodeDescription silent = node_of("virtual_machine");
  EXPECT_EQ(GBps(PcieTree(silent.pci).up(index_of(silent, "0000:00:05.0"))), 0);
}

}  // namespace
}  // namespace twinlink::real
