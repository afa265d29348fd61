#include "platforms/import/hwloc_facts.hpp"

#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/import/gpu_models.hpp"
#include "platforms/import/pcie_tree.hpp"
#include "platforms/import/xml_depth.hpp"
#include "protocols/core/errors.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::platforms {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string content(const std::string& name) {
  std::ifstream stream("tests/real/topologies/" + name + ".xml");
  return {std::istreambuf_iterator<char>(stream), {}};
}

NodeDescription node_of(const std::string& name) {
  return describe(HwlocTopology::of_xml(content(name), name + ".xml"), name);
}

std::string refusal(const std::string& text) {
  return said_by<InputError>([&] { return HwlocTopology::of_xml(text, "input"); });
}

std::size_t index_of(const NodeDescription& node, const std::string& bus_id) {
  for (std::size_t i = 0; i < node.pci.size(); ++i) {
    if (node.pci[i].bus_id == bus_id) return i;
  }
  ADD_FAILURE() << "there is no " << bus_id;
  return 0;
}

double GBps(const PcieTree::Uplink& way) { return way.rate ? way.rate->value.bytes_per_second() / 1e9 : 0; }

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
  const NodeDescription node = node_of("two_sockets");
  ASSERT_THAT(node.gpus, SizeIs(3));
  EXPECT_EQ(node.gpus[0].model, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(node.gpus[0].uuid, "GPU-11111111-0000-0000-0000-000000000013");
  EXPECT_EQ(node.gpus[0].memory->value, 80_GiB);
  EXPECT_EQ(node.gpus[1].device_id, "10de:2330");
  EXPECT_FALSE(node.gpus[1].memory);
  EXPECT_THAT(node.peer_access, IsEmpty());
}

TEST(NodeTopology, DevicesAtTheMachineItselfAreAtItsOnlySocket) {
  const NodeDescription node = node_of("virtual_machine");
  const PciFacts& gpu = node.pci[index_of(node, "0000:00:05.0")];
  EXPECT_EQ(gpu.socket, 0);
  EXPECT_TRUE(gpu.place_known);
  EXPECT_FALSE(gpu.link);
  const NodeDescription between = node_of("place_unknown");
  const PciFacts& unknown = between.pci[index_of(between, "0000:00:05.0")];
  EXPECT_FALSE(unknown.place_known) << "of two sockets";
  EXPECT_EQ(unknown.socket, 0);
  EXPECT_EQ(unknown.numa, 0);
}

TEST(NodeTopology, AFileThatIsNoTopologyIsRefusedByName) {
  ::testing::internal::CaptureStderr();
  EXPECT_THAT(refusal("<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" gp_index=\"1\" cpuset=\"0x1\" "
                      "complete_cpuset=\"0x1\" allowed_cpuset=\"0x1\" nodeset=\"0x1\" complete_nodeset=\"0x1\" "
                      "allowed_nodeset=\"0x1\"/></topology>"),
              StartsWith("input: error: "));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "hwloc has its own words for a machine without memory";
  EXPECT_EQ(refusal("hello"), "input: error: this is no topology in hwloc's XML that can be read");
  EXPECT_THAT(refusal("<topology><object type=\"Toaster\"/></topology>"), StartsWith("input: error: "));
}

/// hwloc 2.9 ends in a segmentation fault where a set is missing.
TEST(NodeTopology, AFileThatHwlocDoesNotSurviveIsRefused) {
  std::string text = content("virtual_machine");
  const std::string set = " complete_nodeset=\"0x00000001\" local_memory";
  ASSERT_NE(text.find(set), std::string::npos);
  text.replace(text.find(set), set.size(), " local_memory");
  EXPECT_THAT(refusal(text), StartsWith("input: error: this is no topology"));
}

TEST(XmlDepth, CountsElementsThatAreOpen) {
  const auto refusal = [](const std::string& text) -> std::string {
    return said_by<InputError>([&] { return require_shallow_xml(text, "file"); });
  };
  std::string deep = "<?xml?>\n<!DOCTYPE x>\n";
  for (int i = 0; i < 128; ++i) deep += "<a b='>' c=\"'/>\">";
  EXPECT_EQ(refusal(deep + "<a/></a><a>"), "nothing was refused");
  EXPECT_EQ(refusal(deep + "\n\n<a>"), "file:5: error: elements are nested deeper than 128, which no machine needs");
  EXPECT_EQ(refusal(deep + "<!-- <a -->"), "nothing was refused");
  EXPECT_NE(refusal(deep + "<a/><a b='/'>"), "nothing was refused") << "quotes end no element";
}

/// hwloc's own reader goes into it by calls.
TEST(NodeTopology, XmlThatIsNestedTooDeeplyIsRefused) {
  std::string text = "<topology version=\"2.0\">\n";
  for (int i = 0; i < 30'000; ++i) text += "<object type=\"Group\" name=\"a>b\">";
  EXPECT_THAT(refusal(text), StartsWith("input:2: error: elements are nested deeper than 128"));
}

TEST(NodeTopology, ANewerVersionIsReadAndWhatItAddsPassedOver) {
  std::string text = content("two_sockets");
  const std::string version = "<topology version=\"2.0\">";
  ASSERT_NE(text.find(version), std::string::npos);
  text.replace(text.find(version), version.size(), "<topology version=\"3.0\">");
  text.insert(text.rfind("</topology>"),
              "<pci_locality domain=\"0x0\" bus_min=\"0x0\" bus_max=\"0x2\" cpuset=\"0x00000001\"/>\n"
              "<memtier nbobjs=\"1\" indexes=\"0\"/>\n");
  EXPECT_THAT(describe(HwlocTopology::of_xml(text, "input"), "").gpus, SizeIs(3));
}

TEST(PcieTree, ABridgeWithSeveralDevicesBelowIsAHub) {
  const NodeDescription node = node_of("two_sockets");
  const PcieTree tree(node.pci);
  ASSERT_THAT(tree.hubs(), SizeIs(1));
  EXPECT_EQ(tree.hubs()[0].name, "switch0");
  EXPECT_EQ(node.pci[tree.hubs()[0].bridge].bus_id, "0000:11:00.0");
  EXPECT_EQ(tree.up(index_of(node, "0000:13:00.0")).to, "switch0");
  EXPECT_EQ(tree.up(index_of(node, "0000:15:00.0")).to, "switch0");
  EXPECT_EQ(tree.up(tree.hubs()[0].bridge).to, "root0");
  EXPECT_EQ(tree.up(index_of(node, "0000:81:00.0")).to, "root1");
}

std::optional<Sourced<Rate>> rate(double gigabytes) { return Sourced<Rate>{Rate{gigabytes * 1e9}, {}}; }

TEST(PcieTree, AChainIsAsWideAsItsNarrowestLink) {
  std::vector<PciFacts> pci(3);
  pci[0] = {.kind = PciFacts::Kind::bridge, .parent = std::nullopt, .socket = 1, .link = rate(15.75)};
  pci[1] = {.kind = PciFacts::Kind::bridge, .parent = 0, .link = rate(63.0)};
  pci[2] = {.kind = PciFacts::Kind::gpu, .parent = 1, .socket = 1, .link = rate(63.0)};
  const PcieTree tree(pci);
  EXPECT_THAT(tree.hubs(), IsEmpty());
  EXPECT_NEAR(GBps(tree.up(2)), 15.75, 0.01);
  pci[1].link = rate(0.25);
  EXPECT_NEAR(GBps(tree.up(2)), 15.75, 0.01) << "one lane of the first generation is a virtual bridge's";
}

/// The port above an idle GPU runs as slowly as it, and one farther up does not.
TEST(PcieTree, WhatTheDriverKnowsStandsForThePortAboveToo) {
  std::vector<PciFacts> pci(4);
  pci[0] = {.kind = PciFacts::Kind::bridge, .parent = std::nullopt, .socket = 1, .link = rate(16)};
  pci[1] = {.kind = PciFacts::Kind::bridge, .parent = 0, .link = rate(8)};
  pci[2] = {.kind = PciFacts::Kind::bridge, .parent = 1, .link = rate(4)};
  pci[3] = {.kind = PciFacts::Kind::gpu, .parent = 2, .socket = 1, .link = rate(4), .link_may_idle = true};
  EXPECT_EQ(GBps(PcieTree(pci).up(3, rate(63))), 8) << "not 4, and not 63";
  EXPECT_EQ(GBps(PcieTree(pci).up(3)), 4);
  EXPECT_EQ(PcieTree(pci).up(3).to, "root1");
  pci[3].link_may_idle = false;
  EXPECT_EQ(GBps(PcieTree(pci).up(3, rate(63))), 4);
  pci[1].link = rate(0.999);
  EXPECT_EQ(GBps(PcieTree(pci).up(3)), 4) << "a virtual bridge's";
  pci[1].link = rate(1);
  EXPECT_EQ(GBps(PcieTree(pci).up(3)), 1);
}

TEST(PcieTree, AnIdleGpusLinkIsAsWideAsItsDriverKnows) {
  const NodeDescription node = node_of("two_sockets");
  const PcieTree tree(node.pci);
  EXPECT_NEAR(GBps(tree.up(index_of(node, "0000:81:00.0"))), 4.0, 0.01);
  EXPECT_NEAR(GBps(tree.up(index_of(node, "0000:81:00.0"), pcie_rate(5, 16, ""))), 63.0, 0.1);
  const NodeDescription silent = node_of("virtual_machine");
  EXPECT_EQ(GBps(PcieTree(silent.pci).up(index_of(silent, "0000:00:05.0"))), 0);
}

}  // namespace
}  // namespace twinlink::platforms
