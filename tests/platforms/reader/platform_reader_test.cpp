#include "platforms/reader/platform_reader.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "platforms/costs/transfer_costs.hpp"
#include "platforms/machine/platform_numbers.hpp"
#include "platforms/topology/topology.hpp"
#include "tests/platforms/present.hpp"
#include "tests/platforms/whole_platform.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::platforms {
namespace {
namespace fs = std::filesystem;

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kWhole;
using ::testing::Pointwise;
using testing::present;

const fs::path kGood = fs::path(TWINLINK_SOURCE_DIR) / "tests/bad_platforms/parts/good.yaml";

Platform read_good(const std::vector<std::string>& overrides = {}) { return read_platform(kGood, overrides); }

/// A platform file of its own folder that says `text` beyond what the good one says.
class IncludingPlatform : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  Platform read(const std::string& text) const {
    return read_platform(write("platform.yaml", "include: " + kGood.string() + "\n" + text));
  }
  void expect_refused(const std::string& text, const std::string& message) const {
    try {
      read(text);
      FAIL() << message;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(message));
    }
  }

 private:
  static const ::testing::TestInfo& info() { return *::testing::UnitTest::GetInstance()->current_test_info(); }
  fs::path folder_ = fs::path(::testing::TempDir()) / info().name();
};

std::vector<double> micros(const std::vector<std::optional<Sourced<Seconds>>>& times) {
  std::vector<double> all;
  for (const auto& time : times) all.push_back(present(time).value.microseconds());
  return all;
}
std::vector<double> gigabytes(const std::vector<std::optional<Sourced<Rate>>>& rates) {
  std::vector<double> all;
  for (const auto& rate : rates) all.push_back(present(rate).value.bytes_per_second() / 1e9);
  return all;
}

TEST(PlatformReader, FillsPartsOfANode) {
  const Platform platform = read_platform(kWhole);
  EXPECT_EQ(platform.name, "whole");
  EXPECT_EQ(platform.description, "every key that a platform may have");
  EXPECT_EQ(platform.file, kWhole.string());
  const Node& node = platform.node;
  EXPECT_EQ(node.count, 2);
  EXPECT_THAT(node.memories, ElementsAre(Field(&HostMemory::name, "numa0"), Field(&HostMemory::name, "numa1")));
  const HostMemory& numa0 = node.memories[0];
  EXPECT_THAT(gigabytes({numa0.copy_rate, numa0.bandwidth, numa0.passing.peer_read, numa0.passing.peer_write,
                         numa0.passing.duplex, node.memories[1].copy_rate}),
              ElementsAre(8, 40, 1, 2, 3, 9));
  EXPECT_EQ(present(numa0.speed).value.of_one, 1.35);
  EXPECT_EQ(present(numa0.cache).value, 100_MiB);
  EXPECT_EQ(numa0.passing.forwards, Forwards::adapters);
  EXPECT_EQ(node.memories[1].passing.forwards, Forwards::none);
  const Hub& hub0 = node.hubs.at(0);
  EXPECT_THAT(gigabytes({hub0.reduces, hub0.passing.peer_read, hub0.passing.peer_write, hub0.passing.duplex}),
              ElementsAre(400, 4, 5, 6));
  EXPECT_EQ(hub0.passing.forwards, Forwards::adapters);
  EXPECT_EQ(node.hubs.at(1).passing.forwards, Forwards::all);
  const Nic& hca0 = node.nics.at(0);
  EXPECT_THAT(micros({numa0.passing.latency, hub0.passing.latency, hca0.latency, hca0.gap}),
              Pointwise(DoubleNear(1e-9), std::vector<double>{0.05, 0.06, 0.07, 0.08}));
  EXPECT_THAT(gigabytes({hca0.link}), ElementsAre(11));
  const Gpu& gpu0 = node.gpus.at(0);
  EXPECT_EQ(gpu0.type + " " + gpu0.memory_near + " " + gpu0.nic, "fast numa0 hca0");
  EXPECT_THAT(gpu0.more_nics, ElementsAre("hca1"));
  EXPECT_THAT(node.gpus.at(1).more_nics, IsEmpty());
  const Link& bus0 = node.links.at(0);
  EXPECT_EQ(bus0.name + " " + bus0.from + " " + bus0.to, "bus0 gpu0 hub0");
  EXPECT_THAT(gigabytes({bus0.forward, bus0.backward, bus0.total, bus0.dma_read, bus0.dma_write, bus0.peer_read,
                         bus0.peer_write, bus0.each_read, bus0.each_write}),
              ElementsAre(8, 10, 12, 4, 5, 3, 3.5, 2.25, 2.75))
      << "two in parallel, but for one transfer";
  EXPECT_DOUBLE_EQ(present(bus0.latency).value.microseconds(), 0.15);
  EXPECT_EQ(bus0.count, 2);
  EXPECT_EQ(node.links.at(1).count, 1);
  EXPECT_FALSE(node.links.at(1).total);
  EXPECT_THAT(gigabytes({node.links.at(1).forward, node.links.at(1).backward}), ElementsAre(7, 7));
  EXPECT_THAT(node.ways.at(0).via, ElementsAre("hub0", "numa0", "old-qpi"));
  EXPECT_EQ(node.host_buffers, HostBuffers::interleaved);
  EXPECT_THAT(present(node.peers), ElementsAre(std::pair<std::string, std::string>("gpu0", "gpu1")));
  ASSERT_EQ(platform.kinds.size(), 1U);
  EXPECT_EQ(platform.kinds[0].replaces, 1);
  EXPECT_EQ(platform.kinds[0].node.links.at(1).name, "nic0");
  EXPECT_EQ(platform.nodes(), 2) << "one in the place of another";
}

TEST(PlatformReader, FillsWhatGpusCopiesAndMessagesCost) {
  const Platform platform = read_platform(kWhole);
  const GpuType& fast = platform.type_of(0);
  EXPECT_EQ(fast.model, "Fast GPU");
  EXPECT_EQ(fast.memory.value, Bytes{16'000'000'000});
  EXPECT_EQ(std::pair(fast.capability_major, fast.capability_minor), std::pair(8, 6));
  EXPECT_FALSE(fast.unified_addressing);
  EXPECT_TRUE(platform.type_of(1).unified_addressing);
  const BlockCosts& blocks = present(fast.blocks);
  EXPECT_THAT(gigabytes({blocks.rate, blocks.ll_rate, blocks.ll128_rate, present(fast.transforms).memory}),
              ElementsAre(36.7, 20, 30, 1500));
  EXPECT_THAT(micros({blocks.ll, blocks.ll128, blocks.simple, blocks.start, blocks.graph_start, blocks.next}),
              Pointwise(DoubleNear(1e-9), std::vector<double>{0.6, 1.9, 3.4, 5, 4.5, 0.25}));
  using enum gpu::LineFormat;
  EXPECT_EQ(blocks.rate_of(ll), 20.0_GBps);
  EXPECT_EQ(blocks.rate_of(ll128), 30.0_GBps);
  EXPECT_EQ(blocks.rate_of(simple), Rate{36.7e9});
  EXPECT_EQ(BlockCosts{.rate = blocks.rate}.rate_of(ll), Rate{36.7e9}) << "where nothing else is said";
  EXPECT_EQ(BlockCosts{.rate = blocks.rate}.rate_of(ll128), Rate{36.7e9});
  EXPECT_EQ(blocks.hop_of(ll), blocks.ll.value);
  EXPECT_EQ(blocks.hop_of(ll128), blocks.ll128.value);
  EXPECT_EQ(blocks.hop_of(simple), blocks.simple.value);
  EXPECT_EQ(present(fast.transforms).compute.value.per_second, 9.7e12);
  const Cost& copy = fast.copies.at(CopyKind::pinned_to_device);
  EXPECT_DOUBLE_EQ(copy.overhead.value.microseconds(), 1.5);
  EXPECT_DOUBLE_EQ(copy.latency.value.at(4_KiB).microseconds(), 2.5);
  EXPECT_DOUBLE_EQ(present(copy.gap).value.at(64_KiB).microseconds(), 1.75);
  EXPECT_DOUBLE_EQ(present(copy.cpu_written).value.at(34_KiB).microseconds(), 1.5);
  EXPECT_EQ(platform.copies.at(CopyKind::peer).rate,
            (Sourced<Rate>{5.0_GBps, {Quality::assumed, "made up for a test"}}));
  const Fabric& fabric = present(platform.fabric);
  EXPECT_THAT(gigabytes({fabric.link, fabric.switch_link, fabric.core_link, fabric.duplex}),
              ElementsAre(10, 20, 30, 15));
  EXPECT_THAT(micros({fabric.latency, present(fabric.rdma).latency}),
              Pointwise(DoubleNear(1e-9), std::vector<double>{0.2, 0.3}));
  EXPECT_EQ(present(fabric.rdma).hypothetical, "on paper");
  EXPECT_EQ(fabric.oversubscription, (std::vector<Oversubscription>{{2, 1}, {1, 2}}));
  EXPECT_EQ(fabric.radix, 64);
  EXPECT_EQ(fabric.seed, 7);
  const Fallback& fallback = present(platform.fallback);
  EXPECT_EQ(fallback.through, "target");
  EXPECT_EQ(fallback.in_flight, 4);
  EXPECT_EQ(present(fallback.both_ways).value.of_one, 1.5);
  EXPECT_DOUBLE_EQ(present(fallback.cost.gap).value.at(1_MiB).microseconds(), 3);
  const RuntimeCosts& r = platform.runtime;
  EXPECT_THAT(
      micros({r.allocate_device, r.ipc_export, r.ipc_open, r.ipc_close, r.pin_base, r.pin_per_gib, r.engine_block,
              r.kernel_block, r.signal, r.signal_gap, r.kernel_signal_gap, r.register_base, r.register_per_gib,
              r.deregister, r.completion, r.failed_poll, r.program_launch, r.graph_launch, r.peer_check}),
      Pointwise(DoubleNear(1e-9),
                std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}));
  EXPECT_DOUBLE_EQ(present(r.kernel_signal).value.at(1_MiB).microseconds(), 2.5);
  EXPECT_EQ(platform.library, "ucx");
  for (const NetworkCosts& costs : {present(platform.network), platform.intra_node}) {
    const bool within = costs.uncached.has_value();
    const double more = within ? 20 : 0;
    EXPECT_THAT(micros({costs.receive_overhead, costs.control, costs.control_receive_overhead, costs.device_pointer,
                        costs.send_completion}),
                Pointwise(DoubleNear(1e-9), std::vector<double>{2 + more, 10 + more, 11 + more, 13 + more, 15 + more}));
    EXPECT_DOUBLE_EQ(costs.posting(1_B).microseconds(), 1 + more);
    EXPECT_DOUBLE_EQ(present(costs.gap).value.at(1_B).microseconds(), 12 + more);
    EXPECT_DOUBLE_EQ(present(costs.completion).value.at(1_B).microseconds(), 14 + more);
    EXPECT_EQ(costs.eager_limit.value, within ? 5_KiB : 4_KiB);
    EXPECT_EQ(present(costs.latency_limit).value, within ? 3_KiB : 2_KiB);
    EXPECT_EQ(present(costs.rate).value, within ? 11.0_GBps : 10.0_GBps);
    EXPECT_EQ(costs.fragment.has_value(), within);
    EXPECT_EQ(costs.striped_from.has_value(), !within);
  }
  EXPECT_EQ(platform.intra_node.copied_by, CopiedBy::both);
}

TEST(PlatformReader, ResolvesNamedSources) {
  const Source source = read_good().node.links[0].forward.source;
  EXPECT_EQ(source.quality, Quality::assumed);
  EXPECT_EQ(source.text, "made up for a test");
}

TEST(PlatformReader, CopiesHostMemoryAtTheRateOfTheMemory) {
  const Platform platform = read_good({"nodes.memories.numa0.copy_rate=7 GB/s"});
  const End host{{Location::Kind::memory, 0}, Memory::pageable};
  EXPECT_EQ(copy_cost(Topology(platform), host, host).rate, Rate{7e9});
}

// ---- includes -------------------------------------------------------------------------------------------------------

TEST_F(IncludingPlatform, WinsOverWhatItIncludes) {
  const Platform platform = read(
      "name: mine\n"
      "nodes:\n"
      "  hubs: {hub1: {}}\n"
      "  links:\n"
      "    nic0: {forward: {value: 1 GB/s, measured: by me}}\n"
      "    spare: {from: hub1, to: hub0, bandwidth: {value: 2 GB/s, measured: by me}}\n");
  EXPECT_EQ(platform.name, "mine");
  EXPECT_EQ(platform.node.count, 2) << "as included";
  EXPECT_THAT(platform.node.hubs, ElementsAre(Field(&Hub::name, "hub0"), Field(&Hub::name, "hub1")));
  ASSERT_EQ(platform.node.links.size(), 4U);
  const Link& nic = platform.node.links[1];
  EXPECT_EQ(nic.forward.value, Rate{1e9});
  EXPECT_EQ(nic.forward.source.quality, Quality::measured);
  EXPECT_EQ(nic.backward.value, Rate{4e9}) << "the included bandwidth still counts for the other direction";
}

TEST_F(IncludingPlatform, ReplacesANumberWithItsSource) {
  const Platform platform = read("fabric: {link: {value: 6 GB/s, datasheet: a sheet}}\n");
  EXPECT_EQ(present(platform.fabric).link.value, Rate{6e9});
  EXPECT_EQ(present(platform.fabric).link.source.quality, Quality::datasheet);
}

TEST_F(IncludingPlatform, ManyThingsAlikeAreSaidOnce) {
  const Platform platform = read(
      "nodes:\n"
      "  nics: {'hca[0-1]': {}}\n"
      "  gpus: {'gpu[0-3]': {type: test-gpu, nic: 'hca[0-1]'}}\n"
      "  links:\n"
      "    'gpu[1-3]-bus': {from: 'gpu[1-3]', to: hub0, count: 2, bandwidth: {value: 4 GB/s, assumed: guess}}\n"
      "    nic1: {from: hca1, to: hub0, bandwidth: {value: 4 GB/s, assumed: guess}}\n"
      "  peers: ['gpu0 gpu[1-3]']\n"
      "driver:\n"
      "  fallback: {overhead: {value: 2 us, assumed: guess}, latency: {value: 20 us, assumed: guess},\n"
      "             chunk: {value: 1 MiB, assumed: guess}, per_chunk: {value: 5 us, assumed: guess}}\n");
  ASSERT_EQ(platform.node.gpus.size(), 4U);
  EXPECT_EQ(platform.node.gpus[1].nic, "hca0");
  EXPECT_EQ(platform.node.gpus[2].nic, "hca1");
  EXPECT_EQ(platform.node.gpus[3].memory_near, "numa0") << "the nearest, where the file does not say";
  const auto bus = std::ranges::find(platform.node.links, "gpu3-bus", &Link::name);
  ASSERT_NE(bus, platform.node.links.end());
  EXPECT_EQ(bus->forward.value, Rate{8e9}) << "two in parallel";
  const Topology topology(platform);
  EXPECT_TRUE(topology.peer_access(0, 3));
  EXPECT_FALSE(topology.peer_access(1, 3)) << "not among the peers";
}

TEST_F(IncludingPlatform, LimitsThemselvesAreAccepted) {
  const std::string hubs = "nodes: {hubs: {'hub[1-444]': {}}}\n";
  EXPECT_EQ(read(hubs).node.hubs.size(), 445U) << "with a memory, an adapter and a GPU 448 parts";
  expect_refused("nodes: {hubs: {'hub[1-445]': {}}}\n", "449 parts, of which 446 are 'hubs', are more than the 448");
  const auto links = [](int last) {
    return "nodes: {links: {'more[1-" + std::to_string(last) +
           "]': {from: gpu0, to: hub0, bandwidth: {value: 8 GB/s, assumed: guess}}}}\n";
  };
  EXPECT_EQ(read(links(1021)).node.links.size(), 1024U);
  EXPECT_EQ(read("nodes: {count: 1000000}\n").nodes(), 1'000'000);
  const std::string torus = "fabric: {shape: torus, size: [4, 2]}\nnodes: {count: ";
  EXPECT_EQ(read(torus + "8}\n").nodes(), 8);
  expect_refused(torus + "9}\n", "9 nodes, and the fabric's 'size' has places for 8");
  const Fabric long_one = present(read("fabric: {shape: torus, size: [1000000, 1], radix: 1, seed: 1000000}\n").fabric);
  EXPECT_EQ(long_one.nodes(), 1'000'000);
  EXPECT_EQ(long_one.radix, 1);
  expect_refused("fabric: {shape: torus, size: [1000001]}\n", "'1000001' is not a whole number from 1 to 1000000");
  const std::string own = "mpi: {intra_node: {rate: {value: 4 GB/s, assumed: guess}, copied_by: both, ";
  EXPECT_EQ(present(read(own + "fragment: {value: 12 KiB, assumed: guess}}}\n").intra_node.fragment).value, 12_KiB);
  expect_refused(own + "fragment: {value: 12287 B, assumed: guess}}}\n", "is not below 'eager_limit'");
  const std::string cache = "nodes: {memories: {numa0: {cache: {value: 1 MiB, assumed: guess}}}}\n";
  EXPECT_TRUE(read(cache + own + "uncached: {value: 4 GB/s, assumed: guess}}}\n").intra_node.uncached);
  expect_refused(cache + own + "uncached: {value: 4.1 GB/s, assumed: guess}}}\n", "a 'rate' that is not lower");
}

/// GPUs of two nodes of a domain need not reach each other, and so need no fallback of the driver.
TEST_F(IncludingPlatform, NodesOfADomainNeedNotBeJoined) {
  const Platform platform = read(
      "nodes:\n  domain: 2\n  memories: {numa1: {copy_rate: {value: 5 GB/s, assumed: guess}}}\n  nics: {hca1: {}}\n"
      "  hubs: {hub1: {}}\n  gpus: {gpu1: {type: test-gpu}}\n  links:\n"
      "    pcie1: {from: gpu1, to: hub1, bandwidth: {value: 8 GB/s, assumed: guess}}\n"
      "    nic1: {from: hca1, to: hub1, bandwidth: {value: 4 GB/s, assumed: guess}}\n"
      "    memory1: {from: hub1, to: numa1, bandwidth: {value: 10 GB/s, assumed: guess}}\n");
  EXPECT_EQ(platform.node.gpus[1].nic, "hca1");
  EXPECT_EQ(platform.node.gpus[1].memory_near, "numa1");
  const Topology topology(platform);
  EXPECT_FALSE(topology.path({0, 0, {}}, {1, 0, {}}).peer_access);
  EXPECT_EQ(topology.copy_of(1), 0);
  EXPECT_EQ(topology.part_of(1).first_gpu, 1U);
}

TEST_F(IncludingPlatform, RefusesRangesThatDoNotFit) {
  try {
    read("nodes: {gpus: {'gpu[0-2]': {type: test-gpu, nic: 'hca[0-1]'}}}\n");
    FAIL() << "three GPUs cannot share two adapters evenly";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'hca[0-1]' has 2 numbers, which cannot be dealt out evenly to 3"));
  }
}

TEST_F(IncludingPlatform, MayNameSeveralFilesOfWhichTheLastWins) {
  write("a.yaml", "name: a\ndescription: from a\n");
  write("b.yaml", "name: b\n");
  const fs::path file = write("platform.yaml", "include: [" + kGood.string() + ", a.yaml, b.yaml]\n");
  EXPECT_EQ(read_platform(file).name, "b");
  EXPECT_EQ(read_platform(file).description, "from a");
}

/// Parts are those beside the file, else those of the nearest folder above it, else the shared ones, and nowhere else.
TEST_F(IncludingPlatform, MayLieBelowItsPartsOrElsewhere) {
  const fs::path folder = write("", "").parent_path();
  for (const char* below : {"parts", "shared/parts", "a/b/parts"}) fs::create_directories(folder / below);
  for (const char* part :
       {"shared/parts/one", "shared/parts/two", "shared/parts/three", "parts/one", "parts/two", "a/b/parts/one"}) {
    write(std::string(part) + ".yaml", "name: " + std::string(part) + "\n");
  }
  const auto read = [&](const std::string& part, const std::string& file = "a/b/mine.yaml") {
    Diagnostics diagnostics;
    const auto document = load_yaml(write(file, "include: parts/" + part + ".yaml\n"), diagnostics, folder / "shared");
    return document ? document->entries.at(0).value.text : said_by<InputError>([&] { diagnostics.throw_all(); });
  };
  EXPECT_EQ(read("one"), "a/b/parts/one");
  EXPECT_EQ(read("two"), "parts/two");
  EXPECT_EQ(read("three"), "shared/parts/three");
  EXPECT_EQ(read("one", "a/b/../mine.yaml"), "parts/one") << "a/b is not above the file";
  EXPECT_THAT(read("four"), HasSubstr("a/b/parts/four.yaml'"));
}

TEST_F(IncludingPlatform, MayReachOneFileTwice) {
  write("left.yaml", "include: " + kGood.string() + "\n");
  write("right.yaml", "include: " + kGood.string() + "\nname: right\n");
  EXPECT_EQ(read_platform(write("platform.yaml", "include: [left.yaml, right.yaml]\n")).name, "right");
}

/// What is said of a platform that includes `file`.
std::string refusal_of_include(const fs::path& platform) {
  return said_by<InputError>([&] { return read_platform(platform); });
}

TEST_F(IncludingPlatform, QuotesOnlyWhatFollowsAKeyOfPlatforms) {
  const std::string secrets = "user: root\npassword: swordfish\nmore:\n  password: swordfish\n  password: again\n";
  const std::vector<std::string> texts{secrets, secrets + "password: twice\n", "root:swordfish:0\npassword:swordfish\n",
                                       secrets + "}\n"};
  for (const std::string& text : texts) {
    const fs::path file = write("secret", text);
    const std::string said = refusal_of_include(write("platform.yaml", "include: [" + kGood.string() + ", secret]\n"));
    EXPECT_THAT(said, HasSubstr(file.string() + ":"));
    EXPECT_THAT(said,
                ::testing::Not(::testing::AnyOf(HasSubstr("password"), HasSubstr("swordfish"), HasSubstr("root"))));
  }
  write("part.yaml", "nodes: {cuont: 3}\n");
  EXPECT_THAT(refusal_of_include(write("platform.yaml", "include: [" + kGood.string() + ", part.yaml]\n")),
              HasSubstr("unknown key 'cuont' in 'nodes'; did you mean 'count'?"));
}

/// As of lists of users and their passwords, each line of which reads as a key.
TEST_F(IncludingPlatform, AFileThatIsNoPartHasOneError) {
  std::string lines;
  for (int user = 0; user < 20; ++user) lines += "user" + std::to_string(user) + ":*:19000:0:\n";
  const fs::path file = write("users", lines);
  const std::string said = refusal_of_include(write("platform.yaml", "include: [" + kGood.string() + ", users]\n"));
  EXPECT_EQ(said, file.string() + ":1:1: error: an included file has 20 keys that are unknown in the platform");
}

TEST_F(IncludingPlatform, FilesOfTheKernelAreNotReadAndDevicesRefused) {
  const std::string kernel = fs::exists("/proc/kmsg") ? "/proc/kmsg" : "/proc/self/stat";
  EXPECT_THAT(refusal_of_include(write("platform.yaml", "include: " + kernel + "\n")),
              ::testing::AnyOf(HasSubstr(kernel + ": error: the file is empty"), HasSubstr("cannot be read")));
  EXPECT_THAT(refusal_of_include(write("platform.yaml", "include: /dev/zero\n")), HasSubstr("is not a regular file"));
}

TEST_F(IncludingPlatform, OfManySourcesAHundredAreNamed) {
  const auto said = [&](int count) {
    std::string text = "fabric: {link: {value: 6 GB/s, datasheet: unheard-of}}\nsources:\n";
    for (int i = 0; i + 1 < count; ++i) text += "  s" + std::to_string(i) + ": x\n";  // and the one that is included
    return refusal_of_include(write("platform.yaml", "include: " + kGood.string() + "\n" + text));
  };
  EXPECT_TRUE(said(99).ends_with(", s96, s97")) << said(99);
  EXPECT_EQ(std::ranges::count(said(100), ','), 99);
  EXPECT_EQ(std::ranges::count(said(150), ','), 100);
  EXPECT_TRUE(said(150).ends_with(", ..."));
  EXPECT_TRUE(said(1001).ends_with("unknown source 'unheard-of' of 'link' in 'fabric'")) << "too many to look through";
}

TEST_F(IncludingPlatform, TensOfThousandsOfSourcesAreReadOnce) {
  std::string many = "sources:\n";
  for (int i = 0; i < 45'000; ++i) many += "  s" + std::to_string(i) + ": \"x y\"\n";
  write("many.yaml", many);
  EXPECT_EQ(read_platform(write("platform.yaml", "include: [" + kGood.string() + ", many.yaml]\n")).name, "good");
}

// ---- overrides ------------------------------------------------------------------------------------------------------

TEST(Override, ReplacesANumberAndItsSource) {
  const Platform platform = read_good({"fabric.link=9 GB/s", "driver.runtime.pin_base.value=5 us"});
  EXPECT_EQ(present(platform.fabric).link.value, Rate{9e9});
  EXPECT_EQ(present(platform.fabric).link.source.quality, Quality::assumed);
  EXPECT_EQ(present(platform.fabric).link.source.text, "--set on the command line");
  EXPECT_EQ(platform.runtime.pin_base.value, 5.0_us);
  EXPECT_EQ(platform.runtime.pin_base.source.text, "--set on the command line");
}

/// Whatever the library does from now on, its latencies were measured with the limit of the file.
TEST(Override, OfAnEagerLimitLeavesTheOneThatWasMeasuredWith) {
  const Platform as_it_is = read_good();
  EXPECT_FALSE(present(as_it_is.network).latency_limit.has_value());
  const Platform changed = read_good({"mpi.network.eager_limit=1 KiB"});
  EXPECT_EQ(present(changed.network).eager_limit.value, 1_KiB);
  EXPECT_EQ(present(present(changed.network).latency_limit).value, 12_KiB);
  EXPECT_FALSE(changed.intra_node.latency_limit.has_value());
}

TEST(Override, SplitsTheBandwidthOfALink) {
  const Link link = read_good({"nodes.links.nic0.forward=1 GB/s"}).node.links[1];
  EXPECT_EQ(link.forward.value, Rate{1e9});
  EXPECT_EQ(link.backward.value, Rate{4e9});
  const Link both = read_good({"nodes.links.nic0.bandwidth=1 GB/s"}).node.links[1];
  EXPECT_EQ(both.forward.value, Rate{1e9});
  EXPECT_EQ(both.backward.value, Rate{1e9});
}

TEST(Override, ReplacesIntegersTextsAndCurves) {
  const Platform platform = read_good({"nodes.count=5", "gpu_types.test-gpu.model=Other", "mpi.network.latency=3 us"});
  EXPECT_EQ(platform.node.count, 5);
  EXPECT_EQ(platform.type_of(0).model, "Other");
  EXPECT_EQ(present(platform.network).latency.value.at(4_KiB), 3.0_us);
}

TEST(Override, OfOneUseOfAnAliasLeavesTheOthers) {
  const Platform platform = read_good({"mpi.network.control=7 us"});
  EXPECT_EQ(present(platform.network).control.value, 7.0_us);
  EXPECT_EQ(platform.intra_node.control.value, 2.0_us);
}

std::string message(const std::string& override_text) {
  return said_by([&] { return read_good({override_text}); });
}

TEST(Override, TakesWhatAPartMayHaveAndNoMore) {
  const auto said = [](const std::string& assignment) -> std::string {
    try {
      read_platform(kWhole, std::vector{assignment});
    } catch (const Error& error) {
      return std::string(error.what()).substr(std::string(error.what()).rfind("': ") + 3);
    }
    return "accepted";
  };
  for (const std::string right :
       {"driver.runtime.ipc_open=1000 s", "fabric.link=1 B/s", "fabric.link=1000000 TB/s",
        "driver.fallback.both_ways=0.01 %", "driver.fallback.both_ways=10000%",
        "gpu_types.fast.transforms.compute=1e-6 TFLOP/s", "gpu_types.fast.transforms.compute=1e9 TFLOP/s",
        "driver.fallback.in_flight=1024", "driver.fallback.in_flight=1", "nodes.links.bus0.count=1",
        "nodes.links.bus0.count=1024", "fabric.seed=0", "nodes.count=2", "kinds.odd.replaces=0", "software.cuda=4"}) {
    EXPECT_EQ(said(right), "accepted") << right;
  }
  const std::string ratio = " is no ratio: a number from 0.01 % to 10000 % is expected";
  const std::string flops = " is no rate of operations: a number with the unit TFLOP/s is expected";
  for (const auto& [wrong, why] : std::vector<std::pair<std::string, std::string>>{
           {"driver.runtime.ipc_open=1000.1 s", "'1000.1 s' is out of range: a duration is at most 1000 s"},
           {"fabric.link=0.9 B/s", "'0.9 B/s' is out of range: a rate is from 1 B/s to 1000000 TB/s"},
           {"fabric.link=1000001 TB/s", "'1000001 TB/s' is out of range: a rate is from 1 B/s to 1000000 TB/s"},
           {"driver.fallback.both_ways=0.009 %", "'0.009 %'" + ratio},
           {"driver.fallback.both_ways=10001 %", "'10001 %'" + ratio},
           {"driver.fallback.both_ways=50", "'50'" + ratio},
           {"driver.fallback.both_ways=x %", "'x %'" + ratio},
           {"driver.fallback.both_ways=5x %", "'5x %'" + ratio},
           {"gpu_types.fast.transforms.compute=1e10 TFLOP/s", "'1e10 TFLOP/s'" + flops},
           {"gpu_types.fast.transforms.compute=9e-7 TFLOP/s", "'9e-7 TFLOP/s'" + flops},
           {"gpu_types.fast.transforms.compute=5 GFLOP/s", "'5 GFLOP/s'" + flops},
           {"gpu_types.fast.transforms.compute=5", "'5'" + flops},
           {"nodes.links.bus0.count=1025", "'1025' is not a whole number from 1 to 1024"},
           {"driver.fallback.in_flight=1025", "'1025' is not a whole number from 1 to 1024"}}) {
    EXPECT_EQ(said(wrong), why) << wrong;
  }
}

/// A leaf more than the file has, then pods: as if the file said so.
TEST(Override, AddsLevelsToAFabricOneByOne) {
  const auto fabric = [](std::vector<std::string> levels) {
    levels.insert(levels.begin(), {"nodes.count=8", "fabric.shape=fat-tree"});
    return present(read_good(levels).fabric);
  };
  const Fabric tree = fabric({"fabric.size.0=2", "fabric.size.1=2", "fabric.size.2=3", "fabric.oversubscription=2:1",
                              "fabric.oversubscription.1=1:2"});
  EXPECT_EQ(tree.size, (std::vector{2, 2, 3}));
  EXPECT_EQ(tree.oversubscription, (std::vector<Oversubscription>{{2, 1}, {1, 2}}));
  const auto problem = [&](const std::vector<std::string>& levels) { return said_by([&] { return fabric(levels); }); };
  EXPECT_EQ(problem({"fabric.size.0=2", "fabric.size.2=2"}),
            "--set fabric.size.2=2: there is no '2' in 'fabric.size'; there is: 0; levels are added one by one");
  EXPECT_EQ(problem({"fabric.size.0=2", "fabric.size.0=4"}),
            "--set fabric.size.0=4: it is set already, by --set fabric.size.0=2");
  EXPECT_THAT(problem({"fabric.size.0=8"}), HasSubstr("a tree has 2 or 3 numbers: nodes of a leaf, leaves of a pod"));
  EXPECT_THAT(problem({"fabric.size.0=2", "fabric.size.1=2"}),
              HasSubstr("8 nodes, and the fabric's 'size' has places for 4"));
}

TEST(Override, IsSaidOnce) {
  EXPECT_THROW(read_good({"nodes.count=5", "nodes.count=6"}), UsageError) << "nobody knows which one is meant";
}

TEST(Override, SaysWhatThereIs) {
  EXPECT_EQ(message("nodes.links.nic1.forward=9 GB/s"),
            "--set nodes.links.nic1.forward=9 GB/s: there is no 'nic1' in 'nodes.links'; did you mean 'nic0'? "
            "There is: pcie0, nic0, memory0");
  EXPECT_THAT(message("fabrics.link=1 GB/s"),
              HasSubstr("there is no 'fabrics' in the platform; did you mean 'fabric'?"));
  EXPECT_EQ(message("fabric=1 GB/s"), "--set fabric=1 GB/s: this is not a single value; it has: link");
  EXPECT_THAT(message("fabric.link"), HasSubstr("PATH=VALUE is expected"));
}

TEST(Override, IsCheckedAsTheFileIs) {
  EXPECT_THAT(message("fabric.link=9"), HasSubstr("--set fabric.link=9: error: 'link' in 'fabric': '9' has no unit"));
  EXPECT_EQ(
      message("driver.runtime.total=9 GB/s").find("--set driver.runtime.total=9 GB/s: error: unknown key 'total'"), 0);
  EXPECT_THAT(message("mpi.network.copied_by=both"), HasSubstr("unknown key 'copied_by'"));
  EXPECT_THAT(message("nodes.gpus.gpu0.nic=hca7"), HasSubstr("there is no NIC 'hca7'; did you mean 'hca0'?"));
}

// ---- the list of numbers --------------------------------------------------------------------------------------------

/// A class of copies that has one key more than it needs.
std::string copy_with(const std::string& copy, const std::string& more) {
  return "driver:\n  copies:\n    " + copy +
         ":\n      overhead: {value: 1 us, assumed: guess}\n      latency: {value: 3 us, assumed: guess}\n      " +
         more + "\n";
}

TEST_F(IncludingPlatform, RefusesWhatAKindOfCopiesCannotHave) {
  const std::string cost = ": {value: 1 us, assumed: guess}";
  expect_refused(copy_with("device-to-pinned", "cpu_written" + cost), "'cpu_written'");
}

TEST(AllNumbers, GivesEachPointOfACurve) {
  const std::vector<NumberEntry> numbers = all_numbers(read_good());
  const auto point = std::ranges::find(numbers, "mpi.network.latency[4K]", &NumberEntry::path);
  ASSERT_NE(point, numbers.end());
  EXPECT_DOUBLE_EQ(point->value, 2e-6);
  EXPECT_EQ(point->unit, "s");
  EXPECT_EQ(point->text, "2.00 us");
}

TEST(AllNumbers, GivesAByteCountInAUnitThatFitsExactly) {
  const auto memory = [](const std::string& value) {
    const std::vector<NumberEntry> numbers = all_numbers(read_good({"gpu_types.test-gpu.memory=" + value}));
    return std::ranges::find(numbers, "gpu_types.test-gpu.memory", &NumberEntry::path)->text;
  };
  for (const char* text : {"6 GB", "141 GB", "1500 MB", "12 KiB", "80 GiB", "3 TiB", "1234567 B", "1 B"}) {
    EXPECT_EQ(memory(text), text);
  }
  EXPECT_EQ(memory("1048576 B"), "1 MiB");
}

}  // namespace
}  // namespace twinlink::platforms
