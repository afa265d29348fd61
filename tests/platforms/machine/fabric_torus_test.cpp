// Ways through a torus around cables that are gone.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "platforms/machine/fabric.hpp"
#include "platforms/machine/fabric_links.hpp"

namespace twinlink::platforms {
namespace {

Fabric torus(std::vector<int> size, const std::vector<std::string>& gone = {}) {
  Fabric fabric{.link = {.value = Rate{25e9}}, .shape = FabricShape::torus};
  fabric.size = std::move(size);
  for (const std::string& name : gone) {
    for (const CableFault& cable : fabric.cables(name, 0, 1)) fabric.add_fault(cable);
  }
  return fabric;
}

std::size_t hops(const Fabric& fabric, int from, int to) {
  return fabric_way(fabric, {.node = from}, {.node = to}).hops.size();
}

TEST(Torus, TheOtherWayRoundIsTakenWhereACableIsGone) {
  for (const int length : {3, 4, 7, 8}) {
    const Fabric ring = torus({length}, {"node0-node1"});
    EXPECT_EQ(ring.cut_off(1), "");
    for (int from = 0; from < length; ++from) {
      for (int to = 0; to < length; ++to) {
        // A line is left, from node 1 round to node 0.
        const auto place = [&](int node) { return (node + length - 1) % length; };
        EXPECT_EQ(hops(ring, from, to), static_cast<std::size_t>(std::abs(place(from) - place(to)))) << from << to;
      }
    }
  }
}

/// Where both ways round a ring are as short, each has its part: of every ring that is so.
TEST(Torus, BothWaysRoundAreTakenWhereTheyAreAsShort) {
  const auto ways = [](const Fabric& fabric, int from, int to) {
    std::set<std::vector<std::string>> all;
    for (const FabricWay& way : fabric_ways(fabric, {.node = from}, {.node = to})) {
      std::vector<std::string> names;
      for (const FabricWay::Hop& hop : way.hops) names.push_back(fabric_link_name(hop.link));
      EXPECT_TRUE(all.insert(names).second);
    }
    return all;
  };
  using Ways = std::set<std::vector<std::string>>;
  EXPECT_EQ(ways(torus({4}), 1, 3), (Ways{{"torus 1 forward in dimension 0", "torus 2 forward in dimension 0"},
                                          {"torus 1 backward in dimension 0", "torus 0 backward in dimension 0"}}));
  EXPECT_EQ(ways(torus({5}), 0, 2).size(), 1U);
  EXPECT_EQ(ways(torus({4, 3, 2}), 0, 2 + 4 + 12).size(), 4U);
  EXPECT_EQ(ways(torus({4}, {"node0-node1"}), 1, 3).size(), 1U) << "one of them is gone";
}

/// Every way ends where it should, over cables that are left; and one is as long as it was where none of its is gone.
TEST(Torus, WaysLeadRoundWhateverIsGone) {
  const Fabric whole = torus({4, 3, 2});
  const Fabric fabric = torus({4, 3, 2}, {"node0-node1", "node2-node3", "node0-node12", "node5-node6", "node9-node1"});
  ASSERT_EQ(fabric.cut_off(1), "");
  for (int from = 0; from < 24; ++from) {
    for (int to = 0; to < 24; ++to) {
      std::int64_t here = from;
      bool was_whole = true;
      for (const FabricWay::Hop& hop : fabric_way(whole, {.node = from}, {.node = to}).hops) {
        was_whole = was_whole && fabric_link_rate(fabric, 1, hop.link).bytes_per_second() > 0;
      }
      for (const FabricWay::Hop& hop : fabric_way(fabric, {.node = from}, {.node = to}).hops) {
        ASSERT_GT(hop.rate.bytes_per_second(), 0);
        const std::string name = fabric_link_name(hop.link);
        ASSERT_EQ(name.find(" " + std::to_string(here) + " "), 5U) << name;
        const auto dimension = static_cast<std::size_t>(name.back() - '0');
        here = torus_neighbour(fabric, here, dimension, name.find("forward") != std::string::npos);
      }
      ASSERT_EQ(here, to) << "from " << from;
      if (was_whole) {
        ASSERT_EQ(hops(fabric, from, to), hops(whole, from, to)) << from << " to " << to;
      }
    }
  }
}

TEST(Torus, WhatIsCutOffIsNamed) {
  EXPECT_EQ(torus({6}, {"node1-node2", "node4-node5"}).cut_off(1), "nodes 0 and 2");
  EXPECT_EQ(torus({4, 4}, {"node1-node2", "node0-node3"}).cut_off(1), "") << "another row leads round";
  EXPECT_EQ(hops(torus({4, 4}, {"node1-node2", "node0-node3"}), 1, 2), 3U);
  EXPECT_DOUBLE_EQ(fabric_way(torus({2}), {.node = 0}, {.node = 1}).hops.front().rate.bytes_per_second(), 25e9);
}

}  // namespace
}  // namespace twinlink::platforms
