#include "protocols/workloads/training.hpp"

#include <algorithm>

namespace twinlink::workloads {
namespace {

Slice moved(Slice slice, std::uint64_t by) {
  if (slice.where == Where::data) slice.begin += by;
  return slice;
}

Step moved(Step step, std::uint64_t by) {
  for (Transfer& transfer : step.transfers) {
    transfer.send = moved(transfer.send, by);
    transfer.receive = moved(transfer.receive, by);
  }
  for (Local& local : step.locals) {
    local.to = moved(local.to, by);
    local.from = moved(local.from, by);
  }
  if (step.together) step.together->data = moved(step.together->data, by);
  return step;
}

}  // namespace

std::vector<Bucket> buckets_of(const TrainingStep& training, std::uint64_t elements) {
  const std::uint64_t each = std::max<std::uint64_t>(training.bucket.count() / kElement.count(), 1);
  std::vector<Bucket> all;
  int layer = 0;
  for (std::uint64_t begin = 0; begin < elements; begin += each) {
    const std::uint64_t length = std::min(each, elements - begin);
    // The layer that has the last of its elements; layers are counted as backward comes to them.
    const auto lacks = [&] {
      const Slice part = part_of(elements, training.layers, layer);
      return part.begin + part.length < begin + length;
    };
    while (lacks()) ++layer;
    all.push_back({{Where::data, begin, length}, static_cast<std::size_t>(training.layers + layer) + 1});
  }
  return all;
}

Schedule training_schedule(const TrainingStep& training, const Algorithm& algorithm, const Shape& shape, int rank,
                           std::uint64_t elements) {
  Schedule all{.data = elements};
  all.kernels.assign(static_cast<std::size_t>(training.layers), training.layer);
  all.kernels.insert(all.kernels.end(), static_cast<std::size_t>(training.layers), training.layer * 2);
  for (const Bucket& bucket : buckets_of(training, elements)) {
    const Schedule one = algorithm.schedule(shape, rank, bucket.slice.length);
    all.scratch = std::max(all.scratch, one.scratch);
    for (const Step& step : one.steps) {
      all.steps.push_back(moved(step, bucket.slice.begin));
      all.steps.back().after = bucket.after;
    }
    for (const Mark& mark : one.before) all.before.push_back({moved(mark.slice, bucket.slice.begin), mark.value});
    for (const Mark& mark : one.after) all.after.push_back({moved(mark.slice, bucket.slice.begin), mark.value});
  }
  return all;
}

Seconds training_time(const TrainingStep& training, std::uint64_t elements,
                      const std::function<Seconds(std::uint64_t elements)>& time_of) {
  Seconds end{};
  for (const Bucket& bucket : buckets_of(training, elements)) {
    const auto layers_back = static_cast<double>(bucket.after - static_cast<std::size_t>(training.layers));
    const Seconds there = training.forward() + training.layer * 2 * layers_back;
    end = std::max(end, there) + time_of(bucket.slice.length);
  }
  return std::max(end, training.compute());
}

}  // namespace twinlink::workloads
