// What NCCL's rule makes of whole machines: it goes by their wiring, and what fails makes nothing faster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "model/engine/simulation.hpp"
#include "model/study/child_process.hpp"
#include "platforms/machine/degraded.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/tools/faults.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

namespace fs = std::filesystem;

Platform machine(const std::string& name) { return read_platform(TWINLINK_SOURCE_DIR "/platforms/" + name + ".yaml"); }

struct Sum {
  Seconds time{};
  std::string way{};
};

/// An all-reduce of so many ranks of the first nodes, by NCCL's rule; the second one, when all are connected.
Sum all_reduce(const Platform& platform, int ranks, Bytes size) {
  const Topology topology(platform);
  std::vector<Place> places = topology.places();
  places.resize(std::min(places.size(), static_cast<std::size_t>(ranks)));
  const std::string told = in_child_process([&] {
    Seconds longest{};
    std::string way;
    simulate(platform, places, [&](MeasuredRank& rank) {
      const View data(rank.allocate(Memory::device, size));
      const Protocol& nccl = find_protocol("nccl");
      const auto all = nccl.join(rank, nccl.defaults());
      if (!all->run(Collective::all_reduce, data).ok()) throw UsageError("the first one failed");
      const Seconds start = rank.now();
      if (!all->run(Collective::all_reduce, data).ok()) throw UsageError("the second one failed");
      longest = std::max(longest, rank.now() - start);
      if (rank.id().value == 0) way = all->path_taken(Collective::all_reduce, data);
    });
    return std::to_string(1e3 * longest.microseconds()) + " " + way;
  });
  const std::size_t space = told.find(' ');
  return {Seconds{1e-9 * std::stod(told.substr(0, space))}, told.substr(space + 1)};
}

bool has_blocks(const Platform& platform) {
  return std::ranges::all_of(platform.gpu_types, [](const GpuType& type) { return type.blocks.has_value(); });
}

std::vector<fs::path> all_machines() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(TWINLINK_SOURCE_DIR "/platforms")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

/// What a rule may know of the first GPUs of two nodes.
std::vector<std::string> known_of(const Platform& platform) {
  const Topology topology(platform);
  std::vector<std::string> known;
  constexpr int kGpus = 8;
  for (int a = 0; a < std::min(topology.nodes(), 2) * kGpus; ++a) {
    const Place here{.node = a / kGpus, .gpu = a % kGpus};
    if (here.gpu >= static_cast<int>(topology.part_of(here.node).gpus)) continue;
    const DeviceFacts facts = topology.facts_of(here);
    known.push_back(to_string(here) + ": " + std::to_string(facts.capability) + " " + std::to_string(facts.links) +
                    " " + std::to_string(facts.pcie.bytes_per_second()) + " " + std::string(to_string(facts.cpu)) +
                    " " + std::to_string(facts.adapter) + " " + std::string(to_string(facts.adapter_level)));
    for (int b = 0; b < a; ++b) {
      const Place there{.node = b / kGpus, .gpu = b % kGpus};
      if (there.gpu >= static_cast<int>(topology.part_of(there.node).gpus)) continue;
      const Path path = topology.path(here, there);
      known.push_back(to_string(here) + " to " + to_string(there) + ": " + std::string(to_string(path.level)) + " " +
                      std::to_string(path.links) + (path.switched ? " switched" : "") +
                      (path.peer_access ? " peers" : "") + (path.switch_reduces ? " adds up" : "") +
                      (path.gpu_programs ? " programs" : ""));
    }
  }
  return known;
}

/// What libraries ask, unless the platform is of no machine that was built, or of any desktop.
TEST(NcclMachines, EveryPlatformSaysWhoseCpusItHas) {
  std::vector<std::string> unnamed;
  for (const fs::path& file : all_machines()) {
    const Platform platform = read_platform(file);
    const Topology topology(platform);
    if (topology.facts_of({.node = 0, .gpu = 0}).cpu == Cpu::unknown) unnamed.push_back(file.stem());
  }
  EXPECT_THAT(unnamed, ::testing::ElementsAre("imaginary-2030", "rtx4090-no-peers", "workstation"));
}

/// The facts are those that the choice was made by: what is on is predicted, and what is off is not.
TEST(NcclMachines, EveryChoiceSaysItsFacts) {
  using ::testing::ContainsRegex;
  using ::testing::HasSubstr;
  using ::testing::Not;
  int machines = 0;
  for (const fs::path& file : all_machines()) {
    const Platform platform = read_platform(file);
    if (!has_blocks(platform)) continue;
    ++machines;
    const Topology topology(platform);
    const int of_two = 2 * static_cast<int>(topology.part_of(0).gpus);
    for (const int ranks : {4, topology.nodes() > 1 ? of_two : 2}) {
      const std::string way = all_reduce(platform, ranks, 1_MiB).way;
      const auto expect_fact = [&](const std::string& fact, const std::string& predicted) {
        EXPECT_THAT(way, ContainsRegex("; " + fact + " (on|off): [^;]+")) << file;
        const bool on = way.find("; " + fact + " on: ") != std::string::npos;
        EXPECT_EQ(way.find(predicted) != std::string::npos, on) << file << ": " << way;
      };
      EXPECT_THAT(way, ContainsRegex("; by nccl-[0-9.]+; ")) << file;
      expect_fact("LL128", " ll128 ");
      expect_fact("trees", " tree simple ");
      expect_fact("NVLS", " nvls");
      EXPECT_THAT(way, ContainsRegex("; channels: [^;]+")) << file;
      EXPECT_THAT(way, ContainsRegex("; (P2P|SHM|NET|NET/GDR|by the switch)")) << file;
      EXPECT_EQ(way.find("; proxies: ") != std::string::npos, way.find("NET") != std::string::npos) << file << way;
      EXPECT_THAT(way, Not(HasSubstr(": ;"))) << file << ": a fact without a reason";
    }
  }
  EXPECT_GE(machines, 17);
}

/// Every GPU of every platform under other names, among them those that others are sold under.
TEST(NcclMachines, NamesOfGpusChangeNothing) {
  int renamed = 0;
  int run = 0;
  for (const fs::path& file : all_machines()) {
    const Platform platform = read_platform(file);
    const std::vector<std::string> known = known_of(platform);
    const bool runs = has_blocks(platform);
    const std::string way = runs ? all_reduce(platform, 4, 1_MiB).way : "";
    for (const char* name : {"NVIDIA H20", "NVIDIA H100 80GB HBM3", "NVIDIA H100 NVL", "NVIDIA A100-PCIE-80GB", "?"}) {
      Platform other = platform;
      for (GpuType& type : other.gpu_types) type.model = name;
      EXPECT_EQ(known_of(other), known) << file << " as " << name;
      ++renamed;
      if (!runs) continue;
      EXPECT_EQ(all_reduce(other, 4, 1_MiB).way, way) << file << " as " << name;
      ++run;
    }
  }
  EXPECT_GE(renamed, 38 * 5);
  EXPECT_GE(run, 17 * 5);
}

/// GPUs of a mesh that are all alike, or twice as near to some.
Platform with_blocks(const std::string& name) {
  Platform platform = machine(name);
  for (GpuType& type : platform.gpu_types) {
    if (!type.blocks) type.blocks = machine("perlmutter").gpu_types.front().blocks;
  }
  return platform;
}

TEST(NcclMachines, ALinkThatFailsOrIsSlowMakesNothingFaster) {
  constexpr Bytes kSize = 64_MiB;
  for (const auto& [name, ranks] :
       {std::pair<std::string, int>{"perlmutter", 4}, {"dgx1-v100", 8}, {"mi300x-eight", 8}, {"abci-v", 4}}) {
    const Platform whole = with_blocks(name);
    const Seconds before = all_reduce(whole, ranks, kSize).time;
    const Topology topology(whole);
    // Links of the first GPU stand for those of all.
    for (const Link& link : whole.node.links) {
      if (link.from != "gpu0" || !link.to.starts_with("gpu")) continue;
      Platform slow = whole;
      ASSERT_TRUE(degrade(slow, link.name, 0.5, "a test"));
      EXPECT_GE(all_reduce(slow, ranks, kSize).time, before * 0.999) << name << ", " << link.name << " at half";
      Platform failed = whole;
      std::erase_if(failed.node.links, [&](const Link& each) { return each.name == link.name; });
      EXPECT_GE(all_reduce(failed, ranks, kSize).time, before * 0.999) << name << " without " << link.name;
    }
  }
}

/// Its GPU takes the next one, and the node is a kind of its own, whose GPUs no switch joins to those of others.
TEST(NcclMachines, AnAdapterThatIsGoneMakesNothingFaster) {
  constexpr int kRanks = 16;
  constexpr Bytes kSize = 64_MiB;
  const auto with = [](const std::string& failed) {
    const fs::path file = TWINLINK_SOURCE_DIR "/platforms/hgx-h100.yaml";
    return all_reduce(read_platform(file, {}, failed.empty() ? Faults{} : Faults{.failed = {failed}}), kRanks, kSize);
  };
  const Sum whole = with("");
  ASSERT_THAT(whole.way, ::testing::HasSubstr("by the switch"));
  for (const char* failed : {"0/hca0", "1/hca7", "hca3"}) {
    const Sum left = with(failed);
    EXPECT_GT(left.time, whole.time) << failed << ": two GPUs share an adapter";
    EXPECT_THAT(left.way, ::testing::HasSubstr("by the switch")) << failed;
  }
}

/// Three quarters of 12 links of A100 carry what a ring of one direction had of four.
TEST(NcclMachines, RingsOfAMeshUseAllItsLinks) {
  const Platform platform = machine("perlmutter");
  constexpr Bytes kSize = 256_MiB;
  const double links = 12 * 23.53e9;
  const double bus = 1.5 * static_cast<double>(kSize.count()) / all_reduce(platform, 4, kSize).time.value();
  EXPECT_GT(bus, 0.75 * links);
  EXPECT_LT(bus, links);
}

/// Wherever `body`, on so many GPUs of each of the first nodes, finds something wrong: what it says, line by line.
template <class Body>
std::string wrong_on(const Platform& platform, int nodes, int gpus, const Body& body) {
  std::vector<Place> places;
  for (int node = 0; node < nodes; ++node) {
    for (int gpu = 0; gpu < gpus; ++gpu) places.push_back({.node = node, .gpu = gpu});
  }
  return in_child_process([&] {
    std::string wrong;
    simulate(platform, places, [&](MeasuredRank& rank) {
      const std::string finding = body(rank, nodes * gpus);
      if (!finding.empty()) wrong += "rank " + std::to_string(rank.id().value) + ": " + finding + "\n";
    });
    return wrong;
  });
}

template <class Body>
std::string wrong_on(const std::string& name, int nodes, int gpus, const Body& body) {
  return wrong_on(machine(name), nodes, gpus, body);
}

/// Whose fabric adds up at that rate.
Platform machine_that_adds_up(Rate rate) {
  Platform platform = machine("hgx-h100-64");
  platform.fabric->reduces = Sourced<Rate>{rate, {Quality::assumed, "round numbers for tests"}};
  return platform;
}

/// What switches add up in each node meets in trees, whatever their shape, or in switches of the fabric.
TEST(NcclMachines, SwitchesAndTheTreesBetweenThemAddUpAllRanks) {
  const auto wrong_sums = [](const auto& machine, int nodes, int gpus, const char* algorithm) {
    return wrong_on(machine, nodes, gpus, [&](MeasuredRank& rank, int ranks) -> std::string {
      Settings settings = find_protocol("nccl").defaults();
      settings.options = {{"algo", algorithm}, {"channels", "3"}};
      settings.chunk = 1_KiB;
      const auto all = find_protocol("nccl").join(rank, settings);
      const View data(rank.allocate(Memory::device, Bytes{40'000}));
      const auto count = static_cast<std::uint64_t>(ranks);
      for (const std::uint64_t more : {0U, 100U}) {
        rank.fill(data, summable(1 + static_cast<std::uint64_t>(rank.id().value) + more));
        if (!all->run(Collective::all_reduce, data).ok()) return "it failed";
        if (!rank.check(data, summable(count * (count + 1) / 2 + count * more)).intact()) return "no sum";
      }
      return {};
    });
  };
  for (const int nodes : {2, 3, 5, 8}) EXPECT_EQ(wrong_sums("hgx-h100-64", nodes, 3, "nvlstree"), "") << nodes;
  EXPECT_EQ(wrong_sums("hgx-h100-64", 2, 8, "nvlstree"), "");
  EXPECT_EQ(wrong_sums("hgx-h100-64", 1, 8, "nvls"), "");
  for (const int nodes : {2, 3, 5}) EXPECT_EQ(wrong_sums(machine_that_adds_up(48.5_GBps), nodes, 3, "nvls"), "");
  EXPECT_EQ(wrong_sums(machine_that_adds_up(48.5_GBps), 2, 8, "nvls"), "");
  const std::string sums = "fabric.reduces=48.5 GB/s";
  const Platform unequal = read_platform(TWINLINK_SOURCE_DIR "/platforms/hgx-h100-64.yaml", std::span(&sums, 1),
                                         Faults{.degraded = {"1/hca0=50%"}});
  EXPECT_EQ(wrong_sums(unequal, 2, 8, "nvls"), "") << "nodes that are not alike";
}

/// An all-reduce of all GPUs of the first nodes, each of eight, when all are connected.
Seconds sum_of_nodes(const Platform& platform, int nodes, Bytes size,
                     const std::map<std::string, std::string>& options) {
  const std::string told = wrong_on(platform, nodes, 8, [&](MeasuredRank& rank, int) -> std::string {
    Settings settings = find_protocol("nccl").defaults();
    settings.options.insert(options.begin(), options.end());
    const auto all = find_protocol("nccl").join(rank, settings);
    const View data(rank.allocate(Memory::device, size));
    if (!all->run(Collective::all_reduce, data).ok()) return "0";
    const Seconds start = rank.now();
    if (!all->run(Collective::all_reduce, data).ok()) return "0";
    return rank.id().value == 0 ? std::to_string((rank.now() - start).microseconds()) : "";
  });
  return Seconds{1e-6 * std::stod(told.substr(std::string("rank 0: ").size()))};
}

/// Each adapter sends its GPU's part up once, and gets the sum of it once, of two nodes as of four. Where the fabric is
/// far slower than the switches in nodes, it is all that takes time.
TEST(NcclMachines, SwitchesOfTheFabricTakeEachByteOnce) {
  constexpr Bytes kSize = 256_MiB;
  constexpr Rate kSums = 10.0_GBps;
  const Seconds once = kSize / kSums / 8;
  for (const int nodes : {2, 4}) {
    const Seconds sums = sum_of_nodes(machine_that_adds_up(kSums), nodes, kSize, {{"algo", "nvls"}});
    EXPECT_GE(sums, once);
    EXPECT_LE(sums, once * 1.1);
  }
  EXPECT_LT(sum_of_nodes(machine_that_adds_up(48.5_GBps), 4, kSize, {{"algo", "nvls"}}),
            sum_of_nodes(machine("hgx-h100-64"), 4, kSize, {{"algo", "nvlstree"}}));
}

/// Of two binary trees, each with half of the bytes, a node is within one and a leaf of the other: it sends up twice,
/// and down twice, so that each of its eight adapters sends a quarter of all bytes, at 24 GB/s. Blocks that pass on to
/// two nodes and a GPU are no bottleneck, of kernels of ours; the filling of a tree four deep may take as long again as
/// the adapters do.
TEST(NcclMachines, TreesOfManyNodesTakeTheirAdaptersTime) {
  constexpr Bytes kSize = 256_MiB;
  for (const auto& [format, stored] : {std::pair{"simple", 1.0}, {"ll128", 128.0 / 120}}) {
    const Seconds adapters = kSize / 24.0_GBps / 4 * stored;
    for (const int nodes : {4, 8}) {
      const Seconds time =
          sum_of_nodes(machine("selene"), nodes, kSize, {{"algo", "tree"}, {"proto", format}, {"kernels", "twinlink"}});
      EXPECT_GE(time, adapters) << format << " of " << nodes;
      EXPECT_LE(time, adapters * 2) << format << " of " << nodes;
    }
  }
}

/// Parts that share slots, and parts of several slots, of numbers of ranks that are no powers of two.
TEST(NcclMachines, ParallelTreesBringEveryPartToItsPlace) {
  const auto wrong_parts = [](int nodes, Collective what, Bytes slot) {
    return wrong_on("hgx-h100-64", nodes, 1, [&](MeasuredRank& rank, int ranks) -> std::string {
      Settings settings = find_protocol("nccl").defaults();
      settings.options = {{"algo", "pat"}, {"channels", "2"}};
      settings.chunk = slot;
      const auto all = find_protocol("nccl").join(rank, settings);
      const auto count = static_cast<std::uint64_t>(ranks);
      const View data(rank.allocate(Memory::device, Bytes{(8 * 37 + 8) * count - 8}));
      const auto own = static_cast<std::uint64_t>(rank.id().value);
      const bool sums = what == Collective::reduce_scatter;
      const auto part = [&](std::uint64_t of) {
        const gpu::Share share = gpu::share(data.length.count(), count, of, gpu::kElementBytes);
        return data.slice(Bytes{share.begin}, Bytes{share.length});
      };
      for (const std::uint64_t more : {0U, 100U}) {
        for (std::uint64_t of = 0; of < count; ++of) {
          rank.fill(part(of), sums || of == own ? summable(1 + own + more) : kSentinel);
        }
        if (!all->run(what, data).ok()) return "it failed";
        for (std::uint64_t of = 0; of < count; ++of) {
          if (sums && of != own) continue;
          const std::uint64_t expected = sums ? count * (count + 1) / 2 + count * more : 1 + of + more;
          if (!rank.check(part(of), summable(expected)).intact()) return "a wrong part";
        }
      }
      return {};
    });
  };
  for (const Collective what : {Collective::all_gather, Collective::reduce_scatter}) {
    for (const int nodes : {2, 3, 5, 6, 8}) {
      for (const Bytes slot : {64_B, 1_KiB}) EXPECT_EQ(wrong_parts(nodes, what, slot), "") << nodes;
    }
  }
}

/// Between nodes the eight messages to one node share channels.
TEST(NcclMachines, AnAllToAllBringsEveryBlockToItsPlace) {
  constexpr Bytes kBlock{700'000};
  const auto body = [&](MeasuredRank& rank, int ranks) -> std::string {
    const View data(rank.allocate(Memory::device, kBlock * static_cast<std::uint64_t>(2 * ranks)));
    const auto block = [&](int number) { return data.slice(kBlock * static_cast<std::uint64_t>(number), kBlock); };
    const auto value = [](int from, int to) { return summable(static_cast<std::uint64_t>(100 * from + to + 1)); };
    const int self = rank.id().value;
    const Protocol& nccl = find_protocol("nccl");
    const auto all = nccl.join(rank, nccl.defaults());
    for (int run = 0; run < 2; ++run) {
      for (int r = 0; r < ranks; ++r) rank.fill(block(r), value(self + run, r));
      if (!all->run(Collective::all_to_all, data).ok()) return "it failed";
      for (int r = 0; r < ranks; ++r) {
        if (!rank.check(block(ranks + r), value(r + run, self)).intact())
          return "a wrong block of " + std::to_string(r);
      }
    }
    return {};
  };
  for (const auto& [name, nodes, gpus] : {std::tuple<std::string, int, int>{"hgx-h100-64", 2, 8},
                                          {"hgx-h100-64", 3, 2},
                                          {"perlmutter", 1, 4},
                                          {"dgx1-v100", 1, 8},
                                          {"hgx-h100-64", 5, 1}}) {
    EXPECT_EQ(wrong_on(name, nodes, gpus, body), "") << name << ", " << nodes << " nodes of " << gpus;
  }
}

/// To all peers at once: what kernels store over a mesh of four links between any two, and not a third of it.
TEST(NcclMachines, AnAllToAllUsesAllLinksOfAMesh) {
  constexpr Bytes kBlock = 64_MiB;
  const std::string told = wrong_on("perlmutter", 1, 4, [&](MeasuredRank& rank, int ranks) -> std::string {
    const View data(rank.allocate(Memory::device, kBlock * static_cast<std::uint64_t>(2 * ranks)));
    const Protocol& nccl = find_protocol("nccl");
    Settings settings = nccl.defaults();
    settings.options["kernels"] = "twinlink";
    const auto all = nccl.join(rank, settings);
    if (!all->run(Collective::all_to_all, data).ok()) return "0";
    const Seconds start = rank.now();
    if (!all->run(Collective::all_to_all, data).ok()) return "0";
    return rank.id().value == 0 ? std::to_string((rank.now() - start).microseconds()) : "";
  });
  const Seconds longest{1e-6 * std::stod(told.substr(std::string("rank 0: ").size()))};
  const Seconds links = kBlock / Rate{4 * 20e9};
  EXPECT_GT(longest, links);
  EXPECT_LT(longest, links * 1.06);
}

/// A board of 18 NVLinks is known by its links: whoever sells it, and a card of that chip is none.
TEST(NcclMachines, LinksSayWhatABoardIs) {
  EXPECT_NE(all_reduce(machine("hgx-h100"), 8, 64_MiB).way.find("16 channels; by the switch"), std::string::npos);
  const std::string cards = all_reduce(machine("a100-pcie-switch"), 4, 64_MiB).way;
  EXPECT_NE(cards.find("LL128 off: the GPUs meet over PCIe"), std::string::npos) << cards;
}

}  // namespace
}  // namespace twinlink::model
