// The memory of a rank for work on an array: two buffers between which it goes to and fro, and packed pieces.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "protocols/bench/measure/collectives.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/core/measured_rank.hpp"
#include "protocols/heap/symmetric_heap.hpp"
#include "protocols/workloads/arrays/mover.hpp"

namespace twinlink::bench {

/// What a rank needs of each.
struct ArraySizes {
  Bytes first{};
  Bytes second{};
  Bytes packed_out{};
  Bytes packed_in{};

  /// As much as this reshape needs too, whichever of the two it begins in.
  void add(const workloads::ReshapePlan& plan);
};

class ArrayMemory {
 public:
  /// On a symmetric heap where the plan's protocols want one; all ranks call it.
  ArrayMemory(MeasuredRank& rank, const WorkloadPlan& plan, ArraySizes sizes, bool in_place, Patience patience);
  ~ArrayMemory();
  ArrayMemory(const ArrayMemory&) = delete;
  ArrayMemory& operator=(const ArrayMemory&) = delete;

  /// Closes the heap, with all ranks.
  void close();
  [[nodiscard]] SymmetricHeap* heap() { return heap_ ? &*heap_ : nullptr; }
  /// From one of the two to the other; in place there is but one.
  [[nodiscard]] workloads::ReshapeMemory of(std::size_t from, std::size_t to) const;
  /// Where the numbers of a layout are: they go to and fro.
  [[nodiscard]] View layout(std::size_t number) const { return views_[number % 2]; }
  [[nodiscard]] std::array<workloads::ReshapeMemory, 2> both() const { return {of(0, 1), of(1, 0)}; }

 private:
  MeasuredRank& rank_;
  std::optional<SymmetricHeap> heap_;
  std::vector<Buffer> buffers_;
  std::array<View, 4> views_;
};

}  // namespace twinlink::bench
