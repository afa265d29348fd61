// What all ranks learn of each other's paths before they choose, and over which GPU messages reach another rail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "protocols/nccl/agreement.hpp"
#include "protocols/nccl/peer_fifos.hpp"
#include "tests/explore/explorer/fake_world.hpp"
#include "tests/protocols/scripted_rank.hpp"
#include "tests/support/made_up_rank.hpp"

namespace twinlink::nccl {
namespace {

using testing::ElementsAre;

/// Checks what each of so many ranks has learnt.
void agree_on(int ranks, Level p2p, const PathOf& path_of, const std::function<void(const Agreement&)>& check) {
  run_fake_world({.ranks = ranks}, [&](MeasuredRank& inner) {
    MadeUpRank rank(inner, inner.id(), inner.position().places, path_of);
    Agreement all;
    const Outcome outcome = agree(rank, {.p2p = p2p}, rank.now() + Seconds{1}, all);
    ASSERT_TRUE(outcome.ok()) << outcome.reason;
    check(all);
  });
}

/// Ranks take turns at so many nodes; within one all are peers, and behind a switch that adds up, of all.
PathOf nodes_in_turn(int nodes) {
  return [nodes](int self, int peer) {
    Path path{.same_node = self % nodes == peer % nodes};
    path.peer_access = path.same_node ? Answer::granted() : Answer::refused("other node");
    path.switch_reduces = Answer::granted();
    path.level = path.same_node ? Level::nvl : Level::sys;
    path.links = 10 * self + peer;
    path.switched = true;
    return path;
  };
}

TEST(NcclAgreement, EveryRankLearnsWhatTheOthersKnow) {
  agree_on(6, Level::pxb, nodes_in_turn(2), [](const Agreement& all) {
    EXPECT_TRUE(all.reduces);
    EXPECT_TRUE(all.all_meet);
    EXPECT_TRUE(all.near.switched);
    EXPECT_EQ(all.near.farthest, Level::nvl);
    EXPECT_THAT(all.island, ElementsAre(0, 1, 0, 1, 0, 1));
    // The first island has ranks 0, 2 and 4.
    for (std::size_t from = 0; from < Near::kMost; ++from) {
      for (std::size_t to = 0; to < Near::kMost; ++to) {
        const bool known = from < 3 && to < 3 && from != to;
        EXPECT_EQ(all.near.links.at(from).at(to), known ? 20 * from + 2 * to : 0) << from << " to " << to;
      }
    }
  });
  agree_on(6, Level::loc, nodes_in_turn(2), [](const Agreement& all) {
    EXPECT_FALSE(all.all_meet);
    EXPECT_FALSE(all.near.switched);
    EXPECT_EQ(all.near.farthest, Level::phb) << "in host memory";
    EXPECT_EQ(all.near.links[0][1], 0);
  });
}

/// Of larger islands the first ranks are known.
TEST(NcclAgreement, OfOneIslandHasTheLinksOfItsFirstRanks) {
  agree_on(10, Level::pxb, nodes_in_turn(1), [](const Agreement& all) {
    EXPECT_EQ(all.island, std::vector<std::int32_t>(10, 0));
    EXPECT_EQ(all.near.links[7][6], 76);
    EXPECT_EQ(all.near.links[6][7], 67);
  });
}

TEST(NcclAgreement, OneRankThatDiffersIsEnough) {
  for (int odd = 0; odd < 6; ++odd) {
    const auto with = [&](Answer Path::*answer) -> PathOf {
      return [=, path_of = nodes_in_turn(2)](int self, int peer) {
        Path path = path_of(self, peer);
        if (self == odd && peer == (odd + 2) % 6) path.*answer = Answer::refused("this one alone");
        return path;
      };
    };
    agree_on(6, Level::pxb, with(&Path::switch_reduces), [](const Agreement& all) {
      EXPECT_FALSE(all.reduces);
      EXPECT_TRUE(all.all_meet);
    });
    agree_on(6, Level::pxb, with(&Path::peer_access), [](const Agreement& all) {
      EXPECT_TRUE(all.reduces);
      EXPECT_FALSE(all.all_meet);
      EXPECT_THAT(all.island, ElementsAre(0, 1, 0, 1, 0, 1)) << "on one node all the same";
    });
  }
}

/// A token has room for 32 of them; of islands that follow each other, all of one size, that is enough.
TEST(NcclAgreement, OfManyIslandsNamesEach) {
  for (const int ranks : {2, 31, 32, 33, 64, 70}) {
    std::vector<std::int32_t> each(static_cast<std::size_t>(ranks));
    std::iota(each.begin(), each.end(), 0);
    agree_on(ranks, Level::pxb, nodes_in_turn(ranks), [&](const Agreement& all) { EXPECT_EQ(all.island, each); });
    const int nodes = (ranks + 1) / 2;
    for (std::int32_t& island : each) island %= nodes;
    agree_on(ranks, Level::pxb, nodes_in_turn(nodes), [&](const Agreement& all) { EXPECT_EQ(all.island, each); });
  }
}

TEST(NcclAgreement, OfIslandsOneBehindTheOtherTheLastMayBeSmaller) {
  const PathOf blocks_of_three = [](int self, int peer) {
    Path path{.same_node = self / 3 == peer / 3};
    path.peer_access = path.same_node ? Answer::granted() : Answer::refused("other node");
    return path;
  };
  agree_on(6, Level::pxb, blocks_of_three,
           [](const Agreement& all) { EXPECT_THAT(all.island, ElementsAre(0, 0, 0, 3, 3, 3)); });
  agree_on(5, Level::pxb, blocks_of_three,
           [](const Agreement& all) { EXPECT_THAT(all.island, ElementsAre(0, 0, 0, 3, 3)); });
}

/// Two nodes of four GPUs, the second one's first: of rank 1, which has GPU 1 there.
TEST(NcclRails, AreReachedOverTheGpuBesideThem) {
  const std::vector<Place> places{{1, 0}, {1, 1}, {1, 2}, {0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 2}};
  const auto beside = [&](int self, int peer, double links, double adapter, bool peers = true) {
    ScriptedRank nobody;
    MadeUpRank rank(nobody, RankId{self}, places, [&](int me, int other) {
      Path path{.same_node = places[static_cast<std::size_t>(me)].node == places[static_cast<std::size_t>(other)].node};
      path.peer_access = peers ? Answer::granted() : Answer::refused("none");
      path.peer_rate = path.same_node ? Rate{links} : Rate{};
      path.adapter_rate = path.same_node ? Rate{} : Rate{adapter};
      return path;
    });
    const std::optional<RankId> found = beside_rail_of(rank, RankId{peer});
    return found ? found->value : -1;
  };
  EXPECT_EQ(beside(1, 5, 200e9, 50e9), 2);
  EXPECT_EQ(beside(1, 3, 200e9, 50e9), 0);
  EXPECT_EQ(beside(4, 2, 200e9, 50e9), 5) << "the first of two on that GPU, of its own node";
  EXPECT_EQ(beside(1, 4, 200e9, 50e9), -1) << "its own rail";
  EXPECT_EQ(beside(1, 6, 200e9, 50e9), -1) << "nobody there has GPU 3";
  EXPECT_EQ(beside(1, 5, 50e9, 50e9), -1) << "links carry no more than the adapter";
  EXPECT_EQ(beside(1, 5, 0, 50e9), 2) << "nobody knows what they carry";
  EXPECT_EQ(beside(1, 5, 200e9, 50e9, false), -1);
}

}  // namespace
}  // namespace twinlink::nccl
