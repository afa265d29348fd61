// What is made of topologies that NCCL has dumped, and which line is not understood.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/machine/platform_numbers.hpp"
#include "tests/platforms/import/imported.hpp"

namespace twinlink::platforms {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST(ImportNccl, FindsTheWiringAndTheRates) {
  expect_sketch("tests/data/nccl_switch.xml", "",
                "3 x NVIDIA H100 80GB HBM3; 2 NUMA domains; 1 adapter; as NCCL's topology XML tells\n"
                "NVIDIA_H100_80GB_HBM3: NVIDIA H100 80GB HBM3 9.0, 80 GB datasheet\n"
                "numa0: adapters, peers 2 GB/s assumed\n"
                "numa1: adapters, peers 2 GB/s assumed\n"
                "root0: all, peers 11 GB/s assumed\n"
                "root1: all, peers 11 GB/s assumed\n"
                "switch0: all\n"
                "nvswitch: all\n"
                "mlx5_0\n"
                "gpu0: NVIDIA_H100_80GB_HBM3 at numa0, mlx5_0\n"
                "gpu1: NVIDIA_H100_80GB_HBM3 at numa0, mlx5_0\n"
                "gpu2: NVIDIA_H100_80GB_HBM3 at numa1, mlx5_0\n"
                "gpu0-nvlink: gpu0 - nvswitch, 9 x 25 GB/s derived\n"
                "gpu1-nvlink: gpu1 - nvswitch, 9 x 25 GB/s derived\n"
                "gpu2-nvlink: gpu2 - nvswitch, 9 x 25 GB/s derived\n"
                "gpu0-pcie: gpu0 - switch0, 63.015 GB/s derived, 150 ns\n"
                "gpu1-pcie: gpu1 - switch0, 63.015 GB/s derived, 150 ns\n"
                "gpu2-pcie: gpu2 - root1, 63.015 GB/s derived, 150 ns\n"
                "mlx5_0-pcie: mlx5_0 - switch0, 63.015 GB/s derived, 150 ns\n"
                "switch0-pcie: switch0 - root0, 63.015 GB/s assumed, 150 ns\n"
                "root0-numa0: root0 - numa0, 200 GB/s assumed\n"
                "root1-numa1: root1 - numa1, 200 GB/s assumed\n"
                "numa0-numa1: numa0 - numa1, 40 GB/s assumed, 60.0 ns\n"
                "fabric: 50 GB/s derived, RDMA\n");
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

TEST(ImportNccl, LinksHaveCountsAndRatesAndDevicesOneGpu) {
  const auto said = [](const std::string& part, const std::string& other) {
    return refusal(system_of(with(kTwoGpus, part, other)));
  };
  const std::string link = "<nvlink target=\"0000:02:00.0\" count=\"2\" tclass=\"0x030200\"/>";
  for (const std::string count : {"0", "-1", "1025", "x", ""}) {
    EXPECT_EQ(said("count=\"2\"", "count=\"" + count + "\""), "input:4: error: <nvlink> needs a count") << count;
  }
  EXPECT_EQ(said("count=\"2\"", "count=\"1024\""), "nothing was refused");
  EXPECT_EQ(said(link, "<c2c count=\"1\" bw=\"0\"/>"), "input:4: error: <c2c> needs a bw");
  EXPECT_EQ(said(link, "<c2c count=\"1\" bw=\"1\"/>"), "nothing was refused");
  EXPECT_EQ(said(link, "<strange/>"), "input:4: error: unknown element <strange>");
  EXPECT_EQ(said("</gpu>", "</gpu>\n<gpu/>"), "input:5: error: a second GPU on one PCI device");
  EXPECT_EQ(said("</cpu>", "<pci class=\"0x060400\"><pcilink/></pci><pci class=\"0x068000\"/></cpu>"),
            "nothing was refused")
      << "passed over";
  EXPECT_EQ(said("</cpu>", "<pci class=\"0x060400\">\n<strange/></pci></cpu>"),
            "input:10: error: unknown element <strange>");
}

/// Those of POWER end at the processor, of which there is one class.
TEST(ImportNccl, LinksToAProcessorReachItsMemory) {
  const std::string target = "target=\"0000:02:00.0\" count=\"2\" tclass=\"0x030200\"";
  const auto to = [&](const std::string& other) { return imported(system_of(with(kTwoGpus, target, other))); };
  EXPECT_EQ(link_of(to("target=\"x\" count=\"3\" tclass=\"0x068001\""), "gpu0-numa0-nvlink").count, 3);
  EXPECT_EQ(link_of(to("target=\"x\" count=\"3\" tclass=\"0x068000\""), "gpu0-nvlink").to, "nvswitch");
  EXPECT_EQ(link_of(to("target=\"x\" count=\"3\""), "gpu0-nvlink").count, 3) << "no class is told";
}

TEST(ImportNccl, AGpuHasABusOfItsOwn) {
  EXPECT_THAT(refusal(system_of(with(kTwoGpus, "busid=\"0000:01:00.0\" ", ""))),
              StartsWith("input:3: error: the PCI device of a GPU needs a busid"));
  EXPECT_THAT(refusal(system_of(with(kTwoGpus, "busid=\"0000:02:00.0\"", "busid=\"0000:01:00.0\""))),
              StartsWith("input:6: error: a second GPU at 0000:01:00.0"));
}

/// As a published file of a cloud has it.
TEST(ImportNccl, ALinkOfAGpuToItselfIsPassedOver) {
  const std::string text = system_of(with(kTwoGpus, "target=\"0000:02:00.0\"", "target=\"0000:01:00.0\""));
  EXPECT_EQ(peer_way(imported(text), 0, 1), "gpu0 -> gpu1") << "told by the other end";
  EXPECT_THAT(notes(text), Contains("gpu0: passed over: NVLinks of it to itself"));
}

TEST(ImportNccl, LinksOfOneKindToOneEndAreOne) {
  const std::string both = "<c2c bw=\"1000\" count=\"1\"/><c2c bw=\"1000\" count=\"2\"/></gpu>";
  const Platform platform = imported(system_of(with(kTwoGpus, "</gpu>", both)));
  EXPECT_EQ(link_of(platform, "gpu0-numa0-c2c").count, 3);
  EXPECT_DOUBLE_EQ(gigabytes(link_of(platform, "gpu0-numa0-c2c").forward), 3);
}

const std::string kAmdGpus =
    "<cpu numaid=\"0\">\n"
    "<pci busid=\"0000:11:00.0\" class=\"0x120000\" vendor=\"0x1002\" device=\"0x7408\" link_speed=\"32.0 GT/s\" "
    "link_width=\"16\">\n"
    "<gpu dev=\"0\" sm=\"104\" gcn=\"gfx90a\"><xgmi target=\"0000:21:00.0\" count=\"1\" tclass=\"0x120000\"/></gpu>\n"
    "</pci>\n"
    "<pci busid=\"0000:21:00.0\" class=\"0x120000\" vendor=\"0x1002\" device=\"0x7408\" link_speed=\"32.0 GT/s\" "
    "link_width=\"16\">\n"
    "<gpu dev=\"1\" sm=\"104\" gcn=\"gfx90a\"><xgmi target=\"0000:11:00.0\" count=\"1\" tclass=\"0x120000\"/></gpu>\n"
    "</pci>\n</cpu>\n";

TEST(ImportNccl, XgmiIsTakenWherePcieIsWider) {
  const Platform platform = imported(system_of(kAmdGpus));
  EXPECT_DOUBLE_EQ(gigabytes(link_of(platform, "gpu0-gpu1-xgmi").forward), 50);
  EXPECT_NEAR(gigabytes(link_of(platform, "gpu0-pcie").forward), 63, 0.1);
  EXPECT_EQ(peer_way(platform, 0, 1), "gpu0 -> gpu1");
}

/// RCCL counts compute units there.
TEST(ImportNccl, SmOfAmdIsNoCapability) {
  EXPECT_EQ(imported(system_of(kAmdGpus)).gpu_types[0].model, "AMD Instinct MI250X");
  EXPECT_EQ(imported(system_of(kAmdGpus)).gpu_types[0].capability_major, 9);
  std::string unknown = kAmdGpus;
  for (int i = 0; i < 2; ++i) unknown = with(with(unknown, "0x7408", "0x9999"), "gfx90a", "gfx9999");
  EXPECT_EQ(imported(system_of(unknown)).gpu_types[0].capability_major, 8) << "assumed";
}

/// A virtual function, or a device that is not known: the gfx tells what all of them have.
TEST(ImportNccl, GfxTellsTheRateOfLinks) {
  std::string text = kAmdGpus;
  const auto all = [&](const std::string& device, const std::string& gfx) {
    std::string changed = text;
    for (int i = 0; i < 2; ++i) changed = with(with(changed, "0x7408", device), "gfx90a", gfx);
    return imported(system_of(changed));
  };
  const Platform virtual_function = all("0x74b5", "gfx942");
  EXPECT_EQ(virtual_function.gpu_types[0].model, "AMD Instinct MI300X");
  EXPECT_DOUBLE_EQ(gigabytes(link_of(virtual_function, "gpu0-gpu1-xgmi").forward), 64);
  const Platform some = all("0x9999", "gfx942:sramecc+:xnack-");
  EXPECT_EQ(some.gpu_types[0].model, "AMD gfx942");
  EXPECT_EQ(some.gpu_types[0].capability_minor, 4);
  EXPECT_DOUBLE_EQ(gigabytes(link_of(some, "gpu0-gpu1-xgmi").forward), 64);
  EXPECT_FALSE(some.gpu_types[0].blocks) << "what is assumed of thread blocks is NVIDIA's";
}

/// A name is not needed where the capability is told.
TEST(ImportNccl, CapabilityTellsTheRateOfLinks) {
  std::string text = kTwoGpus;
  for (int i = 0; i < 2; ++i) text = with(text, "sm=\"70\"", "sm=\"100\"");
  const Platform platform = imported(system_of(text));
  EXPECT_DOUBLE_EQ(gigabytes(link_of(platform, "gpu0-gpu1-nvlink").forward), 100) << "two of 50";
  EXPECT_EQ(link_of(platform, "gpu0-gpu1-nvlink").forward.source.quality, Quality::derived);
  EXPECT_THAT(notes(system_of(text)), Contains(StartsWith("NCCL's topology XML does not tell which GPU this is")));
}

/// kTwoGpus beside an adapter with these ports.
std::string adapter(const std::string& nets) {
  return system_of(with(kTwoGpus, "</cpu>",
                        "<pci busid=\"0000:0c:00.0\" class=\"0x020000\" link_speed=\"32.0 GT/s\" "
                        "link_width=\"16\"><nic>" +
                            nets + "</nic></pci></cpu>"));
}

TEST(ImportNccl, BothEndsAllowAnAdapterToReachGpus) {
  for (const bool gpus : {true, false}) {
    for (const bool nets : {true, false}) {
      const auto gdr = [](bool yes) { return std::string(" gdr=\"") + (yes ? "1" : "0") + "\""; };
      std::string text = adapter("<net name=\"mlx5_0\" speed=\"200000\" port=\"1\"" + gdr(nets) + "/>");
      for (const char* dev : {" dev=\"0\"", " dev=\"1\""}) text = with(text, dev, dev + gdr(gpus));
      EXPECT_EQ(imported(text).fabric.value().rdma.has_value(), gpus && nets) << gpus << nets;
    }
  }
}

TEST(ImportNccl, OneOfEachIsEnoughToReachGpus) {
  const std::string port = "\" speed=\"200000\" gdr=\"";
  std::string text = adapter("<net name=\"a\" port=\"1" + port + "1\"/><net name=\"b\" port=\"2" + port + "0\"/>");
  text = with(text, " dev=\"0\"", " dev=\"0\" gdr=\"1\"");
  EXPECT_TRUE(imported(with(text, " dev=\"1\"", " dev=\"1\" gdr=\"0\"")).fabric->rdma);
  EXPECT_TRUE(imported(text).fabric->rdma);
}

TEST(ImportNccl, PortsOfAnAdapterAddUp) {
  const std::string first = "<net name=\"mlx5_0\" speed=\"200000\" port=\"1\" gdr=\"1\"/>";
  const std::string second = "<net name=\"mlx5_1\" speed=\"200000\" port=\"2\" gdr=\"1\"/>";
  EXPECT_DOUBLE_EQ(gigabytes(imported(adapter(first)).fabric.value().link), 25);
  EXPECT_DOUBLE_EQ(gigabytes(imported(adapter(first + second)).fabric.value().link), 50);
  EXPECT_DOUBLE_EQ(gigabytes(imported(adapter(first + first)).fabric.value().link), 25) << "one port, told twice";
  EXPECT_EQ(imported(adapter(first + second)).node.nics[0].name, "mlx5_0") << "the first one's";
  const Platform silent = imported(adapter("<net speed=\"0\" port=\"1\"/>"));
  EXPECT_EQ(silent.node.nics[0].name, "nic0");
  EXPECT_EQ(silent.fabric->link.source.quality, Quality::assumed);
}

/// As clouds publish them for NCCL_TOPO_FILE.
TEST(ImportNccl, AFileWithoutGpusIsAnInputOfNccl) {
  std::string body = "<cpu numaid=\"0\">\n";
  for (int i = 0; i < 8; ++i) {
    body += "<pci busid=\"000" + std::to_string(i) +
            ":00:00.0\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"16\"/>\n";
  }
  const std::string text = system_of(body + "</cpu>\n");
  EXPECT_THAT(notes(text), Contains(StartsWith("this file has no <gpu>: it is an input of NCCL (NCCL_TOPO_FILE)")));
  EXPECT_THAT(notes(text), Contains(HasSubstr("does not tell of NVLinks, and this platform has none")));
  EXPECT_EQ(peer_way(imported(text), 0, 7), "gpu0 -> root0 -> gpu7");
  const Platform p4d = imported(text, "A100-SXM4-40GB");
  EXPECT_EQ(peer_way(p4d, 0, 7), "gpu0 -> nvswitch -> gpu7");
  EXPECT_DOUBLE_EQ(gigabytes(link_of(p4d, "gpu0-nvlink").forward), 300) << "12 x 25";
}

TEST(ImportNccl, ElementsThatAreNestedTooDeeplyAreRefused) {
  std::string text;
  for (int i = 0; i < 31'500; ++i) text += "<pci busid=\"0\" class=\"0x060400\">";
  EXPECT_THAT(refusal(system_of("<cpu numaid=\"0\">" + text)),
              StartsWith("input:2: error: elements are nested deeper"));
}

}  // namespace
}  // namespace twinlink::platforms
