// What programs of thread blocks take on the simulated machine, in closed form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "model/engine/simulation.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/gpu/program.hpp"
#include "protocols/gpu/work.hpp"
#include "protocols/registry.hpp"
#include "tests/model/engine/block_machine.hpp"
#include "tests/platforms/sample_platform.hpp"
#include "tests/support/finish.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

Settings settings_of(const std::string& format, int channels, Bytes slot = 64_KiB, int slots = 8) {
  Settings settings{.chunk = slot, .depth = slots};
  settings.options = {{"proto", format}, {"channels", std::to_string(channels)}};
  return settings;
}

/// Of one channel: the rule may take a tree of so few ranks.
Settings in_a_ring(const std::string& format) {
  Settings settings = settings_of(format, 1);
  settings.options["algo"] = "ring";
  return settings;
}

/// From the common start until the last rank is through, of a run, or of several as one graph. The connections are
/// there.
Seconds time_on(const Platform& platform, const std::vector<Place>& places, const Settings& settings, Collective what,
                Bytes size, int times = 1) {
  return simulated(platform, places, [&](MeasuredRank& rank, Seconds& last) {
    const Buffer data = rank.allocate(Memory::device, size);
    rank.fill(View(data), summable(1));
    const auto all = find_protocol("nccl").join(rank, settings);
    EXPECT_TRUE(all->run(what, View(data)).ok());
    begin_at_once(rank);
    const Seconds start = rank.now();
    EXPECT_TRUE(all->run(what, View(data), times).ok());
    last = std::max(last, rank.now() - start);
  });
}
Seconds time_of(const std::vector<Place>& places, const Settings& settings, Collective what, Bytes size) {
  return time_on(machine_with_blocks(), places, settings, what, size);
}

/// The same of a message, until the receiver has it.
Seconds time_of_message(const std::vector<Place>& places, const Settings& settings, Bytes size,
                        const Platform& platform = machine_with_blocks()) {
  return simulated(platform, places, [&](MeasuredRank& rank, Seconds& arrived) {
    const View data(rank.allocate(Memory::device, size));
    const auto channel = find_protocol("nccl").connect(rank, RankId{1 - rank.id().value}, settings);
    const auto move = [&] { return rank.id().value == 0 ? channel->send(data) : channel->receive(data); };
    EXPECT_TRUE(move().ok());
    begin_at_once(rank);
    const Seconds start = rank.now();
    EXPECT_TRUE(move().ok());
    if (rank.id().value == 1) arrived = rank.now() - start;
  });
}

/// Two elements for each rank: every step is a hop, and lines go through as they come.
class RingOfLines : public ::testing::TestWithParam<int> {
 protected:
  void expect_hops(const std::string& format, Seconds hop, Bytes lines) const {
    const int ranks = GetParam();
    const Bytes size{16 * static_cast<std::uint64_t>(ranks)};
    expect_near(time_of(peers(ranks), in_a_ring(format), Collective::all_reduce, size),
                kOverhead + hop * (2.0 * (ranks - 1)) + lines / kBlockRate);
  }
};

TEST_P(RingOfLines, AnAllReduceInLlIsItsHopsAndItsLines) { expect_hops("ll", kHopLl, 32_B); }
TEST_P(RingOfLines, AnAllReduceInLl128IsItsHopsAndALine) { expect_hops("ll128", kHopLl128, 128_B); }

INSTANTIATE_TEST_SUITE_P(Of, RingOfLines, ::testing::Values(2, 3, 4),
                         [](const auto& tested) { return std::to_string(tested.param) + "_ranks"; });

// What the platform says of launches takes the place of what a kernel's copy costs.
constexpr Seconds kCall = 5.0_us;
constexpr Seconds kStart = 6.0_us;
constexpr Seconds kGraphCall = 7.0_us;
constexpr Seconds kGraphStart = 8.0_us;
constexpr Seconds kNext = 1.5_us;
constexpr Seconds kEnd = 0.75_us;

Platform machine_with_launches() {
  Platform platform = machine_with_blocks();
  BlockCosts& blocks = *platform.gpu_types.front().blocks;
  blocks.start = made_up(kStart);
  blocks.graph_start = made_up(kGraphStart);
  blocks.next = made_up(kNext);
  platform.runtime.program_launch = made_up(kCall);
  platform.runtime.graph_launch = made_up(kGraphCall);
  platform.runtime.completion = made_up(kEnd);
  return platform;
}
/// Two elements for each of two ranks.
constexpr Bytes kElements = 32_B;
constexpr Seconds kTwoHops = kHopLl * 2 + 32_B / kBlockRate;

TEST(ProgramForms, ALaunchIsItsCallItsStartAndItsEnd) {
  expect_near(time_on(machine_with_launches(), peers(2), settings_of("ll", 1), Collective::all_reduce, kElements),
              kCall + kStart + kTwoHops + kEnd);
}

TEST(ProgramForms, AGraphIsLaunchedOnceAndItsProgramsFollowEachOther) {
  constexpr int kTimes = 5;
  expect_near(
      time_on(machine_with_launches(), peers(2), settings_of("ll", 1), Collective::all_reduce, kElements, kTimes),
      kGraphCall + kGraphStart + kTwoHops * kTimes + kNext * (kTimes - 1) + kEnd);
}

Settings launched_by(int gpus) {
  Settings settings = settings_of("ll", 1);
  settings.options["launch"] = "stream";
  settings.options["gpus_per_process"] = std::to_string(gpus);
  return settings;
}

/// The hops of one are over before the next is launched.
TEST(ProgramForms, AStreamIsLaunchedOneByOne) {
  static_assert(kTwoHops + kNext < kCall);
  constexpr int kTimes = 5;
  expect_near(time_on(machine_with_launches(), peers(2), launched_by(1), Collective::all_reduce, kElements, kTimes),
              kCall * kTimes + kStart + kTwoHops + kEnd);
}

TEST(ProgramForms, ProgramsOfAStreamFollowEachOtherWhereTheyTakeLonger) {
  Platform platform = machine_with_launches();
  constexpr Seconds kQuick = 0.25_us;
  constexpr int kTimes = 5;
  platform.runtime.program_launch = made_up(kQuick);
  expect_near(time_on(platform, peers(2), launched_by(1), Collective::all_reduce, kElements, kTimes),
              kQuick + kStart + kTwoHops * kTimes + kNext * (kTimes - 1) + kEnd);
}

/// All wait for the last that is launched.
TEST(ProgramForms, AThreadLaunchesForAllGpusOfItsProcess) {
  for (const int ranks : {2, 3}) {
    const Seconds hops = (kTwoHops - 32_B / kBlockRate) * (ranks - 1) + 32_B / kBlockRate;
    Settings settings = launched_by(ranks);
    settings.options["algo"] = "ring";
    for (const int times : {1, 5}) {
      expect_near(time_on(machine_with_launches(), peers(ranks), settings, Collective::all_reduce,
                          Bytes{16} * static_cast<std::uint64_t>(ranks), times),
                  kCall * ranks * times + kStart + hops + kEnd);
    }
  }
}

TEST(ProgramForms, AProcessHasRanksOfItsNodeAlone) {
  EXPECT_THAT(said_by([] { time_of(peers(3), launched_by(2), Collective::all_reduce, kElements); }),
              ::testing::HasSubstr("gpus_per_process is 2, and beside 0/3 not so many GPUs"));
}

/// What the CPU does takes longer on a slower one; what the GPU does takes as long.
TEST(ProgramForms, ASlowerProcessorLaunchesMoreSlowly) {
  Platform platform = machine_with_launches();
  for (HostMemory& memory : platform.node.memories) memory.speed = made_up(Ratio{0.5});
  expect_near(time_on(platform, peers(2), settings_of("ll", 1), Collective::all_reduce, kElements),
              kCall * 2 + kStart + kTwoHops + kEnd * 2);
}

/// Lines may be stored at a rate of their own.
Seconds beside_hops(const std::string& format, Seconds hop) {
  Platform platform = machine_with_blocks();
  platform.gpu_types.front().blocks->ll_rate = made_up(Rate{kBlockRate.bytes_per_second() / 2});
  platform.gpu_types.front().blocks->ll128_rate = made_up(Rate{kBlockRate.bytes_per_second() / 4});
  return time_on(platform, peers(2), in_a_ring(format), Collective::all_reduce, kElements) - kOverhead - hop * 2;
}
TEST(ProgramForms, LinesHaveTheirOwnRates) {
  expect_near(beside_hops("ll", kHopLl), 32_B / kBlockRate * 2);
  expect_near(beside_hops("ll128", kHopLl128), 128_B / kBlockRate * 4);
}

/// What a block passes on has a rate of its own, which its own bytes have not.
TEST(ProgramForms, WhatIsPassedOnHasItsOwnRate) {
  Platform platform = machine_with_blocks();
  platform.gpu_types.front().blocks->passing = made_up(Rate{kBlockRate.bytes_per_second() / 2});
  constexpr Bytes kChunk = 16_KiB;
  expect_near(time_on(platform, peers(3), settings_of("simple", 1), Collective::all_reduce, kChunk * 3),
              kOverhead + (kChunk / kBlockRate + kHopSimple) + (kChunk / kBlockRate * 2 + kHopSimple) * 3 +
                  kChunk / kBlockRate);
}

/// The text of a kernel comes from memory before its first slot, in each program of a graph.
TEST(ProgramForms, AProgramThatMovesBytesFetchesItsTextFirst) {
  for (const auto& [format, fetch] : {std::pair{"ll", 1.25_us}, {"ll128", 2.25_us}, {"simple", 1.25_us}}) {
    const auto with = [&](bool fetches) {
      Platform platform = machine_with_launches();
      BlockCosts& blocks = *platform.gpu_types.front().blocks;
      if (fetches) blocks.fetch = made_up(1.25_us);
      if (fetches) blocks.ll128_fetch = made_up(2.25_us);
      return time_on(platform, peers(2), settings_of(format, 1), Collective::all_reduce, kElements, 3);
    };
    expect_near(with(true), with(false) + fetch * 3);
  }
}

/// NCCL's kernels have costs of their own; who asks for ours gets ours.
TEST(ProgramForms, TheKernelsOfALibraryHaveTheirOwnCosts) {
  Platform platform = machine_with_launches();
  platform.gpu_types.front().library_blocks = platform.gpu_types.front().blocks;
  BlockCosts& library = *platform.gpu_types.front().library_blocks;
  library.ll = made_up(kLl * 3);
  library.next = made_up(kNext * 4);
  const auto with = [&](const std::string& kernels) {
    Settings settings = settings_of("ll", 1);
    settings.options.emplace("kernels", kernels);
    return time_on(platform, peers(2), settings, Collective::all_reduce, kElements, 2);
  };
  const Seconds launched = kGraphCall + kGraphStart + kEnd;
  expect_near(with("twinlink"), launched + kTwoHops * 2 + kNext);
  expect_near(with("nccl"), launched + (kTwoHops + kLl * 4) * 2 + kNext * 4);
}

/// NCCL's blocks go up and come down with a part of their threads each, and the part that comes down is the smaller
/// one. Ours have a block for each. The middle of a chain does both; what is added to a long message takes its rate
/// alone.
TEST(ProgramForms, ThreadsOfNcclsTreesAreSharedOut) {
  constexpr Bytes kMore = 4_MiB;
  for (const auto& [format, down] : {std::pair{"simple", 208.0 / 544}, {"ll128", 0.3}, {"ll", 160.0 / 512}}) {
    const auto of_more = [&](const std::string& kernels) {
      Settings settings = settings_of(format, 1);
      settings.options.emplace("kernels", kernels);
      settings.options.emplace("algo", "tree");
      const auto time = [&](Bytes size) {
        return time_on(machine_with_blocks(), peers(3), settings, Collective::all_reduce, size);
      };
      return (time(kMore * 2) - time(kMore)).value();
    };
    EXPECT_NEAR(of_more("nccl") * down / of_more("twinlink"), 1, 0.01) << format;
  }
}

/// A slot is seen whole: each step stores it, and then comes the hop.
TEST(ProgramForms, AnAllReduceInSimpleStoresASlotAndTellsItInEachStep) {
  constexpr Bytes kChunk = 16_KiB;
  expect_near(time_of(peers(3), settings_of("simple", 1), Collective::all_reduce, kChunk * 3),
              kOverhead + (kChunk / kBlockRate + kHopSimple) * 4 + kChunk / kBlockRate);
}

TEST(ProgramForms, AnAllGatherHasHalfTheStepsOfAnAllReduce) {
  constexpr Bytes kChunk = 16_KiB;
  expect_near(time_of(peers(3), settings_of("simple", 1), Collective::all_gather, kChunk * 3),
              kOverhead + (kChunk / kBlockRate + kHopSimple) * 2 + kChunk / kBlockRate);
}

TEST(ProgramForms, SlotsOfABroadcastFollowEachOther) {
  constexpr Bytes kSlot = 64_KiB;
  constexpr int kSlots = 6;
  // Of the chain of three two hops, and the other slots behind the first one.
  expect_near(
      time_of(peers(3), settings_of("simple", 1, kSlot), Collective::broadcast, kSlot * kSlots),
      kOverhead + (kSlot / kBlockRate + kHopSimple) * 2 + kSlot / kBlockRate * (kSlots - 1) + kSlot / kBlockRate);
}

/// Half of what lines of LL carry are flags, and of LL128 a sixteenth.
TEST(ProgramForms, FlagsTakeTheirShareOfALink) {
  expect_near(time_of_message(peers(2), settings_of("ll", 1, 32_KiB), 24_KiB),
              kOverhead + 48_KiB / kBlockRate + kHopLl);
  expect_near(time_of_message(peers(2), settings_of("ll128", 1, 64_KiB), 30_KiB),
              kOverhead + 32_KiB / kBlockRate + kHopLl128);
}

/// Two slots, and the way of a credit back is longer than a slot takes: each waits for the one before the last.
TEST(ProgramForms, ASenderWaitsForCredit) {
  constexpr Bytes kSlot = 1_KiB;
  constexpr int kSlots = 10;
  const Seconds local = kSlot / kLocal;
  std::vector<Seconds> sent;
  std::vector<Seconds> taken;
  for (std::size_t k = 0; k < kSlots; ++k) {
    const Seconds free = k < 2 ? Seconds{} : taken[k - 2] + kLl + kWay;
    sent.push_back(std::max(k == 0 ? Seconds{} : sent[k - 1], free) + kSlot / kBlockRate);
    taken.push_back(std::max(k == 0 ? Seconds{} : taken[k - 1], sent[k] + kHopSimple) + local);
  }
  expect_near(time_of_message(peers(2), settings_of("simple", 1, kSlot, 2), kSlot * kSlots), kOverhead + taken.back());
}

/// Blocks add up until a kernel's stores reach no more. The last slots of all are taken in at once.
TEST(ProgramForms, BlocksMoveMoreUntilTheyShareWhatAKernelReaches) {
  for (const auto& [channels, rate] : {std::pair{4, Rate{4e9}}, {8, kKernelPush}}) {
    const Seconds last = 64_KiB * static_cast<std::uint64_t>(channels) / kLocal;
    const Seconds time = time_of_message(peers(2), settings_of("simple", channels), 8_MiB);
    EXPECT_NEAR(time.value() / (kOverhead + 8_MiB / rate + kHopSimple + last).value(), 1, 1e-4) << channels;
  }
}

/// There are steps that store nothing to a peer: if all channels took these at once, a reduce-scatter would take a
/// fifth longer here.
class LargeRing : public ::testing::TestWithParam<Collective> {};

TEST_P(LargeRing, BeginsItsChannelsApartAndKeepsTheLinksBusy) {
  constexpr int kChannels = 24;
  constexpr Bytes kSize{kChannels * 2 * 40 * (64_KiB).count()};
  const Seconds sending = Bytes{kSize.count() / (GetParam() == Collective::all_reduce ? 1 : 2)} / kKernelPush;
  const Seconds time = time_of(peers(2), settings_of("simple", kChannels), GetParam(), kSize);
  EXPECT_GT(time, sending);
  EXPECT_LT(time, sending * 1.1);
}

INSTANTIATE_TEST_SUITE_P(Of, LargeRing, ::testing::Values(Collective::all_reduce, Collective::reduce_scatter),
                         [](const auto& tested) { return tested.param == Collective::all_reduce ? "sums" : "parts"; });

/// Blocks that send and blocks that receive: messages both ways take as long as one.
TEST(ProgramForms, MessagesBothWaysPassEachOther) {
  constexpr Bytes kSlot = 64_KiB;
  Seconds last{};
  simulate(machine_with_blocks(), peers(2), [&](MeasuredRank& rank) {
    const View out(rank.allocate(Memory::device, kSlot * 4));
    const View in(rank.allocate(Memory::device, kSlot * 4));
    const auto channel = find_protocol("nccl").connect(rank, RankId{1 - rank.id().value}, settings_of("simple", 1));
    EXPECT_TRUE(channel->exchange({&out, 1}, {&in, 1}).ok());
    begin_at_once(rank);
    const Seconds start = rank.now();
    EXPECT_TRUE(channel->exchange({&out, 1}, {&in, 1}).ok());
    last = std::max(last, rank.now() - start);
  });
  expect_near(last, kOverhead + kSlot * 4 / kBlockRate + kHopSimple + kSlot / kLocal);
}

/// Without peer access the slots lie in the receiver's host memory: a store goes there, and a load fetches it.
TEST(ProgramForms, WithoutPeerAccessBlocksMeetInHostMemory) {
  expect_near(time_of_message({kLoneGpu, kFirstPeer}, settings_of("ll", 1), 8_B),
              kOverhead + kLl + kBus + kBus * 2 + 16_B / kBlockRate);
}

/// Stored slots come down one way of each link, and loads up the other one.
TEST(ProgramForms, WithoutPeerAccessLoadsComeByTheWayToTheGpu) {
  constexpr Bytes kSlot = 64_KiB;
  constexpr Rate kNarrow{0.25e9};
  Platform platform = machine_with_blocks();
  std::ranges::find(platform.node.links, "bus1", &Link::name)->backward.value = kNarrow;
  expect_near(time_of_message({kLoneGpu, kFirstPeer}, settings_of("simple", 1, kSlot), kSlot, platform),
              kOverhead + kSlot / kBlockRate + kSimple + kBus * 3 + kBus * 2 + kSlot / kNarrow);
}

/// Who gave it up is not told, though it had come.
TEST(ProgramForms, AnAbandonedWaitForASlotIsOver) {
  simulate(machine_with_blocks(), peers(1), [](MeasuredRank& rank) {
    gpu::FifoSlot slot{.program = {.slot = 64, .slots = 2}};
    slot.fifo = View(rank.allocate(Memory::device, Bytes{gpu::fifo_room(slot.program)}));
    rank.raise_slot(slot);
    rank.abandon(rank.await_slot(slot));
    finish(rank, rank.await_slot(slot), kLong);
    EXPECT_EQ(rank.now(), Seconds{});
    slot.step = 1;
    const Op next = rank.await_slot(slot);
    EXPECT_EQ(wait(rank, next, 5.0_us), Status::timed_out);
    rank.raise_slot(slot);
    finish(rank, rank.await_slot(slot), kLong);
    expect_near(rank.now(), 5.0_us);
  });
}

/// Between nodes a line is stored into host memory, the CPU sends the slot, and the receiver's block fetches it there.
/// What the sending takes, messages of as many bytes from page-locked memory say, whose receiver waits.
TEST(ProgramForms, BetweenNodesTheCpuCarriesASlotOfLines) {
  constexpr Bytes kLine = 16_B;
  constexpr Seconds kLater{2.0};
  std::array<Seconds, 2> began{};
  std::array<Seconds, 2> arrived{};
  const std::array<Place, 2> places{{{0, 1, {}}, {1, 1, {}}}};
  simulate(machine_with_blocks(), places, [&](MeasuredRank& rank) {
    const bool sends = rank.id().value == 0;
    const RankId peer{1 - rank.id().value};
    const View line(rank.allocate(Memory::shared_pinned, kLine));
    const Op received = sends ? Op{} : rank.receive(peer, Tag{200}, line);
    begin_at_once(rank);
    if (sends) began[0] = rank.now();
    finish(rank, sends ? rank.send(peer, Tag{200}, line) : received, kLong);
    if (!sends) arrived[0] = rank.now();

    const View data(rank.allocate(Memory::device, 8_B));
    const auto channel = find_protocol("nccl").connect(rank, peer, settings_of("ll", 1));
    const auto move = [&] { return sends ? channel->send(data) : channel->receive(data); };
    EXPECT_TRUE(move().ok());
    finish(rank, rank.compute(kLater - rank.now(), kOnHost), kLong);
    if (sends) began[1] = rank.now();
    EXPECT_TRUE(move().ok());
    if (!sends) arrived[1] = rank.now();
  });
  const Seconds stored = kLl + kBus + kLine / kBlockRate;
  const Seconds fetched = kBus * 2 + kLine / kBlockRate;
  expect_near(arrived[1] - began[1], kOverhead + stored + (arrived[0] - began[0]) + fetched);
}

// ---- parallel trees ------------------------------------------------------------------------------------------------

/// Each rank alone on its node.
Seconds by_trees(int ranks, Collective what, Bytes size, int channels, const std::string& algorithm = "pat") {
  constexpr int kSlots = 2;  // registering more takes longer than until all begin
  Platform platform = machine_with_blocks();
  platform.node.count = ranks;
  std::vector<Place> places;
  for (int node = 0; node < ranks; ++node) places.push_back({node, 1, {}});
  Settings settings = settings_of("simple", channels, 64_KiB, kSlots);
  settings.options["algo"] = algorithm;
  return time_on(platform, places, settings, what, size);
}

class ParallelTrees : public ::testing::TestWithParam<Collective> {};

/// Short parts of all trees are in one slot: each doubling of the ranks is one hop more, and of a ring each rank is.
TEST_P(ParallelTrees, TakeAHopForEachDoubling) {
  const auto time = [](int ranks, const std::string& algorithm) {
    return by_trees(ranks, GetParam(), Bytes{8 * static_cast<std::uint64_t>(ranks)}, 1, algorithm);
  };
  const Seconds hop = time(2, "pat") - kOverhead;
  for (const auto& [ranks, hops] : {std::pair{3, 2}, {4, 2}, {5, 3}, {8, 3}, {13, 4}, {16, 4}}) {
    EXPECT_NEAR((time(ranks, "pat") - kOverhead).value() / hop.value(), hops, 0.02 * hops) << ranks;
  }
  EXPECT_NEAR((time(8, "ring") - kOverhead).value() / hop.value(), 7, 0.1 * 7);
}

/// Each rank sends all parts but one, whatever their number; channels whose blocks wait leave the wire to others.
TEST_P(ParallelTrees, KeepTheWireBusyWithAllPartsButOne) {
  constexpr Bytes kPart = 4_MiB;
  constexpr int kChannels = 16;
  for (const int ranks : {2, 3, 5}) {
    const auto count = static_cast<std::uint64_t>(ranks);
    const auto time = [&](Bytes part) { return by_trees(ranks, GetParam(), part * count, kChannels); };
    const Seconds more = time(kPart * 2) - time(kPart);
    EXPECT_NEAR(more.value() / (kPart * (count - 1) / kWire).value(), 1, 0.05) << ranks;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, ParallelTrees, ::testing::Values(Collective::all_gather, Collective::reduce_scatter),
                         [](const auto& tested) {
                           return std::string(tested.param == Collective::all_gather ? "all_gather" : "reduce_scatter");
                         });

// ---- a switch that adds up ------------------------------------------------------------------------------------------

constexpr Rate kReduces{2e9};

Platform machine_with_switch() {
  Platform platform = machine_with_blocks();
  for (Hub& hub : platform.node.hubs) {
    if (hub.name == "hub1") hub.reduces = made_up(kReduces);
  }
  return platform;
}
Settings by_switch(int channels, Bytes slot = 64_KiB) {
  Settings settings = settings_of("simple", channels, slot);
  settings.options["algo"] = "nvls";
  return settings;
}
/// Each rank reads a chunk and stores it to all: what GPUs send it crosses each one's links as often as there are
/// ranks, and so does what they get; its own part of the other way comes on top.
Seconds by_links(int ranks, Bytes size) {
  return Seconds{static_cast<double>(size.count()) * (1 + 1.0 / ranks) / kReduces.bytes_per_second()};
}

class BehindASwitch : public ::testing::TestWithParam<int> {};

/// With two slots what is offered waits until the round before the last has been taken.
TEST_P(BehindASwitch, ARoundIsAnOfferASumAndItsNews) {
  const int ranks = GetParam();
  constexpr Bytes kChunk = 16_KiB;
  const Seconds others = kChunk * static_cast<std::uint64_t>(ranks - 1) / kLocal;
  const Bytes size = kChunk * static_cast<std::uint64_t>(ranks);
  Settings settings = by_switch(1, kChunk);
  settings.depth = 2;
  Seconds offered{};
  Seconds summed{};
  std::vector<Seconds> taken;
  for (const std::size_t rounds : {1U, 2U, 3U, 4U, 5U}) {
    const std::size_t round = rounds - 1;
    offered = std::max(offered, round < 2 ? Seconds{} : taken[round - 2]) + others;
    summed = std::max(summed, offered + kSimple + kWay) + kWay * 2 + by_links(ranks, size);
    taken.push_back(std::max(summed + kSimple + kWay * 3, round < 1 ? Seconds{} : taken[round - 1]) + others);
    expect_near(time_on(machine_with_switch(), peers(ranks), settings, Collective::all_reduce, size * rounds),
                kOverhead + taken.back());
  }
}

/// Rounds follow each other: the links are always busy, but for the first offer and the last news.
TEST_P(BehindASwitch, RoundsFollowEachOther) {
  const int ranks = GetParam();
  const Bytes size = 1_MiB * static_cast<std::uint64_t>(ranks);
  const Seconds time = time_on(machine_with_switch(), peers(ranks), by_switch(4), Collective::all_reduce, size);
  EXPECT_GE(time, kOverhead + by_links(ranks, size));
  EXPECT_NEAR(time.value() / by_links(ranks, size).value(), 1, 0.04);
}

INSTANTIATE_TEST_SUITE_P(Of, BehindASwitch, ::testing::Values(3, 4),
                         [](const auto& tested) { return std::to_string(tested.param) + "_ranks"; });

TEST(ProgramForms, WhatASwitchAddsUpIsTheSumOfAllRanks) {
  constexpr int kRanks = 3;
  simulate(machine_with_switch(), peers(kRanks), [&](MeasuredRank& rank) {
    const Buffer data = rank.allocate(Memory::device, Bytes{8000});
    const auto all = find_protocol("nccl").join(rank, by_switch(2, 1_KiB));
    for (const std::uint64_t more : {0U, 100U}) {
      rank.fill(View(data), summable(1 + static_cast<std::uint64_t>(rank.id().value) + more));
      EXPECT_TRUE(all->run(Collective::all_reduce, View(data)).ok());
      EXPECT_TRUE(rank.check(View(data), summable(6 + 3 * more)).intact());
    }
    // Rings have slots of their own, and count apart.
    rank.fill(View(data), summable(5));
    EXPECT_TRUE(all->run(Collective::broadcast, View(data)).ok());
    EXPECT_TRUE(all->run(Collective::all_reduce, View(data)).ok());
    EXPECT_TRUE(rank.check(View(data), summable(15)).intact());
  });
}

TEST(ProgramForms, WithoutASwitchThatAddsUpNothingIsAddedUpThere) {
  simulate(machine_with_blocks(), peers(3), [&](MeasuredRank& rank) {
    try {
      static_cast<void>(find_protocol("nccl").join(rank, by_switch(1)));
      ADD_FAILURE() << "it should refuse";
    } catch (const UnavailableError& error) {
      EXPECT_NE(std::string(error.what()).find("adds up: the platform says that of a hub by 'reduces'"),
                std::string::npos)
          << error.what();
    }
  });
}

TEST(ProgramForms, AGpuTypeWithoutBlocksRunsNoPrograms) {
  const Platform platform = sample_platform();
  const Topology topology(platform);
  const Support support = find_protocol("nccl").supports(topology.path(kFirstPeer, kSecondPeer));
  EXPECT_EQ(support.kind, Support::Kind::no);
  EXPECT_EQ(support.reason,
            "the platform does not say what thread blocks do of the GPU type 'sample' (Sample): it has no 'blocks'");
}

}  // namespace
}  // namespace twinlink::model
