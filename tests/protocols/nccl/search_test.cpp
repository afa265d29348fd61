// Rings that are looked for over what joins GPUs: as many as fit into a mesh, in both directions, and no more.
#include "protocols/nccl/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "tests/protocols/release.hpp"

namespace twinlink::nccl {
namespace {

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

/// The mesh of DGX-1 with V100: four links of a GPU's six lead to two others, twice as many as to the other two.
const Pairs kOfDgx1{{0, 1}, {0, 2}, {1, 3}, {4, 5}, {4, 6}, {5, 7}, {2, 6}, {3, 7}};
const Pairs kTwiceOfDgx1{{0, 3}, {0, 4}, {1, 2}, {1, 5}, {2, 3}, {4, 7}, {5, 6}, {6, 7}};

/// So many links between any two of so many GPUs.
Near mesh(std::size_t members, std::uint8_t links) {
  Near near;
  near.farthest = Level::nvl;
  for (std::size_t a = 0; a < members; ++a) {
    for (std::size_t b = 0; b < members; ++b) {
      near.links[a][b] = a == b ? 0 : links;
      near.levels[a][b] = a == b ? Level::loc : Level::nvl;
    }
  }
  return near;
}
void join(Near& near, const Pairs& pairs, std::uint8_t links, Level level = Level::nvl) {
  for (const auto& [a, b] : pairs) {
    near.links[a][b] = near.links[b][a] = links;
    near.levels[a][b] = near.levels[b][a] = level;
  }
}
Near dgx1() {
  Near near = mesh(8, 0);
  for (auto& row : near.levels) row.fill(Level::sys);
  join(near, kOfDgx1, 1);
  join(near, kTwiceOfDgx1, 2);
  return near;
}

Found look(std::size_t members, const Near& near, int capability, Rate pcie = {}, Cpu cpu = Cpu::unknown) {
  const DeviceFacts each{.capability = capability, .links = 18, .pcie = pcie, .cpu = cpu};
  return look_within(release_2_28(), std::vector<DeviceFacts>(members, each), near);
}

/// How often the rings go from one to another.
Room crossings(const std::vector<Ring>& rings) {
  Room used{};
  for (const Ring& ring : rings) {
    for (std::size_t i = 0; i < ring.size(); ++i) {
      ++used[index(ring[i])][index(ring[(i + 1) % ring.size()])];
    }
  }
  return used;
}

/// All links of all GPUs, both ways, are full.
void expect_all_used(const Found& found, const Near& near, std::size_t members, double link) {
  const Room used = crossings(found.rings);
  const double each = found.channels.each.bytes_per_second();
  for (std::size_t a = 0; a < members; ++a) {
    for (std::size_t b = 0; b < members; ++b) {
      EXPECT_NEAR(used[a][b] * each, near.links[a][b] * link, 1) << a << " to " << b;
    }
  }
}

TEST(NcclSearch, RingsOfAMeshUseAllEqualLinks) {
  for (const std::uint8_t links : {std::uint8_t{2}, std::uint8_t{4}, std::uint8_t{6}}) {
    const Found found = look(4, mesh(4, links), 80);
    expect_all_used(found, mesh(4, links), 4, 20e9);
    EXPECT_EQ(found.within, Level::nvl);
    EXPECT_NEAR(found.ring.bytes_per_second(), 3 * links * 20e9, 1);
  }
  expect_all_used(look(3, mesh(3, 2), 70), mesh(3, 2), 3, 20e9);
  expect_all_used(look(2, mesh(2, 4), 80), mesh(2, 4), 2, 20e9);
  expect_all_used(look(8, dgx1(), 70), dgx1(), 8, 20e9);
}

/// As many as there are: through four or six GPUs with one link between any two a last one never fits. Eight that are
/// all joined are MI300X.
TEST(NcclSearch, RingsShareNothing) {
  struct Mesh {
    std::size_t members;
    Near near;
    std::size_t rings;
  };
  for (const Mesh& machine :
       {Mesh{4, mesh(4, 1), 2}, Mesh{4, mesh(4, 3), 8}, Mesh{5, mesh(5, 1), 4}, Mesh{6, mesh(6, 1), 4},
        Mesh{7, mesh(7, 2), 12}, Mesh{8, mesh(8, 1), 7}, Mesh{8, dgx1(), 6}}) {
    Room room{};
    for (std::size_t a = 0; a < machine.members; ++a) {
      for (std::size_t b = 0; b < machine.members; ++b) room[a][b] = machine.near.links[a][b];
    }
    const std::vector<Ring> rings = disjoint_rings(machine.members, room);
    EXPECT_EQ(rings.size(), machine.rings);
    const Room used = crossings(rings);
    for (std::size_t a = 0; a < machine.members; ++a) {
      for (std::size_t b = 0; b < machine.members; ++b) EXPECT_LE(used[a][b], room[a][b]);
    }
    for (const Ring& ring : rings) {
      EXPECT_EQ(std::set<std::int32_t>(ring.begin(), ring.end()).size(), machine.members);
    }
  }
}

TEST(NcclSearch, ALinkThatFailsLeavesNoMoreThanBefore) {
  for (const auto& [members, whole] : {std::pair<std::size_t, Near>{4, mesh(4, 4)}, {8, mesh(8, 1)}, {8, dgx1()}}) {
    const double before = look(members, whole, 80).ring.bytes_per_second();
    for (std::size_t a = 0; a < members; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        Near near = whole;
        join(near, {{a, b}}, 0, Level::phb);
        EXPECT_LE(look(members, near, 80, Rate{14.4e9}).ring.bytes_per_second(), before) << a << " and " << b;
      }
    }
  }
}

/// As NCCL_DEBUG=INFO prints them: 24 on eight H100 or A100, 12 on a DGX-1, of which half are looked for.
TEST(NcclSearch, ChannelsAreThoseThatNcclPrints) {
  const auto channels = [](const Found& found, int capability) {
    return gpu::doubled(release_2_28(), found.channels, capability).count;
  };
  Near near = mesh(8, 18);
  near.switched = true;
  EXPECT_EQ(channels(look(8, near, 90), 90), 12);
  std::vector<DeviceFacts> twelve(8, DeviceFacts{.capability = 80, .links = 12});
  EXPECT_EQ(channels(look_within(release_2_28(), twelve, near), 80), 12);
  EXPECT_EQ(channels(look(8, dgx1(), 70), 70), 6);
  EXPECT_EQ(channels(look(4, mesh(4, 4), 80), 80), 12);
}

/// Four cards, of which two and two have a bridge; the others meet over PCIe.
TEST(NcclSearch, PairsWithABridgeAreNeighbours) {
  Near near = mesh(4, 0);
  for (auto& row : near.levels) row.fill(Level::phb);
  join(near, {{0, 2}, {1, 3}}, 12);
  const Found found = look(4, near, 80, Rate{28.8e9}, Cpu::amd);
  ASSERT_EQ(found.rings.size(), 2U) << "each slot is taken one way by one, and the other way by the other";
  const Room used = crossings(found.rings);
  for (const auto& [a, b] : Pairs{{0, 2}, {2, 0}, {1, 3}, {3, 1}}) EXPECT_EQ(used[a][b], 1) << a << " to " << b;
  EXPECT_FALSE(found.one_order());
  EXPECT_EQ(found.within, Level::phb);
  EXPECT_NEAR(found.ring.bytes_per_second(), 48e9, 1);
}

/// GB/s by the generation of the slots, the CPU and how far apart they are.
TEST(NcclSearch, OverPcieARingHasWhatItsNarrowestPlaceHas) {
  const auto ring = [](double slot, Level level, Cpu cpu, int capability = 80) {
    Near near = mesh(2, 0);
    for (auto& row : near.levels) row.fill(level);
    return look(2, near, capability, Rate{slot * 1e9}, cpu).ring.bytes_per_second() / 1e9;
  };
  EXPECT_NEAR(ring(14.4, Level::pix, Cpu::skylake), 12, 1e-9);
  EXPECT_NEAR(ring(15.75, Level::pxb, Cpu::skylake), 12, 1e-9);
  EXPECT_NEAR(ring(28.8, Level::pix, Cpu::skylake), 24, 1e-9);
  EXPECT_NEAR(ring(57.6, Level::pix, Cpu::skylake, 90), 48, 1e-9);
  EXPECT_NEAR(ring(14.4, Level::phb, Cpu::amd), 12, 1e-9);
  EXPECT_NEAR(ring(14.4, Level::phb, Cpu::skylake), 10, 1e-9) << "packets of 64 B through Intel's root complex";
  EXPECT_NEAR(ring(28.8, Level::sys, Cpu::skylake), 10, 1e-9);
  EXPECT_NEAR(ring(28.8, Level::sys, Cpu::amd), 15, 1e-9) << "16, of which it tries 15";
  EXPECT_NEAR(ring(14.4, Level::sys, Cpu::broadwell), 6, 1e-9);
}

}  // namespace
}  // namespace twinlink::nccl
