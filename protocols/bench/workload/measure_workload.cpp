#include "protocols/bench/workload/measure_workload.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/measure/check_error.hpp"
#include "protocols/bench/measure/collectives.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/workload/times.hpp"
#include "protocols/workloads/execution.hpp"
#include "protocols/workloads/groups.hpp"

namespace twinlink::bench {
namespace {

using workloads::Algorithm;
using workloads::bytes_of;
using workloads::Schedule;
using workloads::Shape;
using workloads::Slice;
using workloads::Where;

std::uint64_t elements_of(Bytes size) { return std::max<std::uint64_t>(1, size.count() / workloads::kElement.count()); }

/// Each sends to the next of a group, and receives from the one before.
Schedule around(const workloads::Group& group, std::uint64_t elements) {
  return {.data = elements,
          .scratch = elements,
          .steps = {{.transfers = workloads::in_and_out(group.rank_at(1), {Where::data, 0, elements}, group.rank_at(-1),
                                                        {Where::scratch, 0, elements})}}};
}

Shape shape_for(const Rank& rank, const WorkloadPlan& plan) {
  return plan.shape ? *plan.shape : shape_of(rank.position().places);
}

/// What the plan may run: the one that the user chose, or all that the shape allows.
std::vector<const Algorithm*> candidates(const WorkloadPlan& plan, const Shape& shape) {
  if (plan.algorithms.size() == 1) return plan.algorithms;
  std::vector<const Algorithm*> all;
  for (const Algorithm& algorithm : plan.workload->algorithms) {
    if (algorithm.refuses(shape).empty()) all.push_back(&algorithm);
  }
  return all;
}

Schedule schedule_of(const WorkloadPlan& plan, const Algorithm& algorithm, const Shape& shape, int rank, Bytes size) {
  const std::uint64_t elements = elements_of(size);
  if (plan.training) return training_schedule(*plan.training, algorithm, shape, rank, elements);
  return algorithm.schedule(shape, rank, elements);
}

void require_pairs(const Rank& rank, const WorkloadPlan& plan, const Schedule& schedule) {
  const std::string refused = workloads::refusal(rank, plan.ways, workloads::peers_of(schedule));
  if (!refused.empty()) throw UsageError(refused);
}

/// What is added up is on GPUs.
void require_device(const WorkloadPlan& plan, const Algorithm& algorithm, const Schedule& schedule) {
  const auto adds = [](const workloads::Step& step) {
    return std::ranges::any_of(step.locals, [](const auto& l) { return l.kind == workloads::Local::Kind::add; });
  };
  if (plan.ways.within->message_memory() == Memory::device || std::ranges::none_of(schedule.steps, adds)) return;
  throw UsageError(fmt::format("{}: {} adds up on GPUs, and {} has its messages in host memory", plan.workload->name,
                               algorithm.name, plan.ways.within->name()));
}

class WorkloadRun {
 public:
  WorkloadRun(MeasuredRank& rank, const WorkloadPlan& plan)
      : rank_(rank),
        plan_(plan),
        shape_(shape_for(rank, plan)),
        self_(rank.id().value),
        patience_(Patience::of_turn(plan.timeout)) {}

  WorkloadSeries run() {
    WorkloadSeries series;
    if (self_ == 0) series = heading_of(rank_, plan_);
    learn_the_costs();
    std::vector<std::pair<Bytes, Choice>> chosen;
    std::vector<Schedule> schedules;
    for (const Bytes size : plan_.sizes) {
      for (const Choice& choice : choices(size)) {
        chosen.emplace_back(size, choice);
        schedules.push_back(schedule_of(*choice.algorithm, size));
      }
    }
    open(schedules);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const auto& [size, choice] = chosen[i];
      WorkloadPoint point = measure_point(*choice.algorithm, schedules[i], size);
      point.predicted_us = choice.predicted_us;
      point.why = choice.why;
      if (self_ != 0) continue;
      if (plan_.on_point) plan_.on_point(point);
      series.points.push_back(std::move(point));
    }
    series.counters = connections_->counters();
    close();
    return self_ == 0 ? series : WorkloadSeries{};
  }

 private:
  static constexpr Bytes kShort = 8_B;
  static constexpr Bytes kLong = 1_MiB;

  struct Choice {
    const Algorithm* algorithm;
    double predicted_us;
    std::string why;
  };

  [[nodiscard]] Schedule schedule_of(const Algorithm& algorithm, Bytes size) const {
    return bench::schedule_of(plan_, algorithm, shape_, self_, size);
  }
  [[nodiscard]] double predicted(const Algorithm& algorithm, Bytes size) const {
    const auto time_of = [&](std::uint64_t elements) { return predicted_us(algorithm, shape_, elements, costs_); };
    if (!plan_.training) return time_of(elements_of(size));
    return training_time(*plan_.training, elements_of(size),
                         [&](std::uint64_t elements) { return Seconds{time_of(elements) * 1e-6}; })
        .microseconds();
  }
  /// Buffers and connections for all of these.
  void open(std::span<const Schedule> schedules) {
    std::uint64_t data = 0;
    std::uint64_t scratch = 0;
    for (const Schedule& schedule : schedules) {
      data = std::max(data, schedule.data);
      scratch = std::max(scratch, schedule.scratch);
    }
    plan_.require_room(rank_, bytes_of(data + scratch), plan_.name());
    buffers_.emplace(rank_, plan_.ways.within->message_memory(), data, scratch);
    connections_.emplace(rank_, plan_.ways);
    for (const Schedule& schedule : schedules) connections_->open(schedule);
  }
  void close() {
    meet_all(rank_, patience_);  // a peer's channel may have our buffers open
    connections_.reset();
    meet_all(rank_, patience_);
    buffers_.reset();
  }

  /// What a short and a long message take, and what is local, on the slowest of all ranks.
  void learn_the_costs() {
    std::vector<Schedule> schedules{{.data = elements_of(kLong), .scratch = elements_of(kLong)}};
    if (shape_.per_node > 1) schedules.push_back(within_nodes(kLong));
    if (shape_.per_node < shape_.ranks) schedules.push_back(between_nodes(kLong));
    open(schedules);
    if (shape_.per_node > 1) costs_.within = cost_of([this](Bytes size) { return within_nodes(size); });
    if (shape_.per_node < shape_.ranks) costs_.between = cost_of([this](Bytes size) { return between_nodes(size); });
    costs_.local = cost_of([this](Bytes size) {
      const std::uint64_t elements = elements_of(size);
      const auto kind = plan_.ways.within->message_memory() == Memory::device ? workloads::Local::Kind::add
                                                                              : workloads::Local::Kind::copy;
      const Slice to{Where::data, 0, elements};
      return Schedule{
          .data = elements, .scratch = elements, .steps = {{.locals = {{kind, to, {Where::scratch, 0, elements}}}}}};
    });
    close();
  }

  [[nodiscard]] Schedule within_nodes(Bytes size) const {
    return around(workloads::node_of(shape_, self_), elements_of(size));
  }
  [[nodiscard]] Schedule between_nodes(Bytes size) const {
    return around(workloads::same_place_of(shape_, self_), elements_of(size));
  }

  LinearCost cost_of(const std::function<Schedule(Bytes)>& schedule_of_size) {
    const auto time_of = [&](Bytes size) {
      const Schedule schedule = schedule_of_size(size);
      prepare(rank_, schedule, *buffers_);
      run_once(schedule, "a neighbour", size);
      double best = std::numeric_limits<double>::infinity();
      const int tries = std::min(plan_.iterations, 5);
      for (int i = 0; i < tries; ++i) best = std::min(best, timed(schedule, "a neighbour", size));
      const auto nanoseconds = -static_cast<int>(std::min<double>(best * 1e3, std::numeric_limits<int>::max()));
      return -least_of_all(rank_, nanoseconds, patience_) / 1e3;  // the most of all
    };
    const double latency_us = time_of(kShort);
    const double longer = std::max(time_of(kLong) - latency_us, 1e-3);
    return {latency_us, static_cast<double>(kLong.count()) / longer};
  }

  /// Rank 0 predicts, and chooses for all.
  [[nodiscard]] std::vector<Choice> choices(Bytes size) {
    std::vector<Choice> all;
    for (const Algorithm* algorithm : candidates(plan_, shape_)) {
      all.push_back({algorithm, self_ == 0 ? predicted(*algorithm, size) : 0, {}});
    }
    if (!plan_.algorithms.empty()) return all;
    const auto least = std::ranges::min_element(all, {}, &Choice::predicted_us);
    const auto mine = self_ == 0 ? static_cast<int>(least - all.begin()) : std::numeric_limits<int>::max();
    const auto best = all.begin() + least_of_all(rank_, mine, patience_);
    best->why = fmt::format("{:.2f} us predicted", best->predicted_us);
    for (const Choice& other : all) {
      if (other.algorithm == best->algorithm) continue;
      best->why += fmt::format(", {} {:.2f}", other.algorithm->name, other.predicted_us);
    }
    return {*best};
  }

  void run_once(const Schedule& schedule, std::string_view name, Bytes size) {
    const Outcome outcome = workloads::run_once(rank_, schedule, *connections_, *buffers_, plan_.timeout);
    if (outcome.ok()) return;
    throw CheckError(fmt::format("rank {}: {} ({}) of {}: {}: {}", self_, plan_.workload->name, name, format_size(size),
                                 to_string(outcome.status), outcome.reason));
  }

  double timed(const Schedule& schedule, std::string_view name, Bytes size, bool counts = false) {
    meet_all(rank_, patience_);
    const Seconds start = rank_.now();
    if (counts && plan_.on_round) plan_.on_round(true, rank_.id(), start);
    run_once(schedule, name, size);
    const Seconds end = rank_.now();
    if (counts && plan_.on_round) plan_.on_round(false, rank_.id(), end);
    return (end - start).microseconds();
  }

  void verify(const Schedule& schedule, std::string_view name, Bytes size) {
    prepare(rank_, schedule, *buffers_);
    meet_all(rank_, patience_);
    run_once(schedule, name, size);
    const auto fault = fault_in(rank_, schedule, *buffers_);
    if (!fault) return;
    throw CheckError(
        fmt::format("rank {}: {} ({}) of {}: {}", self_, plan_.workload->name, name, format_size(size), *fault));
  }

  WorkloadPoint measure_point(const Algorithm& algorithm, const Schedule& schedule, Bytes size) {
    std::vector<double> mine;
    run_rounds(
        plan_, [&] { verify(schedule, algorithm.name, size); },
        [&](bool counts) {
          const double us = timed(schedule, algorithm.name, size, counts);
          if (counts) mine.push_back(us);
        });
    const Times times = gather_times(mine, schedule.steps.size());
    WorkloadPoint point{
        .size = size, .algorithm = std::string(algorithm.name), .steps = most_steps_, .verified = plan_.verify};
    if (plan_.training && !plan_.company.meet) point.training = take_apart(schedule, algorithm.name, size);
    if (self_ != 0) return {};
    take_times(point, times);
    point.algorithm_MBps = static_cast<double>(size.count()) / point.time_us.median;
    point.bus_MBps = point.algorithm_MBps * plan_.workload->bus_factor(shape_.ranks);
    return point;
  }

  /// A step's halves, each alone. On rank 0.
  TrainingPart take_apart(const Schedule& schedule, std::string_view name, Bytes size) {
    const std::size_t steps = most_steps_;
    const auto alone = [&](const Schedule& half) {
      std::vector<double> mine;
      for (int i = 0; i < plan_.iterations; ++i) mine.push_back(timed(half, name, size));
      const Times times = gather_times(mine, half.steps.size());
      return self_ == 0 ? summarize(times.of(slowest)).median : 0;
    };
    Schedule kernels = schedule;
    kernels.steps.clear();
    Schedule exchanges = schedule;
    exchanges.kernels.clear();
    for (workloads::Step& step : exchanges.steps) step.after = 0;
    TrainingPart part{.compute_us = alone(kernels),
                      .communication_us = alone(exchanges),
                      .buckets = buckets_of(*plan_.training, elements_of(size)).size()};
    most_steps_ = steps;
    return part;
  }

  /// On rank 0.
  Times gather_times(const std::vector<double>& mine, std::size_t steps) {
    Times times;
    most_steps_ = 0;
    for (const std::string& text : gather(rank_, to_text(nlohmann::json{{"us", mine}, {"steps", steps}}), patience_)) {
      const nlohmann::json of_rank = nlohmann::json::parse(text);
      times.by_rank.push_back(of_rank.at("us").get<std::vector<double>>());
      most_steps_ = std::max(most_steps_, of_rank.at("steps").get<std::size_t>());
    }
    return times;
  }

  ConcurrentRank rank_;
  const WorkloadPlan& plan_;
  Shape shape_;
  int self_;
  Patience patience_;
  std::optional<workloads::Buffers> buffers_;
  std::optional<workloads::Connections> connections_;
  StepCosts costs_{};
  std::size_t most_steps_ = 0;
};

}  // namespace

Shape shape_of(std::span<const Place> places) {
  const auto ranks = static_cast<int>(places.size());
  const auto node = [&](int r) { return places[static_cast<std::size_t>(r)].node; };
  int per_node = 1;
  while (per_node < ranks && node(per_node) == node(0)) ++per_node;
  if (ranks % per_node != 0) return {ranks, 1};
  for (int r = 0; r < ranks; ++r) {
    const int first = r / per_node * per_node;
    if (node(r) != node(first) || (r == first && r > 0 && node(r) == node(r - 1))) return {ranks, 1};
  }
  return {ranks, per_node};
}

std::string WorkloadPlan::name() const { return trace ? trace->trace().file : std::string(workload->name); }

void WorkloadPlan::require_room(const Rank& rank, Bytes needed, const std::string& what) const {
  if (!room || ways.within->message_memory() != Memory::device) return;
  const Bytes there = room(rank.id());
  if (needed <= there) return;
  throw UsageError(fmt::format("{}: rank {} needs {} of its GPU's memory, and has {}", what, rank.id().value,
                               format_size(needed), format_size(there)));
}

WorkloadSeries heading_of(const Rank& rank, const WorkloadPlan& plan) {
  WorkloadSeries series{.workload = plan.name(),
                        .protocol = std::string(plan.ways.within->name()),
                        .protocol_between = std::string(plan.ways.between->name()),
                        .settings = plan.ways.settings_within,
                        .ranks = rank.ranks()};
  std::set<int> nodes;
  for (int r = 0; r < rank.ranks(); ++r) {
    series.places.push_back(to_string(rank.place(RankId{r})));
    nodes.insert(rank.place(RankId{r}).node);
  }
  series.nodes = static_cast<int>(nodes.size());
  return series;
}

void require_schedules(const Rank& rank, const WorkloadPlan& plan) {
  if (rank.ranks() < 2) throw UsageError("a workload needs two ranks at least");
  const Shape shape = shape_for(rank, plan);
  if (plan.algorithms.size() == 1) {
    const Algorithm* const algorithm = plan.algorithms.front();
    const std::string refused = algorithm->refuses(shape);
    if (!refused.empty()) throw UsageError(fmt::format("{}, {}: {}", plan.workload->name, algorithm->name, refused));
  }
  const int self = rank.id().value;
  // What messages cost is learnt between neighbours.
  for (const workloads::Group& group : {workloads::node_of(shape, self), workloads::same_place_of(shape, self)}) {
    if (group.size() > 1) require_pairs(rank, plan, around(group, 1));
  }
  for (const Algorithm* algorithm : candidates(plan, shape)) {
    for (const Bytes size : plan.sizes) {
      const Schedule schedule = schedule_of(plan, *algorithm, shape, self, size);
      require_pairs(rank, plan, schedule);
      require_device(plan, *algorithm, schedule);
    }
  }
}

WorkloadSeries measure_schedules(MeasuredRank& rank, const WorkloadPlan& plan) {
  require_schedules(rank, plan);
  return WorkloadRun(rank, plan).run();
}

}  // namespace twinlink::bench
