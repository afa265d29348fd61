// Probes of programs of thread blocks on the simulated machine, against its numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "model/engine/simulation.hpp"
#include "protocols/bench/probe/probe.hpp"
#include "tests/model/engine/one_message.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr double kArithmetic = 1e-6;

constexpr Seconds kBus = 0.25_us;
constexpr Seconds kWay = kBus * 2;
constexpr Rate kBlock{1e9};
constexpr Rate kLlBlock{0.5e9};

Platform machine() {
  Platform platform = sample_platform();
  platform.gpu_types.front().blocks = BlockCosts{.rate = made_up(kBlock),
                                                 .ll_rate = made_up(kLlBlock),
                                                 .ll = made_up(1.0_us),
                                                 .ll128 = made_up(2.0_us),
                                                 .simple = made_up(3.0_us),
                                                 .start = made_up(6.0_us),
                                                 .graph_start = made_up(8.0_us),
                                                 .next = made_up(1.5_us)};
  platform.runtime.program_launch = made_up(5.0_us);
  platform.runtime.graph_launch = made_up(7.0_us);
  platform.runtime.completion = made_up(0.75_us);
  for (Link& link : platform.node.links) {
    if (link.name.starts_with("bus")) link.latency = made_up(kBus);
  }
  return platform;
}

class ProbedPrograms : public ::testing::Test {
 protected:
  void probe(const Platform& platform, std::vector<Place> places, const std::string& only) {
    const bench::Repeats repeats{.warmup = 1, .iterations = 2};
    const bench::ProbePlan plan{.sizes = {8_B, 4_MiB}, .small = repeats, .large = repeats, .only = only};
    simulate(platform, places, [&](MeasuredRank& rank) {
      bench::ProbeFindings mine = bench::probe(rank, plan);
      if (rank.id() == RankId{0}) findings_ = std::move(mine);
    });
  }
  void expect(const std::string& name, Seconds time, double tolerance = kArithmetic) const {
    const auto line = std::ranges::find(findings_.lines, name, &bench::ProbeLine::name);
    ASSERT_NE(line, findings_.lines.end()) << name;
    EXPECT_NEAR(line->time_us.median / time.microseconds(), 1, tolerance) << name;
  }
  [[nodiscard]] bool has(const std::string& name) const {
    return std::ranges::find(findings_.lines, name, &bench::ProbeLine::name) != findings_.lines.end();
  }

  const std::vector<Place> peers_{{0, 1, {}}, {0, 2, {}}};
  bench::ProbeFindings findings_{};
};

TEST_F(ProbedPrograms, ALaunchAndAGraph) {
  probe(machine(), {{0, 1, {}}}, "program");
  expect("start program", 5.0_us);
  expect("program", 5.0_us + 6.0_us + 0.75_us);
  expect("start graph of 16 programs", 7.0_us);
  expect("graph of 2 programs", 7.0_us + 8.0_us + 1.5_us + 0.75_us);
  expect("graph of 16 programs", 7.0_us + 8.0_us + 1.5_us * 15 + 0.75_us);
}

/// Launches are in none of them. What a GPU reads of its own memory takes nanoseconds.
TEST_F(ProbedPrograms, HopsOfEveryFormat) {
  probe(machine(), peers_, "hop ");
  constexpr double kOwnMemory = 2e-4;
  expect("hop ll direct", 1.0_us + kWay, kOwnMemory);
  expect("hop ll128 direct", 2.0_us + kWay, kOwnMemory);
  expect("hop simple direct", 3.0_us + kWay * 3 + 8_B / kBlock, kOwnMemory);
  EXPECT_TRUE(has("hop ll by-host"));
}

/// Slots of lines go to and fro at once, those of Simple one after the other.
TEST_F(ProbedPrograms, SlotsThatArePassedOn) {
  Platform platform = machine();
  platform.gpu_types.front().blocks->passing = made_up(Rate{0.8e9});
  platform.gpu_types.front().blocks->ll_passing = made_up(Rate{0.4e9});
  probe(platform, peers_, "pass ");
  constexpr double kOwnMemory = 1e-3;
  expect("pass simple on", 3.0_us + kWay * 3 + 512_KiB / Rate{0.8e9}, kOwnMemory);
  expect("pass ll on", 64_KiB / Rate{0.4e9} / 2, kOwnMemory);
}

TEST_F(ProbedPrograms, RingsOfAGraphAreAFetchAndHops) {
  Platform platform = machine();
  platform.gpu_types.front().blocks->fetch = made_up(2.5_us);
  platform.gpu_types.front().blocks->simple_fetch = made_up(4.5_us);
  platform.gpu_types.front().blocks->cold = made_up(3.5_us);
  probe(platform, peers_, "ring ");
  constexpr double kBytes = 0.128 / 9;  // of a line at 1 GB/s, which the form leaves out
  expect("queued ring ll of 2 GPUs", 1.5_us + 2.5_us + (1.0_us + kWay) * 2, kBytes);
  expect("queued ring ll128 of 2 GPUs", 1.5_us + 2.5_us + (2.0_us + kWay) * 2, kBytes);
  expect("queued ring simple of 2 GPUs", 1.5_us + 4.5_us + (3.0_us + kWay * 3) * 2, kBytes);
  expect("ring ll of 2 GPUs", 5.0_us + 6.0_us + 0.75_us + 2.5_us + 3.5_us + (1.0_us + kWay) * 2, kBytes);
  EXPECT_FALSE(has("queued ring ll of 3 GPUs"));
}

/// Two hops more for each GPU. Some are on another node, and some have no peer access: they take no part.
TEST_F(ProbedPrograms, RingsGrow) {
  Platform platform = machine();
  platform.gpu_types.front().blocks->fetch = made_up(2.5_us);
  for (Link& link : platform.node.links) {
    if (link.name == "bus0") link.to = "hub1";
  }
  probe(platform, {{0, 0, {}}, {1, 0, {}}, {0, 1, {}}, {0, 2, {}}}, "ring ");
  EXPECT_TRUE(has("queued ring ll of 2 GPUs"));
  EXPECT_TRUE(has("queued ring ll of 3 GPUs"));
  EXPECT_FALSE(has("queued ring ll of 4 GPUs"));
}

/// One after the other, until a kernel's stores reach no more.
TEST_F(ProbedPrograms, BlocksAddUpToWhatAKernelStores) {
  probe(machine(), peers_, " blocks");
  const auto of = [](Bytes bytes, double rate) { return Seconds{static_cast<double>(bytes.count()) / rate}; };
  expect("simple by 1 blocks", of(4_MiB, 1e9), 1e-4);
  expect("simple by 4 blocks", of(4_MiB, 4e9), 1e-4);
  expect("simple by 16 blocks", of(4_MiB, kKernelPush.bytes_per_second()), 1e-3);
  expect("ll by 2 blocks", of(4_MiB, 0.5e9), 1e-4);  // half of what it stores is flags
  // Lines of 120 B do not fill the last one of a slot.
  expect("ll128 by 2 blocks", of(4_MiB, 2e9 * 15 / 16), 2e-3);
}

/// One GPU has no peer, and ranks without a word on blocks say so.
TEST_F(ProbedPrograms, WhatThePlatformDoesNotSayIsANote) {
  probe(sample_platform(), peers_, "");
  EXPECT_FALSE(has("program"));
  EXPECT_FALSE(has("hop ll direct"));
  const auto says = [](const std::string& note) { return note.find("no programs of thread blocks: ") < note.size(); };
  EXPECT_TRUE(std::ranges::any_of(findings_.notes, says));
}

/// Without peer access blocks meet in host memory: no line of device memory is there.
TEST_F(ProbedPrograms, WithoutPeerAccessHopsGoByTheHost) {
  probe(machine(), {{0, 0, {}}, {0, 1, {}}}, "hop ll ");
  EXPECT_FALSE(has("hop ll direct"));
  EXPECT_TRUE(has("hop ll by-host"));
}

}  // namespace
}  // namespace twinlink::model
