// All ranks' schedules against each other, without a machine: what one sends the other receives, nobody waits for ever,
// and in the end everyone has what the workload promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "protocols/core/errors.hpp"
#include "protocols/workloads/catalogue.hpp"
#include "protocols/workloads/experts.hpp"
#include "protocols/workloads/groups.hpp"
#include "protocols/workloads/kv_cache.hpp"
#include "protocols/workloads/patterns.hpp"
#include "tests/protocols/workloads/schedule_machine.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::workloads {
namespace {

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (int ranks = 2; ranks <= 17; ++ranks) all.push_back({ranks, 1});
  for (const Shape& shape : {Shape{4, 2}, Shape{6, 3}, Shape{12, 4}, Shape{8, 8}, Shape{15, 5}}) all.push_back(shape);
  return all;
}

TEST(Schedules, DoWhatTheWorkloadPromises) {
  for (const Workload& workload : all_workloads()) {
    for (const Algorithm& algorithm : workload.algorithms) {
      for (const Shape& shape : shapes()) {
        // What a protocol does by itself has the same marks, and no messages to play here: the contract suite runs it.
        if (algorithm.together || !algorithm.refuses(shape).empty()) continue;
        for (const std::uint64_t elements : {1, 2, 3, 16, 61, 1000}) {
          Machine machine(algorithm, shape, elements);
          machine.run();
          const std::string what = std::string(workload.name) + ", " + std::string(algorithm.name) + ", " +
                                   std::to_string(shape.ranks) + " ranks, " + std::to_string(elements) + " elements";
          ASSERT_TRUE(machine.all_ended()) << what;
          if (workload.name == "barrier") continue;
          for (int r = 0; r < shape.ranks; ++r) {
            const bool receives = !algorithm.schedule(shape, r, elements).after.empty();
            if (!receives) continue;
            ASSERT_TRUE(machine.as_promised(r)) << what << ", rank " << r;
          }
          expect_mirrored(algorithm, shape, elements);
        }
      }
    }
  }
}

TEST(Experts, AreAsPopularAsTheSkewSays) {
  const auto quarter = testing::DoubleNear(0.25, 1e-12);
  EXPECT_THAT(expert_shares({.count = 12, .top = 3}, 4), testing::ElementsAre(quarter, quarter, quarter, quarter));
  // Zipf's weights of four experts, one for each rank, are 12, 6, 4 and 3 of 25.
  std::vector<double> shares = expert_shares({.count = 4, .top = 1, .skew = 1}, 4);
  std::ranges::sort(shares);
  const std::vector<double> zipf{3.0 / 25, 4.0 / 25, 6.0 / 25, 12.0 / 25};
  for (std::size_t i = 0; i < zipf.size(); ++i) EXPECT_NEAR(shares[i], zipf[i], 1e-12);
  // Of two for each token the first is chosen by 24 of 25. Of three it is chosen by all, and the two that are left go
  // by the other weights: 12, 8 and 6 of 13, so that the second is chosen by 12 of 13.
  EXPECT_NEAR(std::ranges::max(expert_shares({.count = 4, .top = 2, .skew = 1}, 4)), 24.0 / 25 / 2, 1e-12);
  std::vector<double> most = expert_shares({.count = 4, .top = 3, .skew = 1}, 4);
  std::ranges::sort(most, std::greater());
  EXPECT_NEAR(most[0], 1.0 / 3, 1e-12);
  EXPECT_NEAR(most[1], 12.0 / 13 / 3, 1e-12);
  EXPECT_NEAR(most[3], 6.0 / 13 / 3, 1e-12);
}

/// Weights over many orders of magnitude: what is left behind the large ones is no noise.
TEST(Experts, HaveAllTokensAmongThemHoweverUnequal) {
  for (const double skew : {0.5, 3.0, 6.0, 10.0}) {
    for (const int top : {1, 64, 256, 500, 512}) {
      double sum = 0;
      for (const double share : expert_shares({.count = 512, .top = top, .skew = skew}, 8)) {
        EXPECT_GE(share, 0) << "top " << top << ", skew " << skew;
        sum += share;
      }
      EXPECT_NEAR(sum, 1, 1e-9) << "top " << top << ", skew " << skew;
    }
  }
}

TEST(Experts, TheSeedDrawsWhoIsPopularAndNothingElse) {
  const auto shares = [](int seed) { return expert_shares({.count = 8, .top = 2, .skew = 1.2, .seed = seed}, 8); };
  EXPECT_EQ(shares(7), shares(7));
  std::vector<double> a = shares(7);
  std::vector<double> b = shares(8);
  EXPECT_NE(a, b);
  std::ranges::sort(a);
  std::ranges::sort(b);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-12);
}

TEST(Experts, TheirBlocksAreTheirSharesAndComeBack) {
  Shape shape{.ranks = 4, .experts = {.count = 4, .top = 1, .skew = 1}};
  const std::vector<double> shares = expert_shares(shape.experts, 4);
  for (int rank = 0; rank < 4; ++rank) {
    const auto sent = [&](const Schedule& schedule) {
      std::map<int, std::uint64_t> by_peer;
      for (const Transfer& t : schedule.steps.front().transfers) by_peer[t.peer] = t.send.length;
      return by_peer;
    };
    for (const auto& [peer, length] : sent(direct_dispatch(shape, rank, 25'000))) {
      EXPECT_EQ(length, std::llround(shares[static_cast<std::size_t>(peer)] * 25'000));
    }
    for (const auto& [peer, length] : sent(direct_combine(shape, rank, 25'000))) {
      EXPECT_EQ(length, std::llround(shares[static_cast<std::size_t>(rank)] * 25'000));
    }
  }
}

TEST(Experts, AreAsManyAsTheRanksAtLeast) {
  EXPECT_EQ(refuse_experts({.ranks = 16, .experts = {.count = 8}}), "8 experts are fewer than the 16 ranks");
  EXPECT_EQ(refuse_experts({.ranks = 2, .experts = {.count = 4, .top = 5}}), "a token cannot go to 5 of 4 experts");
  EXPECT_EQ(refuse_experts({.ranks = 2}), "");
}

TEST(Schedules, DoWhatTheyPromiseOfUnequalBlocks) {
  for (const char* workload : {"dispatch", "combine"}) {
    for (const Algorithm& algorithm : find_workload(workload).algorithms) {
      if (algorithm.together) continue;
      for (const double skew : {0.5, 3.0}) {
        for (const std::uint64_t elements : {1, 7, 1000}) {
          const Shape shape{.ranks = 7, .experts = {.count = 9, .top = 2, .skew = skew, .seed = 3}};
          Machine machine(algorithm, shape, elements);
          machine.run();
          ASSERT_TRUE(machine.all_ended());
          for (int r = 0; r < shape.ranks; ++r) {
            const bool receives = !algorithm.schedule(shape, r, elements).after.empty();
            ASSERT_TRUE(!receives || machine.as_promised(r)) << r;
          }
          expect_mirrored(algorithm, shape, elements);
        }
      }
    }
  }
}

const Mark* mark_at(const std::vector<Mark>& marks, Bytes at) {
  const auto found = std::ranges::find(marks, at, [](const Mark& mark) { return bytes_of(mark.slice.begin); });
  return found == marks.end() ? nullptr : &*found;
}

/// What programs do with the lists of all ranks leaves what the schedules promise.
void expect_lists_that_fit(const Shape& shape, std::uint64_t elements, bool back) {
  std::vector<Schedule> all;
  for (int r = 0; r < shape.ranks; ++r) {
    all.push_back(back ? together_combine(shape, r, elements) : together_dispatch(shape, r, elements));
  }
  for (int r = 0; r < shape.ranks; ++r) {
    const Schedule& mine = all[static_cast<std::size_t>(r)];
    const PortionLists& own = mine.steps.front().together->blocks;
    std::size_t received = 0;
    for (int e = 0; e < own.experts; ++e) {
      Bytes at = own.to[static_cast<std::size_t>(e)];
      for (int places = 0; places < shape.ranks; ++places) {
        const auto index = static_cast<std::size_t>(places * own.experts + e);
        const Schedule& theirs = all[static_cast<std::size_t>((r + shape.ranks - places) % shape.ranks)];
        const PortionLists& lists = theirs.steps.front().together->blocks;
        const Bytes length = lists.lengths[index];
        ASSERT_LE(length, own.longest);
        ASSERT_EQ(lists.longest, own.longest);
        if (back) at = own.to[index];
        if (length == Bytes{}) continue;
        const Mark* const before = mark_at(theirs.before, lists.from[index]);
        const Mark* const after = mark_at(mine.after, own.sent + at);
        ASSERT_TRUE(before != nullptr && after != nullptr) << "expert " << e << " of rank " << r;
        EXPECT_EQ(before->value, after->value);
        EXPECT_EQ(bytes_of(before->slice.length), length);
        EXPECT_EQ(bytes_of(after->slice.length), length);
        at += length;
        ++received;
      }
    }
    EXPECT_EQ(received, mine.after.size());
  }
}

TEST(Experts, HaveBlocksOfTheirOwnWhereOneKernelPutsThem) {
  for (const bool back : {false, true}) {
    for (const int ranks : {2, 3, 7}) {
      for (const double skew : {0.0, 1.3}) {
        for (const std::uint64_t elements : {1, 7, 1000}) {
          expect_lists_that_fit({.ranks = ranks, .experts = {.count = 9, .top = 2, .skew = skew, .seed = 3}}, elements,
                                back);
        }
      }
    }
  }
  // Of each of four ranks 64 blocks of 8 elements, for two experts: all alike.
  const Schedule even = together_dispatch({.ranks = 4, .experts = {.count = 8, .top = 1}}, 1, 512);
  EXPECT_EQ(even.steps.front().together->blocks.lengths, std::vector<Bytes>(8, 512_B));
}

TEST(KvCache, GoesToThoseThatHaveTheSameHeadsBlockByBlock) {
  for (const Algorithm& algorithm : find_workload("kv-cache").algorithms) {
    for (const int ranks : {2, 3, 5, 8}) {
      for (int prefill = 1; prefill < ranks; ++prefill) {
        for (const std::uint64_t elements : {1, 6, 60, 100}) {
          const Shape shape{.ranks = ranks, .kv = {.prefill = prefill, .block = 24_B}};
          ASSERT_EQ(algorithm.refuses(shape), "");
          Machine machine(algorithm, shape, elements);
          machine.run();
          ASSERT_TRUE(machine.all_ended());
          std::uint64_t received = 0;
          for (int r = prefill; r < ranks; ++r) {
            const Schedule schedule = algorithm.schedule(shape, r, elements);
            received += schedule.data;
            ASSERT_TRUE(schedule.after.empty() || machine.as_promised(r)) << algorithm.name << ", rank " << r;
          }
          EXPECT_EQ(received, elements * static_cast<std::uint64_t>(prefill)) << "all of it, once";
          expect_mirrored(algorithm, shape, elements);
        }
      }
    }
  }
  // Two ranks to four: each has two peers, and blocks of three elements of its 12 for each.
  const Schedule schedule = listed_kv_cache({.ranks = 6, .kv = {.prefill = 2, .block = 24_B}}, 1, 12);
  std::vector<int> peers;
  for (const Transfer& transfer : schedule.steps.front().transfers) peers.push_back(transfer.peer);
  EXPECT_THAT(peers, testing::ElementsAre(4, 4, 5, 5));
  // Who receives has its blocks elsewhere than who sends: from behind.
  for (const auto& [rank, begins] : {std::pair{1, std::array{0, 3, 6, 9}}, {4, {3, 0, -1, -1}}, {5, {3, 0, -1, -1}}}) {
    const Schedule own = listed_kv_cache({.ranks = 6, .kv = {.prefill = 2, .block = 24_B}}, rank, 12);
    std::array<int, 4> places{-1, -1, -1, -1};
    for (std::size_t i = 0; i < own.steps.front().transfers.size(); ++i) {
      const Transfer& transfer = own.steps.front().transfers[i];
      places.at(i) = static_cast<int>(rank == 1 ? transfer.send.begin : transfer.receive.begin);
    }
    EXPECT_EQ(places, begins) << rank;
  }
  EXPECT_EQ(refuse_kv_cache({.ranks = 4, .kv = {.prefill = 4}}),
            "4 ranks have read the prompt, and none of 4 is left to go on");
}

TEST(Schedules, AFaultWouldBeSeen) {
  // The planted one: rank 1 adds nothing.
  const Algorithm broken{"broken", "", "", [](const Shape&) { return std::string(); },
                         [](const Shape& shape, int rank, std::uint64_t elements) {
                           Schedule schedule =
                               find_algorithm(find_workload("all-reduce"), "ring").schedule(shape, rank, elements);
                           if (rank == 1) schedule.steps.front().locals.clear();
                           return schedule;
                         }};
  Machine machine(broken, {3, 1}, 12);
  machine.run();
  EXPECT_TRUE(machine.all_ended());
  EXPECT_FALSE(machine.as_promised(0) && machine.as_promised(1) && machine.as_promised(2));
}

TEST(Barrier, NobodyIsThroughBeforeAllHaveCome) {
  // In each round a rank hears of twice as many: after the last, of all.
  const Algorithm& algorithm = find_workload("barrier").algorithms.front();
  for (int ranks = 2; ranks <= 33; ++ranks) {
    std::vector<std::set<int>> known(static_cast<std::size_t>(ranks));
    for (int r = 0; r < ranks; ++r) known[static_cast<std::size_t>(r)].insert(r);
    const std::size_t rounds = algorithm.schedule({ranks, 1}, 0, 1).steps.size();
    for (std::size_t round = 0; round < rounds; ++round) {
      const auto before = known;
      for (int r = 0; r < ranks; ++r) {
        const Schedule schedule = algorithm.schedule({ranks, 1}, r, 1);
        for (const Transfer& t : schedule.steps[round].transfers) {
          if (t.receive.length == 0) continue;
          const auto& theirs = before[static_cast<std::size_t>(t.peer)];
          known[static_cast<std::size_t>(r)].insert(theirs.begin(), theirs.end());
        }
      }
    }
    for (const auto& heard : known) EXPECT_EQ(heard.size(), static_cast<std::size_t>(ranks)) << ranks;
  }
}

TEST(Grid, IsAsSquareAsTheNumberOfRanksAllows) {
  EXPECT_EQ(grid_of(12, 2), (std::vector{4, 3}));
  EXPECT_EQ(grid_of(64, 3), (std::vector{4, 4, 4}));
  EXPECT_EQ(grid_of(24, 3), (std::vector{4, 3, 2}));
  EXPECT_EQ(grid_of(7, 2), (std::vector{7, 1}));
  EXPECT_EQ(grid_of(2, 3), (std::vector{2, 1, 1}));
}

TEST(Parts, CoverAllElementsInOrder) {
  for (const std::uint64_t elements : {0, 1, 5, 64, 67}) {
    std::uint64_t next = 0;
    for (int i = 0; i < 5; ++i) {
      const Slice part = part_of(elements, 5, i);
      EXPECT_EQ(part.begin, next);
      next += part.length;
    }
    EXPECT_EQ(next, elements);
  }
}

TEST(Catalogue, UnknownNamesAreRefusedWithAList) {
  EXPECT_THAT(said_by([] { find_workload("all-recude"); }),
              testing::StartsWith("there is no workload 'all-recude' (there are: all-reduce, all-gather, "));
  EXPECT_EQ(said_by([] { find_algorithm(find_workload("broadcast"), "ring"); }),
            "there is no algorithm of broadcast 'ring' (there are: tree, chain, kernel)");
}

TEST(Catalogue, KnowsWhatOfEachByteCrossesTheWireOfFiveRanks) {
  const std::set<std::string_view> twice{"all-reduce", "training-step"};
  const std::set<std::string_view> once{"all-gather", "reduce-scatter", "gather", "scatter",
                                        "all-to-all", "dispatch",       "combine"};
  for (const Workload& workload : all_workloads()) {
    const double expected = twice.contains(workload.name) ? 8.0 / 5 : once.contains(workload.name) ? 4.0 / 5 : 1;
    EXPECT_DOUBLE_EQ(workload.bus_factor(5), expected) << workload.name;
  }
}

/// Copies of a node are one behind the other, and so are messages: nobody shares a target with others all the way.
TEST(Partners, AreNobodyElsesAtTheSamePlace) {
  for (const Shape& shape : {Shape{2, 1}, Shape{6, 6}, Shape{7, 1}, Shape{12, 1}, Shape{16, 8}, Shape{24, 8},
                             Shape{15, 5}, Shape{36, 12}, Shape{144, 72}}) {
    std::vector<std::vector<int>> all;
    for (int rank = 0; rank < shape.ranks; ++rank) {
      all.push_back(partners(shape, rank));
      const std::set<int> others(all.back().begin(), all.back().end());
      ASSERT_EQ(others.size() + 1, static_cast<std::size_t>(shape.ranks));
      ASSERT_EQ(others.count(rank), 0U);
    }
    // Of those in the node, and of those on one other node, each by itself: that is what is sent one behind the other.
    const int nodes = shape.ranks / shape.per_node;
    for (int node = 0; node < nodes; ++node) {
      for (int other = 0; other < nodes; ++other) {
        std::map<std::size_t, std::set<int>> taken;
        for (int rank = node * shape.per_node; rank < (node + 1) * shape.per_node; ++rank) {
          std::size_t place = 0;
          for (const int peer : all[static_cast<std::size_t>(rank)]) {
            if (peer / shape.per_node != other) continue;
            EXPECT_TRUE(taken[place++].insert(peer).second)
                << rank << " and " << peer << " of " << shape.ranks << ", " << shape.per_node << " a node";
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace twinlink::workloads
