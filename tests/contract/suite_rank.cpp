// Rules about where a rank is.
#include <algorithm>
#include <cstring>

#include "tests/contract/helpers.hpp"

namespace twinlink::contract {
namespace {

/// The facts of a path that both ends must agree on, small enough for a control message.
struct PathFacts {
  int node = 0;
  int gpu = 0;
  bool same_node = false;
  bool same_device = false;
  bool peer_access = false;
  bool device_mapping = false;
  bool one_sided = false;
  bool device_memory_on_network = false;
  bool hypothetical = false;
};

PathFacts facts_of(const Rank& rank, RankId peer) {
  const Path& path = rank.path_to(peer);
  const Place& place = rank.place(rank.id());
  return {place.node,
          place.gpu,
          path.same_node,
          path.same_device,
          path.peer_access.yes,
          path.device_mapping.yes,
          path.one_sided.yes,
          path.device_memory_on_network.yes,
          !path.hypothetical.empty()};
}

TEST(WhereAmI, RanksAreNumberedFromZero) {
  on_every_rank([](Rank& rank) {
    EXPECT_GE(rank.ranks(), 2);
    EXPECT_GE(rank.id().value, 0);
    EXPECT_LT(rank.id().value, rank.ranks());
  });
}

TEST(WhereAmI, EveryRankHasItsOwnId) {
  on_every_pair([](Rank& rank, RankId peer) { EXPECT_EQ(swap_with(rank, peer, rank.id().value), peer.value); });
}

TEST(WhereAmI, AllRanksSeeTheSameNumberOfRanks) {
  on_every_pair([](Rank& rank, RankId peer) { EXPECT_EQ(swap_with(rank, peer, rank.ranks()), rank.ranks()); });
}

/// A backend tells the time of its CPU always or never.
TEST(WhereAmI, TheCpuIsNeverBusyForLongerThanTheClockRan) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    const Seconds began = rank.now();
    const auto start = rank.cpu_time();
    meet(rank, peer);
    const auto end = rank.cpu_time();
    ASSERT_EQ(start.has_value(), end.has_value());
    if (!start) return;
    EXPECT_GE(*end, *start);
    EXPECT_LE((*end - *start).value(), (rank.now() - began).value() * (1 + 1e-9));
  });
}

TEST(WhereAmI, TheClockStartsAtZeroOrLaterAndNeverGoesBack) {
  on_every_pair([](Rank& rank, RankId peer) {
    Seconds before = rank.now();
    EXPECT_GE(before, Seconds{0});
    for (int i = 0; i < 100; ++i) {
      if (i % 10 == 0) meet(rank, peer);
      const Seconds after = rank.now();
      EXPECT_GE(after, before);
      before = after;
    }
  });
}

TEST(WhereAmI, ThePathIsTheSameAtBothEnds) {
  on_every_pair([](Rank& rank, RankId peer) {
    const PathFacts mine = facts_of(rank, peer);
    const PathFacts theirs = swap_with(rank, peer, mine);
    EXPECT_EQ(mine.same_node, theirs.same_node);
    EXPECT_EQ(mine.same_device, theirs.same_device);
    EXPECT_EQ(mine.peer_access, theirs.peer_access);
    EXPECT_EQ(mine.device_mapping, theirs.device_mapping);
    EXPECT_EQ(mine.one_sided, theirs.one_sided);
    EXPECT_EQ(mine.device_memory_on_network, theirs.device_memory_on_network);
    EXPECT_EQ(mine.hypothetical, theirs.hypothetical);
  });
}

TEST(WhereAmI, BothEndsKnowEachOthersPlace) {
  on_every_pair([](Rank& rank, RankId peer) {
    const PathFacts theirs = swap_with(rank, peer, facts_of(rank, peer));
    EXPECT_EQ(rank.place(peer).node, theirs.node);
    EXPECT_EQ(rank.place(peer).gpu, theirs.gpu);
    EXPECT_EQ(rank.path_to(peer).same_node, rank.place(peer).node == rank.place(rank.id()).node);
  });
}

TEST(WhereAmI, ARefusalOfThePathHasAReason) {
  on_every_pair([](Rank& rank, RankId peer) {
    const Path& path = rank.path_to(peer);
    for (const Answer* answer :
         {&path.peer_access, &path.device_mapping, &path.one_sided, &path.device_memory_on_network}) {
      EXPECT_EQ(answer->yes, answer->reason.empty()) << answer->reason;
    }
  });
}

TEST(WhereAmI, NothingPassesBetweenNodesButTheNetwork) {
  on_every_pair([](Rank& rank, RankId peer) {
    const Path& path = rank.path_to(peer);
    if (path.same_node) return;
    EXPECT_FALSE(path.same_device);
    EXPECT_FALSE(path.peer_access);
    EXPECT_FALSE(path.device_mapping);
  });
}

TEST(WhereAmI, ThePathDoesNotChange) {
  on_every_pair([](Rank& rank, RankId peer) {
    const PathFacts before = facts_of(rank, peer);
    const std::string reason = rank.path_to(peer).peer_access.reason;
    meet(rank, peer);
    const PathFacts after = facts_of(rank, peer);
    EXPECT_EQ(before.same_node, after.same_node);
    EXPECT_EQ(before.same_device, after.same_device);
    EXPECT_EQ(before.peer_access, after.peer_access);
    EXPECT_EQ(before.device_mapping, after.device_mapping);
    EXPECT_EQ(before.device_memory_on_network, after.device_memory_on_network);
    EXPECT_EQ(rank.path_to(peer).peer_access.reason, reason);
  });
}

TEST(WhereAmI, APathToItselfIsRefused) {
  on_every_rank([](Rank& rank) { EXPECT_THROW(static_cast<void>(rank.path_to(rank.id())), UsageError); });
}

TEST(WhereAmI, ARankThatDoesNotExistIsRefused) {
  on_every_rank([](Rank& rank) {
    for (const RankId nobody : {RankId{-1}, RankId{rank.ranks()}}) {
      EXPECT_THROW(static_cast<void>(rank.path_to(nobody)), UsageError);
      EXPECT_THROW(static_cast<void>(rank.place(nobody)), UsageError);
    }
  });
}

TEST(WhereAmI, ThereIsAtLeastOneNumaDomain) {
  on_every_rank([](Rank& rank) { EXPECT_GE(rank.numa_domains(), 1); });
}

TEST(WhereAmI, NamingAStepChangesNothing) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    const Scratch scratch(rank, Memory::pinned, 64_B);
    rank.fill(scratch.view(), Payload{3});
    ControlMessage received;
    const Op op = rank.recv_control(peer, tag(0), received);
    rank.step("any words");
    rank.step("");
    EXPECT_TRUE(rank.check(scratch.view(), Payload{3}).intact());
    send_control_now(rank, peer, tag(0), ControlMessage(7));
    finish(rank, op);
    EXPECT_EQ(received.as<int>(), 7);
  });
}

TEST(PeerAccess, IsAnsweredAsThePathSays) {
  on_every_pair([](Rank& rank, RankId peer) {
    const Path& path = rank.path_to(peer);
    const Answer answer = rank.check_peer_access(peer);
    EXPECT_EQ(answer.yes, path.same_device || path.peer_access.yes);
    EXPECT_EQ(answer.reason.empty(), answer.yes);
  });
}

}  // namespace
}  // namespace twinlink::contract
