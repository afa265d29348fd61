// What a collective takes where nobody names it: predictions by their closed forms, and limits.
#include "protocols/gpu/choice.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace twinlink::gpu {
namespace {

LineFormat format_at(Bytes bytes, const Ground& ground = ground_of("NVIDIA H200", true)) {
  return choose(ground, Operation::all_reduce, bytes, 2, {}).format;
}

/// NCCL on two H200 takes LL to 512 KiB and Simple from 8 MiB on; between them its model and this one are near ties.
TEST(GpuChoice, TakesLlForSmallAndSimpleForLargeCollectives) {
  for (const Bytes bytes : {8_B, 4_KiB, 256_KiB}) EXPECT_EQ(format_at(bytes), LineFormat::ll) << bytes.count();
  for (const Bytes bytes : {16_MiB, 1_GiB}) EXPECT_EQ(format_at(bytes), LineFormat::simple) << bytes.count();
}

TEST(GpuChoice, OfCardsKnowsNoNvlinks) {
  for (const char* card : {"NVIDIA A100-PCIE-80GB", "NVIDIA H100 PCIe", "NVIDIA Tesla V100-PCIE-16GB"}) {
    for (std::uint64_t bytes = 8; bytes <= std::uint64_t{1} << 30U; bytes *= 2) {
      EXPECT_NE(format_at(Bytes{bytes}, ground_of(card, true)), LineFormat::ll128) << card << ", " << bytes;
    }
    EXPECT_EQ(format_at(2_MiB, ground_of(card, true)), LineFormat::simple) << card;
  }
}

TEST(GpuChoice, TakesLl128OnlyOverNvlink) {
  const Ground without = ground_of("NVIDIA H200", false);
  for (Bytes bytes = 8_B; bytes < 1_GiB; bytes = bytes * 2) EXPECT_NE(format_at(bytes, without), LineFormat::ll128);
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
                                {4, kRing, ll, 6.6 + 56 * 1 + 6 * 2.7, 50. / 2 * 32 / 62, 1},
                                {4, kRing, ll128, 14 + 56 * 1.9 + 6 * 4.0, 46 * 32. / 62, 1},
                                {4, kTree, simple, 8.4 + 2 * (7 * 4 + 2 * 14), 46. / 2, 0.8},
                                {4, kTree, ll, 6.8 + 2 * (7 * 0.6 + 2 * 5), 46 / 3.8 / 2, 0.7},
                                {4, kTree, ll128, 14 + 2 * (7 * 1.25 + 2 * 8.5), 46 * 120. / 128 / 2, 0.8},
                                {3, kTree, simple, 8.4 + 2 * (7 * 4 + 14), 46. / 2, 0.8}};
  const auto us = [](const Ground& ground, Operation operation, Bytes bytes, const Fixed& fixed) {
    return choose(ground, operation, bytes, 8 * ground.nodes, fixed).predicted->microseconds();
  };
  Ground ground{
      .links = true, .ring = Rate{100e9}, .generation = 3, .channels = 24, .per_node = 8, .network = Rate{50e9}};
  for (const Form& form : forms) {
    ground.nodes = form.nodes;
    const Fixed fixed{.format = form.format, .channels = 16, .algorithm = form.algorithm};
    EXPECT_NEAR(us(ground, Operation::all_reduce, 8_KiB, fixed), form.latency + 8.192 / (form.rate * form.share), 1e-9);
    // A ring of several nodes has a plateau, of 64 B for each channel and rank on.
    const bool plateau = form.nodes > 1 && form.algorithm == kRing && form.format == simple;
    EXPECT_NEAR(us(ground, Operation::all_reduce, 1_GiB, fixed),
                form.latency * (plateau ? 1.4 : 1) + 0x1p30 / 1e3 / form.rate, 1e-6);
  }
  ground.nodes = 4;
  const Fixed rings{.format = simple, .channels = 16, .algorithm = kRing};
  EXPECT_NEAR(us(ground, Operation::all_gather, 1_GiB, rings), 8.4 + 28 * 3.4 + 3 * 14 + 0x1p30 / 50e3 * 31 / 32, 1e-6);
  // Nobody knows the network: 12 GB/s for each rank.
  ground.nodes = 2;
  ground.network = {};
  EXPECT_NEAR(us(ground, Operation::reduce, 1_GiB, rings), 8.4 + 14 * 3.4 + 14 + 0x1p30 / 96e3 * 15 / 16, 1e-6);
  // Over PCIe.
  const Ground cards{.ring = Rate{10e9}};
  EXPECT_NEAR(us(cards, Operation::all_reduce, 1_MiB, {.format = ll, .algorithm = kRing}),
              6.6 + 14 * 1.0 + 0x1p20 / 1e3 / (5 * 8. / 14), 1e-6);
  // A switch: 15 of 16 channels, and each byte once.
  ground = {.links = true, .ring = Rate{100e9}, .generation = 3, .reduces = true};
  EXPECT_NEAR(us(ground, Operation::all_reduce, 1_GiB, {.algorithm = Algorithm::nvls}),
              25 + 0x1p30 / 1e3 / (85 * 15. / 16 * 8 / 7), 1e-6);
}

TEST(GpuChoice, GivesAChannelToSoManyBytes) {
  Ground ground = ground_of("NVIDIA H100 80GB HBM3", true);
  const auto channels = [&](std::uint64_t bytes, const Fixed& fixed, int ranks = 4) {
    return choose(ground, Operation::all_reduce, Bytes{bytes}, ranks, fixed).channels;
  };
  const Fixed ring{.format = LineFormat::ll, .algorithm = Algorithm::ring};
  const Fixed tree{.format = LineFormat::ll, .algorithm = Algorithm::tree};
  const Fixed lines{.format = LineFormat::ll128, .algorithm = Algorithm::ring};
  for (const auto& [fixed, each] : {std::pair{ring, 4 * 4096U}, {tree, 4096U}, {lines, 5120U}}) {
    EXPECT_EQ(channels(5 * each, fixed), 5);
    EXPECT_EQ(channels(5 * each - 1, fixed), 4);
    EXPECT_EQ(channels(100 * each, fixed), 24);
  }
  ground.least_channels = 7;
  EXPECT_EQ(channels(8, ring), 7);
  EXPECT_EQ(channels(1U << 30U, {.algorithm = Algorithm::nvls}), 16);
  ground.least_channels = 20;
  EXPECT_EQ(channels(1U << 30U, {.algorithm = Algorithm::nvls}), 20);
}

TEST(GpuChoice, SendsMessagesOfUpTo16KiBByLl) {
  const Ground ground = ground_of("NVIDIA H200", true);
  const auto format = [&](Operation operation, std::uint64_t bytes, const Fixed& fixed = {}) {
    const Choice choice = choose(ground, operation, Bytes{bytes}, 4, fixed);
    EXPECT_FALSE(choice.predicted);
    return choice.format;
  };
  EXPECT_EQ(format(Operation::exchange, 16384), LineFormat::ll);
  EXPECT_EQ(format(Operation::exchange, 16385), LineFormat::simple);
  EXPECT_EQ(format(Operation::all_to_all, 4 * 16385 - 1), LineFormat::ll) << "each block";
  EXPECT_EQ(format(Operation::all_to_all, 4 * 16385), LineFormat::simple);
  EXPECT_EQ(format(Operation::exchange, 8, {.format = LineFormat::ll128}), LineFormat::ll128);
  LastChoice last;
  EXPECT_FALSE(last.last());
  for (const auto& [bytes, expected] :
       {std::pair{8_B, LineFormat::ll}, {1_MiB, LineFormat::simple}, {8_B, LineFormat::ll}}) {
    EXPECT_EQ(last.of(ground, Operation::exchange, bytes, 2, {}).format, expected);
    EXPECT_EQ(last.last()->format, expected);
  }
}

TEST(GpuChoice, SaysWhy) {
  const Choice choice = choose(ground_of("NVIDIA H200", true), Operation::all_reduce, 8_B, 2, {});
  EXPECT_EQ(choice.why,
            "predicted us: ring ll 7.80, ring ll128 17.80, ring simple 15.20, tree ll 8.00, tree ll128 16.50, tree "
            "simple 16.40");
  EXPECT_EQ(choice.channels, 1);
}

TEST(GpuChoice, SmallMessagesHaveFewerChannels) {
  const Ground ground = ground_of("NVIDIA H100 80GB HBM3", true);
  const Fixed simple{.format = LineFormat::simple};
  EXPECT_EQ(choose(ground, Operation::all_reduce, 64_KiB, 2, simple).channels, 2);
  EXPECT_EQ(choose(ground, Operation::all_reduce, 1_GiB, 2, simple).channels, ground.channels);
  EXPECT_EQ(choose(ground, Operation::all_reduce, 8_B, 2, {.channels = 5}).channels, 5);
}

/// As nccl-tests of eight H100 show it: LL to 1 MiB, the switch from 2 MiB on (NVIDIA/nccl-tests issue 309).
TEST(GpuChoice, WhereASwitchAddsUpLargeSumsAreItsOwn) {
  Ground ground = ground_of("NVIDIA H100 80GB HBM3", true);
  const auto chosen = [&](Bytes bytes, int ranks) { return choose(ground, Operation::all_reduce, bytes, ranks, {}); };
  EXPECT_NE(chosen(16_MiB, 8).algorithm, Algorithm::nvls);
  ground.reduces = true;
  EXPECT_EQ(chosen(1_MiB, 8).format, LineFormat::ll);
  EXPECT_EQ(chosen(1_MiB, 8).algorithm, Algorithm::ring);
  for (const Bytes bytes : {2_MiB, 8_GiB}) {
    EXPECT_EQ(chosen(bytes, 8).algorithm, Algorithm::nvls);
    EXPECT_EQ(chosen(bytes, 8).channels, 16);
    EXPECT_NE(chosen(bytes, 2).algorithm, Algorithm::nvls) << "two GPUs have nothing of it";
  }
  EXPECT_EQ(choose(ground, Operation::all_gather, 8_GiB, 8, {}).algorithm, Algorithm::ring);
  EXPECT_EQ(choose(ground, Operation::all_reduce, 8_GiB, 8, {.format = LineFormat::ll}).algorithm, Algorithm::ring);
  ground.nodes = 2;
  EXPECT_NE(chosen(8_GiB, 16).algorithm, Algorithm::nvls);
}

}  // namespace
}  // namespace twinlink::gpu
