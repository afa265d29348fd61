#include "protocols/workloads/catalogue.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "protocols/core/errors.hpp"
#include "protocols/workloads/collectives.hpp"
#include "protocols/workloads/experts.hpp"
#include "protocols/workloads/kv_cache.hpp"
#include "protocols/workloads/patterns.hpp"

namespace twinlink::workloads {
namespace {

std::string any_shape(const Shape&) { return {}; }

std::string several_nodes(const Shape& shape) {
  if (shape.per_node > 1 && shape.ranks > shape.per_node) return {};
  return "it is for several nodes with the same number of GPUs each, more than one";
}

/// Between nodes one message to each other GPU is no way for all bytes.
std::string one_node(const Shape& shape) {
  return shape.ranks == shape.per_node ? "" : "it is for GPUs of one node, which exchange with all others at once";
}

double once(int) { return 1; }
double all_but_own(int ranks) { return static_cast<double>(ranks - 1) / ranks; }
double there_and_back(int ranks) { return 2 * all_but_own(ranks); }

constexpr std::string_view kTogether = "by one kernel on each GPU, of protocols that have it: nccl";
constexpr std::array kAllReduce{
    Algorithm{"halving-doubling", "recursive halving, then doubling: few steps, and no byte more than the ring",
              "2 log2(n) a + 2 (n-1)/n S/b", any_shape, halving_all_reduce},
    Algorithm{"ring", "each part goes round twice", "2 (n-1) (a + S/n/b)", any_shape, ring_all_reduce},
    Algorithm{"tree", "binomial trees to rank 0 and back: few steps, all bytes in each", "2 log2(n) (a + S/b)",
              any_shape, tree_all_reduce},
    Algorithm{
        "hierarchical",
        "halving within nodes, neighbours first, then for each GPU between them, and doubling; of no power of two "
        "rings",
        "2 log2(g) and 2 log2(n/g) steps", several_nodes, hierarchical_all_reduce},
    Algorithm{"direct", "each adds up a part, which all others send it at once, and sends all the sum",
              "2 (a + S/n/b) where links join all two by two", one_node, direct_all_reduce},
    Algorithm{"one-shot", "each sends all to all at once, and adds up by itself",
              "a + S/b where links join all two by two", one_node, one_shot_all_reduce},
    Algorithm{"kernel", kTogether, "2 (n-1) (a + S/n/b), of slots", any_shape, together_all_reduce,
              Collective::all_reduce}};
constexpr std::string_view kStep = "3 L t, and the last bucket's all-reduce where each ends before the next is there";
constexpr std::array kTrainingStep{
    Algorithm{"halving-doubling", "each bucket by recursive halving, then doubling", kStep, any_shape,
              halving_all_reduce},
    Algorithm{"ring", "each bucket in a ring", kStep, any_shape, ring_all_reduce},
    Algorithm{"tree", "each bucket by binomial trees", kStep, any_shape, tree_all_reduce},
    Algorithm{"hierarchical", "each bucket within nodes and for each GPU across them", kStep, several_nodes,
              hierarchical_all_reduce},
    Algorithm{"direct", "each bucket by exchanges of all with all at once", kStep, one_node, direct_all_reduce},
    Algorithm{"kernel", kTogether, kStep, any_shape, together_all_reduce, Collective::all_reduce}};
constexpr std::array kAllGather{
    Algorithm{"ring", "each part goes round once", "(n-1) (a + S/n/b)", any_shape, ring_all_gather},
    Algorithm{"direct", "each part to all at once", "a + S/n/b where links join all two by two", one_node,
              direct_all_gather},
    Algorithm{"kernel", kTogether, "(n-1) (a + S/n/b), of slots", any_shape, together_all_gather,
              Collective::all_gather}};
constexpr std::array kReduceScatter{
    Algorithm{"ring", "each part goes round once, and grows", "(n-1) (a + S/n/b)", any_shape, ring_reduce_scatter},
    Algorithm{"direct", "each part to its rank at once", "a + S/n/b where links join all two by two", one_node,
              direct_reduce_scatter},
    Algorithm{"kernel", kTogether, "(n-1) (a + S/n/b), of slots", any_shape, together_reduce_scatter,
              Collective::reduce_scatter}};
constexpr std::array kReduce{Algorithm{"tree", "a binomial tree to rank 0: few steps, all bytes in each",
                                       "log2(n) (a + S/b)", any_shape, tree_reduce},
                             Algorithm{"ring", "reduce-scatter in a ring, then all parts to rank 0 at once",
                                       "(n-1) (a + S/n/b) + a + (n-1)/n S/b", any_shape, ring_reduce},
                             Algorithm{"kernel", kTogether, "(n-2 + p) (a + S/p/b) for p slots", any_shape,
                                       together_reduce, Collective::reduce}};
constexpr std::array kGather{Algorithm{"tree", "a binomial tree to rank 0, whose bytes double",
                                       "log2(n) a + (n-1)/n S/b", any_shape, tree_gather},
                             Algorithm{"direct", "all at once", "a + (n-1)/n S/b of rank 0", any_shape, direct_gather}};
constexpr std::array kScatter{
    Algorithm{"tree", "a binomial tree from rank 0, whose bytes halve", "log2(n) a + (n-1)/n S/b", any_shape,
              tree_scatter},
    Algorithm{"direct", "all at once", "a + (n-1)/n S/b of rank 0", any_shape, direct_scatter}};
constexpr std::array kBroadcast{
    Algorithm{"tree", "a binomial tree from rank 0", "log2(n) (a + S/b)", any_shape, tree_broadcast},
    Algorithm{"chain", "pieces follow each other from rank to rank", "(n-2 + p) (a + S/p/b) for p pieces", any_shape,
              chain_broadcast},
    Algorithm{"kernel", kTogether, "(n-2 + p) (a + S/p/b) for p slots", any_shape, together_broadcast,
              Collective::broadcast}};
constexpr std::array kAllToAll{
    Algorithm{"bruck", "log2(n) steps, half of all bytes in each", "log2(n) (a + S/2/b)", any_shape, bruck_all_to_all},
    Algorithm{"pairwise", "one partner after the other", "(n-1) (a + S/n/b)", any_shape, pairwise_all_to_all},
    Algorithm{"direct", "all partners at once", "a + (n-1)/n S/b, where nothing is shared", any_shape,
              direct_all_to_all},
    Algorithm{"kernel", kTogether, "(n-1) (a + S/n/b), of slots", any_shape, together_all_to_all,
              Collective::all_to_all}};
constexpr std::string_view kToAll = "(n-1) a and the fullest rank's bytes";
constexpr std::string_view kByBlocks = "by one kernel on each GPU, of symmetric-put with engine=blocks";
constexpr std::string_view kIntoSlots = "a + the fullest rank's bytes / b, into slots for each expert and rank";
constexpr std::array kDispatch{
    Algorithm{"pairwise", "one partner after the other", kToAll, refuse_experts, pairwise_dispatch},
    Algorithm{"direct", "all partners at once", "a + the fullest rank's bytes / b", refuse_experts, direct_dispatch},
    Algorithm{"kernel", kByBlocks, kIntoSlots, refuse_experts, together_dispatch, Collective::dispatch}};
constexpr std::array kCombine{
    Algorithm{"pairwise", "one partner after the other", kToAll, refuse_experts, pairwise_combine},
    Algorithm{"direct", "all partners at once", "a + the fullest rank's bytes / b", refuse_experts, direct_combine},
    Algorithm{"kernel", kByBlocks, kIntoSlots, refuse_experts, together_combine, Collective::combine}};
constexpr std::array kKvCache{
    Algorithm{"list", "each block a message, all of them listed at once",
              "a + k g + S/b for k blocks, each of which takes g to begin", refuse_kv_cache, listed_kv_cache},
    Algorithm{"packed", "blocks are gathered, one message for each two ranks, and shared out", "a + S/b + 2 k c",
              refuse_kv_cache, packed_kv_cache}};
constexpr std::array kBarrier{Algorithm{"dissemination", "in round k each tells who is 2^k further on", "log2(n) a",
                                        any_shape, dissemination_barrier}};
constexpr std::array kIncast{Algorithm{"direct", "all at once", "a + (n-1) S/b of rank 0", any_shape, incast}};
constexpr std::array kFanOut{Algorithm{"direct", "all at once", "a + (n-1) S/b of rank 0", any_shape, fan_out}};
constexpr std::array kBisection{
    Algorithm{"direct", "all at once, both ways", "a + S/b, where nothing is shared", any_shape, bisection}};
constexpr std::array kShift{Algorithm{"direct", "all at once", "a + S/b, where nothing is shared", any_shape, shift}};
constexpr std::array kHalo2d{Algorithm{"direct", "all faces at once", "a + 4 S/b of each rank", any_shape, halo_2d}};
constexpr std::array kHalo3d{Algorithm{"direct", "all faces at once", "a + 6 S/b of each rank", any_shape, halo_3d}};

constexpr std::array kWorkloads{
    Workload{"all-reduce", "the sum of all ranks' buffers, on every rank", there_and_back, kAllReduce},
    Workload{"all-gather", "every rank's part, on every rank", all_but_own, kAllGather},
    Workload{"reduce-scatter", "of the sum of all ranks' buffers a part on each", all_but_own, kReduceScatter},
    Workload{"broadcast", "rank 0's buffer, on every rank", once, kBroadcast},
    Workload{"reduce", "the sum of all ranks' buffers, on rank 0", once, kReduce},
    Workload{"gather", "every rank's part, on rank 0", all_but_own, kGather},
    Workload{"scatter", "of rank 0's buffer a part on each rank", all_but_own, kScatter},
    Workload{"all-to-all", "a block from every rank to every other", all_but_own, kAllToAll},
    Workload{"dispatch", "tokens to the experts that a gate has chosen: blocks that are not equal", all_but_own,
             kDispatch},
    Workload{"combine", "what the experts make of them, back to the tokens' ranks", all_but_own, kCombine},
    Workload{"kv-cache", "keys and values in blocks, from the ranks that have read a prompt to those that go on", once,
             kKvCache},
    Workload{"barrier", "nobody goes on before all have come", once, kBarrier},
    Workload{"incast", "a message from every rank to rank 0", once, kIncast},
    Workload{"fan-out", "a message from rank 0 to every rank", once, kFanOut},
    Workload{"bisection", "messages both ways between the halves of the ranks", once, kBisection},
    Workload{"shift", "a message from each rank to the next", once, kShift},
    Workload{"halo-2d", "faces with the neighbours in a grid that closes on itself", once, kHalo2d},
    Workload{"halo-3d", "the same in three dimensions", once, kHalo3d},
    Workload{"training-step",
             "L layers of time t forward, 2 t backward; gradients are all-reduced meanwhile by buckets", there_and_back,
             kTrainingStep}};

template <class Named>
const Named& find(std::span<const Named> all, std::string_view name, const std::string& what) {
  const auto found = std::ranges::find(all, name, &Named::name);
  if (found != all.end()) return *found;
  std::string names;
  for (const Named& each : all) names += (names.empty() ? "" : ", ") + std::string(each.name);
  throw UsageError("there is no " + what + " '" + std::string(name) + "' (there are: " + names + ")");
}

}  // namespace

std::span<const Workload> all_workloads() { return kWorkloads; }

const Workload& find_workload(std::string_view name) { return find(all_workloads(), name, "workload"); }

const Algorithm& find_algorithm(const Workload& workload, std::string_view name) {
  return find(workload.algorithms, name, "algorithm of " + std::string(workload.name));
}

const Algorithm* together_of(std::string_view workload) {
  for (const Workload& each : all_workloads()) {
    if (each.name != workload) continue;
    const auto found = std::ranges::find_if(each.algorithms, [](const Algorithm& a) { return a.together.has_value(); });
    return found == each.algorithms.end() ? nullptr : &*found;
  }
  return nullptr;
}

}  // namespace twinlink::workloads
