// MPI libraries' rules at their thresholds, and their algorithms: all ranks' schedules against each other, as in
// schedules_test.cpp, where here nobody's message leaves before its peer waits for it.
#include "protocols/workloads/mpi/library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "protocols/core/errors.hpp"
#include "protocols/workloads/mpi/schedules.hpp"
#include "tests/protocols/workloads/schedule_machine.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::workloads::mpi {
namespace {

using testing::HasSubstr;

const Library& openmpi() { return find_library("openmpi 4.1.6", ""); }
const Library& mpich() { return find_library("mpich 4.2.1", ""); }

std::string chosen(std::string_view workload, int ranks, std::uint64_t bytes) {
  return std::string(choose(openmpi(), workload, {ranks}, Bytes{bytes}).algorithm->name);
}

/// Read in the decision functions of v4.1.6, one branch after the other, and for doubles. Sizes of all-gather, gather,
/// scatter and all-to-all are those of all ranks together.
TEST(OpenMpi, TakesWhatItsDecisionFunctionsSay) {
  using Case = std::tuple<const char*, int, std::uint64_t, const char*>;
  for (const auto& [workload, ranks, bytes, name] : {
           Case{"all-reduce", 2, 4095, "recursive_doubling"},
           {"all-reduce", 2, 4096, "ring"},
           {"all-reduce", 3, 8191, "ring"},
           {"all-reduce", 3, 8192, "recursive_doubling"},
           {"all-reduce", 2, 16384, "ring"},
           {"all-reduce", 2, 65535, "ring"},
           {"all-reduce", 2, 65536, "segmented_ring"},
           {"all-reduce", 3, 262143, "segmented_ring"},
           {"all-reduce", 3, 262144, "rabenseifner"},
           {"all-reduce", 4, 8191, "recursive_doubling"},
           {"all-reduce", 7, 8192, "rabenseifner"},
           {"all-reduce", 15, 8191, "recursive_doubling"},
           {"all-reduce", 31, 4095, "recursive_doubling"},
           {"all-reduce", 16, 4096, "rabenseifner"},
           {"all-reduce", 63, 4095, "rabenseifner"},
           {"all-reduce", 64, 262143, "recursive_doubling"},
           {"all-reduce", 127, 262144, "rabenseifner"},
           {"all-reduce", 128, 131071, "nonoverlapping"},
           {"all-reduce", 128, 131072, "recursive_doubling"},
           {"all-reduce", 511, 4096, "rabenseifner"},
           {"all-reduce", 2047, 16383, "recursive_doubling"},
           {"all-reduce", 4096, 32768, "rabenseifner"},
           {"all-gather", 2, 1 << 20, "two_proc"},
           {"all-gather", 16, 1 << 20, "recursive_doubling"},
           {"all-gather", 32, 32 * 1023, "recursive_doubling"},
           {"all-gather", 32, 32 * 1024, "neighbor"},
           {"all-gather", 62, 62 * 65536, "ring"},
           {"all-gather", 100, 100 * 512, "neighbor"},
           {"all-gather", 256, 256 * 32, "bruck"},
           {"all-gather", 512, 512 * 2047, "recursive_doubling"},
           {"all-gather", 1024, 1024 * 256, "bruck"},
           {"all-gather", 1024, 1024 * 512, "recursive_doubling"},
           {"reduce-scatter", 3, 65535, "ring"},
           {"reduce-scatter", 3, 65536, "butterfly"},
           {"reduce-scatter", 3, 131072, "ring"},
           {"reduce-scatter", 31, 262143, "recursive_halving"},
           {"reduce-scatter", 31, 262144, "ring"},
           {"reduce-scatter", 32, 63, "non-overlapping"},
           {"reduce-scatter", 32, 2048, "butterfly"},
           {"reduce-scatter", 64, 4095, "recursive_halving"},
           {"reduce-scatter", 64, 4096, "butterfly"},
           {"broadcast", 2, 31, "pipeline"},
           {"broadcast", 2, 255, "binary_tree"},
           {"broadcast", 3, 512, "knomial"},
           {"broadcast", 3, 1024, "basic_linear"},
           {"broadcast", 3, 131072, "chain"},
           {"broadcast", 3, 524288, "binomial"},
           {"broadcast", 4, 1048575, "basic_linear"},
           {"broadcast", 4, 1048576, "chain"},
           {"broadcast", 15, 32768, "basic_linear"},
           {"broadcast", 16, 1048575, "binomial"},
           {"broadcast", 16, 1048576, "scatter_allgather"},
           {"broadcast", 63, 2048, "knomial"},
           {"broadcast", 255, 16384, "basic_linear"},
           {"broadcast", 1023, 16384, "split_binary_tree"},
           {"broadcast", 1023, 32768, "knomial"},
           {"reduce", 2, 15, "binary"},
           {"reduce", 2, 31, "pipeline"},
           {"reduce", 3, 262143, "linear"},
           {"reduce", 3, 524288, "chain"},
           {"reduce", 7, 65535, "chain"},
           {"reduce", 7, 65536, "binomial"},
           {"reduce", 7, 1048576, "linear"},
           {"reduce", 15, 8191, "binary"},
           {"reduce", 511, 8192, "in-order_binary"},
           {"gather", 3, 3 * 131072, "linear_sync"},
           {"gather", 4, 4 * 1024, "basic_linear"},
           {"gather", 8, 1 << 24, "binomial"},
           {"scatter", 3, 3 * 131071, "basic_linear"},
           {"scatter", 8, 8 * 16383, "binomial"},
           {"scatter", 8, 8 * 16384, "linear_nb"},
           {"all-to-all", 2, 2 * 262143, "linear_sync"},
           {"all-to-all", 2, 2 * 262144, "two_proc"},
           {"all-to-all", 3, 3 * 8191, "linear_sync"},
           {"all-to-all", 7, 7 * 8192, "linear"},
           {"all-to-all", 7, 7 * 524288, "pairwise"},
           {"all-to-all", 31, 31 * 511, "modified_bruck"},
           {"all-to-all", 31, 31 * 512, "linear_sync"},
           {"all-to-all", 64, 64 * 262143, "linear"},
           {"all-to-all", 64, 64 * 262144, "pairwise"},
           {"barrier", 3, 8, "recursive_doubling"},
           {"barrier", 4, 8, "linear"},
           {"barrier", 63, 8, "recursive_doubling"},
           {"barrier", 64, 8, "bruck"},
           {"barrier", 256, 8, "tree"},
           {"barrier", 512, 8, "bruck"},
           {"barrier", 4095, 8, "tree"},
       }) {
    EXPECT_EQ(chosen(workload, ranks, bytes), name) << workload << ", " << ranks << " ranks, " << bytes << " B";
  }
}

/// In v4.0.5: from 10000 B on a ring, up to 1 MiB for each rank.
TEST(OpenMpi, HadAnotherRuleForAllReducesBefore) {
  const Library& before = find_library("openmpi 4.0.5", "");
  const auto chosen_before = [&](std::uint64_t bytes) {
    return choose(before, "all-reduce", {4}, Bytes{bytes}).algorithm->name;
  };
  EXPECT_EQ(chosen_before(9999), "recursive_doubling");
  EXPECT_EQ(chosen_before(10000), "ring");
  EXPECT_EQ(chosen_before(4 << 20), "ring");
  EXPECT_THAT(said_by<UsageError>([&] { chosen_before((4 << 20) + 8); }), HasSubstr("at most 1 MiB for each"));
  EXPECT_THAT(said_by<UsageError>([&] { choose(before, "broadcast", {4}, 1_KiB); }),
              HasSubstr("no rule for broadcast"));
}

TEST(OpenMpi, TakesAnotherOneWhereAnAlgorithmLacksSomething) {
  EXPECT_EQ(chosen("all-reduce", 16, 63), "recursive_doubling") << "a ring of 16 ranks has no 7 elements";
  EXPECT_EQ(chosen("all-reduce", 32, 32 * 8 - 1), "basic_linear") << "nor do halves of 32 ranks have 31";
  EXPECT_EQ(chosen("all-reduce", 32, 32 * 8), "rabenseifner");
  EXPECT_EQ(chosen("all-gather", 15, 1 << 20), "bruck") << "of no power of two";
  EXPECT_EQ(chosen("all-gather", 33, 33 * 1024), "ring") << "of an odd number";
  EXPECT_EQ(chosen("reduce", 2, 7), "linear");
  for (const Table& table : openmpi().tables) {
    for (const std::uint64_t bytes : {8ULL, 1ULL << 20U}) {
      const Algorithm& alone = *choose(openmpi(), table.workload, {1}, Bytes{bytes}).algorithm;
      for (const Step& step : alone.schedule({1, 1}, 0, bytes / 8).steps) {
        EXPECT_TRUE(step.transfers.empty()) << table.workload << " with nobody";
      }
    }
  }
  EXPECT_EQ(choose(openmpi(), "all-gather", {33}, Bytes{33 * 1024}).why,
            "openmpi 4.1: neighbor needs an even number of ranks");
  EXPECT_EQ(choose(find_library("", "openmpi"), "all-reduce", {32}, 128_B).why,
            "openmpi, by the rules of 4.1: rabenseifner needs as many elements of 8 B as ranks in a power of two");
}

/// What is made of two collectives takes each by its own rule.
TEST(OpenMpi, SaysWhatACollectiveOfTwoIsMadeOf) {
  EXPECT_EQ(choose(openmpi(), "all-reduce", {128}, 1_KiB).why,
            "openmpi 4.1: reduce by binomial, broadcast by binary_tree");
  EXPECT_EQ(choose(openmpi(), "all-reduce", {128}, 16_KiB).why,
            "openmpi 4.1: reduce by binomial, broadcast by basic_linear");
  EXPECT_EQ(choose(openmpi(), "reduce-scatter", {32}, 32_B).why, "openmpi 4.1: reduce by binomial");
}

std::vector<std::uint64_t> thresholds() {
  std::vector<std::uint64_t> all;
  for (unsigned bits = 0; bits <= 24; ++bits) {
    for (const std::uint64_t near : {(1ULL << bits) - 1, 1ULL << bits}) all.push_back(std::max<std::uint64_t>(near, 1));
  }
  return all;
}

class Rules : public testing::TestWithParam<const Library*> {};
INSTANTIATE_TEST_SUITE_P(Of, Rules, testing::Values(&openmpi(), &mpich()), [](const auto& of) {
  return std::string(of.param->name.substr(0, of.param->name.find(' ')));
});

TEST_P(Rules, HaveAScheduleForWhateverIsChosen) {
  std::set<const Algorithm*> seen;
  for (const Table& table : GetParam()->tables) {
    for (int ranks = 2; ranks <= 8200; ranks += ranks < 70 ? 1 : ranks / 8) {
      for (const int near : {ranks, ranks + 1}) {
        for (const std::uint64_t bytes : thresholds()) {
          const std::uint64_t all = table.for_each_rank ? bytes * static_cast<std::uint64_t>(near) : bytes;
          const Algorithm* const algorithm = choose(*GetParam(), table.workload, {near, false}, Bytes{all}).algorithm;
          ASSERT_TRUE(algorithm->schedule != nullptr) << table.workload << ", " << near << " ranks, " << bytes;
          seen.insert(algorithm);
        }
      }
    }
    for (const LibraryAlgorithm& each : table.algorithms) {
      EXPECT_TRUE(each.algorithm.schedule == nullptr || seen.contains(&each.algorithm))
          << table.workload << ": nobody takes " << each.algorithm.name;
    }
  }
}

TEST_P(Rules, RowsAndSizesAscend) {
  for (const Table& table : GetParam()->tables) {
    EXPECT_EQ(table.rows.front().ranks, 2);
    EXPECT_TRUE(std::ranges::is_sorted(table.rows, {}, &Row::ranks));
    for (const Row& row : table.rows) {
      std::istringstream words{std::string(row.choices)};
      std::string name;
      std::uint64_t before = 0;
      for (std::uint64_t below = 0; words >> name;) {
        EXPECT_THAT(std::vector(table.algorithms.begin(), table.algorithms.end()),
                    testing::Contains(testing::Truly([&](const auto& each) { return each.algorithm.name == name; })))
            << name;
        if (!(words >> below)) break;
        EXPECT_GT(below, before) << row.choices;
        before = below;
      }
    }
  }
}

/// Both ends of an exchange begin it before either goes on, as with messages too large for any buffer.
bool ends_with_patience(const Algorithm& algorithm, const Shape& shape, std::uint64_t elements) {
  struct Rank {
    std::vector<Step> steps{};
    std::size_t step = 0;
    bool begun = false;
    std::map<int, int> exchanges{};
  };
  std::vector<Rank> ranks(static_cast<std::size_t>(shape.ranks));
  for (int r = 0; r < shape.ranks; ++r) {
    ranks[static_cast<std::size_t>(r)].steps = algorithm.schedule(shape, r, elements).steps;
  }
  const auto peers_of = [](const Step& step) {
    std::set<int> peers;
    for (const Transfer& t : step.transfers) {
      if (t.send.length + t.receive.length > 0) peers.insert(t.peer);
    }
    return peers;
  };
  for (bool moved = true; std::exchange(moved, false);) {
    for (int r = 0; r < shape.ranks; ++r) {
      Rank& rank = ranks[static_cast<std::size_t>(r)];
      if (rank.step == rank.steps.size()) continue;
      const std::set<int> peers = peers_of(rank.steps[rank.step]);
      if (!std::exchange(rank.begun, true)) {
        for (const int peer : peers) ++rank.exchanges[peer];
        moved = true;
      }
      const bool met = std::ranges::all_of(
          peers, [&](int peer) { return ranks[static_cast<std::size_t>(peer)].exchanges[r] >= rank.exchanges[peer]; });
      if (!met) continue;
      ++rank.step;
      rank.begun = false;
      moved = true;
    }
  }
  return std::ranges::all_of(ranks, [](const Rank& rank) { return rank.step == rank.steps.size(); });
}

bool can(const LibraryAlgorithm& each, int ranks) {
  if (each.algorithm.name == "two_proc") return ranks == 2;
  if (each.needs == Needs::power_of_two_ranks) return std::has_single_bit(static_cast<unsigned>(ranks));
  return each.needs != Needs::even_ranks || ranks % 2 == 0;
}

TEST_P(Rules, AlgorithmsDoWhatTheWorkloadPromises) {
  for (const Table& table : GetParam()->tables) {
    for (const LibraryAlgorithm& each : table.algorithms) {
      if (each.algorithm.schedule == nullptr) continue;
      for (const int ranks : {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 23, 24, 31, 32, 33, 40}) {
        if (!can(each, ranks)) continue;
        for (const std::uint64_t elements : {1, 2, 3, 16, 61, 1000}) {
          const Shape shape{ranks, 1};
          const std::string what = std::string(table.workload) + ", " + std::string(each.algorithm.name) + ", " +
                                   std::to_string(ranks) + " ranks, " + std::to_string(elements) + " elements";
          Machine machine(each.algorithm, shape, elements);
          machine.run();
          ASSERT_TRUE(machine.all_ended()) << what;
          ASSERT_TRUE(ends_with_patience(each.algorithm, shape, elements)) << what;
          expect_mirrored(each.algorithm, shape, elements);
          for (int r = 0; r < ranks && table.workload != "barrier"; ++r) {
            if (each.algorithm.schedule(shape, r, elements).after.empty()) continue;
            ASSERT_TRUE(machine.as_promised(r)) << what << ", rank " << r;
          }
        }
      }
    }
  }
}

/// What a rank sends tells all that it has heard of; it goes on when its step's messages have come.
void expect_all_heard(const Algorithm& algorithm, int ranks) {
  std::vector<std::set<int>> heard(static_cast<std::size_t>(ranks));
  std::vector<std::size_t> steps(static_cast<std::size_t>(ranks));
  std::map<std::pair<int, int>, std::vector<std::set<int>>> sent;
  std::map<std::pair<int, int>, std::size_t> received;
  std::set<std::pair<int, std::size_t>> begun;
  for (int r = 0; r < ranks; ++r) heard[static_cast<std::size_t>(r)].insert(r);
  for (bool moved = true; std::exchange(moved, false);) {
    for (int r = 0; r < ranks; ++r) {
      auto& mine = heard[static_cast<std::size_t>(r)];
      std::size_t& at = steps[static_cast<std::size_t>(r)];
      const Schedule schedule = algorithm.schedule({ranks, 1}, r, 1);
      if (at == schedule.steps.size()) continue;
      const auto& transfers = schedule.steps[at].transfers;
      for (const Transfer& t : transfers) {
        if (t.send.length > 0 && !begun.contains({r, at})) sent[{r, t.peer}].push_back(mine);
      }
      begun.insert({r, at});
      const auto there = [&](const Transfer& t) {
        return t.receive.length == 0 || sent[{t.peer, r}].size() > received[{t.peer, r}];
      };
      if (!std::ranges::all_of(transfers, there)) continue;
      for (const Transfer& t : transfers) {
        if (t.receive.length == 0) continue;
        const auto& theirs = sent[{t.peer, r}][received[{t.peer, r}]++];
        mine.insert(theirs.begin(), theirs.end());
      }
      ++at;
      moved = true;
    }
  }
  for (const auto& all : heard) EXPECT_EQ(all.size(), static_cast<std::size_t>(ranks)) << algorithm.name;
}

TEST_P(Rules, NobodyLeavesABarrierBeforeAllHaveCome) {
  const auto barrier = std::ranges::find(GetParam()->tables, std::string_view("barrier"), &Table::workload);
  for (const LibraryAlgorithm& each : barrier->algorithms) {
    if (each.algorithm.schedule == nullptr) continue;
    for (int ranks = 2; ranks <= 33; ++ranks) expect_all_heard(each.algorithm, ranks);
  }
}

/// As drawn in ompi/mca/coll/base/coll_base_topo.c.
TEST(MpiTrees, BranchAsOpenMpiDrawsThem) {
  using testing::ElementsAre;
  EXPECT_THAT(binary_tree(7, 1).below, ElementsAre(3, 5));
  EXPECT_THAT(binary_tree(7, 2).below, ElementsAre(4, 6));
  EXPECT_THAT(binomial_tree(8, 0).below, ElementsAre(1, 2, 4));
  EXPECT_THAT(binomial_tree(8, 1).below, ElementsAre(3, 5));
  EXPECT_THAT(binomial_tree(8, 3).below, ElementsAre(7));
  EXPECT_THAT(binomial_tree(8, 2).below, ElementsAre(6));
  EXPECT_THAT(in_order_binomial_tree(8, 4).below, ElementsAre(5, 6));
  EXPECT_THAT(in_order_binomial_tree(8, 6).below, ElementsAre(7));
  EXPECT_THAT(four_nomial_tree(10, 0).below, ElementsAre(4, 8, 1, 2, 3));
  EXPECT_THAT(four_nomial_tree(10, 4).below, ElementsAre(5, 6, 7));
  EXPECT_THAT(four_nomial_tree(10, 8).below, ElementsAre(9));
  EXPECT_THAT(in_order_binary_tree(9, 8).below, ElementsAre(7, 3));
  EXPECT_THAT(in_order_binary_tree(9, 7).below, ElementsAre(6, 5));
  EXPECT_THAT(in_order_binary_tree(9, 5).below, ElementsAre(4));
  EXPECT_THAT(in_order_binary_tree(9, 3).below, ElementsAre(2, 1));
  EXPECT_THAT(in_order_binary_tree(9, 1).below, ElementsAre(0));
  EXPECT_THAT(chain(3, 1).below, ElementsAre(2));
}

TEST(MpiTrees, ARankIsBelowWhoItSaysIsAbove) {
  for (const Tree tree : {star, falling_star, chain, binary_tree, binomial_tree, in_order_binomial_tree,
                          four_nomial_tree, in_order_binary_tree}) {
    for (int ranks = 2; ranks <= 70; ++ranks) {
      int below = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        for (const int child : tree(ranks, rank).below) {
          ASSERT_EQ(tree(ranks, child).above, rank) << child << " of " << ranks;
          ++below;
        }
      }
      EXPECT_EQ(below, ranks - 1);
    }
  }
}

TEST(MpiLibraries, AreFoundByNameAndVersion) {
  EXPECT_EQ(find_library("openmpi 4.1.6", "ucx").name, "openmpi 4.1");
  EXPECT_EQ(find_library("openmpi 5.0.3", "").name, "openmpi 5.0");
  EXPECT_EQ(find_library("", "openmpi").name, "openmpi");
  const auto said = [](const char* name, const char* preset) {
    return said_by<UsageError>([&] { find_library(name, preset); });
  };
  EXPECT_THAT(said("", "cray-mpich"), HasSubstr("by which rules cray-mpich chooses algorithms is not known here"));
  EXPECT_THAT(said("openmpi 3.1", ""), HasSubstr("openmpi 3.1"));
  EXPECT_THAT(said("openmpi 4.10", ""),
              HasSubstr("those of openmpi 4.0, openmpi 4.1, openmpi 5.0, mpich 4.1, mpich 4.2, mpich 4.3 are"));
  EXPECT_EQ(find_library("mpich 4.3.2", "").name, "mpich 4.3");
  EXPECT_THAT(said("mpich 4.0.3", ""), HasSubstr("mpich 4.0.3"));
  EXPECT_THAT(said("cray-mpich 8.1.29", ""), HasSubstr("cray-mpich 8.1.29"));
  EXPECT_THAT(said("", ""), HasSubstr("the platform names no MPI library"));
}

TEST(MpiLibraries, RefuseWhatTheyHaveNoRuleFor) {
  EXPECT_THAT(said_by<UsageError>([] { choose(openmpi(), "dispatch", {8}, 1_KiB); }),
              HasSubstr("openmpi 4.1 has no rule for dispatch"));
  require_rule(openmpi(), "all-reduce", 2);
  const Library& five = find_library("openmpi 5.0", "");
  require_rule(five, "all-reduce", 1);
  require_rule(five, "all-to-all", 2);
  require_rule(five, "reduce-scatter", 2);
  EXPECT_TRUE(choose(five, "reduce-scatter", {32}, 32_B).reduces) << "which goes by other rules then";
  EXPECT_FALSE(choose(five, "reduce-scatter", {32}, 64_B).reduces);
  EXPECT_THAT(said_by<UsageError>([&] { require_rule(five, "all-reduce", 2); }), HasSubstr("coll/han"));
  EXPECT_THAT(said_by<UsageError>([] { require_rule(find_library("", "openmpi"), "", 2); }),
              HasSubstr("does not say which runs"));
}

}  // namespace
}  // namespace twinlink::workloads::mpi
