// What a workload depends on, and what makes it fast, on a machine of round numbers: known beforehand.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/study/advice.hpp"
#include "model/study/idle_options.hpp"
#include "model/study/jobs/job_advice.hpp"
#include "model/study/jobs/mpi_rules.hpp"
#include "model/study/jobs/protocol_choice.hpp"
#include "model/study/jobs/simulated_job.hpp"
#include "model/study/model_error.hpp"
#include "model/study/sensitivity.hpp"
#include "model/study/shares.hpp"
#include "platforms/machine/fabric.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/tools/placement.hpp"
#include "platforms/tools/variation.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/registry.hpp"
#include "tests/platforms/sample_platform.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Bytes kSize = 4_MiB;

/// Each of two ranks on two nodes sends a message from the host's memory.
SimulatedJob shift() {
  SimulatedJob job{.place = "spread", .ranks = 2};
  job.workload.workload = "shift";
  job.workload.protocol = "host";
  job.workload.sweep.begin = job.workload.sweep.end = kSize;
  return job;
}
double alone_us() { return (kHost + kLatency + Seconds{(kSize / kWire).value()}).microseconds(); }

/// The message's bytes go by the adapters' link, which one per cent more lets through in 1/1.01 of the time.
TEST(JobQuestions, AShiftGoesByItsWireWithTheShareOfItsBytes) {
  Platform plain = read_platform("platforms/selene.yaml");
  plain.network->host_adapters = 1;
  Platform faster = plain;
  faster.fabric->link.value = Rate{plain.fabric->link.value.bytes_per_second() * 1.01};
  const std::vector<std::function<Platform()>> both{[&] { return plain; }, [&] { return faster; }};
  const std::vector<MessageTimes> times = message_times(both, timed(shift(), 2, {}));
  const Sensitivity found = sensitivity_of(plain, timed(shift(), 2, {}));
  EXPECT_EQ(found.time_us, times[0].us[0]);
  ASSERT_FALSE(found.influences.empty());
  EXPECT_EQ(found.influences.front().path, "fabric.link");
  EXPECT_NEAR(found.influences.front().percent, (times[1].us[0] / times[0].us[0] - 1) * 100, 1e-9);
  const double bytes_us = Seconds{(kSize / plain.fabric->link.value).value()}.microseconds();
  EXPECT_NEAR(found.influences.front().percent, (1 / 1.01 - 1) * 100 * bytes_us / found.time_us, 1e-6);
}

/// All that two ranks agree on, by all pairs of them.
std::set<std::string> kinds_of(const std::vector<Path>& paths) {
  std::set<std::string> kinds;
  for (const Path& path : paths) {
    std::string kind;
    for (const bool yes : {path.same_node, path.same_device, path.loopback, path.peer_access.yes,
                           path.device_mapping.yes, path.one_sided.yes, path.device_memory_on_network.yes,
                           path.shared_buffers.yes, path.cpu_reaches_device.yes}) {
      kind += yes ? '1' : '0';
    }
    kinds.insert(kind);
  }
  return kinds;
}

TEST(PathsBetween, AreThoseOfAllPairsOfPlaces) {
  for (const char* name : {"platforms/keeneland-kids.yaml", "platforms/selene.yaml", "platforms/gb200-nvl72.yaml",
                           "tests/data/two_kinds.yaml"}) {
    const Platform platform = read_platform(name);
    const Topology topology(platform);
    const int last = topology.nodes() - 1;
    for (const std::vector<Place>& places :
         {std::vector<Place>{{0, 0, {}}, {0, 1, {}}},
          {{0, 0, {}}, {1, 0, {}}},
          {{0, 0, {}}, {0, 0, {}}},
          {{0, 1, {}}, {0, 2, {}}, {1, 2, {}}, {last, 0, {}}, {last, 1, {}}},
          {{0, 0, {}}, {1, 0, {}}, {2, 0, {}}, {3, 0, {}}, {3, 0, {}}, {3, 1, {}}}}) {
      std::vector<Path> all;
      for (std::size_t a = 0; a < places.size(); ++a) {
        for (std::size_t b = a + 1; b < places.size(); ++b) all.push_back(topology.path(places[a], places[b]));
      }
      EXPECT_EQ(kinds_of(paths_between(platform, places)), kinds_of(all)) << name << " " << places.size();
    }
  }
}

TEST(JobQuestions, HalfTheWireTakesTheBytesTwiceAsLong) {
  Platform half = sample_platform();
  half.fabric->link.value = Rate{kWire.bytes_per_second() * 0.5};
  const std::vector<std::function<Platform()>> both{[] { return sample_platform(); }, [&] { return half; }};
  const std::vector<MessageTimes> times = message_times(both, timed(shift(), 2, {}));
  const double bytes_us = Seconds{(kSize / kWire).value()}.microseconds();
  ASSERT_EQ(times[0].us.size(), 1U);
  ASSERT_EQ(times[1].us.size(), 1U);
  EXPECT_NEAR(times[1].us[0] - times[0].us[0], bytes_us, 1e-6 * bytes_us);
  EXPECT_EQ(times[0].sizes, std::vector{kSize});
}

/// What has failed has failed in every variation of the platform.
TEST(JobQuestions, ACableThatFailedStaysSo) {
  Platform platform = read_platform("platforms/selene.yaml");
  platform.fabric->faults = {{.cable = CableFault::Cable::leaf, .a = 0, .b = 1, .share = 0.5}};
  const Variations variations(platform);
  EXPECT_EQ(variations.unchanged().fabric->faults, platform.fabric->faults);
  EXPECT_EQ(variations.with(0, 1.01).fabric->faults, platform.fabric->faults);
}

/// Packed, the two share a node, and no message crosses the wire.
TEST(JobQuestions, AdviceFindsTheBetterPlaceAndKeepsTheFirstAsItWasGiven) {
  const Platform platform = sample_platform();
  const JobSearch search{.platform = &platform, .job = shift(), .any_place = true, .at_once = 2};
  const JobAdvice advice = advise_job(search);
  ASSERT_EQ(advice.sizes.size(), 1U);
  const JobSizeAdvice& size = advice.sizes.front();
  EXPECT_EQ(size.given.setting.place, "spread");
  EXPECT_NEAR(size.given.time_us, alone_us(), 1e-3 * alone_us());
  SimulatedJob packed = shift();
  packed.place = "packed";
  const Timed alone = timed(packed, 1, {});
  const double packed_us = times_on(platform, {&alone, 1}, 1, {}).front().us.front();
  ASSERT_LT(packed_us, size.given.time_us * 0.9);
  EXPECT_EQ(size.ranking.front().setting.place, "packed");
  EXPECT_EQ(size.ranking.front().time_us, packed_us);
  EXPECT_EQ(words_of(size.ranking.front().setting, search), "--place packed");
}

/// Where nothing gains more than the margin, the answer is what was given.
TEST(JobQuestions, AdviceChangesNothingForNothing) {
  const Platform platform = sample_platform();
  const JobSearch search{.platform = &platform, .job = shift(), .any_chunk = true, .any_depth = true, .at_once = 2};
  const JobAdvice advice = advise_job(search);
  const JobSample& best = advice.sizes.front().ranking.front();
  EXPECT_EQ(best.setting, advice.sizes.front().given.setting);
  EXPECT_GT(advice.simulations, 5U) << "chunks were tried";
}

/// Of 16 ranks a tree takes 4 turns, and a chain of p pieces (14 + p) / p: 15 of a small message, 1.2 of a large one in
/// 64 pieces. Between the sizes a rule begins half way, as ratios. Beyond them, and where two are alike, Open MPI
/// chooses.
TEST(JobQuestions, RulesForOpenMpiAreWhatBeatsAllOthers) {
  Platform platform = read_platform("platforms/selene.yaml");
  platform.network->host_adapters = 1;
  SimulatedJob job{.place = "spread", .ranks = 16};
  job.workload.workload = "broadcast";
  job.workload.protocol = "host";
  job.workload.sweep = {.begin = 16_KiB, .end = 64_MiB, .factor = 4096};
  const auto fields = [](const MpiRule& rule) { return std::tuple(rule.from, rule.algorithm, rule.segment); };
  const MpiRules rules = mpi_rules({.platform = &platform, .job = job, .at_once = cores()});
  EXPECT_EQ(rules.number, 7);
  EXPECT_EQ(rules.ranks, 16);
  EXPECT_EQ(rules.sizes, 2U);
  ASSERT_EQ(rules.rules.size(), 4U);
  EXPECT_EQ(fields(rules.rules[0]), std::tuple(Bytes{}, 0, Bytes{}));
  EXPECT_EQ(fields(rules.rules[1]), std::tuple(16_KiB, 6, Bytes{}));
  EXPECT_EQ(fields(rules.rules[2]), std::tuple(1_MiB + Bytes{1}, 3, 1_MiB));
  EXPECT_EQ(fields(rules.rules[3]), std::tuple(64_MiB + Bytes{1}, 0, Bytes{}));
  EXPECT_NEAR(rules.rules[2].gain, 1 - 78.0 / 64 / 4, 0.06);
  // Two ranks exchange the halves of an all-reduce in a ring and by halving alike.
  job = {.ranks = 2};
  job.workload.workload = "all-reduce";
  job.workload.protocol = "host";
  job.workload.sweep = {.begin = 1_MiB, .end = 1_MiB};
  EXPECT_THAT(mpi_rules({.platform = &platform, .job = job}).rules, ElementsAre(MpiRule{}));
}

TEST(JobQuestions, RulesForOpenMpiAreRefusedWhereNobodyKnows) {
  const Platform platform = read_platform("platforms/selene.yaml");
  const auto refusal = [&](const std::string& workload, const std::string& protocol, int ranks) {
    SimulatedJob job{.ranks = ranks};
    job.workload.workload = workload;
    job.workload.protocol = protocol;
    return said_by<UsageError>([&] { static_cast<void>(mpi_rules({.platform = &platform, .job = job})); });
  };
  EXPECT_THAT(refusal("all-gather", "host", 8), HasSubstr("of all-gather no two algorithms of Open MPI are simulated"));
  EXPECT_THAT(refusal("all-reduce", "gpudirect-v2", 8), HasSubstr("needs messages of MPI alone"));
  EXPECT_THAT(refusal("all-reduce", "cuda-aware", 8), HasSubstr("it adds up GPU buffers on the host"));
  EXPECT_THAT(refusal("all-reduce", "host", 16), HasSubstr("between nodes its halving takes other partners first"));
}

/// tests/real/system/openmpi_rules.sh has Open MPI read the same file.
TEST(JobQuestions, RulesForOpenMpiAreWrittenAsItReadsThem) {
  const MpiRules rules{
      "all-reduce",
      2,
      4,
      {{}, {Bytes{8193}, 4, {}, 0.5, "ring: 10.00 us at 16384 B, rabenseifner 20.00 us: 50 % less"}, {Bytes{65537}}},
      1};
  std::ifstream file(TWINLINK_SOURCE_DIR "/tests/data/openmpi_rules.txt");
  const std::string stored{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(to_text(rules, "rules.txt", "twinlink-sim advise workload all-reduce"), stored);
}

/// Of NCCL nothing is advised that it has no name for, or what loses data, or what gains no more than the model errs
/// over what it does by itself. On every platform where its kernels run.
TEST(JobQuestions, AdviceOnNcclIsWhatItTakesAndLeadsOverItself) {
  const Protocol& nccl = find_protocol("nccl");
  int machines = 0;
  int advised = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TWINLINK_SOURCE_DIR "/platforms")) {
    if (entry.path().extension() != ".yaml") continue;
    const Platform platform = read_platform(entry.path());
    const auto has_blocks = [](const GpuType& type) { return type.blocks.has_value(); };
    if (!std::ranges::all_of(platform.gpu_types, has_blocks) || places_of_ranks(platform, "packed").size() < 2)
      continue;
    ++machines;
    SimulatedJob job{.ranks = 2};
    job.workload.workload = "all-reduce";
    job.workload.algorithm = "kernel";
    job.workload.protocol = "nccl";
    job.workload.sweep = {.begin = 1_MiB, .end = 1_MiB};
    const JobSearch search{.platform = &platform, .job = job, .any_chunk = true, .any_depth = true, .at_once = cores()};
    const JobSizeAdvice size = advise_job(search).sizes.front();
    const JobSample& best = size.ranking.front();
    EXPECT_FALSE(best.setting.chunk || best.setting.depth) << entry.path();
    for (const auto& [name, value] : best.setting.options) {
      EXPECT_TRUE(std::ranges::count(nccl.aliases(), name, &Alias::target)) << entry.path() << ": " << name;
      EXPECT_NE(value, "ll128") << entry.path();
    }
    for (const JobSample& sample : size.samples) {
      for (const char* ours : {"kernels", "buffer"}) EXPECT_FALSE(sample.setting.options.contains(ours)) << ours;
    }
    EXPECT_EQ(size.own.has_value(), !best.setting.options.empty()) << entry.path();
    if (!size.own) continue;
    ++advised;
    EXPECT_EQ(size.own->time_us, size.given.time_us) << entry.path();
    EXPECT_LT(best.time_us * (1 + model_error(Simulated::block_collectives).share), size.own->time_us) << entry.path();
  }
  EXPECT_GE(machines, 15);
  EXPECT_GE(advised, 1) << "or nothing was looked at";
}

TEST(Room, OfAGpuIsSharedByItsRanks) {
  const auto room = room_of(sample_platform(), {{0, 0, {}}, {0, 1, {}}, {1, 1, {}}, {0, 1, {}}});
  for (const auto& [rank, gib] : {std::pair{0, 6}, {1, 3}, {2, 6}, {3, 3}}) {
    EXPECT_EQ(room(RankId{rank}), 1_GiB * static_cast<std::uint64_t>(gib)) << rank;
  }
}

/// The passes of a transform, the way out of the GPU, and that through the adapter, which the ranks of a node share.
TEST(SharesByMachine, AreWhatRanksAreThroughWithInASecond) {
  constexpr double kElement = 16;
  constexpr double kMemory = 100e9;
  constexpr double kBus = 8e9;
  constexpr double kNarrowBus = 4e9;
  Platform platform = sample_platform();
  platform.gpu_types.front().transforms =
      TransformCosts{.memory = {.value = Rate{kMemory}}, .compute = {.value = Flops{1e12}}};
  Link& bus = *std::ranges::find(platform.node.links, "bus1", &Link::name);
  bus.forward.value = Rate{kNarrowBus};
  const std::vector<Place> places{{0, 0, {}}, {0, 1, {}}, {1, 0, {}}, {0, 2, {}}};
  bench::ArrayJob job{.name = "fft", .element = Bytes{16}};
  job.global.lengths = {64, 1, 8192};  // one pass, none, two
  const auto seconds = [&](double passes, double narrowest, double of_node, double adapters) {
    const double sent = 3.0 / 4;
    return kElement * (2 * passes / kMemory + sent / narrowest + (4 - of_node) / 4 * of_node / adapters);
  };
  const auto expect = [&](double passes, double adapters) {
    const std::vector<double> shares = shares_by_machine(platform, places, job);
    ASSERT_EQ(shares.size(), places.size());
    const std::vector<double> narrowest{kBus, kNarrowBus, kBus, kBus};
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const double expected = 1 / seconds(passes, narrowest[i], places[i].node == 0 ? 3 : 1, adapters);
      EXPECT_NEAR(shares[i] / expected, 1, 1e-9) << i;
    }
  };
  expect(3, kWire.bytes_per_second());
  job.name = "reshape";
  expect(0, kWire.bytes_per_second());
  platform.node.nics.push_back({.name = "nic1"});
  expect(0, 2 * kWire.bytes_per_second());
  job.name = "fft";
  platform.gpu_types.front().transforms.reset();
  EXPECT_THROW(shares_by_machine(platform, places, job), InputError);
}

TEST(SharesByMachine, OfASingleNodeCountNoAdapter) {
  Platform platform = sample_platform();
  platform.fabric.reset();
  const bench::ArrayJob job{.name = "reshape", .element = Bytes{16}};
  EXPECT_NEAR(shares_by_machine(platform, {{0, 0, {}}, {0, 1, {}}}, job)[0], 8e9 / 16 * 2, 1);
  EXPECT_EQ(shares_by_machine(platform, {{0, 0, {}}}, job), std::vector{1.0}) << "alone it sends nothing";
}

/// A chunk as long as the longest message cuts none; of two pieces four at once are two, as without the option.
TEST(IdlePieces, ADepthIsForMessagesThatAreCut) {
  const Platform platform = read_platform("platforms/keeneland-kids.yaml");
  const Path path = Topology(platform).path({0, 0, {}}, {1, 0, {}});
  const std::vector<Bytes> sizes{64_KiB, 1_MiB};
  const Protocol& staging = find_protocol("staging");
  for (const auto& [chunk, changes] :
       {std::pair{128_KiB, true}, std::pair{256_KiB, true}, std::pair{512_KiB, false}, std::pair{1_MiB - 1_B, false},
        std::pair{1_MiB, false}, std::pair{2_MiB, false}}) {
    const bench::SettingsOptions asked{.chunk = chunk, .depth = 4};
    const Settings settings = make_settings(staging, asked);
    EXPECT_EQ(idle_pieces(asked, {staging, settings, sizes, path}).empty(), changes) << chunk.count();
  }
}

}  // namespace
}  // namespace twinlink::model
