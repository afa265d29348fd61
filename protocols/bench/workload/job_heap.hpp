// The symmetric heap of a job whose protocols want one.
#pragma once

#include <optional>

#include "protocols/bench/measure/collectives.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/heap/symmetric_heap.hpp"

namespace twinlink::bench {

/// Makes the heap, where the plan's protocols want one, with room for `needed` bytes in `parts` allocations, and slots
/// for early messages. All ranks call it.
void make_heap(std::optional<SymmetricHeap>& heap, MeasuredRank& rank, const WorkloadPlan& plan, Bytes needed,
               std::uint64_t parts);

}  // namespace twinlink::bench
