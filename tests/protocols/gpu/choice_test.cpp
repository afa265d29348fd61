// What a collective takes where nobody names it: predictions by their closed forms, and limits.
#include "protocols/gpu/choice.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/protocols/release.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::gpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// GPUs of a board with NVSwitches, 18 links each.
Ground hopper() {
  return {.release = &release_2_28(),
          .capability = 90,
          .within = Level::nvl,
          .ring = Rate{360e9},
          .links_of_gpu = Rate{18 * 20.6e9},
          .heads = {8, Rate{40e9}, Rate{60e9}},
          .switch_channels = 16,
          .pair_links = 18,
          .searched = {12, Rate{30e9}},
          .channels = 24};
}
Ground cards(int capability = 90) {
  return {.release = &release_2_28(),
          .capability = capability,
          .within = Level::phb,
          .ring = Rate{12e9},
          .searched = {1, Rate{12e9}}};
}

LineFormat format_at(Bytes bytes, const Ground& ground = hopper()) {
  return choose(ground, Operation::all_reduce, bytes, 2, {}).format;
}

/// NCCL on two H200 takes LL to 512 KiB and Simple from 8 MiB on; between them its model and this one are near ties.
TEST(GpuChoice, TakesLlForSmallAndSimpleForLargeCollectives) {
  for (const Bytes bytes : {8_B, 4_KiB, 256_KiB}) EXPECT_EQ(format_at(bytes), LineFormat::ll) << bytes.count();
  for (const Bytes bytes : {16_MiB, 1_GiB}) EXPECT_EQ(format_at(bytes), LineFormat::simple) << bytes.count();
}

TEST(GpuChoice, OfCardsTakesNoLl128) {
  for (const int capability : {70, 80, 90}) {
    for (std::uint64_t bytes = 8; bytes <= std::uint64_t{1} << 30U; bytes *= 2) {
      EXPECT_NE(format_at(Bytes{bytes}, cards(capability)), LineFormat::ll128) << capability << ", " << bytes;
    }
    EXPECT_EQ(format_at(2_MiB, cards(capability)), LineFormat::simple) << capability;
  }
}

TEST(GpuChoice, SaysWhyLl128IsOff) {
  const auto off = [](auto change) {
    Ground ground = hopper();
    change(ground);
    const Verdict ll128 = ground.ll128();
    return ll128.open ? "" : ll128.why;
  };
  EXPECT_EQ(off([](Ground&) {}), "");
  EXPECT_EQ(off([](Ground& g) { g.within = Level::pix; }), "the GPUs meet over PCIe");
  EXPECT_EQ(off([](Ground& g) { g.capability = 60; }), "the GPUs are older than Volta");
  EXPECT_EQ(off([](Ground& g) { g.alike = false; }), "the GPUs are of two generations");
  const auto newer = platforms::find_release("nccl-2.30");
  const auto mixed = [&](Ground& g, int capability) {
    g.release = newer.get();
    g.alike = false;
    g.capability = capability;
  };
  EXPECT_EQ(off([&](Ground& g) { mixed(g, 90); }), "") << "from Hopper on";
  EXPECT_EQ(off([&](Ground& g) { mixed(g, 80); }), "the GPUs are of two generations");
  EXPECT_EQ(off([](Ground& g) { g.to_adapter = Level::phb; }), "") << "one node";
  EXPECT_EQ(off([](Ground& g) {
              g.nodes = 2;
              g.to_adapter = Level::phb;
            }),
            "adapters are PHB from their GPUs");
  EXPECT_EQ(off([](Ground& g) {
              g.nodes = 2;
              g.to_adapter = Level::c2c;
            }),
            "");
}

/// On one node by the GPUs' generation, on several by whose CPUs carry the lines.
TEST(GpuChoice, LimitsOfLlAreByGenerationOrByCpu) {
  const Fixed ll{.formats = {LineFormat::ll}, .algorithms = {Algorithm::ring}};
  const auto seconds_of_a_gibibyte = [&](int nodes, Cpu cpu) {
    Ground ground = hopper();
    ground.nodes = nodes;
    ground.per_node = 8;
    ground.cpu = cpu;
    ground.network = Rate{400e9};
    const auto at = [&](Bytes bytes) {
      return choose(ground, Operation::all_reduce, bytes, 8 * nodes, ll).predicted->value();
    };
    const double ranks = 8.0 * nodes;
    return (at(2_GiB) - at(1_GiB)) / (2 * (ranks - 1) / ranks);
  };
  const auto of = [](double gigabytes) { return 0x1p30 / (gigabytes * 1e9); };
  EXPECT_NEAR(seconds_of_a_gibibyte(1, Cpu::amd), of(141), 1e-9);
  EXPECT_NEAR(seconds_of_a_gibibyte(2, Cpu::sapphire_rapids), of(39), 1e-9);
  EXPECT_NEAR(seconds_of_a_gibibyte(2, Cpu::amd), of(22.5), 1e-9);
  EXPECT_NEAR(seconds_of_a_gibibyte(3, Cpu::power), of(20.4), 1e-9);
  EXPECT_NEAR(seconds_of_a_gibibyte(9, Cpu::amd), of(19), 1e-9);
}

/// With one rank a node nothing hides what a hop between nodes takes.
TEST(GpuChoice, RanksAloneOnTheirNodesWaitForTheNetworkAsTreesDo) {
  Ground ground = hopper();
  ground.nodes = 4;
  ground.network = Rate{50e9};
  const Fixed rings{.formats = {LineFormat::ll}, .algorithms = {Algorithm::ring}};
  const double bytes = 8 / (20.4e9 * 4 / 6) * 1e6;
  EXPECT_NEAR(choose(ground, Operation::all_reduce, 8_B, 4, rings).predicted->microseconds(), 6.6 + 6 * 5.0 + bytes,
              1e-9);
}

/// Latencies in us and rates in GB/s by hand, of NCCL's tables for Hopper: NVLinks of 100 GB/s, 16 channels, nodes of
/// eight that have 50 GB/s.
TEST(GpuChoice, PredictsByTheClosedFormsOfRingsAndTrees) {
  struct Form {
    int nodes;
    Algorithm algorithm;
    LineFormat format;
    double latency;
    double rate;
    double share;  ///< of it, of 8 KiB
  };
  constexpr auto kRing = Algorithm::ring;
  constexpr auto kTree = Algorithm::tree;
  using enum LineFormat;
  const std::vector<Form> forms{{1, kRing, simple, 8.4 + 14 * 3.4, 100 * 8. / 14, 1},
                                {1, kRing, ll, 6.6 + 14 * 0.6, 100. / 2 * 8 / 14, 1},
                                {1, kRing, ll128, 14 + 14 * 1.9, 92 * 8. / 14, 1},
                                {1, kTree, simple, 8.4 + 2 * 7 * 4, 92. / 2, 0.8},
                                {1, kTree, ll, 6.8 + 2 * 7 * 0.6, 92 / 3.8 / 2, 0.7},
                                {1, kTree, ll128, 14 + 2 * 7 * 1.25, 92 * 7. / 9 / 2, 0.8},
                                {4, kRing, simple, 8.4 + 56 * 3.4 + 6 * 14, 50 * 32. / 62, 1},
                                {4, kRing, ll, 6.6 + 56 * 1 + 6 * 2.7, 20.4 * 32 / 62, 1},
                                {4, kRing, ll128, 14 + 56 * 1.9 + 6 * 4.0, 46 * 32. / 62, 1},
                                {4, kTree, simple, 8.4 + 2 * (7 * 4 + 2 * 14), 46. / 2, 0.8},
                                {4, kTree, ll, 6.8 + 2 * (7 * 0.6 + 2 * 5), 46 / 3.8 / 2, 0.7},
                                {4, kTree, ll128, 14 + 2 * (7 * 1.25 + 2 * 8.5), 46 * 120. / 128 / 2, 0.8},
                                {3, kTree, simple, 8.4 + 2 * (7 * 4 + 14), 46. / 2, 0.8}};
  const auto us = [](const Ground& ground, Operation operation, Bytes bytes, const Fixed& fixed) {
    return choose(ground, operation, bytes, 8 * ground.nodes, fixed).predicted->microseconds();
  };
  Ground ground = hopper();
  ground.ring = Rate{100e9};
  ground.searched = {16, Rate{6.25e9}};
  ground.per_node = 8;
  ground.network = Rate{50e9};
  for (const Form& form : forms) {
    ground.nodes = form.nodes;
    const Fixed fixed{.formats = {form.format}, .channels = 16, .algorithms = {form.algorithm}};
    EXPECT_NEAR(us(ground, Operation::all_reduce, 8_KiB, fixed), form.latency + 8.192 / (form.rate * form.share), 1e-9);
    // A ring of several nodes has a plateau, of 64 B for each channel and rank on.
    const bool plateau = form.nodes > 1 && form.algorithm == kRing && form.format == simple;
    EXPECT_NEAR(us(ground, Operation::all_reduce, 1_GiB, fixed),
                form.latency * (plateau ? 1.4 : 1) + 0x1p30 / 1e3 / form.rate, 1e-6);
  }
  ground.nodes = 4;
  const Fixed rings{.formats = {simple}, .channels = 16, .algorithms = {kRing}};
  EXPECT_NEAR(us(ground, Operation::all_gather, 1_GiB, rings), 8.4 + 28 * 3.4 + 3 * 14 + 0x1p30 / 50e3 * 31 / 32, 1e-6);
  // Over two nodes a tree's channels are up to twice as fast.
  ground.nodes = 2;
  const Fixed trees{.formats = {simple}, .channels = 16, .algorithms = {kTree}};
  EXPECT_NEAR(us(ground, Operation::all_reduce, 1_GiB, trees), 8.4 + 2 * (7 * 4 + 14) + 0x1p30 / 1e3 / (92. / 2), 1e-6);
  ground.cpu = Cpu::amd;
  EXPECT_NEAR(us(ground, Operation::all_gather, 8_KiB, {.formats = {ll}, .channels = 16}),
              6.6 + 14 * 2 + 2.7 + 8.192 / (22.5 * 16 / 15), 1e-9)
      << "a proxy of AMD's CPUs takes 2 us for a step";
  // Over PCIe.
  Ground slots = cards();
  slots.ring = Rate{10e9};
  EXPECT_NEAR(us(slots, Operation::all_reduce, 1_MiB, {.formats = {ll}, .algorithms = {kRing}}),
              6.6 + 14 * 1.0 + 0x1p20 / 1e3 / (5 * 8. / 14), 1e-6);
  // Switches: 8 heads that read 40 GB/s, of which 7 count, twice in each direction; between two nodes up to 57.7 GB/s
  // of each, and between more 45.5, or what adapters have.
  ground = hopper();
  ground.per_node = 8;
  ground.reduces = {true, "the switch adds up"};
  EXPECT_NEAR(us(ground, Operation::all_reduce, 1_GiB, {.algorithms = {Algorithm::nvls}}),
              25 + 0x1p30 / 1e3 / (8 * 40 * 0.85 * 7 / 8 * 2 * 8 / 14), 1e-6);
  const Fixed rails{.algorithms = {Algorithm::nvls_tree}};
  ground.heads.between = Rate{48e9};
  for (const auto& [nodes, each, hops] : {std::tuple{2, 57.7, 1}, {3, 45.5, 1}, {8, 45.5, 3}}) {
    ground.nodes = nodes;
    const double ranks = 8 * nodes;
    EXPECT_NEAR(us(ground, Operation::all_reduce, 1_GiB, rails),
                25 + 2 * hops * 20.9 + 0x1p30 / 1e3 / (8 * each * ranks / (2 * (ranks - 1))), 1e-6);
  }
  ground.heads.between = Rate{24e9};
  EXPECT_NEAR(us(ground, Operation::all_reduce, 1_GiB, rails), 25 + 2 * 3 * 20.9 + 0x1p30 / 1e3 / (8. * 24 * 64 / 126),
              1e-6);
}

TEST(GpuChoice, GivesAChannelToSoManyBytes) {
  Ground ground = hopper();
  Release plain = release_2_28();
  plain.in_cells = false;
  ground.release = &plain;
  const auto channels = [&](std::uint64_t bytes, const Fixed& fixed, int ranks = 4) {
    return choose(ground, Operation::all_reduce, Bytes{bytes}, ranks, fixed).channels;
  };
  const Fixed ring{.formats = {LineFormat::ll}, .algorithms = {Algorithm::ring}};
  const Fixed tree{.formats = {LineFormat::ll}, .algorithms = {Algorithm::tree}};
  const Fixed lines{.formats = {LineFormat::ll128}, .algorithms = {Algorithm::ring}};
  for (const auto& [fixed, each] : {std::pair{ring, 4 * 4096U}, {tree, 4096U}, {lines, 5120U}}) {
    EXPECT_EQ(channels(5 * each, fixed), 5);
    EXPECT_EQ(channels(5 * each - 1, fixed), 4);
    EXPECT_EQ(channels(100 * each, fixed), 24);
  }
  ground.least_channels = 7;
  EXPECT_EQ(channels(8, ring), 7);
  EXPECT_EQ(channels(1U << 30U, {.algorithms = {Algorithm::nvls}}), 16);
}

/// As 2.28.9 has them on three and four H100: a channel has a whole number of cells of 16 KiB of what passes.
TEST(GpuChoice, ChannelsHaveWholeCells) {
  const auto channels = [](Operation operation, std::uint64_t bytes, int ranks) {
    return choose(hopper(), operation, Bytes{bytes}, ranks,
                  {.formats = {LineFormat::ll}, .algorithms = {Algorithm::ring}})
        .channels;
  };
  EXPECT_EQ(channels(Operation::all_gather, 3 * 87380, 3), 16);
  EXPECT_EQ(channels(Operation::all_gather, 3 * 174760, 3), 22) << "24 would have 2.6 cells each";
  EXPECT_EQ(channels(Operation::all_gather, 3 * 349524, 3), 24);
}

/// 32 channels at the most for a message in a job of four, 16 KiB each; over PCIe two, and between nodes never.
TEST(GpuChoice, SendsMessagesOfUpTo16KiBAChannelByLl) {
  Ground ground = hopper();
  const auto format = [&](Operation operation, std::uint64_t bytes, const Fixed& fixed = {}) {
    const Choice choice = choose(ground, operation, Bytes{bytes}, 4, fixed);
    EXPECT_FALSE(choice.predicted);
    return choice.format;
  };
  const auto expect_most = [&](std::uint64_t most) {
    EXPECT_EQ(format(Operation::exchange, most), LineFormat::ll);
    EXPECT_EQ(format(Operation::exchange, most + 1), LineFormat::simple);
    EXPECT_EQ(format(Operation::all_to_all, 4 * most + 3), LineFormat::ll) << "each block";
    EXPECT_EQ(format(Operation::all_to_all, 4 * most + 4), LineFormat::simple);
  };
  expect_most(std::uint64_t{32} * 16384);
  EXPECT_EQ(format(Operation::exchange, 8, {.formats = {LineFormat::ll128}}), LineFormat::ll128);
  ground.nodes = 2;
  EXPECT_EQ(format(Operation::exchange, 8), LineFormat::simple);
  ground = cards();
  expect_most(std::uint64_t{2} * 16384);
  ground = hopper();
  LastChoice last;
  EXPECT_FALSE(last.last());
  for (const auto& [bytes, expected] :
       {std::pair{8_B, LineFormat::ll}, {4_MiB, LineFormat::simple}, {8_B, LineFormat::ll}}) {
    EXPECT_EQ(last.of(ground, Operation::exchange, bytes, 2, {}).format, expected);
    EXPECT_EQ(last.last()->format, expected);
  }
}

TEST(GpuChoice, SaysWhy) {
  const Choice choice = choose(hopper(), Operation::all_reduce, 8_B, 2, {});
  EXPECT_EQ(choice.why,
            "predicted us: ring ll 7.80, ring ll128 17.80, ring simple 15.20, tree ll 8.00, tree ll128 16.50, tree "
            "simple 16.40; by nccl-2.28");
  EXPECT_EQ(choice.channels, 1);
  EXPECT_THAT(choice.facts,
              ElementsAre("LL128 on: links join GPUs of one generation", "trees on: a chain of all ranks",
                          "NVLS off: no switch joins the GPUs of each node", "channels: one for each 8192 B"));
}

/// 8 us, 4 for each doubling and 2.8 for each rank, and three quarters of the channels: from 2.23 on, of ranks that are
/// alone on their nodes.
TEST(GpuChoice, ParallelTreesAreOfRanksThatAreAlone) {
  Ground ground = hopper();
  ground.nodes = 16;
  ground.per_node = 1;
  ground.network = Rate{48e9};
  const Fixed pat{.algorithms = {Algorithm::pat}};
  for (const Operation operation : {Operation::all_gather, Operation::reduce_scatter}) {
    EXPECT_NEAR(choose(ground, operation, 36_MiB, 16, pat).predicted->microseconds(),
                8 + 4 * 4 + 16 * 2.8 + 1e6 * 36 * 1024 * 1024 / 36e9, 1e-9);
    EXPECT_EQ(choose(ground, operation, 64_KiB, 16, {}).algorithm, Algorithm::pat);
    EXPECT_EQ(choose(ground, operation, 1_GiB, 16, {}).algorithm, Algorithm::ring);
  }
  EXPECT_THAT(said_by<UnavailableError>([&] { return choose(ground, Operation::all_reduce, 1_MiB, 16, pat); }),
              HasSubstr("nothing is on"));
  ground.per_node = 2;
  EXPECT_THAT(said_by<UnavailableError>([&] { return choose(ground, Operation::all_gather, 1_MiB, 32, pat); }),
              HasSubstr("PAT off: nodes have several ranks"));
  EXPECT_EQ(choose(ground, Operation::all_gather, 64_KiB, 32, {}).algorithm, Algorithm::ring);
}

TEST(GpuChoice, WhatTheUserLeavesOffIsRefusedWithTheFacts) {
  const Fixed switches{.algorithms = {Algorithm::nvls, Algorithm::nvls_tree}};
  EXPECT_THAT(said_by<UnavailableError>([&] { return choose(hopper(), Operation::all_reduce, 1_MiB, 8, switches); }),
              HasSubstr("NVLS off: no switch joins the GPUs of each node"));
}

TEST(GpuChoice, SmallMessagesHaveFewerChannels) {
  const Ground ground = hopper();
  const Fixed simple{.formats = {LineFormat::simple}};
  EXPECT_EQ(choose(ground, Operation::all_reduce, 64_KiB, 2, simple).channels, 2);
  EXPECT_EQ(choose(ground, Operation::all_reduce, 1_GiB, 2, simple).channels, ground.channels);
  EXPECT_EQ(choose(ground, Operation::all_reduce, 8_B, 2, {.channels = 5}).channels, 5);
}

/// As nccl-tests of eight H100 show it: LL to 1 MiB, the switch from 2 MiB on (NVIDIA/nccl-tests issue 309).
TEST(GpuChoice, WhereASwitchAddsUpLargeSumsAreItsOwn) {
  Ground ground = hopper();
  const auto chosen = [&](Bytes bytes, int ranks) { return choose(ground, Operation::all_reduce, bytes, ranks, {}); };
  EXPECT_NE(chosen(16_MiB, 8).algorithm, Algorithm::nvls);
  ground.reduces = {true, "the switch adds up"};
  EXPECT_EQ(chosen(1_MiB, 8).format, LineFormat::ll);
  EXPECT_EQ(chosen(1_MiB, 8).algorithm, Algorithm::ring);
  for (const Bytes bytes : {2_MiB, 8_GiB}) {
    EXPECT_EQ(chosen(bytes, 8).algorithm, Algorithm::nvls);
    EXPECT_EQ(chosen(bytes, 8).channels, 16);
  }
  EXPECT_EQ(choose(ground, Operation::all_gather, 8_GiB, 8, {}).algorithm, Algorithm::ring);
  EXPECT_EQ(choose(ground, Operation::all_reduce, 8_GiB, 8, {.formats = {LineFormat::ll}}).algorithm, Algorithm::ring);
  // Four GPUs have less of it than of rings.
  ground.heads = {4, Rate{60e9}, Rate{60e9}};
  EXPECT_NE(chosen(8_GiB, 4).algorithm, Algorithm::nvls);
  ground = hopper();
  ground.nodes = 2;
  ground.per_node = 8;
  ground.network = Rate{8 * 48e9};
  ground.heads.between = Rate{48e9};
  ground.reduces = {true, "the switch adds up"};
  EXPECT_EQ(chosen(8_GiB, 16).algorithm, Algorithm::nvls_tree);
}

}  // namespace
}  // namespace twinlink::gpu
