// What is made of logs of NCCL.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/import/texts/nccl_log.hpp"
#include "tests/platforms/import/imported.hpp"
#include "tests/platforms/import/summary.hpp"

namespace twinlink::platforms {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A log of one rank: its tree, and what stands behind that.
std::string log_of(const std::string& tree, const std::string& rest = {}) {
  std::string text =
      "=== System : maxBw 1.0 totalBw 1.0 ===\n" + tree + "==========================================\n" + rest;
  std::string log;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    log += "host:1:2 [0] NCCL INFO " + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return log;
}

/// Two GPUs of one CPU, and how they are joined.
std::string two_gpus(const std::string& link, const std::string& pci = "12.0") {
  const std::string blanks(14, ' ');
  return "CPU/0 (1/1/2)\n+ PCI[" + pci + "] - GPU/1A000 (0)\n" + blanks + link + " - GPU/3B000\n+ PCI[" + pci +
         "] - GPU/3B000 (1)\n" + blanks + link + " - GPU/1A000\n";
}

TEST(ImportNcclLog, FindsTheWiringAndTheRates) {
  expect_sketch("tests/data/nccl_log.txt", "",
                "4 x NVIDIA H100 80GB HBM3; 2 NUMA domains; 2 adapters; as NCCL's log tells\n"
                "NVIDIA_H100_80GB_HBM3: NVIDIA H100 80GB HBM3 9.0, 80 GB datasheet\n"
                "numa0: adapters, peers 2 GB/s assumed\n"
                "numa1: adapters, peers 2 GB/s assumed\n"
                "root0: all, peers 11 GB/s assumed\n"
                "root1: all, peers 11 GB/s assumed\n"
                "switch0: all\n"
                "nvswitch: all\n"
                "mlx5_0\n"
                "mlx5_3: 25 GB/s derived\n"
                "gpu0: NVIDIA_H100_80GB_HBM3 at numa0, mlx5_0\n"
                "gpu1: NVIDIA_H100_80GB_HBM3 at numa0, mlx5_0\n"
                "gpu2: NVIDIA_H100_80GB_HBM3 at numa1, mlx5_3\n"
                "gpu3: NVIDIA_H100_80GB_HBM3 at numa1, mlx5_3\n"
                "gpu0-nvlink: gpu0 - nvswitch, 18 x 25 GB/s derived\n"
                "gpu1-nvlink: gpu1 - nvswitch, 18 x 25 GB/s derived\n"
                "gpu2-nvlink: gpu2 - nvswitch, 18 x 25 GB/s derived\n"
                "gpu3-nvlink: gpu3 - nvswitch, 18 x 25 GB/s derived\n"
                "gpu0-pcie: gpu0 - switch0, 63.015 GB/s derived, 150 ns\n"
                "gpu1-pcie: gpu1 - root0, 63.015 GB/s derived, 150 ns\n"
                "gpu2-pcie: gpu2 - root1, 63.015 GB/s derived, 150 ns\n"
                "gpu3-pcie: gpu3 - root1, 63.015 GB/s derived, 150 ns\n"
                "mlx5_0-pcie: mlx5_0 - switch0, 63.015 GB/s derived, 150 ns\n"
                "mlx5_3-pcie: mlx5_3 - root1, 31.508 GB/s derived, 150 ns\n"
                "switch0-pcie: switch0 - root0, 63.015 GB/s derived, 150 ns\n"
                "root0-numa0: root0 - numa0, 200 GB/s assumed\n"
                "root1-numa1: root1 - numa1, 200 GB/s assumed\n"
                "numa0-numa1: numa0 - numa1, 40 GB/s assumed, 60.0 ns\n"
                "fabric: 50 GB/s derived, RDMA\n");
}

TEST(ImportNcclLog, WhatLinksAreTakenForTellsHowManyOfWhichGpuTheyAre) {
  const auto of = [](const std::string& link, const std::string& pci) {
    const Platform platform = imported(log_of(two_gpus("+ NVL[" + link + "]", pci)));
    const Link joined = link_of(platform, "gpu0-gpu1-nvlink");
    return std::pair(joined.count, gigabytes(joined.forward));
  };
  EXPECT_EQ(of("40.0", "12.0"), std::pair(2, 50.0)) << "Volta: 20 each";
  EXPECT_EQ(of("18.0", "12.0"), std::pair(1, 20.0)) << "Pascal";
  EXPECT_EQ(of("240.0", "24.0"), std::pair(12, 300.0)) << "A100";
  EXPECT_EQ(of("264.0", "24.0"), std::pair(12, 300.0)) << "A100, and NCCL before 2.12: 22 each";
  EXPECT_EQ(of("48.0", "24.0"), std::pair(4, 56.25)) << "the bridge of an A40: 12 each";
  EXPECT_EQ(of("247.2", "48.0"), std::pair(12, 300.0)) << "the bridge of an H100";
  EXPECT_EQ(of("721.8", "48.0"), std::pair(18, 900.0)) << "B200: 40.1 each";
  EXPECT_THAT(refusal(log_of(two_gpus("+ NVL[33.3]"))), HasSubstr("rank 0 has NVLinks of 33.3 GB/s together"));
}

TEST(ImportNcclLog, TakesReleaseNodesAndProcessors) {
  const std::string rest = "NCCL version 2.26.2+cuda12.8\ncomm 0x1 rank 0 nRanks 4 nNodes 2 localRanks 2 localRank 0\n";
  const Platform platform = imported(log_of(two_gpus("+ NVL[40.0]") + "+ PCI[12.0] - NIC/5E000\n", rest));
  EXPECT_EQ(platform.release_named, "nccl-2.26");
  EXPECT_EQ(platform.node.count, 2);
  EXPECT_EQ(platform.node.cpu, Cpu::skylake);
  EXPECT_THAT(notes(log_of(two_gpus("+ NVL[40.0]"), rest)), Contains(HasSubstr("one of them is here")));
  const std::string old = log_of(two_gpus("+ NVL[40.0]"), "NCCL version 2.27.3+cuda12.8\n");
  EXPECT_EQ(imported(old).release_named, "nccl-2.26") << "the last one before it";
  EXPECT_THAT(notes(old), Contains(HasSubstr("NCCL 2.27.3 has logged this")));
}

TEST(ImportNcclLog, IsRefusedWithWhatIsWrong) {
  EXPECT_THAT(refusal("h:1:2 [0] NCCL INFO Channel 00/02 :    0   1\n"),
              HasSubstr("NCCL_DEBUG_SUBSYS=INIT,ENV,GRAPH,TUNING"));
  // Blanks that are lost: a second GPU below the first, and links below the CPU.
  EXPECT_THAT(refusal(log_of("CPU/0 (1/1/2)\n+ PCI[12.0] - GPU/1A000 (0)\n  + PCI[12.0] - GPU/4B000 (2)\n")),
              HasSubstr("input:4: error: PCI goes on behind a device: are blanks lost?"));
  EXPECT_THAT(refusal(log_of("CPU/0 (1/1/2)\n+ PCI[12.0] - PCI/4A000\n  + NVL[40.0] - GPU/1A000 (0)\n")),
              HasSubstr("input:4: error: links of GPUs behind no GPU: are blanks lost?"));
  EXPECT_THAT(refusal(log_of(two_gpus("+ XGMI[24.0]"))), HasSubstr("input:4: error: this is a log of RCCL"));
  EXPECT_THAT(refusal(log_of("CPU/0 (1/1/2)\n+ PCI[12.0] - GPU\n")),
              HasSubstr("input:3: error: a part of NCCL's tree"));
  EXPECT_THAT(refusal(log_of("+ PCI[12.0] - GPU/1A000 (0)\n")), HasSubstr("input:2: error: a link before the first"));
}

/// What `pci` says of the bridge above a GPU and an adapter.
std::string below_bridge(const std::string& pci) {
  const std::string blanks(14, ' ');
  return log_of("CPU/0-0 (1/2/-1)\n+ PCI[" + pci + "] - PCI/0-65000 (104c823200000000)\n" + blanks +
                "+ PCI[48.0] - NIC/0-67000\n" + blanks + blanks + "+ NET[50.0] - NET/0-0 (0/1/1/50.000000)\n" + blanks +
                "+ PCI[48.0] - GPU/0-68000 (0)\n" + blanks + blanks + "+ NVL[370.8] - NVS/0-0\n");
}

TEST(ImportNcclLog, VirtualBridgesTellLessThanThereIs) {
  const auto uplink = [](const std::string& pci) {
    return gigabytes(link_of(imported(below_bridge(pci)), "switch0-pcie").forward);
  };
  EXPECT_NEAR(uplink("0.2"), 63.015, 1e-3) << "one lane of generation 1: passed over";
  EXPECT_NEAR(uplink("24.0"), 31.508, 1e-3);
  EXPECT_NEAR(uplink("6.0"), 8, 1e-9);
  EXPECT_THAT(notes(below_bridge("6.0")),
              Contains(HasSubstr("switch0: 8 GB/s of PCIe on its way, where devices below it have 63.")));
  EXPECT_THAT(notes(below_bridge("24.0")), ::testing::Not(Contains(HasSubstr("of PCIe on its way"))));
}

TEST(NcclLog, SaysHowNcclGoesAboutIt) {
  const NcclLog log = read_nccl_log(content("tests/data/nccl_log.txt"));
  EXPECT_EQ(log.version, "2.28.9");
  EXPECT_EQ(log.ranks, 4);
  EXPECT_EQ(log.nodes, 1);
  EXPECT_EQ(log.channels, 24);
  EXPECT_EQ(log.switch_channels, 0);
  EXPECT_EQ(log.settings.at("NCCL_PXN_DISABLE"), "1");
  EXPECT_EQ(log.ring->channels, 12);
  EXPECT_EQ(log.ring->gigabytes, 30);
  EXPECT_EQ(log.behind.at({0, 3}), 0);
  EXPECT_EQ(log.behind.at({2, 0}), 2);
  EXPECT_EQ(log.behind.at({3, 2}), 3);
  EXPECT_EQ(log.trees.at({1, 1}).below[0], 3);
  EXPECT_EQ(log.trees.at({1, 1}).above, 0);
  EXPECT_EQ(log.ways.at({0, 1}), "P2P");
  EXPECT_EQ(log.ways.count({0, 2}), 0U) << "of messages";
  EXPECT_EQ(log.choices.at({"AllReduce", 1024}), "ring ll, 1 channel");
  EXPECT_EQ(log.choices.at({"AllReduce", 1073741824}), "ring simple, 24 channels");
  EXPECT_FALSE(log.others);
  EXPECT_TRUE(
      read_nccl_log(log_of("", "comm 0x1 rank 0 nRanks 8 nNodes 1\ncomm 0x2 rank 0 nRanks 2 nNodes 1\n")).others);
  const NcclLog far = read_nccl_log(
      log_of("",
             "Channel 12/0 : 15[7] -> 7[7] [receive] via NET/IB/11/GDRDMA\nChannel 00 : 7[ca000] -> 6[c7000] via "
             "SHM/direct/direct\n"));
  EXPECT_EQ(far.ways.at({15, 7}), "NET/GDR");
  EXPECT_EQ(far.ways.at({7, 6}), "SHM");
  EXPECT_THAT(read_nccl_log("nothing").tree, IsEmpty());
}

}  // namespace
}  // namespace twinlink::platforms
