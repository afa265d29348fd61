#include "platforms/reader/platform_reader.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "platforms/machine/platform_numbers.hpp"
#include "platforms/topology/topology.hpp"
#include "tests/platforms/present.hpp"

namespace twinlink::model {
namespace {
namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
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

TEST(PlatformReader, FillsTheWholePlatform) {
  const Platform platform = read_good();
  EXPECT_EQ(platform.name, "good");
  EXPECT_EQ(platform.file, kGood.string());
  EXPECT_EQ(platform.node.count, 2);
  ASSERT_EQ(platform.node.memories.size(), 1U);
  EXPECT_EQ(platform.node.memories[0].name, "numa0");
  EXPECT_EQ(platform.node.memories[0].copy_rate.value, Rate{5e9});
  EXPECT_THAT(platform.node.hubs, ElementsAre(Field(&Hub::name, "hub0")));
  EXPECT_THAT(platform.node.nics, ElementsAre(Field(&Nic::name, "hca0")));

  ASSERT_EQ(platform.node.gpus.size(), 1U);
  const Gpu& gpu = platform.node.gpus[0];
  EXPECT_EQ(gpu.name, "gpu0");
  EXPECT_EQ(gpu.type, "test-gpu");
  const GpuType& type = platform.type_of(0);
  EXPECT_EQ(type.model, "Test GPU");
  EXPECT_EQ(type.memory.value, Bytes{6'000'000'000});
  EXPECT_EQ(type.capability_major, 2);
  EXPECT_EQ(type.capability_minor, 0);
  EXPECT_TRUE(type.unified_addressing);
  EXPECT_EQ(gpu.memory_near, "numa0");
  EXPECT_EQ(gpu.nic, "hca0");

  ASSERT_EQ(platform.node.links.size(), 3U);
  EXPECT_EQ(platform.node.links[0].name, "pcie0") << "links keep the order of the file";
  EXPECT_EQ(platform.node.links[1].forward.value, Rate{4e9});
  EXPECT_EQ(platform.node.links[1].backward.value, Rate{4e9});
  EXPECT_FALSE(platform.node.links[1].total);

  EXPECT_EQ(present(platform.fabric).link.value, Rate{3e9});
  EXPECT_FALSE(present(platform.fabric).duplex);
  EXPECT_DOUBLE_EQ(present(platform.network).posting(Bytes{}).microseconds(), 0.5);
  EXPECT_DOUBLE_EQ(present(platform.network).latency.value.at(2_KiB).microseconds(), 1.5);
  EXPECT_EQ(present(platform.network).eager_limit.value, 12_KiB);
  EXPECT_DOUBLE_EQ(platform.intra_node.control.value.microseconds(), 2);
  EXPECT_DOUBLE_EQ(platform.runtime.pin_per_gib.value.value(), 1);
}

TEST(PlatformReader, ResolvesNamedSources) {
  const Source source = read_good().node.links[0].forward.source;
  EXPECT_EQ(source.quality, Quality::assumed);
  EXPECT_EQ(source.text, "made up for a test");
}

TEST(PlatformReader, CopiesHostMemoryAtTheRateOfTheMemory) {
  const Platform platform = read_good({"nodes.memories.numa0.copy_rate=7 GB/s"});
  const End host{{Location::Kind::memory, 0}, Memory::pageable};
  EXPECT_EQ(Topology(platform).copy_cost(host, host).rate, Rate{7e9});
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

TEST_F(IncludingPlatform, MayDescribeWhatAdaptersReachOfDeviceMemory) {
  const std::string text =
      "fabric: {rdma: {hypothetical: not in this life, latency: {value: 2 us, measured: by me}}}\n"
      "nodes:\n"
      "  hubs: {hub0: {peer_read: {value: 1 GB/s, measured: by me}, peer_write: {value: 5 GB/s, measured: by me}}}\n"
      "  memories: {numa0: {forwards: adapters, latency: {value: 1 us, measured: by me}}}\n";
  const Platform platform = read(text);
  EXPECT_EQ(present(platform.fabric).link.value, Rate{3e9}) << "as included";
  const Rdma& rdma = present(present(platform.fabric).rdma);
  EXPECT_EQ(rdma.hypothetical, "not in this life");
  EXPECT_EQ(present(rdma.latency).value, 2.0_us);
  const Passing& hub = platform.node.hubs.front().passing;
  EXPECT_EQ(hub.forwards, Forwards::all) << "as hubs do";
  EXPECT_EQ(present(hub.peer_read).value, Rate{1e9});
  EXPECT_EQ(present(hub.peer_write).value, Rate{5e9});
  EXPECT_EQ(platform.node.memories.front().passing.forwards, Forwards::adapters);
  EXPECT_EQ(present(platform.node.memories.front().passing.latency).value, 1.0_us);

  const Platform faster = read_platform(write("again.yaml", "include: platform.yaml\n"),
                                        std::vector<std::string>{"nodes.hubs.hub0.peer_read=3.5 GB/s"});
  EXPECT_EQ(present(faster.node.hubs.front().passing.peer_read).value, Rate{3.5e9});
  const std::vector<NumberEntry> numbers = all_numbers(faster);
  for (const char* path : {"nodes.hubs.hub0.peer_read", "nodes.hubs.hub0.peer_write", "fabric.rdma.latency"}) {
    EXPECT_NE(std::ranges::find(numbers, path, &NumberEntry::path), numbers.end()) << path;
  }
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

TEST_F(IncludingPlatform, MayReachOneFileTwice) {
  write("left.yaml", "include: " + kGood.string() + "\n");
  write("right.yaml", "include: " + kGood.string() + "\nname: right\n");
  EXPECT_EQ(read_platform(write("platform.yaml", "include: [left.yaml, right.yaml]\n")).name, "right");
}

/// What is said of a platform that includes `file`.
std::string refusal_of_include(const fs::path& platform) {
  try {
    read_platform(platform);
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was refused";
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

TEST(Override, SeveralLinksInParallelHaveAllTheirRatesSoManyTimes) {
  const Link link =
      read_good({"nodes.links.nic0.count=3", "nodes.links.nic0.total=6 GB/s", "nodes.links.nic0.dma_read=1 GB/s",
                 "nodes.links.nic0.dma_write=2 GB/s", "nodes.links.nic0.peer_read=500 MB/s",
                 "nodes.links.nic0.peer_write=700 MB/s", "nodes.links.nic0.each_read=2 GB/s"})
          .node.links[1];
  EXPECT_EQ(link.forward.value, Rate{12e9});
  EXPECT_EQ(link.backward.value, Rate{12e9});
  EXPECT_EQ(present(link.total).value, Rate{18e9});
  EXPECT_EQ(present(link.dma_read).value, Rate{3e9});
  EXPECT_EQ(present(link.dma_write).value, Rate{6e9});
  EXPECT_EQ(present(link.peer_read).value, Rate{1.5e9});
  EXPECT_EQ(present(link.peer_write).value, Rate{2.1e9});
  EXPECT_EQ(present(link.each_read).value, Rate{2e9}) << "which one transfer gets";
}

TEST(Override, AddsANumberThatThePlatformLeavesOut) {
  const Platform platform =
      read_good({"fabric.duplex=5 GB/s", "nodes.links.nic0.total=6 GB/s", "mpi.network.rate=2 GB/s"});
  EXPECT_EQ(present(present(platform.fabric).duplex).value, Rate{5e9});
  EXPECT_EQ(present(platform.node.links[1].total).value, Rate{6e9});
  EXPECT_EQ(present(present(platform.network).rate).value, Rate{2e9});
}

TEST(Override, AddsWhatAPlatformNeedNotSayOfItsCpusAndEngines) {
  const Platform plain = read_good();
  EXPECT_FALSE(plain.copies.at(CopyKind::host_to_host).gap);
  EXPECT_FALSE(plain.runtime.completion);
  EXPECT_FALSE(plain.runtime.kernel_signal);
  EXPECT_FALSE(plain.intra_node.uncached);
  EXPECT_FALSE(plain.intra_node.fragment);
  EXPECT_FALSE(plain.node.memories.front().cache);
  EXPECT_EQ(plain.intra_node.copied_by, CopiedBy::none);
  const Platform platform = read_good(
      {"driver.copies.host-to-host.gap=2 us", "driver.runtime.failed_poll=0.2 us",
       "mpi.intra_node.control_receive_overhead=60 ns", "driver.runtime.completion=1.5 us",
       "driver.runtime.kernel_signal=1.7 us", "mpi.intra_node.rate=4 GB/s", "mpi.intra_node.copied_by=both",
       "mpi.intra_node.send_completion=70 ns", "mpi.intra_node.gap=1 us", "nodes.memories.numa0.cache=100 MiB",
       "mpi.intra_node.uncached=3 GB/s", "mpi.intra_node.fragment=64 KiB"});
  EXPECT_EQ(present(platform.node.memories.front().cache).value, 100_MiB);
  EXPECT_EQ(present(platform.intra_node.uncached).value, Rate{3e9});
  EXPECT_EQ(present(platform.intra_node.fragment).value, 64_KiB);
  EXPECT_EQ(present(platform.copies.at(CopyKind::host_to_host).gap).value.at(1_B), 2.0_us);
  EXPECT_EQ(present(platform.runtime.failed_poll).value, 0.2_us);
  EXPECT_NEAR(present(platform.intra_node.control_receive_overhead).value.microseconds(), 0.06, 1e-9);
  EXPECT_EQ(present(platform.runtime.completion).value, 1.5_us);
  EXPECT_EQ(present(platform.runtime.kernel_signal).value.at(1_B), 1.7_us);
  EXPECT_NEAR(present(platform.intra_node.send_completion).value.microseconds(), 0.07, 1e-9);
  EXPECT_EQ(platform.intra_node.copied_by, CopiedBy::both);
  EXPECT_EQ(read_good({"mpi.intra_node.copied_by=none"}).intra_node.copied_by, CopiedBy::none);
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
  try {
    read_good({override_text});
  } catch (const UsageError& e) {
    return e.what();
  }
  return "accepted";
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

TEST(AllNumbers, NamesEachAsAnOverrideDoes) {
  const std::vector<NumberEntry> numbers = all_numbers(read_good());
  for (const NumberEntry& entry : numbers) {
    if (entry.path.ends_with(']')) continue;
    const std::string value = entry.unit == "B" ? "7 KiB" : entry.unit == "s" ? "7 s" : "7 GB/s";
    const std::vector<NumberEntry> changed = all_numbers(read_good({entry.path + "=" + value}));
    const auto found = std::ranges::find(changed, entry.path, &NumberEntry::path);
    ASSERT_NE(found, changed.end()) << entry.path;
    EXPECT_DOUBLE_EQ(found->value, entry.unit == "B" ? 7168 : entry.unit == "s" ? 7 : 7e9) << entry.path;
  }
}

TEST_F(IncludingPlatform, ListsTheNumbersThatItNeedNotHave) {
  const Platform platform = read(
      "driver:\n  copies:\n    resident-push:\n      overhead: {value: 1 us, assumed: guess}\n"
      "      latency: {value: 3 us, assumed: guess}\n      gap: {value: 2 us, assumed: guess}\n"
      "  runtime:\n    completion: {value: 1.5 us, assumed: guess}\n"
      "    kernel_signal: {value: 1.7 us, assumed: guess}\n");
  const std::vector<NumberEntry> numbers = all_numbers(platform);
  for (const char* path : {"driver.copies.resident-push.latency", "driver.copies.resident-push.gap",
                           "driver.runtime.completion", "driver.runtime.kernel_signal"}) {
    EXPECT_NE(std::ranges::find(numbers, path, &NumberEntry::path), numbers.end()) << path;
  }
}

TEST_F(IncludingPlatform, ReadsWhatReadingJustWrittenMemoryAdds) {
  const Platform platform = read(
      "driver:\n  copies:\n    pinned-to-device:\n      overhead: {value: 1 us, assumed: guess}\n"
      "      latency: {value: 3 us, assumed: guess}\n"
      "      cpu_written: {value: [[4 KiB, 0 us], [64 KiB, 3 us]], assumed: guess}\n");
  const Cost& copy = platform.copies.at(CopyKind::pinned_to_device);
  EXPECT_DOUBLE_EQ(present(copy.cpu_written).value.at(34_KiB).microseconds(), 1.5);
  const std::vector<NumberEntry> numbers = all_numbers(platform);
  const char* const path = "driver.copies.pinned-to-device.cpu_written[64K]";
  EXPECT_NE(std::ranges::find(numbers, path, &NumberEntry::path), numbers.end());
}

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
}  // namespace twinlink::model
