// What importers make of files with a known wiring, and which line they name where they do not understand one.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/import/import_topology.hpp"
#include "platforms/machine/platform_numbers.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/reader/platform_writer.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string content(const std::string& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// As the file is read that is written of it.
Platform imported(const std::string& text) {
  const ImportedPlatform result = import_topology(text, "input", "test");
  return read_platform_text(platform_text(result.platform, result.heading), "written.yaml");
}

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(import_topology(text, "input", "test"));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::string peer_way(const Platform& platform, std::size_t a, std::size_t b) {
  const Topology topology(platform);
  if (!topology.peer_access(a, b)) return "refused";
  return topology.describe("gpu" + std::to_string(a),
                           topology.copy_route({Location::Kind::gpu, a}, {Location::Kind::gpu, b}));
}

const Link& link_of(const Platform& platform, const std::string& name) {
  const auto found = std::ranges::find(platform.node.links, name, &Link::name);
  if (found == platform.node.links.end()) throw Error("no link " + name);
  return *found;
}

double gigabytes(const Sourced<Rate>& rate) { return rate.value.bytes_per_second() / 1e9; }

// ---- nvidia-smi topo -m ---------------------------------------------------------------------------------------------

TEST(ImportMatrix, FindsTheWiringOfAMesh) {
  const Platform platform = imported(content("tests/data/topo_mesh.txt"));
  EXPECT_THAT(platform.node.gpus, SizeIs(4));
  EXPECT_THAT(platform.node.memories, SizeIs(2));
  ASSERT_THAT(platform.node.nics, SizeIs(3));
  EXPECT_EQ(platform.node.nics[0].name, "mlx5_0") << "by the legend";
  EXPECT_EQ(platform.node.gpus[1].memory_near, "numa0");
  EXPECT_EQ(platform.node.gpus[2].memory_near, "numa1");
  EXPECT_EQ(platform.node.gpus[0].nic, "mlx5_0");
  EXPECT_EQ(platform.node.gpus[3].nic, "mlx5_1");
  EXPECT_EQ(peer_way(platform, 0, 3), "gpu0 -> gpu3");
  EXPECT_EQ(link_of(platform, "gpu0-gpu3-nvlink").count, 6);
  EXPECT_DOUBLE_EQ(gigabytes(link_of(platform, "gpu0-gpu3-nvlink").forward), 150);
  EXPECT_EQ(link_of(platform, "gpu0-pcie").to, link_of(platform, "mlx5_0-pcie").to) << "PIX: one switch";
  EXPECT_EQ(link_of(platform, "mlx5_bond_0-pcie").to, "root1") << "NODE: no switch";
}

TEST(ImportMatrix, EveryNumberIsAssumedAndTheHeadingSaysWhat) {
  const ImportedPlatform result = import_topology(content("tests/data/topo_mesh.txt"), "input", "test");
  for (const NumberEntry& number : all_numbers(result.platform)) {
    EXPECT_EQ(number.source.quality, Quality::assumed) << number.path;
  }
  EXPECT_THAT(result.heading, Contains("* an NVLink carries 25 GB/s each way"));
  EXPECT_THAT(result.heading, Contains("* the adapters have 200 Gbit/s"));
}

/// A matrix of GPUs that are all alike, each in the NUMA domain that `domain` gives.
std::string matrix(int gpus, const std::string& relation, int per_domain) {
  std::string text;
  for (int i = 0; i < gpus; ++i) text += "\tGPU" + std::to_string(i);
  text += "\tCPU Affinity\tNUMA Affinity\n";
  for (int i = 0; i < gpus; ++i) {
    text += "GPU" + std::to_string(i);
    for (int j = 0; j < gpus; ++j) text += i == j ? "\t X " : "\t" + relation;
    const std::string domain = std::to_string(i / per_domain);
    text += "\t" + domain + "-" + domain + "\t" + domain + "\n";
  }
  return text + "\nLegend:\n\n  X    = Self\n";
}

TEST(ImportMatrix, MoreLinksThanAGpuHasMeanNvswitches) {
  const Platform platform = imported(matrix(8, "NV18", 4));
  EXPECT_EQ(peer_way(platform, 0, 7), "gpu0 -> nvswitch -> gpu7");
  EXPECT_DOUBLE_EQ(gigabytes(link_of(platform, "gpu5-nvlink").forward), 450);
  const Platform pair = imported(matrix(2, "NV18", 1));
  EXPECT_EQ(peer_way(pair, 0, 1), "gpu0 -> gpu1");
}

TEST(ImportMatrix, WithoutNvlinksPeersGoThroughSwitchOrRootAndNotThroughMemory) {
  EXPECT_EQ(peer_way(imported(matrix(2, "PIX", 2)), 0, 1), "gpu0 -> switch0 -> gpu1");
  EXPECT_EQ(peer_way(imported(matrix(2, "PHB", 2)), 0, 1), "gpu0 -> root0 -> gpu1");
  EXPECT_EQ(peer_way(imported(matrix(2, "SYS", 1)), 0, 1), "refused");
}

TEST(ImportMatrix, SwitchesUnderASwitch) {
  const Platform platform = imported(
      "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\n"
      "GPU0\t X \tPIX\tPXB\tPXB\t0-7\n"
      "GPU1\tPIX\t X \tPXB\tPXB\t0-7\n"
      "GPU2\tPXB\tPXB\t X \tPIX\t0-7\n"
      "GPU3\tPXB\tPXB\tPIX\t X \t0-7\n");
  EXPECT_EQ(peer_way(platform, 0, 1), "gpu0 -> switch1 -> gpu1");
  EXPECT_EQ(peer_way(platform, 0, 2), "gpu0 -> switch1 -> switch0 -> switch2 -> gpu2");
}

TEST(ImportMatrix, NamesTheLineThatItDoesNotUnderstand) {
  const std::string good = matrix(2, "PHB", 2);
  const auto with = [&](const std::string& what, const std::string& other) {
    std::string text = good;
    return text.replace(text.find(what), what.size(), other);
  };
  EXPECT_THAT(refusal(with("PHB", "QPI")), StartsWith("input:2: error: GPU0 has a cell 'QPI'"));
  EXPECT_THAT(refusal(with("\nGPU1", "\nGPU9")), StartsWith("input:3: error: a line of 'GPU9' where that of GPU1"));
  EXPECT_THAT(refusal(with("PHB", "SYS")), StartsWith("input:3: error: GPU1 says PHB of GPU0, which says SYS of it"));
  EXPECT_THAT(refusal(with("\t X \tPHB\t0-0\t0", "\t X ")), StartsWith("input:2: error: GPU0 has 1 cells"));
  EXPECT_THAT(refusal(with("X    = Self", "whatever")), StartsWith("input:7: error:"));
  EXPECT_THAT(refusal("hello\nworld\n"), StartsWith("input:1: error: 'hello' is not the matrix's first line"));
  EXPECT_THAT(refusal(good.substr(0, good.find("GPU1\t"))), HasSubstr("columns and"));
}

// ---- NCCL -----------------------------------------------------------------------------------------------------------

TEST(ImportNccl, FindsTheWiringAndTheRates) {
  const Platform platform = imported(content("tests/data/nccl_switch.xml"));
  ASSERT_THAT(platform.node.gpus, SizeIs(3));
  EXPECT_EQ(platform.gpu_types[0].model, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(platform.gpu_types[0].capability_major, 9);
  EXPECT_EQ(platform.node.gpus[0].memory_near, "numa0");
  EXPECT_EQ(platform.node.gpus[2].memory_near, "numa1");
  EXPECT_EQ(peer_way(platform, 0, 2), "gpu0 -> nvswitch -> gpu2");
  EXPECT_EQ(link_of(platform, "gpu1-nvlink").count, 9) << "five to one NVSwitch and four to another";
  EXPECT_NEAR(gigabytes(link_of(platform, "gpu0-pcie").forward), 63.0, 0.1);
  EXPECT_EQ(link_of(platform, "gpu0-pcie").forward.source.quality, Quality::derived);
  EXPECT_NEAR(gigabytes(link_of(platform, "switch0-pcie").forward), 63.0, 0.1) << "2.5 GT/s x1 is a virtual bridge's";
  EXPECT_EQ(link_of(platform, "switch0-pcie").forward.source.quality, Quality::assumed);
  EXPECT_EQ(link_of(platform, "gpu0-pcie").to, link_of(platform, "mlx5_0-pcie").to);
  EXPECT_DOUBLE_EQ(gigabytes(platform.fabric.value().link), 50) << "400 Gbit/s";
  EXPECT_TRUE(platform.fabric->rdma.has_value()) << "gdr";
  EXPECT_THAT(platform.node.nics, SizeIs(1)) << "eth0 is on no bus";
}

std::string system_of(const std::string& body) { return "<system version=\"1\">\n" + body + "</system>\n"; }

const std::string kTwoGpus =
    "<cpu numaid=\"0\">\n"
    "<pci busid=\"0000:01:00.0\" class=\"0x030200\" link_speed=\"8.0 GT/s\" link_width=\"16\">\n"
    "<gpu dev=\"0\" sm=\"70\"><nvlink target=\"0000:02:00.0\" count=\"2\" tclass=\"0x030200\"/></gpu>\n</pci>\n"
    "<pci busid=\"0000:02:00.0\" class=\"0x030200\" link_speed=\"8.0 GT/s\" link_width=\"16\">\n"
    "<gpu dev=\"1\" sm=\"70\"><nvlink target=\"0000:01:00.0\" count=\"2\" tclass=\"0x030200\"/></gpu>\n</pci>\n"
    "</cpu>\n";

TEST(ImportNccl, LinksBetweenGpusAreToldByBothAndThereOnce) {
  const Platform platform = imported(system_of(kTwoGpus));
  EXPECT_EQ(peer_way(platform, 0, 1), "gpu0 -> gpu1");
  EXPECT_DOUBLE_EQ(gigabytes(link_of(platform, "gpu0-gpu1-nvlink").forward), 50);
  EXPECT_THAT(platform.node.links, SizeIs(4)) << "that, two of PCIe, and the root's to its memory";
}

TEST(ImportNccl, NamesTheLineThatItDoesNotUnderstand) {
  EXPECT_THAT(refusal(system_of("<cpu numaid=\"0\">\n<strange/>\n</cpu>\n")),
              StartsWith("input:3: error: unknown element <strange>"));
  EXPECT_THAT(refusal(system_of("<cpu/>\n")), StartsWith("input:2: error: a <cpu> needs a numaid"));
  EXPECT_THAT(refusal(system_of("<cpu numaid=\"0\">\n<pci busid=\"0:0\" class=\"0x010000\"/>\n</cpu>\n")),
              StartsWith("input:3: error: PCI device 0:0 of class '0x010000' is neither"));
  EXPECT_THAT(refusal(system_of("<cpu numaid=\"0\" host_hash=\"1\"/>\n<cpu numaid=\"0\" host_hash=\"2\"/>\n")),
              StartsWith("input:3: error: a <cpu> of another host"));
  EXPECT_THAT(refusal(system_of("<cpu numaid=\"0\"/>\n")), HasSubstr("a platform needs a GPU"));
  std::string lost = kTwoGpus;
  lost.replace(lost.find("0000:02:00.0"), 12, "0000:99:00.0");
  EXPECT_THAT(refusal(system_of(lost)), StartsWith("input:4: error: <nvlink> to '0000:99:00.0'"));
}

std::string with(std::string text, const std::string& part, const std::string& other) {
  return text.replace(text.find(part), part.size(), other);
}

TEST(ImportNccl, AGpuHasABusOfItsOwnAndNoLinkToItself) {
  EXPECT_THAT(refusal(system_of(with(kTwoGpus, "busid=\"0000:01:00.0\" ", ""))),
              StartsWith("input:3: error: the PCI device of a GPU needs a busid"));
  EXPECT_THAT(refusal(system_of(with(kTwoGpus, "busid=\"0000:02:00.0\"", "busid=\"0000:01:00.0\""))),
              StartsWith("input:6: error: a second GPU at 0000:01:00.0"));
  EXPECT_THAT(refusal(system_of(with(kTwoGpus, "target=\"0000:02:00.0\"", "target=\"0000:01:00.0\""))),
              StartsWith("input:4: error: <nvlink> joins a GPU to itself"));
}

TEST(ImportNccl, LinksOfOneKindHaveANameEach) {
  const std::string both = "<c2c bw=\"1000\" count=\"1\"/><c2c bw=\"1000\" count=\"1\"/></gpu>";
  const Platform platform = imported(system_of(with(kTwoGpus, "</gpu>", both)));
  EXPECT_EQ(link_of(platform, "gpu0-c2c").to, link_of(platform, "gpu0-c2c-2").to);
}

// ---- hwloc ----------------------------------------------------------------------------------------------------------

TEST(ImportHwloc, FindsSwitchesAndDomains) {
  const Platform platform = imported(content("tests/real/topologies/two_sockets.xml"));
  EXPECT_THAT(platform.node.gpus, SizeIs(3));
  EXPECT_THAT(platform.node.memories, SizeIs(2));
  EXPECT_EQ(platform.gpu_types[0].model, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(peer_way(platform, 0, 1), "gpu0 -> switch0 -> gpu1");
  EXPECT_EQ(platform.node.gpus[2].memory_near, "numa1");
  EXPECT_EQ(link_of(platform, "mlx5_0-pcie").to, "switch0");
  EXPECT_NEAR(gigabytes(link_of(platform, "gpu0-pcie").forward), 31.507692, 1e-6) << "idle at 4: as its neighbour";
}

TEST(ImportHwloc, ReadsTheMatrixOfNvlinks) {
  std::string text = content("tests/real/topologies/two_sockets.xml");
  // gp_index 3 and 5 are the GPUs 0000:13 and 0000:14.
  const std::string distances =
      "<distances2 type=\"PCIDev\" nbobjs=\"2\" kind=\"38\" name=\"NVLinkBandwidth\" indexing=\"gp\">"
      "<indexes length=\"4\">3 5 </indexes><u64values length=\"20\">1000000 100000 100000 1000000 </u64values>"
      "</distances2>";
  text.insert(text.rfind("</topology>"), distances);
  const Platform platform = imported(text);
  EXPECT_EQ(peer_way(platform, 0, 1), "gpu0 -> gpu1");
  EXPECT_DOUBLE_EQ(gigabytes(link_of(platform, "gpu0-gpu1-nvlink").forward), 100);
}

TEST(ImportHwloc, EveryStoredTopologyWithAGpuGivesAPlatform) {
  for (const std::string name : {"two_sockets", "virtual_machine", "place_unknown"}) {
    EXPECT_FALSE(imported(content("tests/real/topologies/" + name + ".xml")).node.gpus.empty()) << name;
  }
  EXPECT_THAT(refusal(content("tests/real/topologies/no_gpu.xml")), HasSubstr("a platform needs a GPU"));
}

TEST(ImportHwloc, NamesTheLineThatItDoesNotUnderstand) {
  EXPECT_THAT(refusal("<topology>\n<object type=\"Machine\">\n<object type=\"Toaster\"/>\n</object>\n</topology>\n"),
              StartsWith("input:3: error: unknown type of object 'Toaster'"));
}

TEST(Import, RefusesWhatIsNoneOfTheThree) {
  EXPECT_THAT(refusal(""), HasSubstr("the file is empty"));
  EXPECT_THAT(refusal("<a>\n<b>\n</a>\n"), HasSubstr("this is no XML"));
  EXPECT_THAT(refusal("\n<html></html>\n"), StartsWith("input:2: error: the XML of NCCL begins with <system>"));
}

}  // namespace
}  // namespace twinlink::model
