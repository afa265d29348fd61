#include "protocols/workloads/training.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "protocols/workloads/experts.hpp"
#include "protocols/workloads/groups.hpp"

namespace twinlink::workloads {
namespace {

int data_degree(const Degrees& degrees, int ranks) {
  return degrees.data > 0 ? degrees.data : ranks / (degrees.tensor * degrees.expert * degrees.pipeline);
}

/// A rank's place in each of its groups.
class Grid {
 public:
  Grid(const Degrees& degrees, const Shape& shape, int rank)
      : tensor_(degrees.tensor), expert_(degrees.expert), data_(data_degree(degrees, shape.ranks)), rank_(rank) {
    pipeline_ = degrees.pipeline;
  }

  [[nodiscard]] Group tensor() const { return among(1, tensor_); }
  [[nodiscard]] Group expert() const { return among(tensor_, expert_); }
  [[nodiscard]] Group data() const { return among(tensor_ * expert_, data_); }
  [[nodiscard]] Group pipeline() const { return among(tensor_ * expert_ * data_, pipeline_); }

  /// Into how many parts the model is cut, and which of them is this rank's.
  [[nodiscard]] int parts() const { return tensor_ * expert_ * pipeline_; }
  [[nodiscard]] int part() const {
    return pipeline().self * tensor_ * expert_ + expert().self * tensor_ + tensor().self;
  }

 private:
  [[nodiscard]] Group among(int distance, int size) const {
    const int self = rank_ / distance % size;
    return {.first = rank_ - self * distance, .distance = distance, .members = size, .self = self};
  }

  int tensor_;
  int expert_;
  int data_;
  int pipeline_ = 1;
  int rank_;
};

/// The group as ranks from 0 on: on nodes where as many of them share each, in order. Where ranks of the job stand for
/// others, who is whose image in a part of it nobody says: all have the same contents.
Shape shape_of(const Group& group, const Shape& shape) {
  const auto node = [&](int member) { return group.rank(member) / shape.per_node; };
  int together = 1;
  while (together < group.size() && node(together) == node(0)) ++together;
  Shape own{.ranks = group.size(), .experts = shape.experts};
  if (group.size() == shape.ranks) {
    own.standing = shape.standing;
  } else if (shape.standing.each() > 1) {
    own.standing = {.stride = 1, .count = group.size()};
  }
  if (group.size() % together != 0) return own;
  std::set<int> nodes;
  for (int i = 0; i < group.size(); ++i) {
    nodes.insert(node(i));
    if (node(i) != node(i / together * together)) return own;
  }
  if (std::ssize(nodes) == group.size() / together) own.per_node = together;
  return own;
}

/// Where a collective of a group has its elements among those of the rank.
struct Room {
  std::uint64_t data = 0;
  std::uint64_t scratch = 0;
};

Slice moved(Slice slice, const Room& room) {
  slice.begin += slice.where == Where::data ? room.data : room.scratch;
  return slice;
}

/// What a rank does, one list of steps beside the other, and the room that it takes.
class Steps {
 public:
  Steps(Schedule& schedule, std::vector<Step>& steps, std::uint64_t scratch, int ranks)
      : schedule_(schedule), steps_(steps), scratch_(scratch), ranks_(ranks) {}

  [[nodiscard]] std::size_t count() const { return steps_.size(); }
  /// The next step waits for so many of the other list.
  void wait_for(std::size_t others) { after_ = std::max(after_, others); }
  void add(Step step) {
    step.after = std::exchange(after_, 0);
    steps_.push_back(std::move(step));
  }
  void compute(Seconds kernel) { add({.compute = kernel}); }

  /// A schedule of the group, on the elements from `begin` on.
  void add(const Schedule& of_group, const Group& group, std::uint64_t begin) {
    const Room room{begin, scratch_};
    schedule_.data = std::max(schedule_.data, begin + of_group.data);
    schedule_.scratch = std::max(schedule_.scratch, scratch_ + of_group.scratch);
    for (std::size_t i = 0; i < of_group.steps.size(); ++i) {
      Step step = of_group.steps[i];
      for (Transfer& transfer : step.transfers) {
        transfer.peer = group.rank(transfer.peer);
        transfer.send = moved(transfer.send, room);
        transfer.receive = moved(transfer.receive, room);
      }
      for (Local& local : step.locals) {
        local.to = moved(local.to, room);
        local.from = moved(local.from, room);
      }
      if (step.together) {
        step.together->data = moved(step.together->data, room);
        for (int member = 0; group.size() < ranks_ && member < group.size(); ++member) {
          step.together->members.push_back(group.rank(member));
        }
      }
      if (i == 0) {  // what an earlier one has left there is no result of this one
        for (const Mark& mark : of_group.after) step.fresh.push_back({moved(mark.slice, room), 0});
        for (const Mark& mark : of_group.before)
          step.fresh.push_back({moved(mark.slice, room), mark.value, mark.period});
      }
      if (i + 1 == of_group.steps.size()) {
        for (const Mark& mark : of_group.after)
          step.expected.push_back({moved(mark.slice, room), mark.value, mark.period});
      }
      add(std::move(step));
    }
  }

 private:
  Schedule& schedule_;
  std::vector<Step>& steps_;
  std::uint64_t scratch_;
  int ranks_;  ///< of the job
  std::size_t after_ = 0;
};

/// A rank's step of training as it is put together: the micro-batches, and beside them the gradients.
class Training {
 public:
  Training(const TrainingStep& training, const Algorithm& algorithm, const Shape& shape, int rank,
           std::uint64_t elements, const TrainingParts& parts)
      : training_(training),
        algorithm_(algorithm),
        shape_(shape),
        parts_(parts),
        tensor_(Grid(training.degrees, shape, rank).tensor()),
        expert_(Grid(training.degrees, shape, rank).expert()),
        data_(Grid(training.degrees, shape, rank).data()),
        pipeline_(Grid(training.degrees, shape, rank).pipeline()),
        activations_(elements_of(training.activations)) {
    const Grid grid(training.degrees, shape, rank);
    gradients_ = part_of(elements, grid.parts(), grid.part()).length;
    all_.data = gradients_;
    buckets_ = buckets_of(training, gradients_);
  }

  Schedule schedule() {
    add_gradients_before();
    add_micro_batches();
    add_gradients_behind();
    return std::move(all_);
  }

 private:
  // ---- the micro-batches, 1F1B

  void add_micro_batches() {
    const int batches = training_.micro_batches;
    const int ahead = std::min(pipeline_.size() - 1 - pipeline_.self, batches);
    for (int i = 0; i < ahead; ++i) {
      from_previous(i);
      forward(i);
      to_next(i, kNone);
    }
    if (ahead < batches) from_previous(ahead);
    for (int i = 0; i < batches - ahead; ++i) {
      forward(ahead + i);
      to_next(ahead + i, i);
      backward(i);
      to_previous(i, i + 1 < batches - ahead ? ahead + i + 1 : kNone);
    }
    for (int i = batches - ahead; i < batches; ++i) {
      to_next(kNone, i);
      backward(i);
      to_previous(i, kNone);
    }
  }

  void from_previous(int batch) { to_previous(kNone, batch); }
  /// Activations of a micro-batch to the next stage, and the gradients of another one from there.
  void to_next(int activations, int gradients) {
    if (pipeline_.self + 1 < pipeline_.size()) {
      exchange(1, activations, activations < 0 ? 0 : value(0, pipeline_.self, activations), gradients,
               gradients < 0 ? 0 : value(1, pipeline_.self + 1, gradients));
    }
  }
  void to_previous(int gradients, int activations) {
    if (pipeline_.self > 0) {
      exchange(-1, gradients, gradients < 0 ? 0 : value(1, pipeline_.self, gradients), activations,
               activations < 0 ? 0 : value(0, pipeline_.self - 1, activations));
    }
  }
  [[nodiscard]] std::uint64_t value(std::uint64_t direction, int sender, int batch) const {
    const auto batches = static_cast<std::uint64_t>(training_.micro_batches);
    return 1 + direction + 2 * (static_cast<std::uint64_t>(sender) * batches + static_cast<std::uint64_t>(batch));
  }
  void exchange(int where, int sent, std::uint64_t sent_value, int received, std::uint64_t received_value) {
    if (parts_.pipeline == TrainingParts::Pipeline::left_out) return;
    const std::uint64_t length = parts_.pipeline == TrainingParts::Pipeline::tokens ? 1 : activations_;
    const Slice out{Where::data, 0, sent < 0 ? 0 : length};
    const Slice in{Where::data, length, received < 0 ? 0 : length};
    Schedule message{.data = 2 * length, .steps = {{.transfers = {{pipeline_.self + where, out, in}}}}};
    if (sent >= 0) message.before = {{out, sent_value}};
    if (received >= 0) message.after = {{in, received_value}};
    main_.add(message, pipeline_, pipeline_room());
  }

  // ---- a micro-batch in the layers of a stage

  void forward(int batch) {
    for (int layer = 0; layer < training_.layers_of_stage(); ++layer) {
      if (batch == 0) wait_for_parameters(layer);
      if (whole_layers()) {
        compute(training_.layer);
        continue;
      }
      compute(training_.layer / 2);
      add_up_activations();
      to_experts();
      compute(training_.layer / 2);
      from_experts();
      add_up_activations();
    }
  }
  void backward(int batch) {
    for (int layer = 0; layer < training_.layers_of_stage(); ++layer) {
      if (whole_layers()) {
        compute(training_.layer * 2);
      } else {
        to_experts();
        compute(training_.layer);
        from_experts();
        add_up_activations();
        compute(training_.layer);
        add_up_activations();
      }
      if (batch + 1 == training_.micro_batches) layers_back_.push_back(main_.count());
    }
  }
  [[nodiscard]] bool whole_layers() const { return tensor_.size() * expert_.size() == 1; }
  void compute(Seconds kernel) {
    if (parts_.kernels) main_.compute(kernel);
  }
  void add_up_activations() {
    if (!parts_.tensor || tensor_.size() == 1) return;
    const Shape group = shape_of(tensor_, shape_);
    // Where the algorithm is for several nodes, and the group is in one.
    const auto by =
        algorithm_.refuses(group).empty() ? algorithm_.schedule : find_algorithm(all_reduce(), "ring").schedule;
    main_.add(by(group, tensor_.self, activations_), tensor_, tensor_room());
  }
  void to_experts() { add_tokens("dispatch"); }
  void from_experts() { add_tokens("combine"); }
  void add_tokens(std::string_view workload) {
    if (!parts_.expert || expert_.size() == 1) return;
    const std::uint64_t tokens = part_of(activations_, tensor_.size(), tensor_.self).length;
    const Algorithm& direct = find_algorithm(find_workload(workload), "direct");
    main_.add(direct.schedule(shape_of(expert_, shape_), expert_.self,
                              tokens * static_cast<std::uint64_t>(shape_.experts.top)),
              expert_, expert_room());
  }

  // ---- gradients and parameters

  [[nodiscard]] bool sends_gradients() const { return parts_.data && data_.size() > 1; }
  [[nodiscard]] Schedule of_bucket(std::string_view workload, const Bucket& bucket) const {
    const Algorithm& by = training_.sharded ? find_algorithm(find_workload(workload), algorithm_.name) : algorithm_;
    return by.schedule(shape_of(data_, shape_), data_.self, bucket.slice.length);
  }
  /// Parameters are gathered in the order in which forward comes to them: that of the last bucket first.
  void add_gradients_before() {
    gathered_.assign(buckets_.size(), 0);
    if (!training_.sharded || !sends_gradients()) return;
    for (std::size_t i = buckets_.size(); i-- > 0;) {
      beside_.add(of_bucket("all-gather", buckets_[i]), data_, buckets_[i].slice.begin);
      gathered_[i] = beside_.count();
    }
  }
  /// Forward's layers are those of backward from the last one on.
  void wait_for_parameters(int layer) {
    const Slice mine = part_of(gradients_, training_.layers_of_stage(), training_.layers_of_stage() - 1 - layer);
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      const Slice& bucket = buckets_[i].slice;
      const bool shared = bucket.begin < mine.begin + mine.length && mine.begin < bucket.begin + bucket.length;
      if (shared && parts_.kernels) main_.wait_for(gathered_[i]);
    }
  }
  void add_gradients_behind() {
    if (!sends_gradients()) return;
    for (const Bucket& bucket : buckets_) {
      if (parts_.kernels) beside_.wait_for(layers_back_[bucket.layers_back - 1]);
      beside_.add(of_bucket("reduce-scatter", bucket), data_, bucket.slice.begin);
    }
  }

  // ---- which elements are whose: behind the gradients, those of each dimension

  [[nodiscard]] static const Workload& all_reduce() { return find_workload("all-reduce"); }
  [[nodiscard]] std::uint64_t pipeline_room() const { return gradients_; }
  [[nodiscard]] std::uint64_t tensor_room() const {
    return pipeline_room() + (pipeline_.size() > 1 ? 2 * activations_ : 0);
  }
  [[nodiscard]] std::uint64_t expert_room() const { return tensor_room() + (tensor_.size() > 1 ? activations_ : 0); }
  /// Collectives of gradients go on beside those of activations, whose scratch is at most as large as these.
  [[nodiscard]] std::uint64_t scratch_of_gradients() const { return tensor_.size() > 1 ? activations_ : 0; }

  static constexpr int kNone = -1;

  const TrainingStep& training_;
  const Algorithm& algorithm_;
  const Shape& shape_;
  const TrainingParts& parts_;
  Group tensor_;
  Group expert_;
  Group data_;
  Group pipeline_;
  std::uint64_t activations_;
  std::uint64_t gradients_ = 0;
  std::vector<Bucket> buckets_{};
  std::vector<std::size_t> gathered_{};     ///< by bucket: behind how many steps its parameters are there
  std::vector<std::size_t> layers_back_{};  ///< of the last micro-batch, behind how many steps
  Schedule all_{};
  Steps main_{all_, all_.steps, 0, shape_.ranks};
  Steps beside_{all_, all_.beside, scratch_of_gradients(), shape_.ranks};
};

}  // namespace

std::string refuse_training(const TrainingStep& training, const Shape& shape) {
  const Degrees& degrees = training.degrees;
  const auto text = [](int number) { return std::to_string(number); };
  const auto others = static_cast<std::int64_t>(degrees.tensor) * degrees.expert * degrees.pipeline;
  const std::string these = "degrees of " + text(degrees.tensor) + " (tensor), " + text(degrees.expert) +
                            " (expert) and " + text(degrees.pipeline) + " (pipeline)";
  if (degrees.data > 0 && others * degrees.data != shape.ranks) {
    return these + " and " + text(degrees.data) + " (data) take " + std::to_string(others * degrees.data) +
           " ranks, and there are " + text(shape.ranks);
  }
  if (shape.ranks % others != 0) {
    return these + " do not divide " + text(shape.ranks) + " ranks";
  }
  if (training.layers % degrees.pipeline != 0) {
    return text(training.layers) + " layers do not divide among " + text(degrees.pipeline) + " stages of a pipeline";
  }
  constexpr std::int64_t kMostSteps = 1 << 16;
  const std::int64_t steps = std::int64_t{training.layers} / degrees.pipeline * training.micro_batches;
  if (training.split() && steps > kMostSteps) {
    return text(training.layers) + " layers and " + text(training.micro_batches) + " micro-batches are " +
           std::to_string(steps) + " steps of a rank each way, of " + std::to_string(kMostSteps) + " at most";
  }
  if (degrees.expert == 1) return {};
  if (shape.experts.count % degrees.expert != 0) {
    return text(shape.experts.count) + " experts do not divide among " + text(degrees.expert) + " ranks";
  }
  Shape group = shape;
  group.ranks = degrees.expert;
  return refuse_experts(group);
}

std::string refuse_gradients(const TrainingStep& training, const Algorithm& algorithm, const Shape& shape) {
  if (training.sharded) {
    const auto named = [&](const Algorithm& other) { return other.name == algorithm.name; };
    if (std::ranges::none_of(find_workload("reduce-scatter").algorithms, named)) {
      return "sharded gradients go by " + std::string(find_workload("reduce-scatter").algorithms.front().name) +
             " or kernel, not by " + std::string(algorithm.name);
    }
  }
  return algorithm.refuses(training.split() ? data_shape(training, shape) : shape);
}

Shape data_shape(const TrainingStep& training, const Shape& shape) {
  return shape_of(Grid(training.degrees, shape, 0).data(), shape);
}

std::vector<Bucket> buckets_of(const TrainingStep& training, std::uint64_t elements) {
  const std::uint64_t each = std::max<std::uint64_t>(training.bucket.count() / kElement.count(), 1);
  std::vector<Bucket> all;
  int layer = 0;
  for (std::uint64_t begin = 0; begin < elements; begin += each) {
    const std::uint64_t length = std::min(each, elements - begin);
    // The layer that has the last of its elements; layers are counted as backward comes to them.
    const auto lacks = [&] {
      const Slice part = part_of(elements, training.layers_of_stage(), layer);
      return part.begin + part.length < begin + length;
    };
    while (lacks()) ++layer;
    all.push_back({{Where::data, begin, length}, static_cast<std::size_t>(layer) + 1});
  }
  return all;
}

Schedule training_schedule(const TrainingStep& training, const Algorithm& algorithm, const Shape& shape, int rank,
                           std::uint64_t elements, const TrainingParts& parts) {
  return Training(training, algorithm, shape, rank, elements, parts).schedule();
}

Seconds training_time(const TrainingStep& training, std::uint64_t elements,
                      const std::function<Seconds(std::uint64_t elements)>& time_of) {
  Seconds end{};
  for (const Bucket& bucket : buckets_of(training, elements)) {
    const Seconds forward = training.layer * training.layers;
    const Seconds there = forward + training.layer * 2 * static_cast<double>(bucket.layers_back);
    end = std::max(end, there) + time_of(bucket.slice.length);
  }
  return std::max(end, training.compute());
}

}  // namespace twinlink::workloads
