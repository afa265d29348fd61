// What importers make of files with a known wiring, and which line they name where they do not understand one.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/import/import_topology.hpp"
#include "platforms/machine/platform_numbers.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/reader/platform_writer.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/core/errors.hpp"
#include "tests/platforms/import/summary.hpp"

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
Platform imported(const std::string& text, const std::string& gpu = {}) {
  const SketchedPlatform result = import_topology(text, "input", "test", gpu);
  return read_platform_text(platform_text(result.platform, result.heading), "written.yaml");
}

std::vector<std::string> notes(const std::string& text) { return import_topology(text, "input", "test").notes; }

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

void expect_sketch(const std::string& file, const std::string& notes, const std::string& summary) {
  const SketchedPlatform made = import_topology(content(file), "input", "test");
  EXPECT_EQ(fmt::format("{}", fmt::join(made.notes, "; ")), notes);
  EXPECT_EQ(testing::summary(made), summary);
}

TEST(ImportMatrix, FindsTheWiringOfAMesh) {
  expect_sketch(
      "tests/data/topo_mesh.txt",
      "nvidia-smi topo -m does not tell which GPU this is, or how much memory it has; the heading says what is assumed",
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
  const Platform blackwell = imported(matrix(8, "NV18", 4), "B200");
  EXPECT_EQ(blackwell.type_of(0).model, "NVIDIA B200");
  EXPECT_DOUBLE_EQ(gigabytes(link_of(blackwell, "gpu0-nvlink").forward), 900) << "18 x 50";
  EXPECT_THAT([] { imported(matrix(2, "PHB", 2), "Voodoo"); },
              ::testing::ThrowsMessage<InputError>(HasSubstr("no GPU is called 'Voodoo'")));
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

// ---- NCCL -----------------------------------------------------------------------------------------------------------

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
  EXPECT_EQ(said("count=\"2\"", "count=\"1024\""), "");
  EXPECT_EQ(said(link, "<c2c count=\"1\" bw=\"0\"/>"), "input:4: error: <c2c> needs a bw");
  EXPECT_EQ(said(link, "<c2c count=\"1\" bw=\"1\"/>"), "");
  EXPECT_EQ(said(link, "<strange/>"), "input:4: error: unknown element <strange>");
  EXPECT_EQ(said("</gpu>", "</gpu>\n<gpu/>"), "input:5: error: a second GPU on one PCI device");
  EXPECT_EQ(said("</cpu>", "<pci class=\"0x060400\"><pcilink/></pci><pci class=\"0x068000\"/></cpu>"), "")
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
  EXPECT_EQ(imported(system_of(with(kAmdGpus, "0x7408", "0x9999"))).gpu_types[0].capability_major, 8) << "assumed";
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

// ---- hwloc ----------------------------------------------------------------------------------------------------------

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
                "fabric: 25 GB/s assumed, RDMA\n");
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
}  // namespace twinlink::model
