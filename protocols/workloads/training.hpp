// A training step: forward and backward of each micro-batch, with what tensor, expert, pipeline and data parallelism
// send for it, each in groups of its own.
//
//   1. Ranks are numbered by their place in the group of tensors, then experts, then data, then the pipeline.
//   2. A stage of the pipeline has its part of the layers, and takes micro-batches in turn: some forward, then one
//      forward and one backward, then the rest backward (1F1B). Activations go to the next stage, their gradients back.
//   3. In each layer, ranks that share its tensors add up activations behind attention and behind the rest; before the
//      rest tokens go to the ranks of their experts, and come back behind it. So too backward, in twice the time.
//   4. Gradients of the last micro-batch fill buckets, and a full one is added up over the group of data while backward
//      goes on. Sharded, each keeps its part of the sum, and gathers all parameters while the next step goes forward.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "protocols/workloads/catalogue.hpp"

namespace twinlink::workloads {

/// How many ranks share something. Together they are all ranks.
struct Degrees {
  int tensor = 1;
  int expert = 1;
  int data = 0;  ///< 0: as many as the others leave
  int pipeline = 1;
};

/// Layers that are alike. Gradients are shared out over them, and appear from the last layer to the first.
struct TrainingStep {
  int layers = 24;
  Bytes bucket = 25_MiB;     ///< what is all-reduced at a time; the last one may have less
  Seconds layer = 500.0_us;  ///< forward, on each rank, of a micro-batch; backward takes twice as long
  Degrees degrees{};
  int micro_batches = 1;
  Bytes activations = 32_MiB;  ///< of a micro-batch behind a layer
  bool sharded = false;        ///< gradients and parameters, over the group of data

  /// Is it more than layers one after the other, and gradients that all ranks add up?
  [[nodiscard]] bool split() const {
    return degrees.tensor > 1 || degrees.expert > 1 || degrees.pipeline > 1 || micro_batches > 1 || sharded;
  }
  [[nodiscard]] int layers_of_stage() const { return layers / degrees.pipeline; }
  /// Of the kernels of one rank.
  [[nodiscard]] Seconds compute() const { return layer * 3 * layers_of_stage() * micro_batches; }
};

/// Why these ranks cannot do the step; empty: they can.
std::string refuse_training(const TrainingStep& training, const Shape& shape);

/// Why the gradients' collectives cannot be by this algorithm, whose name follows for sharded ones; empty: they can.
std::string refuse_gradients(const TrainingStep& training, const Algorithm& algorithm, const Shape& shape);

/// The group of data, as a shape of its own; one rank: gradients stay where they are.
Shape data_shape(const TrainingStep& training, const Shape& shape);

/// A bucket: its elements, and how many layers have been back when they are there.
struct Bucket {
  Slice slice{};
  std::size_t layers_back = 0;
};
/// Of the elements of one stage.
std::vector<Bucket> buckets_of(const TrainingStep& training, std::uint64_t elements);

/// What of a step happens. The others are left out, and so is what waits for them.
struct TrainingParts {
  enum class Pipeline {
    left_out,
    tokens,  ///< messages of one element: stages wait for each other, and next to nothing is sent
    whole
  };
  bool kernels = true;
  bool tensor = true;
  bool expert = true;
  bool data = true;
  Pipeline pipeline = Pipeline::whole;

  static constexpr TrainingParts none() { return {false, false, false, false, Pipeline::left_out}; }
};

/// What a rank does. `elements` are the gradients of the whole model, of which those who share tensors, experts and
/// the pipeline have a part each. All-reduces are by `algorithm`; of sharded ones reduce-scatter and all-gather.
/// The shape's experts are what tokens go to. Contents are verified step by step.
Schedule training_schedule(const TrainingStep& training, const Algorithm& algorithm, const Shape& shape, int rank,
                           std::uint64_t elements, const TrainingParts& parts = {});

/// When a step that is not split() ends if all-reduces take `time_of` their elements, one after the other, and hold no
/// kernel up.
Seconds training_time(const TrainingStep& training, std::uint64_t elements,
                      const std::function<Seconds(std::uint64_t elements)>& time_of);

}  // namespace twinlink::workloads
