// What NCCL takes a machine for: channels between nodes, and how far is near.
#include "protocols/gpu/ground.hpp"

#include <gtest/gtest.h>

#include "tests/protocols/release.hpp"

namespace twinlink::gpu {
namespace {

/// Channels of nodes with so many ranks, adapters, and links of GPUs.
Ground between(int capability, int per_node, int adapters, double adapter, double ring, double slot = 57.6) {
  Ground ground{.release = &release_2_28(),
                .capability = capability,
                .within = Level::nvl,
                .ring = Rate{ring * 1e9},
                .nodes = 2,
                .per_node = per_node};
  look_between_nodes(ground, adapters, Rate{adapter * 1e9}, slot_of(release_2_28(), {.pcie = Rate{slot * 1e9}}));
  double_channels(ground);
  return ground;
}

TEST(GpuGround, BelowEightGpusANodeHopperHasChannelsDoubledAgain) {
  EXPECT_EQ(between(90, 8, 8, 50, 370.8).channels, 16) << "two a rail";
  for (const int ranks : {1, 2, 4}) {
    EXPECT_EQ(between(90, ranks, ranks, 50, ranks == 1 ? 5000 : 370.8).channels, 4 * ranks) << "four a rail";
  }
  EXPECT_EQ(between(90, 5, 5, 50, 370.8).channels, 20);
  EXPECT_EQ(between(80, 8, 8, 25, 240, 28.8).channels, 16);
  EXPECT_EQ(between(80, 4, 4, 25, 240, 28.8).channels, 8);
}

TEST(GpuGround, AdaptersAreCountedAndNotGpus) {
  EXPECT_NEAR(between(70, 4, 2, 12.5, 120, 14.4).network.bytes_per_second(), 24e9, 1) << "of a slot of 12 GB/s";
  EXPECT_EQ(between(70, 4, 2, 12.5, 120, 14.4).channels, 4);
  EXPECT_EQ(between(70, 4, 1, 12.5, 120, 14.4).channels, 2);
}

TEST(GpuGround, GpusMeetInMemoryAsFarAsTheReleaseLetsThem) {
  EXPECT_EQ(peer_level(release_2_28(), Cpu::skylake, 2), Level::pxb);
  EXPECT_EQ(peer_level(release_2_28(), Cpu::amd, 8), Level::pxb);
  EXPECT_EQ(peer_level(release_2_28(), Cpu::amd, 2), Level::sys);
  EXPECT_TRUE(is_within(release_2_28(), Level::pxb, Level::pxb));
  EXPECT_FALSE(is_within(release_2_28(), Level::phb, Level::pxb));
  EXPECT_TRUE(is_within(release_2_28(), Level::c2c, Level::pxb));
}

TEST(GpuGround, SlotsAreWholeGenerations) {
  const auto slot = [](double gigabytes) {
    return slot_of(release_2_28(), {.pcie = Rate{gigabytes * 1e9}}).bytes_per_second() / 1e9;
  };
  EXPECT_NEAR(slot(0), 12, 1e-9) << "nobody knows";
  EXPECT_NEAR(slot(7.31), 6, 1e-9);
  EXPECT_NEAR(slot(14.4), 12, 1e-9);
  EXPECT_NEAR(slot(31.5), 24, 1e-9);
  EXPECT_NEAR(slot(57.6), 48, 1e-9);
}

}  // namespace
}  // namespace twinlink::gpu
