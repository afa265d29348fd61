// MPICH's rules at their thresholds, and what single ranks send and receive by its algorithms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "protocols/core/errors.hpp"
#include "protocols/workloads/mpi/library.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::workloads::mpi {
namespace {

using testing::HasSubstr;

const Library& mpich() { return find_library("mpich 4.3", ""); }

/// Read in maint/tuning/coll/mpir/generic.json of v4.3.2. Sizes of all-to-alls are those of all blocks together.
TEST(Mpich, TakesWhatItsSelectionsSayWhereEachRankHasANode) {
  using Case = std::tuple<const char*, int, std::uint64_t, const char*>;
  for (const auto& [workload, ranks, bytes, name] : {
           Case{"broadcast", 7, 1 << 20, "binomial"},
           {"broadcast", 8, 12288, "binomial"},
           {"broadcast", 8, 12289, "scatter_recursive_doubling_allgather"},
           {"broadcast", 8, 524288, "scatter_recursive_doubling_allgather"},
           {"broadcast", 8, 524289, "scatter_ring_allgather"},
           {"broadcast", 9, 12288, "binomial"},
           {"broadcast", 9, 12289, "scatter_ring_allgather"},
           {"all-reduce", 4, 8, "recursive_doubling"},
           {"all-reduce", 4, 31, "recursive_doubling"},
           {"all-reduce", 4, 32, "reduce_scatter_allgather"},
           {"all-reduce", 63, 255, "recursive_doubling"},
           {"all-reduce", 63, 256, "reduce_scatter_allgather"},
           {"all-gather", 16, 524287, "recursive_doubling"},
           {"all-gather", 16, 524288, "ring"},
           {"all-gather", 12, 81919, "brucks"},
           {"all-gather", 12, 81920, "ring"},
           {"reduce", 6, 2048, "binomial"},
           {"reduce", 6, 2056, "reduce_scatter_gather"},
           {"reduce", 1024, 8191, "binomial"},
           {"reduce", 1024, 8192, "reduce_scatter_gather"},
           {"reduce-scatter", 6, 524287, "recursive_halving"},
           {"reduce-scatter", 6, 524288, "pairwise"},
           {"all-to-all", 7, 7 * 256, "scattered"},
           {"all-to-all", 7, 7 * 32768, "scattered"},
           {"all-to-all", 7, 7 * 32769, "pairwise"},
           {"all-to-all", 8, 8 * 256, "brucks"},
           {"all-to-all", 8, 8 * 257, "scattered"},
           {"all-to-all", 8, 8 * 32768, "scattered"},
           {"all-to-all", 8, 8 * 32769, "pairwise"},
           {"gather", 8, 1 << 24, "binomial"},
           {"scatter", 8, 1 << 24, "binomial"},
           {"barrier", 8, 8, "k_dissemination"},
       }) {
    EXPECT_EQ(choose(mpich(), workload, {ranks, false}, Bytes{bytes}).algorithm->name, name)
        << workload << ", " << ranks << " ranks, " << bytes << " B";
  }
}

/// By maint/tuning/coll/ch4/generic.json, whose limits are a byte off those of the other file.
TEST(Mpich, SharesMemoryWithinNodesForWhatHasAPartThere) {
  using Case = std::tuple<const char*, int, std::uint64_t>;
  for (const auto& [workload, ranks, bytes] : {Case{"broadcast", 7, 1 << 24},
                                               {"broadcast", 8, 524287},
                                               {"broadcast", 9, 12287},
                                               {"all-reduce", 8, 1 << 24},
                                               {"reduce", 8, 1 << 24},
                                               {"barrier", 8, 8}}) {
    EXPECT_THAT(said_by<UsageError>([&] {
                  choose(mpich(), workload, {ranks, true}, Bytes{bytes});
                }),
                HasSubstr(std::string("mpich 4.3: ") + workload + " of this size goes by release_gather"));
  }
  const auto chosen = [](int ranks, std::uint64_t bytes) {
    return choose(mpich(), "broadcast", {ranks, true}, Bytes{bytes}).algorithm->name;
  };
  EXPECT_EQ(chosen(9, 12288), "binomial");
  EXPECT_EQ(chosen(9, 12289), "scatter_ring_allgather");
  EXPECT_EQ(chosen(8, 524288), "scatter_recursive_doubling_allgather");
  EXPECT_EQ(chosen(8, 524289), "scatter_ring_allgather");
  for (const char* whole : {"all-to-all", "all-gather", "reduce-scatter", "gather", "scatter"}) {
    EXPECT_EQ(choose(mpich(), whole, {8, true}, 1_MiB).algorithm, choose(mpich(), whole, {8, false}, 1_MiB).algorithm);
  }
}

TEST(Mpich, RefusesWhatNobodySaysAndWhatGoesThroughTheHost) {
  EXPECT_THAT(said_by<UsageError>([] { choose(mpich(), "all-reduce", {8}, 1_KiB); }), HasSubstr("share nodes"));
  EXPECT_EQ(choose(mpich(), "all-gather", {8}, 1_KiB).algorithm->name, "recursive_doubling") << "wherever they are";
  const Call on_gpus{8, false, true};
  EXPECT_EQ(choose(mpich(), "all-to-all", on_gpus, 8_KiB).algorithm->name, "scattered");
  EXPECT_THAT(said_by<UsageError>([&] { choose(mpich(), "all-to-all", on_gpus, 1_KiB); }),
              HasSubstr("all-to-all by brucks"));
  EXPECT_THAT(said_by<UsageError>([&] { choose(mpich(), "broadcast", on_gpus, 1_KiB); }), HasSubstr("-p host"));
  for (const Table& table : mpich().tables) EXPECT_FALSE(copies_gpus(mpich(), table.workload));
}

/// Of one rank, step by step: "PEER<RECEIVED", "PEER>SENT", or "PEER>SENT<RECEIVED" in elements.
std::string messages(const char* workload, const char* name, int ranks, int rank, std::uint64_t elements) {
  std::string text;
  for (const Table& table : mpich().tables) {
    if (table.workload != workload) continue;
    for (const LibraryAlgorithm& each : table.algorithms) {
      if (each.algorithm.name != name) continue;
      for (const Step& step : each.algorithm.schedule({ranks, 1}, rank, elements).steps) {
        std::string of_step;
        for (const Transfer& t : step.transfers) {
          if (t.send.length + t.receive.length == 0) continue;
          of_step += (of_step.empty() ? "" : "+") + std::to_string(t.peer);
          if (t.send.length > 0) of_step += ">" + std::to_string(t.send.length);
          if (t.receive.length > 0) of_step += "<" + std::to_string(t.receive.length);
        }
        if (!of_step.empty()) text += (text.empty() ? "" : " ") + of_step;
      }
    }
  }
  return text;
}

/// Written down by hand from src/mpi/coll of v4.3.2, rank by rank.
TEST(Mpich, SendsInItsOwnOrder) {
  using Case = std::tuple<const char*, const char*, int, int, std::uint64_t, const char*>;
  for (const auto& [workload, name, ranks, rank, elements, order] : {
           Case{"broadcast", "binomial", 6, 0, 60, "4>60 2>60 1>60"},
           {"broadcast", "binomial", 6, 4, 60, "0<60 5>60"},
           {"broadcast", "scatter_ring_allgather", 6, 0, 60,
            "4>20 2>20 1>10 1>10+5<10 1>10+5<10 1>10+5<10 1>10+5<10 1>10+5<10"},
           // Of 7 elements blocks are of 2, so the last of 6 ranks have 1, none, none; messages without bytes are left
           // out.
           {"broadcast", "scatter_ring_allgather", 6, 4, 7, "3<1 5>1+3<2 5>2+3<2 5>2+3<2 5>2"},
           {"broadcast", "scatter_recursive_doubling_allgather", 4, 2, 8, "0<4 3>2 3>2<2 0>4<4"},
           {"all-reduce", "recursive_doubling", 5, 1, 3, "0<3 2>3<3 3>3<3 0>3"},
           // Of 9 elements members have 3, 2, 2, 2.
           {"all-reduce", "reduce_scatter_allgather", 5, 0, 9, "1>9 1<9"},
           {"all-reduce", "reduce_scatter_allgather", 5, 1, 9, "0<9 2>4<5 3>2<3 3>3<2 2>5<4 0>9"},
           {"all-reduce", "reduce_scatter_allgather", 5, 4, 9, "3>5<4 2>2<2 2>2<2 3>4<5"},
           {"reduce", "binomial", 6, 0, 12, "1<12 2<12 4<12"},
           {"reduce", "binomial", 6, 2, 12, "3<12 0>12"},
           {"reduce", "reduce_scatter_gather", 6, 0, 12, "1<12 2>6<6 4>3<3 4<3 2<6"},
           {"reduce", "reduce_scatter_gather", 6, 1, 12, "0>12"},
           {"reduce", "reduce_scatter_gather", 6, 2, 12, "3<12 0>6<6 5>3<3 5<3 0>6"},
           {"reduce", "reduce_scatter_gather", 6, 4, 12, "5>6<6 0>3<3 0>3"},
           {"reduce-scatter", "recursive_halving", 4, 1, 8, "3>4<4 0>2<2"},
           {"reduce-scatter", "recursive_halving", 3, 0, 6, "1>6 1<2"},
           {"reduce-scatter", "pairwise", 4, 1, 8, "2>2+0<2 3>2<2 0>2+2<2"},
           {"all-gather", "brucks", 5, 0, 5, "4>1+1<1 3>2+2<2 1>1+4<1"},
           {"all-gather", "recursive_doubling", 4, 3, 8, "2>2<2 1>4<4"},
           {"all-gather", "ring", 4, 3, 8, "0>2+2<2 0>2+2<2 0>2+2<2"},
           {"all-to-all", "pairwise", 4, 1, 8, "0>2<2 3>2<2 2>2<2"},
           {"all-to-all", "pairwise", 3, 1, 6, "2>2+0<2 0>2+2<2"},
           {"all-to-all", "scattered", 4, 1, 8, "0>2<2+3>2<2+2>2<2"},
           {"all-to-all", "brucks", 5, 0, 5, "1>2+4<2 2>2+3<2 4>1+1<1"},
           {"gather", "binomial", 6, 0, 12, "1<2 2<4 4<4"},
           {"gather", "binomial", 6, 4, 12, "5<2 0>4"},
           {"scatter", "binomial", 6, 0, 12, "4>4 2>4 1>2"},
           {"barrier", "k_dissemination", 5, 1, 1, "2>1+0<1 3>1+4<1 0>1+2<1"},
       }) {
    EXPECT_EQ(messages(workload, name, ranks, rank, elements), order)
        << workload << " " << name << ", " << ranks << " ranks, rank " << rank;
  }
}

/// 32 at once, the first of which is the rank itself: of 40 ranks 31 others and 8.
TEST(Mpich, ScattersThirtyTwoAtOnce) {
  const std::string all = messages("all-to-all", "scattered", 40, 0, 40);
  const std::string last = all.substr(all.find(' ') + 1);
  EXPECT_THAT(all, testing::StartsWith("39>1+38>1+37>1"));
  EXPECT_THAT(all, HasSubstr("+9>1<1+1<1+2<1")) << "sends to 39 to 9, receives from 1 to 31";
  EXPECT_EQ(last, "8>1+7>1+6>1+5>1+4>1+3>1+2>1+1>1+32<1+33<1+34<1+35<1+36<1+37<1+38<1+39<1");
}

}  // namespace
}  // namespace twinlink::workloads::mpi
