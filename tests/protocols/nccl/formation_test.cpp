// How ranks stand in rings and trees: every channel's ring goes through all ranks once, crosses between islands on
// rails, and every tree has one root.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "protocols/nccl/formation.hpp"

namespace twinlink::nccl {
namespace {

using Ranks = std::vector<std::int32_t>;

/// So many islands of so many ranks, one behind the other.
Formation islands_of(int islands, int members) {
  Ranks island;
  for (int i = 0; i < islands; ++i) island.insert(island.end(), static_cast<std::size_t>(members), i * members);
  return Formation(island);
}

template <class Body>
void for_each_shape(const Body& body) {
  for (const int islands : {1, 2, 3, 4, 5, 8}) {
    for (const int members : {1, 2, 3, 4, 8}) {
      if (islands * members > 1) body(islands, members);
    }
  }
}

TEST(NcclFormation, RingsGoThroughAllRanksOnce) {
  for_each_shape([](int islands, int members) {
    const Formation formation = islands_of(islands, members);
    const int ranks = islands * members;
    for (int channel = 0; channel < 10; ++channel) {
      const Ranks order = formation.of(0, channel).order;
      ASSERT_EQ(order.size(), static_cast<std::size_t>(ranks));
      ASSERT_EQ(std::set<std::int32_t>(order.begin(), order.end()).size(), order.size());
      for (int rank = 0; rank < ranks; ++rank) {
        const Neighbourhood own = formation.of(rank, channel);
        ASSERT_EQ(own.order, order) << "all ranks work it out alike";
        ASSERT_EQ(order[static_cast<std::size_t>(own.position.place)], rank);
        ASSERT_EQ(formation.of(own.position.behind, channel).position.before, rank);
      }
    }
  });
}

/// Each island is left once, by the GPU of the number by which the next one is entered, where there are enough of them.
TEST(NcclFormation, RingsCrossOnRails) {
  for (const int islands : {2, 3, 4, 5}) {
    constexpr int kMembers = 8;
    const Formation formation = islands_of(islands, kMembers);
    std::map<int, int> out;  // by rail
    for (int channel = 0; channel < kMembers; ++channel) {
      int crossings = 0;
      for (int rank = 0; rank < islands * kMembers; ++rank) {
        const int next = formation.of(rank, channel).position.behind;
        if (rank / kMembers == next / kMembers) continue;
        ++crossings;
        ++out[rank % kMembers];
        EXPECT_EQ(rank % kMembers, next % kMembers) << islands << " islands, channel " << channel;
      }
      EXPECT_EQ(crossings, islands);
    }
    for (const auto& [rail, count] : out) EXPECT_EQ(count, islands) << "rail " << rail;
  }
}

TEST(NcclFormation, TreesHaveOneRootAndEverybodyIsBelowIt) {
  for_each_shape([](int islands, int members) {
    const Formation formation = islands_of(islands, members);
    const int ranks = islands * members;
    for (int channel = 0; channel < 16; ++channel) {
      int roots = 0;
      int below = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const gpu::ChannelPosition position = formation.of(rank, channel).position;
        roots += position.above == gpu::kNoLink ? 1 : 0;
        for (const std::int32_t child : position.below) {
          if (child == gpu::kNoLink) continue;
          ++below;
          ASSERT_EQ(formation.of(child, channel).position.above, rank);
        }
        // Upwards it ends.
        int steps = 0;
        for (std::int32_t at = rank; at != gpu::kNoLink; at = formation.of(at, channel).position.above) {
          ASSERT_LE(++steps, ranks);
        }
      }
      ASSERT_EQ(roots, 1);
      ASSERT_EQ(below, ranks - 1);
    }
  });
}

/// Islands of which some are not full: every link of a tree has two ends that know of each other.
TEST(NcclFormation, TreesOfUnequalIslandsMeet) {
  for (const std::vector<int>& members :
       {std::vector{8, 8, 3}, {4, 4, 4, 4, 4, 1}, {3, 8}, {1, 4, 2, 4}, {2, 1}, {8, 8, 8, 5, 7}}) {
    Ranks island;
    for (std::size_t i = 0; i < members.size(); ++i) {
      island.insert(island.end(), static_cast<std::size_t>(members[i]), static_cast<std::int32_t>(i));
    }
    const Formation formation(island);
    const auto ranks = static_cast<std::int32_t>(island.size());
    for (std::int32_t channel = 0; channel < 20; ++channel) {
      int roots = 0;
      for (std::int32_t rank = 0; rank < ranks; ++rank) {
        const gpu::ChannelPosition position = formation.of(rank, channel).position;
        for (const std::int32_t child : position.below) {
          if (child == gpu::kNoLink) continue;
          ASSERT_EQ(formation.of(child, channel).position.above, rank) << "channel " << channel;
        }
        if (position.above == gpu::kNoLink) {
          ++roots;
          continue;
        }
        const gpu::ChannelPosition above = formation.of(position.above, channel).position;
        ASSERT_EQ(std::ranges::count(above.below, rank), 1) << "channel " << channel;
      }
      ASSERT_EQ(roots, 1) << "channel " << channel;
    }
  }
}

TEST(NcclFormation, LeavesOfOneBinaryTreeHaveOthersBelowThemInTheOther) {
  for (const int count : {4, 5, 8, 16}) {
    int leaves_of_both = 0;
    for (int node = 0; node < count; ++node) {
      const auto is_leaf = [&](bool other) {
        const TreeLinks links = binary_tree(node, count, other);
        return links.below[0] < 0 && links.below[1] < 0;
      };
      leaves_of_both += is_leaf(false) && is_leaf(true) ? 1 : 0;
    }
    EXPECT_LE(leaves_of_both, count % 2) << count;
  }
}

/// Heads of the same place in all islands are one tree.
TEST(NcclFormation, RailTreesHaveOneRoot) {
  for (const int islands : {2, 3, 4, 5, 8}) {
    const Formation formation = islands_of(islands, 3);
    EXPECT_EQ(formation.group(), 3);
    for (int channel = 0; channel < 4; ++channel) {
      std::map<int, int> roots;  // by place
      for (int rank = 0; rank < 3 * islands; ++rank) {
        gpu::ChannelPosition position;
        formation.put_into_rail_tree(position, rank, channel);
        roots[rank % 3] += position.above == gpu::kNoLink ? 1 : 0;
        for (const std::int32_t child : position.below) {
          if (child == gpu::kNoLink) continue;
          ASSERT_EQ(child % 3, rank % 3);
          gpu::ChannelPosition below;
          formation.put_into_rail_tree(below, child, channel);
          ASSERT_EQ(below.above, rank);
        }
      }
      for (const auto& [place, count] : roots) ASSERT_EQ(count, 1) << "place " << place;
    }
  }
  EXPECT_EQ(Formation({0, 0, 0, 3}).group(), 1) << "unequal islands";
  EXPECT_EQ(Formation({0, 1, 0, 1}).group(), 1) << "numbers that do not follow each other";
}

TEST(NcclFormation, OneIslandInItsOrderIsPlain) {
  EXPECT_TRUE(islands_of(1, 8).is_plain());
  EXPECT_FALSE(islands_of(2, 4).is_plain());
  Formation formation = islands_of(1, 4);
  formation.take({{0, 1, 2, 3}, {0, 3, 2, 1}});
  EXPECT_FALSE(formation.is_plain());
  EXPECT_EQ(formation.of(0, 0).order, (Ranks{0, 1, 2, 3}));
  EXPECT_EQ(formation.of(0, 3).order, (Ranks{0, 3, 2, 1})) << "channels take turns at the rings";
}

}  // namespace
}  // namespace twinlink::nccl
