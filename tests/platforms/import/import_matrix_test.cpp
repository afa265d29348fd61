// What is made of matrices of nvidia-smi with a known wiring, and which line is not understood.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/machine/platform_numbers.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/core/errors.hpp"
#include "tests/platforms/import/imported.hpp"
#include "tests/platforms/import/summary.hpp"

namespace twinlink::platforms {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

void expect_sketch(const std::string& file, const std::string& notes, const std::string& summary) {
  const SketchedPlatform made = import_topology(content(file), "input", "test");
  EXPECT_EQ(fmt::format("{}", fmt::join(made.notes, "; ")), notes);
  EXPECT_EQ(testing::summary(made), summary);
}

TEST(ImportMatrix, FindsTheWiringOfAMesh) {
  expect_sketch("tests/data/topo_mesh.txt",
                "nvidia-smi topo -m does not tell which GPU this is, or how much memory it has; the heading says what "
                "is assumed; "
                "nobody tells how fast mlx5_0, mlx5_1, mlx5_bond_0 are: 200 Gbit/s is assumed. The XML of NCCL or "
                "hwloc tells, or "
                "--set fabric.link",
                "4 x unknown GPU; 2 NUMA domains; 3 adapters; as nvidia-smi topo -m tells\n"
                "unknown_GPU: unknown GPU 9.0, 80 GiB assumed\n"
                "numa0: adapters, peers 2 GB/s assumed\n"
                "numa1: adapters, peers 2 GB/s assumed\n"
                "root0: all, peers 11 GB/s assumed\n"
                "root1: all, peers 11 GB/s assumed\n"
                "switch0: all\n"
                "switch1: all\n"
                "mlx5_0\n"
                "mlx5_1\n"
                "mlx5_bond_0\n"
                "gpu0: unknown_GPU at numa0, mlx5_0\n"
                "gpu1: unknown_GPU at numa0, mlx5_0\n"
                "gpu2: unknown_GPU at numa1, mlx5_1\n"
                "gpu3: unknown_GPU at numa1, mlx5_1\n"
                "gpu0-gpu1-nvlink: gpu0 - gpu1, 6 x 25 GB/s assumed\n"
                "gpu0-gpu2-nvlink: gpu0 - gpu2, 6 x 25 GB/s assumed\n"
                "gpu0-gpu3-nvlink: gpu0 - gpu3, 6 x 25 GB/s assumed\n"
                "gpu1-gpu2-nvlink: gpu1 - gpu2, 6 x 25 GB/s assumed\n"
                "gpu1-gpu3-nvlink: gpu1 - gpu3, 6 x 25 GB/s assumed\n"
                "gpu2-gpu3-nvlink: gpu2 - gpu3, 6 x 25 GB/s assumed\n"
                "gpu0-pcie: gpu0 - switch0, 63.015 GB/s assumed, 150 ns\n"
                "gpu1-pcie: gpu1 - switch0, 63.015 GB/s assumed, 150 ns\n"
                "gpu2-pcie: gpu2 - switch1, 63.015 GB/s assumed, 150 ns\n"
                "gpu3-pcie: gpu3 - switch1, 63.015 GB/s assumed, 150 ns\n"
                "mlx5_0-pcie: mlx5_0 - switch0, 63.015 GB/s assumed, 150 ns\n"
                "mlx5_1-pcie: mlx5_1 - switch1, 63.015 GB/s assumed, 150 ns\n"
                "mlx5_bond_0-pcie: mlx5_bond_0 - root1, 63.015 GB/s assumed, 150 ns\n"
                "switch1-pcie: switch1 - root1, 63.015 GB/s assumed, 150 ns\n"
                "switch0-pcie: switch0 - root0, 63.015 GB/s assumed, 150 ns\n"
                "root0-numa0: root0 - numa0, 200 GB/s assumed\n"
                "root1-numa1: root1 - numa1, 200 GB/s assumed\n"
                "numa0-numa1: numa0 - numa1, 40 GB/s assumed, 60.0 ns\n"
                "fabric: 25 GB/s assumed, RDMA\n");
}

TEST(ImportMatrix, EveryNumberIsAssumedAndTheHeadingSaysWhat) {
  const SketchedPlatform result = import_topology(content("tests/data/topo_mesh.txt"), "input", "test");
  for (const NumberEntry& number : all_numbers(result.platform)) {
    EXPECT_EQ(number.source.quality, Quality::assumed) << number.path;
  }
  EXPECT_THAT(result.heading, Contains("* an NVLink carries 25 GB/s each way"));
  EXPECT_THAT(result.heading, Contains("* adapters have 200 Gbit/s"));
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
  const auto rate = [](const Platform& of, CopyKind kind) {
    const Cost& cost = of.gpu_types.front().copies.at(kind);
    EXPECT_EQ(cost.rate.value().source.quality, Quality::assumed);
    return gigabytes(cost.rate.value());
  };
  EXPECT_NEAR(rate(platform, CopyKind::kernel_push), 370.8, 1e-9) << "18 of 20.6, as NCCL takes them";
  EXPECT_NEAR(rate(platform, CopyKind::kernel_local), 3350 / 2.0, 1e-9) << "HBM3 of a Hopper, read and written";
  EXPECT_FALSE(imported(matrix(2, "PHB", 1)).gpu_types.front().copies.contains(CopyKind::kernel_push));
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
  EXPECT_THAT(refusal("hello\nworld\n"), StartsWith("input:1: error: no line is the first one of the matrix"));
  EXPECT_THAT(refusal(good.substr(0, good.find("GPU1\t"))), HasSubstr("columns and"));
}

/// What a terminal, a report and a forum put around it.
TEST(ImportMatrix, WhatStandsAroundTheMatrixIsPassedOver) {
  const std::string plain =
      "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\n"
      "GPU0\t X \tPIX\tNODE\t0-31\t0\n"
      "GPU1\tPIX\t X \tNODE\t0-31\t0\n"
      "NIC0\tNODE\tNODE\t X \n";
  const std::string around = "GPU Topology:\n```\nroot@host:~# nvidia-smi topo -m\n" + plain +
                             "\nLegend:\n\n  X    = Self\n  NODE = Connection traversing PCIe as well as ...\n"
                             "\nNIC Legend:\n\n  NIC0: mlx5_4\n\n```\nuser@host:~$ nvidia-smi topo -p2p r\n"
                             " \tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tOK\tX\nuser@host:~$ exit\n";
  Platform expected = imported(plain);
  const Platform platform = imported(around);
  EXPECT_EQ(platform.node.nics[0].name, "mlx5_4");
  EXPECT_EQ(platform.node.links.size(), expected.node.links.size());
  EXPECT_EQ(peer_way(platform, 0, 1), "gpu0 -> switch0 -> gpu1");
}

TEST(ImportMatrix, TablesOfAmdAreRefusedWithWhatToBringInstead) {
  const std::string weights = "       GPU0         GPU1\nGPU0   0            15\nGPU1   15           0\n";
  for (const std::string& text : {weights, "=== ROCm System Management Interface ===\n" + weights,
                                  std::string("       GPU0   GPU1\nGPU0   0      XGMI\nGPU1   XGMI   0\n")}) {
    EXPECT_THAT(refusal(text), ::testing::AllOf(HasSubstr("rocm-smi or amd-smi"), HasSubstr("NCCL_TOPO_DUMP_FILE")));
  }
}

/// SYS means that the link between sockets is crossed, whatever is said of the NUMA domain.
TEST(ImportMatrix, SysIsBehindALinkBetweenSockets) {
  const std::string text =
      "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
      "GPU0\t X \tSYS\tSYS\t0-31\t0\t\tN/A\n"
      "GPU1\tSYS\t X \tSYS\t0-31\t0\t\tN/A\n"
      "NIC0\tSYS\tSYS\t X \n";
  const Platform platform = imported(text);
  EXPECT_EQ(peer_way(platform, 0, 1), "refused");
  EXPECT_EQ(link_of(platform, "gpu0-pcie").to, "root0");
  EXPECT_EQ(link_of(platform, "gpu1-pcie").to, "root1");
  EXPECT_EQ(link_of(platform, "NIC0-pcie").to, "root2");
  EXPECT_THAT(notes(text), Contains(StartsWith("GPU0 and GPU1 are SYS to each other and name one NUMA domain, 0")));
  EXPECT_THAT(notes(text), Contains(StartsWith("NIC0: nobody tells its NUMA domain")));
  std::string silent = text;
  const std::string affinity = "\t0-31\t0\t\tN/A";
  for (int gpu = 0; gpu < 2; ++gpu) silent.replace(silent.find(affinity), affinity.size(), "");
  EXPECT_EQ(peer_way(imported(silent), 0, 1), "refused") << "nor without a word on NUMA";
}

/// NVLinks hide how else two GPUs are joined: what is near to one that is far goes with it.
TEST(ImportMatrix, GroupsMoveAsAWholeAndThoseThatAreNotFarShareADomain) {
  const Platform platform = imported(
      "\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\n"
      "GPU0\t X \tNV1\tPHB\t0-7\t0\n"
      "GPU1\tNV1\t X \tSYS\t0-7\t0\n"
      "GPU2\tPHB\tSYS\t X \t0-7\t0\n");
  for (const auto& [gpu, memory] : {std::pair(0U, "numa1"), {1U, "numa0"}, {2U, "numa1"}}) {
    EXPECT_EQ(platform.node.gpus[gpu].memory_near, memory) << gpu;
  }
  EXPECT_THAT(imported("\tGPU0\tGPU1\nGPU0\t X \tNV2\nGPU1\tNV2\t X \n").node.memories, SizeIs(1));
  EXPECT_THAT(imported("\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n").node.memories, SizeIs(2));
}

TEST(ImportMatrix, AnAdapterThatIsFarFromAllIsInADomainOfItsOwn) {
  const Platform platform = imported(
      "\tGPU0\tmlx5_0\tmlx5_1\tCPU Affinity\tNUMA Affinity\n"
      "GPU0\t X \tSYS\tPXB\t32-63\t1\n"
      "mlx5_0\tSYS\t X \tSYS\n"
      "mlx5_1\tPXB\tSYS\t X \n");
  EXPECT_EQ(platform.node.gpus[0].nic, "mlx5_1");
  const Topology topology(platform);
  EXPECT_EQ(topology.describe("gpu0", topology.route("gpu0", "mlx5_0", Traffic::adapter)),
            "gpu0 -> switch0 -> root1 -> numa1 -> numa0 -> root0 -> mlx5_0");
}

/// A matrix names no GPU: how many NVLinks one has tells its generation.
TEST(ImportMatrix, NvlinksTellTheGenerationOfPcie) {
  const auto pcie = [](const std::string& text) { return gigabytes(link_of(imported(text), "gpu0-pcie").forward); };
  const double gen3 = 15.754;
  EXPECT_NEAR(pcie(matrix(4, "NV4", 4)), 2 * gen3, 1e-2) << "A100 in fours";
  EXPECT_NEAR(pcie(matrix(4, "NV6", 4)), 4 * gen3, 1e-2) << "H100 in fours";
  EXPECT_NEAR(pcie(matrix(8, "NV12", 4)), 2 * gen3, 1e-2) << "A100 with NVSwitches";
  EXPECT_NEAR(pcie(matrix(8, "NV18", 4)), 4 * gen3, 1e-2);
  EXPECT_NEAR(pcie(matrix(4, "NV2", 4)), gen3, 1e-2) << "V100 in fours";
  EXPECT_NEAR(pcie(matrix(8, "NV6", 4)), gen3, 1e-2) << "V100 with NVSwitches";
  EXPECT_NEAR(pcie(matrix(5, "NV1", 5)), gen3, 1e-2) << "P100";
  EXPECT_NEAR(pcie(matrix(2, "NV4", 2)), 2 * gen3, 1e-2) << "a bridge of Ampere's cards";
  EXPECT_NEAR(gigabytes(link_of(imported(matrix(5, "NV1", 5)), "gpu0-gpu1-nvlink").forward), 20, 1e-9);
}

TEST(ImportMatrix, WithoutNvlinksByChoiceSaysSo) {
  EXPECT_THAT(notes("root@host:~# nvidia-smi topo -mp\n" + matrix(2, "NODE", 2)),
              Contains(StartsWith("nvidia-smi topo -mp does not tell of NVLinks")));
  EXPECT_THAT(notes(matrix(2, "NODE", 2)), ::testing::Each(::testing::Not(HasSubstr("NVLink"))))
      << "topo -m would have told";
}

TEST(ImportMatrix, TheModelIsWhatTheReportOrTheUserSays) {
  const std::string listed =
      "GPU models and configuration:\nGPU 0: NVIDIA A100-SXM4-80GB\nGPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-1)\n";
  EXPECT_EQ(imported(listed + matrix(2, "NV12", 2)).type_of(1).model, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(imported(listed + matrix(2, "NV12", 2)).type_of(1).memory.value, Bytes{80'000'000'000});
  EXPECT_THAT(notes(listed + matrix(2, "NV12", 2)), ::testing::IsEmpty());
  EXPECT_THAT(notes(matrix(2, "NV12", 2)), Contains(StartsWith("nvidia-smi topo -m does not tell which GPU this is")));
  const std::string together = "GPU 0,1: NVIDIA B200\nGPU 0,1 Compute Capability: 10.0\n";
  const Platform alike = imported(together + matrix(2, "NV18", 2));
  for (const std::size_t gpu : {0U, 1U}) {
    EXPECT_EQ(alike.type_of(gpu).model, "NVIDIA B200");
    EXPECT_EQ(alike.type_of(gpu).capability_major, 10) << "and not that of Hopper, which has as many links";
  }
  const Platform blackwell = imported(matrix(8, "NV18", 4), "B200");
  EXPECT_EQ(blackwell.type_of(0).model, "NVIDIA B200");
  EXPECT_DOUBLE_EQ(gigabytes(link_of(blackwell, "gpu0-nvlink").forward), 900) << "18 x 50";
  EXPECT_THAT([] { imported(matrix(2, "PHB", 2), "Voodoo"); },
              ::testing::ThrowsMessage<InputError>(HasSubstr("no GPU is called 'Voodoo'")));
}

TEST(ImportMatrix, NamesOfGpusAreFoundInAnyList) {
  const auto model = [](const std::string& list) {
    const Platform platform = imported(list + matrix(2, "NV18", 2));
    return platform.type_of(0).model + "; " + platform.type_of(1).model;
  };
  EXPECT_EQ(model("GPU 0,1: NVIDIA B200\n"), "NVIDIA B200; NVIDIA B200");
  EXPECT_EQ(model("GPU 0-1: NVIDIA B200\n"), "NVIDIA B200; NVIDIA B200");
  EXPECT_EQ(model("|   0  NVIDIA H200                    On  |   00000000:1B:00.0 Off |                    0 |\n"
                  "| N/A   30C    P0             75W /  700W |       1MiB / 143771MiB |      0%      Default |\n"
                  "|   1  NVIDIA H100 80GB HBM3          On  |   00000000:1C:00.0 Off |                    0 |\n"
                  "|    0   N/A  N/A      1234      C   python                                     512MiB |\n"),
            "NVIDIA H200; NVIDIA H100 80GB HBM3");
  EXPECT_EQ(model("GPU 0-9999999: NVIDIA B200\n"), "unknown GPU; unknown GPU") << "no machine has so many";
}

/// A name that is known says all that its data sheet says, and no note that it did not.
TEST(ImportMatrix, GpusWithANameAreWhatTheirDataSheetSays) {
  const auto both = [](const std::string& name, const std::string& relation) {
    return "GPU 0: " + name + " (UUID: GPU-0)\nGPU 1: " + name + " (UUID: GPU-1)\n" + matrix(2, relation, 2);
  };
  const auto links = [&](const std::string& name, const std::string& relation) {
    const std::string text = both(name, relation);
    EXPECT_THAT(notes(text), ::testing::IsEmpty()) << name;
    return gigabytes(link_of(imported(text), "gpu0-gpu1-nvlink").forward);
  };
  EXPECT_DOUBLE_EQ(links("NVIDIA GB200", "NV18"), 900);
  EXPECT_DOUBLE_EQ(links("NVIDIA B300 SXM6 AC", "NV18"), 900);
  EXPECT_DOUBLE_EQ(links("NVIDIA GeForce RTX 3090", "NV4"), 56.25);
  EXPECT_DOUBLE_EQ(links("NVIDIA RTX A6000", "NV4"), 56.25);
  EXPECT_DOUBLE_EQ(links("NVIDIA H100 NVL", "NV12"), 300);
  const auto pcie = [&](const std::string& name) {
    return gigabytes(link_of(imported(both(name, "NODE")), "gpu0-pcie").forward);
  };
  EXPECT_NEAR(pcie("NVIDIA H100 NVL"), 63.015, 1e-3);
  EXPECT_NEAR(pcie("NVIDIA GeForce RTX 5090"), 63.015, 1e-3);
  EXPECT_NEAR(pcie("NVIDIA A2"), 15.754, 1e-3) << "eight lanes of Gen4";
  EXPECT_EQ(imported(both("NVIDIA H20", "NV18")).type_of(0).memory.value, Bytes{96'000'000'000});
  EXPECT_THAT(notes(both("NVIDIA H100", "NODE")),
              Contains(StartsWith("NVIDIA H100: there are several such GPUs, or none is known here")));
}

TEST(ImportMatrix, MemoryThatIsADomainTellsOfC2c) {
  const std::string head = "\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
  const Platform grace = imported(head + "GPU0\t X \t0-71\t0\t1\n");
  EXPECT_DOUBLE_EQ(gigabytes(link_of(grace, "gpu0-numa0-c2c").forward), 450);
  const Platform other = imported(head + "GPU0\t X \t0-71\t0\tN/A\n");
  EXPECT_TRUE(std::ranges::none_of(other.node.links, [](const Link& link) { return link.name.ends_with("c2c"); }));
}

std::string peer_table(const std::string& command, const std::string& status) {
  return command + "\n \tGPU0\tGPU1\n GPU0\tX\t" + status + "\n GPU1\t" + status + "\tX\n\nLegend:\n  X    = Self\n";
}

TEST(ImportMatrix, TablesOfPeersDecideWhoReachesWhom) {
  const std::string near = matrix(2, "PIX", 2);
  const auto way = [&](const std::string& text) { return peer_way(imported(text), 0, 1); };
  EXPECT_EQ(way(near), "gpu0 -> switch0 -> gpu1");
  EXPECT_EQ(way(near + peer_table("$ nvidia-smi topo -p2p r", "NS")), "refused");
  EXPECT_EQ(way(near + peer_table("$ nvidia-smi topo -p2p w", "CNS")), "refused");
  EXPECT_EQ(way(peer_table("$ nvidia-smi topo -p2p r", "NS") + "$ nvidia-smi topo -m\n" + near), "refused") << "above";
  EXPECT_EQ(way(near + peer_table("$ nvidia-smi topo -p2p r", "OK")), "gpu0 -> switch0 -> gpu1");
  EXPECT_EQ(way(near + peer_table("$ nvidia-smi topo -p2p n", "NS")), "gpu0 -> switch0 -> gpu1") << "of NVLinks";
  EXPECT_EQ(way(near + peer_table("$ nvidia-smi topo -p2p r", "OK") + peer_table("$ nvidia-smi topo -p2p w", "NS")),
            "refused");
  const std::string unsaid = near + peer_table("", "NS");
  EXPECT_EQ(way(unsaid), "gpu0 -> switch0 -> gpu1");
  EXPECT_THAT(notes(unsaid), Contains(HasSubstr("passed over: a table of topo -p2p, for no line above says whether")));
  const std::string consumer = "GPU 0,1: NVIDIA GeForce RTX 4090\n" + near;
  EXPECT_EQ(way(consumer), "refused");
  EXPECT_EQ(way(consumer + peer_table("$ nvidia-smi topo -p2p r", "OK")), "gpu0 -> switch0 -> gpu1") << "changed";
  EXPECT_THAT(refusal(matrix(3, "PIX", 3) + peer_table("$ nvidia-smi topo -p2p r", "NS")),
              HasSubstr("topo -p2p has 2 GPUs, and topo -m has 3"));
  const std::string cut = peer_table("$ nvidia-smi topo -p2p r", "NS");
  EXPECT_EQ(way(near + cut.substr(0, cut.find(" GPU1\t"))), "gpu0 -> switch0 -> gpu1") << "cut off";
}

TEST(ImportMatrix, TextsThatCannotBeReadSayWhatToBring) {
  const std::string bring = "is the file that 'nvidia-smi topo -m > topo.txt' writes";
  EXPECT_THAT(refusal("\tGPU0\tGPU1\tGPU2\nGPU0\t X \tSYSSYS\n"),
              ::testing::AllOf(StartsWith("input:2: error: 'SYSSYS': cells have run together"), HasSubstr(bring)));
  EXPECT_THAT(refusal("\tGPU0\tGPU1\tGPU2\nGPU0\tXNV18NV18\n"), HasSubstr("'XNV18NV18': cells have run together"));
  EXPECT_THAT(refusal("GPU0GPU1GPU2CPU Affinity\nGPU0XSYSSYS\n"), StartsWith("input:1: error: 'GPU0GPU1GPU2CPU': "));
  EXPECT_THAT(refusal("-[0000:00]-+-00.0  Intel Corporation Device\n"), HasSubstr("'lstopo topo.xml' writes"));
  EXPECT_THAT(refusal("Machine (31GB total)\n  Package L#0\n"), HasSubstr("'lstopo topo.xml' writes"));
}

/// A machine made by chance, and its matrix.
struct MadeUp {
  struct Device {
    bool is_gpu = true;
    int socket = 0;
    int bridge = 0;  ///< a number of its own for each
  };
  std::vector<Device> devices{};

  explicit MadeUp(unsigned seed) {
    std::mt19937 random(seed);
    const auto up_to = [&](unsigned most) { return static_cast<int>(random() % (most + 1)); };
    const int sockets = 1 + up_to(2);
    int bridge = 0;
    for (int socket = 0; socket < sockets; ++socket) {
      for (int i = up_to(3); i >= 0; --i, ++bridge) {
        for (int j = up_to(2); j >= 0; --j) devices.push_back({up_to(2) > 0, socket, bridge});
      }
    }
    devices.front().is_gpu = true;
    std::ranges::stable_partition(devices, &Device::is_gpu);
  }

  [[nodiscard]] std::string relation(std::size_t a, std::size_t b) const {
    if (a == b) return "X";
    return devices[a].socket != devices[b].socket ? "SYS" : devices[a].bridge == devices[b].bridge ? "PIX" : "NODE";
  }
  [[nodiscard]] std::string name(std::size_t i) const {
    const auto gpus = static_cast<std::size_t>(std::ranges::count(devices, true, &Device::is_gpu));
    return i < gpus ? "GPU" + std::to_string(i) : "NIC" + std::to_string(i - gpus);
  }
  /// `affinity`: 0 none is told, 1 the same of all, 2 the right one.
  [[nodiscard]] std::string matrix(int affinity) const {
    std::string text;
    for (std::size_t i = 0; i < devices.size(); ++i) text += "\t" + name(i);
    text += "\tCPU Affinity\tNUMA Affinity\n";
    for (std::size_t i = 0; i < devices.size(); ++i) {
      text += name(i);
      for (std::size_t j = 0; j < devices.size(); ++j) text += "\t" + relation(i, j);
      if (devices[i].is_gpu && affinity > 0) {
        const std::string domain = std::to_string(affinity == 1 ? 0 : devices[i].socket);
        text += "\t" + domain + "-" + domain + "\t" + domain;
      }
      text += "\n";
    }
    return text;
  }
};

/// PIX passes one switch, NODE a root complex, SYS the link between two memories, whatever is said of the domains.
TEST(ImportMatrix, EveryWayIsWhatTheMatrixSaysOfIt) {
  int ways = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const MadeUp machine(seed);
    const std::string text = machine.matrix(static_cast<int>(seed % 3));
    SCOPED_TRACE(text);
    const Platform platform = imported(text);
    const Topology topology(platform);
    const Ways possible(platform.node);
    const std::size_t gpus = platform.node.gpus.size();
    const auto part = [&](std::size_t i) {
      return i < gpus ? platform.node.gpus[i].name : platform.node.nics[i - gpus].name;
    };
    for (std::size_t a = 0; a < gpus; ++a) {
      for (std::size_t b = a + 1; b < machine.devices.size(); ++b, ++ways) {
        const std::string way = topology.describe(part(a), topology.route(part(a), part(b)));
        const std::string relation = machine.relation(a, b);
        EXPECT_EQ(way.find("numa") != std::string::npos, relation == "SYS") << way;
        EXPECT_EQ(way.find("root") != std::string::npos, relation != "PIX") << way;
        const Traffic traffic = b < gpus ? Traffic::peers : Traffic::adapter;
        const bool forwarded = relation != "SYS" || traffic == Traffic::adapter;
        EXPECT_EQ(possible.find(part(a), part(b), traffic) != nullptr, forwarded) << way;
      }
    }
  }
  EXPECT_GT(ways, 5000);
}

}  // namespace
}  // namespace twinlink::platforms
