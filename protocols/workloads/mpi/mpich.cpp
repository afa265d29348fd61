// MPICH's default choices on its device ch4, for built-in operations that commute and programs with one thread. They
// are the same in 4.1 to 4.3.2. Read, and not seen in messages, in its public source at the tag v4.3.2:
// maint/tuning/coll/ch4 for what a node does apart, maint/tuning/coll/mpir for the rest, src/mpi/coll for the order of
// messages.
//
// Where ranks share a node, barriers, reduces, all-reduces and small broadcasts have a part within nodes. From its
// fifth call on that goes through shared memory (src/mpid/ch4/shm/posix/release_gather), which is not here. Ranks that
// all have a node of their own have no such part.
#include <array>

#include "protocols/workloads/mpi/schedules.hpp"
#include "protocols/workloads/mpi/tables.hpp"

namespace twinlink::workloads::mpi {
namespace mpich {
namespace {

std::string any(const Shape&) { return {}; }

constexpr Row of_power(int ranks, std::string_view choices) { return {ranks, choices, true}; }
constexpr Row shared(int ranks, std::string_view choices) { return {ranks, choices, false, true}; }
constexpr Row shared_of_power(int ranks, std::string_view choices) { return {ranks, choices, true, true}; }

// "At most 12288 B" there is below 12289 here.
constexpr std::array kBroadcastRows{
    Row{2, "binomial"},
    shared(2, "release_gather"),
    Row{8, "binomial 12289 scatter_ring_allgather"},
    of_power(8, "binomial 12289 scatter_recursive_doubling_allgather 524289 scatter_ring_allgather"),
    shared(8, "release_gather 12288 binomial 12289 scatter_ring_allgather"),
    shared_of_power(8, "release_gather 524288 scatter_recursive_doubling_allgather 524289 scatter_ring_allgather")};
constexpr std::array kAllReduceRows{Row{2, "recursive_doubling 9 reduce_scatter_allgather"},
                                    shared(2, "release_gather")};
constexpr std::array kReduceRows{Row{2, "binomial 2049 reduce_scatter_gather"}, shared(2, "release_gather")};
constexpr std::array kBarrierRows{Row{2, "k_dissemination"}, shared(2, "release_gather")};
constexpr std::array kAllGatherRows{Row{2, "brucks 81920 ring"}, of_power(2, "recursive_doubling 524288 ring")};
constexpr std::array kReduceScatterRows{Row{2, "recursive_halving 524288 pairwise"}};
constexpr std::array kAllToAllRows{Row{2, "scattered 32769 pairwise"}, Row{8, "brucks 257 scattered 32769 pairwise"}};
constexpr std::array kTreeRows{Row{2, "binomial"}};

constexpr std::string_view kOneByOne = "(n-1) (a + S/n/b)";
constexpr std::string_view kHalves = "log2(n) a + (n-1)/n S/b";
constexpr LibraryAlgorithm kSharedMemory{
    {"release_gather", "which has no messages within a node but shared memory, and is not here", "", any, nullptr}};
constexpr LibraryAlgorithm from_host(Algorithm algorithm) { return {.algorithm = algorithm, .from_host = true}; }

constexpr std::array kBroadcast{
    kSharedMemory,
    from_host({"binomial", "a binomial tree, the largest subtree first", "log2(n) (a + S/b)", any, tree_broadcast}),
    from_host({"scatter_recursive_doubling_allgather", "parts down a binomial tree, gathered by recursive doubling",
               "2 log2(n) a + 2 (n-1)/n S/b", any, broadcast_by<scatter_and_gather>}),
    from_host({"scatter_ring_allgather", "parts down a binomial tree, gathered in a ring",
               "(log2(n) + n-1) a + 2 (n-1)/n S/b", any, broadcast_by<scatter_and_ring>})};

constexpr std::array kAllReduce{
    kSharedMemory,
    LibraryAlgorithm{{"recursive_doubling", "all bytes with the nearest, then with those twice as far",
                      "log2(n) (a + S/b)", any, recursive_doubling_all_reduce}},
    LibraryAlgorithm{{"reduce_scatter_allgather", "recursive halving with the nearest first, then doubling",
                      "2 log2(n) a + 2 (n-1)/n S/b", any, halving_doubling_all_reduce},
                     Needs::element_of_power,
                     "recursive_doubling"}};

constexpr std::array kReduce{
    kSharedMemory, LibraryAlgorithm{{"binomial", "a binomial tree", "log2(n) (a + S/b)", any, binomial_reduce}},
    LibraryAlgorithm{{"reduce_scatter_gather", "recursive halving with the nearest first, then a binomial tree",
                      "2 log2(n) a + 2 (n-1)/n S/b", any, halving_reduce},
                     Needs::element_of_power,
                     "binomial"}};

constexpr std::array kBarrier{
    kSharedMemory, LibraryAlgorithm{{"k_dissemination", "in round k each tells who is 2^k further on", "log2(n) a", any,
                                     dissemination_barrier}}};

constexpr std::array kAllGather{
    from_host({"brucks", "all that a rank has to who is twice as far each time, then copied", kHalves, any,
               staged_bruck_all_gather}),
    LibraryAlgorithm{{"recursive_doubling", "all that a rank has, with who is twice as far each time", kHalves, any,
                      recursive_doubling_all_gather},
                     Needs::power_of_two_ranks},
    LibraryAlgorithm{{"ring", "each part goes round once", kOneByOne, any, workloads::ring_all_gather}}};

constexpr std::array kReduceScatter{LibraryAlgorithm{{"recursive_halving", "halves with the farthest first", kHalves,
                                                      any, recursive_halving_reduce_scatter}},
                                    LibraryAlgorithm{{"pairwise", "parts to who adds them up, one after the other",
                                                      kOneByOne, any, pairwise_reduce_scatter}}};

constexpr std::array kAllToAll{
    from_host({"brucks", "log2(n) steps, half of all bytes in each", "log2(n) (a + S/2/b)", any, bruck_all_to_all}),
    LibraryAlgorithm{{"scattered", "32 partners at once", "n/32 a + (n-1)/n S/b", any, throttled_all_to_all}},
    LibraryAlgorithm{{"pairwise", "one partner after the other", kOneByOne, any, pairs_all_to_all}}};

constexpr std::array kGather{from_host({"binomial", "a binomial tree, whose bytes double", kHalves, any, tree_gather})};
constexpr std::array kScatter{
    from_host({"binomial", "a binomial tree, whose bytes halve", kHalves, any, tree_scatter})};

// What is added up, and in broadcasts all but long ones, goes through buffers of the host: how is the version's own.
constexpr std::array kTables{
    Table{.workload = "all-reduce", .adds = true, .rows = kAllReduceRows, .algorithms = kAllReduce},
    Table{.workload = "all-gather", .rows = kAllGatherRows, .algorithms = kAllGather},
    Table{.workload = "reduce-scatter", .adds = true, .rows = kReduceScatterRows, .algorithms = kReduceScatter},
    Table{.workload = "broadcast", .rows = kBroadcastRows, .algorithms = kBroadcast},
    Table{.workload = "reduce", .adds = true, .rows = kReduceRows, .algorithms = kReduce},
    Table{.workload = "gather", .rows = kTreeRows, .algorithms = kGather},
    Table{.workload = "scatter", .rows = kTreeRows, .algorithms = kScatter},
    Table{.workload = "all-to-all", .for_each_rank = true, .rows = kAllToAllRows, .algorithms = kAllToAll},
    Table{.workload = "barrier", .rows = kBarrierRows, .algorithms = kBarrier}};

constexpr std::array kLibraries{Library{"mpich 4.1", kTables, {}}, Library{"mpich 4.2", kTables, {}},
                                Library{"mpich 4.3", kTables, {}}};

}  // namespace
}  // namespace mpich

std::span<const Library> mpich_libraries() { return mpich::kLibraries; }

}  // namespace twinlink::workloads::mpi
