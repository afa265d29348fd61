// What stands beside matrices, and what nvidia-smi -q -x tells.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/import/texts/adapter_states.hpp"
#include "tests/platforms/import/imported.hpp"

namespace twinlink::platforms {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const std::string kIbstat =
    "CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 2\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n"
    "\t\tRate: 400\n\tPort 2:\n\t\tState: Down\n\t\tPhysical state: Polling\n\t\tRate: 10\n"
    "CA 'mlx5_1'\n\tPort 1:\n\t\tState: Down\n\t\tRate: 40\n";

TEST(AdapterStates, AreToldByThreeTools) {
  const auto of = [](const std::string& text, const std::string& name) {
    const AdapterState state = read_adapter_states(text).at(name);
    return std::pair(state.up, state.gigabits);
  };
  EXPECT_EQ(of(kIbstat, "mlx5_0"), std::pair(true, 400.0)) << "of active ports";
  EXPECT_EQ(of(kIbstat, "mlx5_1"), std::pair(false, 0.0));
  const std::string ibstatus =
      "Infiniband device 'mlx5_2' port 1 status:\n\tstate:\t\t 4: ACTIVE\n\tphys state:\t 5: LinkUp\n"
      "\trate:\t\t 200 Gb/sec (4X HDR)\n";
  EXPECT_EQ(of(ibstatus, "mlx5_2"), std::pair(true, 200.0));
  const std::string rdma =
      "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ib0\nlink mlx5_3/1 state DOWN physical_state "
      "DISABLED\n";
  EXPECT_EQ(of(rdma, "mlx5_0"), std::pair(true, 0.0)) << "which tells no rate";
  EXPECT_EQ(of(rdma, "mlx5_3"), std::pair(false, 0.0));
}

TEST(ImportMatrix, AdaptersAreAsFastAsIbstatTells) {
  const std::string matrix =
      "\tGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV18\tPIX\tNODE\t0-31\t0\n"
      "GPU1\tNV18\t X \tNODE\tPIX\t0-31\t0\nNIC0\tPIX\tNODE\t X \tNODE\nNIC1\tNODE\tPIX\tNODE\t X \n"
      "NIC Legend:\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n";
  const Platform platform = imported(matrix + kIbstat);
  ASSERT_THAT(platform.node.nics, SizeIs(1));
  EXPECT_EQ(platform.node.nics[0].name, "mlx5_0");
  EXPECT_DOUBLE_EQ(gigabytes(platform.fabric->link), 50);
  EXPECT_EQ(platform.fabric->link.source.quality, Quality::derived);
  EXPECT_THAT(notes(matrix + kIbstat), Contains("mlx5_1 has no port that is active, and is left out"));
  EXPECT_THAT(imported(matrix).node.nics, SizeIs(2));
}

std::string smi_gpu(const std::string& bus, const std::string& generation) {
  return "<gpu id=\"00000000:" + bus +
         ":00.0\"><product_name>NVIDIA H100 80GB HBM3</product_name>\n<pci>"
         "<pci_device_id>233010DE</pci_device_id><pci_gpu_link_info><pcie_gen><max_link_gen>" +
         generation +
         "</max_link_gen><current_link_gen>1</current_link_gen></pcie_gen><link_widths><max_link_width>16x"
         "</max_link_width></link_widths></pci_gpu_link_info></pci>\n<fb_memory_usage><total>81559 MiB</total>"
         "</fb_memory_usage></gpu>\n";
}

std::string smi(const std::string& gpus) {
  return "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n<nvidia_smi_log>\n"
         "<attached_gpus>2</attached_gpus>\n" +
         gpus + "</nvidia_smi_log>\n";
}

TEST(ImportNvidiaSmi, TellsNamesMemoriesAndPcie) {
  const std::string text = smi(smi_gpu("1B", "5") + smi_gpu("43", "5"));
  const Platform platform = imported(text);
  ASSERT_THAT(platform.node.gpus, SizeIs(2));
  EXPECT_EQ(platform.type_of(0).model, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(platform.type_of(0).memory.value, 1_MiB * 81559);
  EXPECT_NEAR(gigabytes(link_of(platform, "gpu0-pcie").forward), 63.015, 1e-3) << "the most, not the idle link";
  EXPECT_THAT(notes(text), Contains(HasSubstr("nvidia-smi topo -m tells of them")));
  std::string eight;
  for (const char* bus : {"18", "2A", "3A", "5D", "9A", "AB", "BA", "DB"}) eight += smi_gpu(bus, "5");
  EXPECT_EQ(peer_way(imported(smi(eight)), 0, 7), "gpu0 -> nvswitch -> gpu7") << "a board of eight";
  EXPECT_THAT(notes(smi(smi_gpu("1B", "2") + smi_gpu("43", "5"))),
              Contains(HasSubstr("gpu0: 8 GB/s of PCIe on its way, where it has Gen5")));
  EXPECT_NEAR(gigabytes(link_of(imported(smi(smi_gpu("1B", "N/A"))), "gpu0-pcie").forward), 63.015, 1e-3);
  EXPECT_THAT(refusal(smi("<gpu/>")), HasSubstr("input:5: error: a <gpu> needs an id"));
  EXPECT_THAT(refusal(smi("")), HasSubstr("a platform needs a GPU"));
}

}  // namespace
}  // namespace twinlink::platforms
