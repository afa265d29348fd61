// Open MPI's component coll/tuned without a file of rules: its fixed decisions for operations that commute, as tables.
// They are the same in 4.1.0 to 4.1.6 and 5.0.0 to 5.0.10. Messages are whole there: no decision names a segment. Read
// in its public source at the tag v4.1.6, ompi/mca/coll: tuned/coll_tuned_decision_fixed.c for the tables, by the names
// that coll_tuned_*_decision.c and ompi_info have; base/coll_base_*.c for the order of messages.
#include <array>

#include "protocols/workloads/mpi/schedules.hpp"
#include "protocols/workloads/mpi/tables.hpp"

namespace twinlink::workloads::mpi {
namespace {

std::string any(const Shape&) { return {}; }

// Lines 121 to 211.
constexpr std::array kAllReduceRows{
    Row{2,
        "ring 8 recursive_doubling 4096 ring 8192 recursive_doubling 16384 ring 65536 "
        "segmented_ring 262144 rabenseifner"},
    Row{4, "ring 16 recursive_doubling 8192 rabenseifner"},
    Row{8, "recursive_doubling 8192 rabenseifner"},
    Row{16, "segmented_ring 64 recursive_doubling 4096 rabenseifner"},
    Row{32, "segmented_ring 128 rabenseifner"},
    Row{64, "recursive_doubling 262144 rabenseifner"},
    Row{128, "nonoverlapping 131072 recursive_doubling 262144 rabenseifner"},
    Row{256, "nonoverlapping 4096 rabenseifner"},
    Row{512, "nonoverlapping 2048 recursive_doubling 16384 rabenseifner"},
    Row{2048, "nonoverlapping 2048 segmented_ring 4096 recursive_doubling 16384 rabenseifner"},
    Row{4096, "nonoverlapping 2048 segmented_ring 16384 recursive_doubling 32768 rabenseifner"}};
// Lines 1118 to 1218.
constexpr std::array kAllGatherRows{
    Row{2, "two_proc"},
    Row{3, "recursive_doubling"},
    Row{32, "recursive_doubling 1024 neighbor 65536 ring"},
    Row{64, "recursive_doubling 512 neighbor 65536 ring"},
    Row{128, "recursive_doubling 512 neighbor 131072 ring 524288 neighbor 1048576 ring"},
    Row{256,
        "recursive_doubling 32 bruck 128 recursive_doubling 1024 neighbor 131072 ring 524288 "
        "neighbor 1048576 ring"},
    Row{512, "recursive_doubling 64 bruck 256 recursive_doubling 2048 neighbor"},
    Row{1024,
        "recursive_doubling 4 bruck 8 recursive_doubling 16 bruck 32 recursive_doubling 256 "
        "bruck 512 recursive_doubling 4096 neighbor"},
    Row{2048, "bruck 32 recursive_doubling 128 bruck 512 recursive_doubling 4096 neighbor"},
    Row{4096, "recursive_doubling 2 bruck 8 recursive_doubling 16 bruck 512 recursive_doubling 4096 neighbor"}};
// Lines 856 to 954.
constexpr std::array kReduceScatterRows{
    Row{2, "ring 65536 butterfly 131072 ring"},
    Row{4, "non-overlapping 8 recursive_halving 262144 ring"},
    Row{8, "recursive_halving 262144 ring"},
    Row{32, "non-overlapping 64 recursive_halving 2048 butterfly 524288 ring"},
    Row{64, "non-overlapping 256 recursive_halving 512 butterfly 2048 recursive_halving 4096 butterfly"},
    Row{128, "non-overlapping 256 recursive_halving 512 butterfly"},
    Row{256, "non-overlapping 256 recursive_halving 1024 butterfly"},
    Row{512, "non-overlapping 512 recursive_halving 2048 butterfly 8192 recursive_halving 16384 butterfly"},
    Row{1024, "non-overlapping 512 recursive_halving 4096 butterfly 16384 recursive_halving 32768 butterfly"},
    Row{2048, "non-overlapping 512 recursive_halving 4096 butterfly"},
    Row{4096, "non-overlapping 1024 recursive_halving 8192 butterfly"}};
// Lines 539 to 645.
constexpr std::array kBroadcastRows{
    Row{2,
        "pipeline 32 binary_tree 256 pipeline 512 knomial 1024 basic_linear 32768 "
        "binary_tree 131072 chain 262144 basic_linear 524288 binomial 1048576 binary_tree"},
    Row{4, "binary_tree 64 binomial 128 binary_tree 2048 binomial 8192 basic_linear 1048576 chain"},
    Row{8, "knomial 8 binary_tree 64 knomial 4096 binary_tree 16384 binomial 32768 basic_linear"},
    Row{16, "knomial 4096 binomial 1048576 scatter_allgather"},
    Row{32, "binomial 2048 knomial"},
    Row{64, "knomial"},
    Row{128, "binomial 2 binary_tree 16384 basic_linear 32768 binary_tree 65536 knomial"},
    Row{256, "knomial 16384 split_binary_tree 32768 knomial"},
    Row{1024, "knomial 524288 scatter_allgather"},
    Row{2048, "knomial 262144 scatter_allgather"},
    Row{4096, "knomial 8192 binary_tree 16384 knomial 262144 scatter_allgather"}};
// Lines 726 to 806.
constexpr std::array kReduceRows{
    Row{2, "rabenseifner 8 binary 16 pipeline 32 linear 262144 pipeline 524288 chain 1048576 pipeline"},
    Row{4, "binary 4096 chain 65536 binomial 262144 linear 524288 binomial 1048576 linear"},
    Row{8, "binary 8192 binomial"},
    Row{16, "binary 4096 binomial"},
    Row{32, "binomial"},
    Row{256, "binomial 8192 in-order_binary 16384 binomial"},
    Row{512, "binomial"},
    Row{2048, "binomial 512 in-order_binary 1024 binomial 8192 in-order_binary 16384 binomial"},
    Row{4096,
        "binomial 16 in-order_binary 32 binomial 1024 in-order_binary 2048 binomial 8192 "
        "in-order_binary 16384 binomial"}};
// Lines 1413 to 1450.
constexpr std::array kGatherRows{
    Row{2, "linear_sync 2 basic_linear 4 binomial 32768 basic_linear 65536 binomial 131072 linear_sync"},
    Row{4, "binomial 1024 basic_linear 8192 binomial 32768 basic_linear 262144 linear_sync"}, Row{8, "binomial"},
    Row{256, "binomial 2048 basic_linear 8192 binomial"}, Row{512, "binomial"}};
// Lines 1500 to 1554.
constexpr std::array kScatterRows{
    Row{2, "linear_nb 2 basic_linear 131072 linear_nb 262144 basic_linear"},
    Row{4, "binomial 2048 basic_linear 4096 binomial 8192 basic_linear 32768 linear_nb 1048576 basic_linear"},
    Row{8, "binomial 16384 linear_nb 1048576 basic_linear"},
    Row{16, "binomial 16384 basic_linear 32768 linear_nb"},
    Row{32, "binomial 512 linear_nb 8192 binomial 16384 linear_nb"},
    Row{64, "binomial 512 linear_nb"}};
// Lines 253 to 403.
constexpr std::array kAllToAllRows{
    Row{2,
        "pairwise 2 two_proc 4 pairwise 16 two_proc 64 pairwise 256 two_proc 4096 pairwise 32768 "
        "linear_sync 262144 two_proc 1048576 pairwise"},
    Row{3, "linear_sync 8192 linear 16384 linear_sync 65536 linear 524288 pairwise 1048576 linear"},
    Row{8, "linear_sync 262144 linear"},
    Row{16,
        "linear_sync 4 modified_bruck 512 linear_sync 8192 linear 32768 linear_sync 262144 "
        "linear 524288 linear_sync"},
    Row{32, "modified_bruck 512 linear 524288 linear_sync"},
    Row{64, "modified_bruck 1024 linear 2048 linear_sync 4096 linear 262144 pairwise"},
    Row{128, "modified_bruck 1024 linear_sync 2048 linear 262144 pairwise"},
    Row{256, "modified_bruck 1024 linear_sync 8192 linear 32768 pairwise"},
    Row{512, "modified_bruck 512 linear_sync 8192 linear 16384 linear_sync 131072 linear 262144 pairwise"},
    Row{1024, "modified_bruck 512 linear_sync 1024 linear 2048 linear_sync 16384 linear 262144 linear_sync"},
    Row{2048, "modified_bruck 1024 linear_sync 4096 linear 8192 linear_sync 131072 linear"},
    Row{4096, "modified_bruck 2048 linear_sync 8192 linear 16384 linear_sync 32768 linear 65536 linear_sync"}};
// Lines 482 to 497.
constexpr std::array kBarrierRows{Row{2, "recursive_doubling"},
                                  Row{4, "linear"},
                                  Row{8, "recursive_doubling"},
                                  Row{64, "bruck"},
                                  Row{256, "tree"},
                                  Row{512, "bruck"},
                                  Row{1024, "tree"},
                                  Row{4096, "bruck"}};

constexpr std::string_view kLogAll = "log2(n) (a + S/b)";
constexpr std::string_view kOneByOne = "(n-1) (a + S/n/b)";
constexpr std::string_view kLinear = "to rank 0 one after the other, and to all at once";
constexpr std::string_view kTwo = "reduce, then broadcast, each by its own rule";
constexpr LibraryAlgorithm nonoverlapping(Schedule (*schedule)(const Shape&, int, std::uint64_t),
                                          std::string_view reduce, std::string_view broadcast) {
  return {{"nonoverlapping", kTwo, "their sum", any, schedule}, Needs::nothing, {}, reduce, broadcast};
}
constexpr LibraryAlgorithm non_overlapping(Schedule (*schedule)(const Shape&, int, std::uint64_t),
                                           std::string_view reduce) {
  return {{"non-overlapping", "reduce by its own rule, then to each its part, one after the other",
           "that of reduce, and (n-1) (a + S/n/b)", any, schedule},
          Needs::nothing,
          {},
          reduce};
}

constexpr std::array kAllReduce{
    LibraryAlgorithm{
        {"basic_linear", kLinear, "n (a + S/b)", any, all_reduce_by<add_up<falling_star>, send_down<star>>}},
    nonoverlapping(all_reduce_by<add_up<in_order_binomial_tree>, send_down<binomial_tree>>, "binomial", "binomial"),
    nonoverlapping(all_reduce_by<add_up<in_order_binomial_tree>, send_down<binary_tree>>, "binomial", "binary_tree"),
    nonoverlapping(all_reduce_by<add_up<in_order_binomial_tree>, send_down<star>>, "binomial", "basic_linear"),
    nonoverlapping(all_reduce_by<add_up<in_order_binomial_tree>, send_down<four_nomial_tree>>, "binomial", "knomial"),
    nonoverlapping(all_reduce_by<add_up_in_order, send_down<four_nomial_tree>>, "in-order_binary", "knomial"),
    LibraryAlgorithm{{"recursive_doubling", "all bytes with the nearest, then with those twice as far", kLogAll, any,
                      recursive_doubling_all_reduce}},
    LibraryAlgorithm{{"ring", "each part goes round twice", "2 (n-1) (a + S/n/b)", any, ring_all_reduce},
                     Needs::element_for_each,
                     "recursive_doubling"},
    LibraryAlgorithm{
        {"segmented_ring", "as ring, for no segment is named", "2 (n-1) (a + S/n/b)", any, ring_all_reduce},
        Needs::element_for_each,
        "recursive_doubling"},
    LibraryAlgorithm{{"rabenseifner", "recursive halving with the nearest first, then doubling",
                      "2 log2(n) a + 2 (n-1)/n S/b", any, rabenseifner_all_reduce},
                     Needs::element_of_power,
                     "basic_linear"}};

constexpr std::array kAllGather{
    LibraryAlgorithm{{"two_proc", "both at once", "a + S/2/b", any, recursive_doubling_all_gather}},
    LibraryAlgorithm{{"bruck", "all that a rank has to who is twice as far each time, then turned",
                      "log2(n) a + (n-1)/n S/b", any, bruck_all_gather}},
    LibraryAlgorithm{{"recursive_doubling", "all that a rank has, with who is twice as far each time",
                      "log2(n) a + (n-1)/n S/b", any, recursive_doubling_all_gather},
                     Needs::power_of_two_ranks,
                     "bruck"},
    LibraryAlgorithm{{"neighbor", "with both neighbours in turn, two parts in a message", "n/2 a + (n-1)/n S/b", any,
                      neighbour_all_gather},
                     Needs::even_ranks,
                     "ring"},
    LibraryAlgorithm{{"ring", "each part goes round once", kOneByOne, any, workloads::ring_all_gather}}};

constexpr std::array kReduceScatter{
    non_overlapping(reduce_scatter_by<add_up<binary_tree>>, "binary"),
    non_overlapping(reduce_scatter_by<add_up<in_order_binomial_tree>>, "binomial"),
    non_overlapping(reduce_scatter_by<add_up_in_order>, "in-order_binary"),
    LibraryAlgorithm{{"recursive_halving", "halves with the farthest first", "log2(n) a + (n-1)/n S/b", any,
                      recursive_halving_reduce_scatter}},
    LibraryAlgorithm{{"ring", "each part goes round once, and grows", kOneByOne, any, mpi::ring_reduce_scatter}},
    LibraryAlgorithm{{"butterfly", "halves with the nearest first, then parts change hands", "(log2(n) + 1) a + S/b",
                      any, butterfly_reduce_scatter}}};

constexpr std::array kBroadcast{
    LibraryAlgorithm{{"basic_linear", "to all at once", "a + (n-1) S/b", any, broadcast_by<send_down<star>>}},
    LibraryAlgorithm{{"chain", "from rank to rank", "(n-1) (a + S/b)", any, broadcast_by<send_down<chain>>}},
    LibraryAlgorithm{
        {"pipeline", "from rank to rank, in one piece", "(n-1) (a + S/b)", any, broadcast_by<send_down<chain>>}},
    LibraryAlgorithm{{"split_binary_tree", "halves down the two sides of a binary tree, then exchanged",
                      "log2(n) (a + S/b)", any, broadcast_by<split_down>}},
    LibraryAlgorithm{
        {"binary_tree", "a binary tree", "log2(n) (a + 2 S/b)", any, broadcast_by<send_down<binary_tree>>}},
    LibraryAlgorithm{
        {"binomial", "a binomial tree, to all below at once", kLogAll, any, broadcast_by<send_down<binomial_tree>>}},
    LibraryAlgorithm{{"knomial", "a tree of base four, to all below at once", "log4(n) (a + 3 S/b)", any,
                      broadcast_by<send_down<four_nomial_tree>>}},
    LibraryAlgorithm{{"scatter_allgather", "parts down a binomial tree, gathered by recursive doubling",
                      "2 log2(n) a + 2 (n-1)/n S/b", any, broadcast_by<scatter_and_gather>},
                     Needs::element_for_each,
                     "basic_linear"}};

constexpr std::array kReduce{
    LibraryAlgorithm{
        {"linear", "to rank 0 one after the other", "(n-1) (a + S/b)", any, reduce_by<add_up<falling_star>>}},
    LibraryAlgorithm{{"chain", "from rank to rank", "(n-1) (a + S/b)", any, reduce_by<add_up<chain>>}},
    LibraryAlgorithm{{"pipeline", "from rank to rank, in one piece", "(n-1) (a + S/b)", any, reduce_by<add_up<chain>>}},
    LibraryAlgorithm{{"binary", "a binary tree", "2 log2(n) (a + S/b)", any, reduce_by<add_up<binary_tree>>}},
    LibraryAlgorithm{{"binomial", "a binomial tree", kLogAll, any, reduce_by<add_up<in_order_binomial_tree>>}},
    LibraryAlgorithm{{"in-order_binary", "a binary tree to the last rank, and from there", "2 log2(n) (a + S/b)", any,
                      reduce_by<add_up_in_order>}},
    // Below 8 B there is one element.
    LibraryAlgorithm{{"rabenseifner", "", "", any, nullptr}, Needs::element_of_power, "linear"}};

constexpr std::array kGather{
    LibraryAlgorithm{{"basic_linear", "one after the other", kOneByOne, any, one_by_one_gather}},
    LibraryAlgorithm{{"binomial", "a binomial tree, whose bytes double", "log2(n) a + (n-1)/n S/b", any, tree_gather}},
    LibraryAlgorithm{
        {"linear_sync", "one after the other, when it is told", "(n-1) (2 a + S/n/b)", any, synchronized_gather}}};

constexpr std::array kScatter{
    LibraryAlgorithm{{"basic_linear", "one after the other", kOneByOne, any, one_by_one_scatter}},
    LibraryAlgorithm{{"binomial", "a binomial tree, whose bytes halve", "log2(n) a + (n-1)/n S/b", any, tree_scatter}},
    LibraryAlgorithm{{"linear_nb", "all at once", "a + (n-1)/n S/b", any, direct_scatter}}};

constexpr std::array kAllToAll{
    LibraryAlgorithm{{"linear", "all partners at once", "a + (n-1)/n S/b", any, linear_all_to_all}},
    LibraryAlgorithm{{"pairwise", "one partner after the other", kOneByOne, any, pairwise_all_to_all}},
    LibraryAlgorithm{
        {"modified_bruck", "log2(n) steps, half of all bytes in each", "log2(n) (a + S/2/b)", any, bruck_all_to_all}},
    LibraryAlgorithm{{"linear_sync", "all partners at once, for no limit of requests is named", "a + (n-1)/n S/b", any,
                      linear_all_to_all}},
    LibraryAlgorithm{{"two_proc", "both at once", "a + S/2/b", any, pairwise_all_to_all}}};

constexpr std::array kBarrier{
    LibraryAlgorithm{{"linear", "all to rank 0, which tells one after the other", "n a", any, linear_barrier}},
    LibraryAlgorithm{{"recursive_doubling", "with the nearest, then with those twice as far", "log2(n) a", any,
                      recursive_doubling_barrier}},
    LibraryAlgorithm{{"bruck", "in round k each tells who is 2^k further on", "log2(n) a", any, dissemination_barrier}},
    LibraryAlgorithm{{"tree", "up a binomial tree and down", "2 log2(n) a", any, tree_barrier}}};

// What coll/cuda copies: all-reduce and reduce, but no reduce-scatter with lengths of each rank. Between nodes 5.0's
// coll/han has neither that nor all-to-alls; the reduce of `non-overlapping` it has.
constexpr std::array kTables{
    Table{.workload = "all-reduce",
          .adds = true,
          .copies_gpus = true,
          .by_nodes = true,
          .rows = kAllReduceRows,
          .algorithms = kAllReduce},
    Table{.workload = "all-gather",
          .for_each_rank = true,
          .by_nodes = true,
          .rows = kAllGatherRows,
          .algorithms = kAllGather},
    Table{.workload = "reduce-scatter", .adds = true, .rows = kReduceScatterRows, .algorithms = kReduceScatter},
    Table{.workload = "broadcast", .by_nodes = true, .rows = kBroadcastRows, .algorithms = kBroadcast},
    Table{.workload = "reduce",
          .adds = true,
          .copies_gpus = true,
          .by_nodes = true,
          .rows = kReduceRows,
          .algorithms = kReduce},
    Table{.workload = "gather", .for_each_rank = true, .by_nodes = true, .rows = kGatherRows, .algorithms = kGather},
    Table{.workload = "scatter", .for_each_rank = true, .by_nodes = true, .rows = kScatterRows, .algorithms = kScatter},
    Table{.workload = "all-to-all", .for_each_rank = true, .rows = kAllToAllRows, .algorithms = kAllToAll},
    Table{.workload = "barrier", .by_nodes = true, .rows = kBarrierRows, .algorithms = kBarrier}};

// Of 4.0.0 to 4.0.7, in the same file at v4.0.5: an all-reduce from 10000 B on goes in a ring, whose parts are cut into
// segments where there are more than 1 MiB for each rank. Other collectives are not here.
constexpr std::array kAllReduceRows40{Row{2, "recursive_doubling 10000 ring"}};
constexpr std::array kAllReduce40{
    LibraryAlgorithm{{"recursive_doubling", "all bytes with the nearest, then with those twice as far", kLogAll, any,
                      recursive_doubling_all_reduce}},
    LibraryAlgorithm{{"ring", "each part goes round twice", "2 (n-1) (a + S/n/b)", any, ring_all_reduce},
                     Needs::element_to_mebibyte}};
constexpr std::array kTables40{Table{
    .workload = "all-reduce", .adds = true, .copies_gpus = true, .rows = kAllReduceRows40, .algorithms = kAllReduce40}};

constexpr std::array kLibraries{
    Library{"openmpi 4.0", kTables40, {}}, Library{"openmpi 4.1", kTables, {}},
    Library{"openmpi 5.0", kTables, "from 5.0 on it goes by coll/han between nodes, whose rules are not here"},
    Library{"openmpi", kTables,
            "4.1 goes by coll/tuned between nodes and 5.0 by coll/han, and the platform does not say which runs: --set "
            "software.mpi=openmpi-4.1 does",
            "4.1"}};

}  // namespace

std::span<const Library> openmpi_libraries() { return kLibraries; }

}  // namespace twinlink::workloads::mpi
