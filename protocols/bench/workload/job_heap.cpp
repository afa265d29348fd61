#include "protocols/bench/workload/job_heap.hpp"

#include <algorithm>
#include <cstddef>

#include "protocols/workloads/connections.hpp"

namespace twinlink::bench {
namespace {

/// Worth it to be early with; longer messages wait.
constexpr Bytes kSlotSize = 64_KiB;
/// As many peers as a rank may have in a large job without its slots taking a good part of its memory.
constexpr std::size_t kMostPeersWithSlots = 1024;

}  // namespace

void make_heap(std::optional<SymmetricHeap>& heap, MeasuredRank& rank, const WorkloadPlan& plan, Bytes needed,
               std::uint64_t parts) {
  if (!workloads::wants_heap(plan.ways)) return;
  const Bytes size = needed + SymmetricHeap::kAlignment * parts;
  const HeapSlots slots{std::min<std::size_t>(static_cast<std::size_t>(rank.ranks()) - 1, kMostPeersWithSlots), kSlots,
                        kSlotSize};
  plan.require_room(rank, size + slots.room(), plan.name());
  heap.emplace(rank, size, slots, plan.timeout);
}

}  // namespace twinlink::bench
