// What is made of topologies of hwloc, and what is none of the three.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/machine/platform_numbers.hpp"
#include "platforms/topology/topology.hpp"
#include "tests/platforms/import/imported.hpp"

namespace twinlink::platforms {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST(ImportHwloc, FindsSwitchesAndDomains) {
  expect_sketch("tests/real/topologies/two_sockets.xml",
                "hwloc does not tell of NVLinks, and this platform has none; nvidia-smi topo -m tells of them",
                "2 x Made-up CPU 9000; 3 x NVIDIA H100 80GB HBM3; 2 NUMA domains; 2 adapters; as hwloc tells\n"
                "NVIDIA_H100_80GB_HBM3: NVIDIA H100 80GB HBM3 9.0, 80 GiB measured\n"
                "NVIDIA_H100_80GB_HBM3-1: NVIDIA H100 80GB HBM3 9.0, 80 GB datasheet\n"
                "numa0: adapters, peers 2 GB/s assumed\n"
                "numa1: adapters, peers 2 GB/s assumed\n"
                "root0: all, peers 11 GB/s assumed\n"
                "root1: all, peers 11 GB/s assumed\n"
                "switch0: all\n"
                "mlx5_0\n"
                "eno1_7: 3.125 GB/s assumed\n"
                "gpu0: NVIDIA_H100_80GB_HBM3 at numa0, mlx5_0\n"
                "gpu1: NVIDIA_H100_80GB_HBM3-1 at numa0, mlx5_0\n"
                "gpu2: NVIDIA_H100_80GB_HBM3-1 at numa1, mlx5_0\n"
                "gpu0-pcie: gpu0 - switch0, 31.508 GB/s assumed, 150 ns\n"
                "gpu1-pcie: gpu1 - switch0, 31.508 GB/s derived, 150 ns\n"
                "gpu2-pcie: gpu2 - root1, 31.508 GB/s assumed, 150 ns\n"
                "mlx5_0-pcie: mlx5_0 - switch0, 31.508 GB/s derived, 150 ns\n"
                "eno1_7-pcie: eno1_7 - root1, 7.8769 GB/s derived, 150 ns\n"
                "switch0-pcie: switch0 - root0, 31.508 GB/s derived, 150 ns\n"
                "root0-numa0: root0 - numa0, 200 GB/s assumed\n"
                "root1-numa1: root1 - numa1, 200 GB/s assumed\n"
                "numa0-numa1: numa0 - numa1, 40 GB/s assumed, 60.0 ns\n"
                "fabric: 50 GB/s derived, RDMA\n");
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

TEST(ImportHwloc, WhatIsNoTopologyIsRefused) {
  EXPECT_THAT(refusal("<topology>\n<object type=\"Machine\">\n<object type=\"Toaster\"/>\n</object>\n</topology>\n"),
              StartsWith("input: error: this is no topology in hwloc's XML"));
}

/// A machine with one GPU per socket, and what stands beside the first one.
std::string two_packages(const std::string& beside, const std::string& behind) {
  const auto sets = [](const std::string& set) {
    std::string text;
    for (const char* name : {"cpuset", "complete_cpuset", "nodeset", "complete_nodeset"}) {
      text += std::string(" ") + name + "=\"" + set + "\"";
    }
    return text;
  };
  std::string text = "<topology version=\"2.0\">\n<object type=\"Machine\" os_index=\"0\" gp_index=\"1\"" +
                     sets("0x3") + " allowed_cpuset=\"0x3\" allowed_nodeset=\"0x3\">\n";
  for (int i = 0; i < 2; ++i) {
    const std::string own = i == 0 ? "0x1" : "0x2";
    const std::string number = std::to_string(i);
    text += "<object type=\"Package\" os_index=\"" + number + "\" gp_index=\"" + std::to_string(3 + i) + "\"" +
            sets(own) + ">\n<object type=\"NUMANode\" os_index=\"" + number + "\" gp_index=\"" + std::to_string(5 + i) +
            "\"" + sets(own) + " local_memory=\"1000000\"/>\n<object type=\"PU\" os_index=\"" + number +
            "\" gp_index=\"" + std::to_string(7 + i) + "\"" + sets(own) + "/>\n<object type=\"Bridge\" gp_index=\"" +
            std::to_string(10 + i) + "\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"000" + number +
            ":[00-02]\">\n<object type=\"PCIDev\" gp_index=\"" + std::to_string(12 + i) + "\" pci_busid=\"000" +
            number + ":01:00.0\" pci_type=\"0302 [10de:15f9] [10de:116b] a1\" pci_link_speed=\"15.753846\"/>\n" +
            (i == 0 ? beside : "") + "</object>\n</object>\n";
  }
  return text + "</object>\n" + behind + "</topology>\n";
}

/// NVLinks of POWER end at the packages. A length that is not that of its text does no harm.
TEST(ImportHwloc, NvlinksToProcessorsReachTheirMemory) {
  const Platform platform =
      imported(two_packages("",
                            "<distances2hetero nbobjs=\"4\" kind=\"25\" name=\"NVLinkBandwidth\">\n"
                            "<indexes length=\"40\">PCIDev:12 PCIDev:13 Package:3 Package:4 </indexes>\n"
                            "<u64values length=\"60\">0 0 40000 0 0 0 0 40000 40000 0 0 0 0 40000 0 0 </u64values>\n"
                            "</distances2hetero>\n"));
  EXPECT_DOUBLE_EQ(gigabytes(link_of(platform, "gpu0-numa0-nvlink").forward), 40);
  EXPECT_EQ(peer_way(platform, 0, 1), "refused") << "between the sockets";
  const Topology topology(platform);
  EXPECT_EQ(topology.describe("gpu1", topology.route("gpu1", "numa1")), "gpu1 -> numa1");
  for (const Hub& hub : platform.node.hubs) EXPECT_NE(hub.name, "nvswitch");
}

TEST(ImportHwloc, DevicesOfTheSystemWithoutANameAreNoAdapters) {
  const auto card = [](const std::string& devices) {
    return imported(
        two_packages("<object type=\"PCIDev\" gp_index=\"20\" pci_busid=\"0000:02:00.0\" pci_type=\"0200 "
                     "[8086:1592] [8086:0002] 02\" pci_link_speed=\"15.753846\">\n" +
                         devices + "</object>\n",
                     ""));
  };
  const std::string unnamed = "<object type=\"OSDev\" gp_index=\"21\" osdev_type=\"2\"/>\n";
  EXPECT_TRUE(card(unnamed).node.nics.empty());
  const Platform platform = card(unnamed + "<object type=\"OSDev\" gp_index=\"22\" name=\"eth0\" osdev_type=\"2\"/>\n");
  ASSERT_THAT(platform.node.nics, SizeIs(1));
  EXPECT_EQ(platform.node.nics[0].name, "eth0");
}

TEST(ImportHwloc, ConsolesAndGraphicsOfProcessorsAreNoGpus) {
  for (const std::string id : {"1002:515e", "1002:164e", "1a03:2000"}) {
    const std::string text = two_packages(
        "<object type=\"PCIDev\" gp_index=\"20\" pci_busid=\"0000:02:00.0\" "
        "pci_type=\"0300 [" +
            id + "] [003c:00fb] 02\" pci_link_speed=\"0.2\"/>\n",
        "");
    const SketchedPlatform result = import_topology(text, "input", "test");
    EXPECT_THAT(result.platform.node.gpus, SizeIs(2)) << id;
    EXPECT_THAT(result.heading, Contains("left out: 0000:02:00.0 (" + id + "), a display and no accelerator"));
  }
}

TEST(Import, RefusesWhatIsNoneOfTheThree) {
  EXPECT_THAT(refusal(""), HasSubstr("the file is empty"));
  EXPECT_THAT(refusal("<a>\n<b>\n</a>\n"), HasSubstr("this is no XML"));
  EXPECT_THAT(refusal("\n<html></html>\n"), StartsWith("input:2: error: the XML of NCCL begins with <system>"));
}

}  // namespace
}  // namespace twinlink::platforms
