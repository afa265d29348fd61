// A training step: forward, then backward, and beside it an all-reduce of each bucket of gradients as soon as it is
// full.
#pragma once

#include <cstddef>
#include <functional>

#include "protocols/workloads/catalogue.hpp"

namespace twinlink::workloads {

/// Layers that are alike. Gradients are shared out over them, and appear from the last layer to the first.
struct TrainingStep {
  int layers = 24;
  Bytes bucket = 25_MiB;     ///< what is all-reduced at a time; the last one may have less
  Seconds layer = 500.0_us;  ///< forward, on each rank; backward takes twice as long
  Seconds forward() const { return layer * layers; }
  Seconds compute() const { return forward() * 3; }
};

/// A bucket: its elements, and after how many of the step's kernels they are there.
struct Bucket {
  Slice slice{};
  std::size_t after = 0;
};
std::vector<Bucket> buckets_of(const TrainingStep& training, std::uint64_t elements);

/// The schedules of all buckets one after the other, each by `algorithm`, beside the kernels of all layers.
Schedule training_schedule(const TrainingStep& training, const Algorithm& algorithm, const Shape& shape, int rank,
                           std::uint64_t elements);

/// When the step ends if all-reduces take `time_of` their elements, one after the other, and hold no kernel up.
Seconds training_time(const TrainingStep& training, std::uint64_t elements,
                      const std::function<Seconds(std::uint64_t elements)>& time_of);

}  // namespace twinlink::workloads
