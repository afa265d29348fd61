// The symmetric heap of a job whose protocols want one.
#pragma once

#include <cstddef>
#include <optional>

#include "protocols/bench/measure/collectives.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/heap/symmetric_heap.hpp"

namespace twinlink::bench {

/// Two slots let a sender be a message ahead.
inline constexpr std::size_t kSlots = 2;
/// Rounds after which the slots are as they were before: a sender that is early every time fills one after the other,
/// and then waits. The median of so many is the same wherever they begin.
inline constexpr int kHeapTurn = static_cast<int>(kSlots) + 1;

/// Makes the heap, where the plan's protocols want one, with room for `needed` bytes in `parts` allocations, and slots
/// for early messages. All ranks call it.
void make_heap(std::optional<SymmetricHeap>& heap, MeasuredRank& rank, const WorkloadPlan& plan, Bytes needed,
               std::uint64_t parts);

}  // namespace twinlink::bench
