// What is known of a workload before anything is measured.
#include "protocols/bench/workload/workload_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "protocols/bench/results/settings_text.hpp"
#include "protocols/bench/workload/array_job.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/workloads/goal/job.hpp"
#include "protocols/workloads/groups.hpp"

namespace twinlink::bench {

using workloads::Algorithm;
using workloads::elements_of;
using workloads::Schedule;
using workloads::Shape;

bool share_nodes(std::span<const Place> places) {
  std::set<int> nodes;
  for (const Place& place : places) nodes.insert(place.node);
  return nodes.size() < places.size();
}

Shape shape_of(std::span<const Place> places) {
  const auto ranks = static_cast<int>(places.size());
  const auto node = [&](int r) { return places[static_cast<std::size_t>(r)].node; };
  int per_node = 1;
  while (per_node < ranks && node(per_node) == node(0)) ++per_node;
  Shape shape{.ranks = ranks, .shares_nodes = share_nodes(places)};
  if (ranks % per_node != 0) return shape;
  for (int r = 0; r < ranks; ++r) {
    const int first = r / per_node * per_node;
    if (node(r) != node(first) || (r == first && r > 0 && node(r) == node(r - 1))) return shape;
  }
  shape.per_node = per_node;
  return shape;
}

std::string WorkloadSeries::protocols() const {
  std::string text = protocol;
  if (protocol_between != protocol) text += fmt::format(", {} between nodes", protocol_between);
  if (!protocol_between_domains.empty()) text += fmt::format(", {} between domains", protocol_between_domains);
  return text;
}

std::string WorkloadPlan::name() const {
  if (array() != nullptr) return array()->name;
  if (trace() != nullptr) return trace()->trace().file;
  return scheduled()->title.empty() ? std::string(scheduled()->workload->name) : scheduled()->title;
}

const workloads::goal::Job* WorkloadPlan::trace() const {
  const auto* const job = std::get_if<RecordedJob>(&work);
  return job == nullptr ? nullptr : job->get();
}

const ArrayJob* WorkloadPlan::array() const {
  const auto* const job = std::get_if<ArrayWork>(&work);
  return job == nullptr ? nullptr : job->get();
}

std::span<const Bytes> WorkloadPlan::sizes() const {
  return scheduled() == nullptr ? std::span<const Bytes>() : scheduled()->sizes;
}

void WorkloadPlan::require_room(const Rank& rank, Bytes needed, const std::string& what) const {
  if (!room || ways.within->message_memory() != Memory::device) return;
  const Bytes there = room(rank.id());
  if (needed <= there) return;
  throw UsageError(fmt::format("{}: rank {} needs {} of its GPU's memory, and has {}", what, rank.id().value,
                               format_size(needed), format_size(there)));
}

int nodes_of(const Rank& rank) {
  std::set<int> nodes;
  for (int r = 0; r < rank.ranks(); ++r) nodes.insert(rank.place(RankId{r}).node);
  return static_cast<int>(nodes.size());
}

WorkloadSeries heading_of(const Rank& rank, const WorkloadPlan& plan) {
  WorkloadSeries series{.workload = plan.name(),
                        .protocol = std::string(plan.ways.within->name()),
                        .protocol_between = std::string(plan.ways.between->name()),
                        .protocol_between_domains =
                            plan.ways.between_domains == nullptr ? "" : std::string(plan.ways.between_domains->name()),
                        .settings = settings_text(plan.ways.settings_within),
                        .ranks = rank.ranks()};
  if (const Scheduled* const work = plan.scheduled(); work != nullptr && work->graph > 1) {
    series.settings += fmt::format("{}{} in a graph", series.settings.empty() ? "" : ", ", work->graph);
  }
  for (int r = 0; r < rank.ranks(); ++r) series.places.push_back(to_string(rank.place(RankId{r})));
  series.nodes = nodes_of(rank);
  return series;
}

namespace {

/// Groups of ranks are domains where a protocol for what lies between these is named, and else nodes.
bool by_one_protocol(const workloads::Ways& ways, const Shape& shape) {
  const bool apart = shape.per_node < shape.ranks;
  const bool with_next = ways.between == ways.within;
  if (ways.between_domains == nullptr) return with_next || !apart;
  return with_next && (ways.between_domains == ways.within || !apart);
}

}  // namespace

std::string refusal_of(const Scheduled& work, const Algorithm& algorithm, const Shape& shape) {
  return work.training ? refuse_gradients(*work.training, algorithm, shape) : algorithm.refuses(shape);
}

workloads::mpi::Choice chosen_by_library(const WorkloadPlan& plan, const Shape& shape, Bytes size) {
  return choose(*plan.tuned, plan.scheduled()->workload->name,
                {.ranks = shape.ranks,
                 .shares_nodes = shape.shares_nodes,
                 .on_gpus = plan.ways.within->message_memory() == Memory::device},
                size);
}

std::vector<const Algorithm*> candidates(const WorkloadPlan& plan, const Shape& shape, Bytes size) {
  const Scheduled& work = *plan.scheduled();
  if (plan.tuned != nullptr) {
    return {chosen_by_library(plan, shape, size).algorithm};
  }
  if (work.algorithms.size() == 1) return work.algorithms;
  const bool by_itself =
      by_one_protocol(plan.ways, shape) && std::ranges::any_of(work.workload->algorithms, [&](const Algorithm& each) {
        return each.together && plan.ways.within->does(*each.together, plan.ways.settings_within);
      });
  std::vector<const Algorithm*> all;
  for (const Algorithm& algorithm : work.workload->algorithms) {
    // Who asks for all of them gets those of messages, too.
    const bool wanted = algorithm.together ? by_itself : !by_itself || !work.algorithms.empty();
    const bool predictable = work.predictable() || !work.algorithms.empty();
    if (!wanted || !(predictable || algorithm.together || algorithm.name == "ring")) continue;
    if (refusal_of(work, algorithm, shape).empty()) all.push_back(&algorithm);
  }
  if (all.empty()) {
    throw UsageError(
        fmt::format("{}: {}", work.workload->name, refusal_of(work, work.workload->algorithms.front(), shape)));
  }
  return all;
}

Shape shape_for(const Rank& rank, const WorkloadPlan& plan) {
  Shape shape = plan.shape ? *plan.shape : shape_of(rank.position().places);
  shape.experts = plan.scheduled()->experts;
  shape.kv = plan.scheduled()->kv;
  return shape;
}

Schedule schedule_of(const Scheduled& work, const Algorithm& algorithm, const Shape& shape, int rank, Bytes size,
                     const workloads::TrainingParts& parts) {
  const std::uint64_t elements = elements_of(size);
  if (work.training) return training_schedule(*work.training, algorithm, shape, rank, elements, parts);
  return algorithm.schedule(shape, rank, elements);
}

std::string refusal_of(const WorkloadPlan& plan, const Rank& rank, const Schedule& schedule) {
  std::set<RankId> peers = workloads::peers_of(schedule);
  schedule.for_each_step([&](const workloads::Step& step) {
    if (!step.together) return;
    for (const int member : step.together->members) peers.insert(RankId{member});
    for (int r = 0; r < rank.ranks() && step.together->members.empty(); ++r) peers.insert(RankId{r});
  });
  peers.erase(rank.id());
  return workloads::refusal(rank, plan.ways, peers);
}

namespace {

void require_pairs(const Rank& rank, const WorkloadPlan& plan, const Schedule& schedule) {
  const std::string why = refusal_of(plan, rank, schedule);
  if (!why.empty()) throw UsageError(why);
}

/// A collective by the protocol itself is by one protocol.
void require_together(const WorkloadPlan& plan, const Algorithm& algorithm) {
  if (!algorithm.together) return;
  for (const Protocol* protocol : {plan.ways.within, plan.ways.between, plan.ways.between_domains}) {
    if (protocol == nullptr) continue;
    if (protocol == plan.ways.within && protocol->does(*algorithm.together, plan.ways.settings_within)) continue;
    throw UsageError(
        fmt::format("{}, {}: {} does not do it by itself{}; this is {}", plan.name(), algorithm.name, protocol->name(),
                    protocol == plan.ways.within ? "" : " together with another protocol", algorithm.description));
  }
}

/// A graph is of launches, and of one for each run.
void require_graph(const Scheduled& work, const Algorithm& algorithm) {
  if (work.graph == 1 || (algorithm.together && !work.training)) return;
  throw UsageError(
      fmt::format("--graph: {} ({}) is no one launch of a kernel; the algorithm 'kernel' is, of protocols "
                  "that have it",
                  work.workload->name, algorithm.name));
}

/// What is added up is on GPUs.
void require_device(const WorkloadPlan& plan, const Algorithm& algorithm, const Schedule& schedule) {
  if (plan.scheduled()->sums != Sums::on_gpus) return;
  bool adds = false;
  schedule.for_each_step([&](const workloads::Step& step) {
    adds |= std::ranges::any_of(step.locals, [](const auto& l) { return l.kind == workloads::Local::Kind::add; });
  });
  if (plan.ways.within->message_memory() == Memory::device || !adds) return;
  throw UsageError(fmt::format("{}: {} adds up on GPUs, and {} has its messages in host memory", plan.name(),
                               algorithm.name, plan.ways.within->name()));
}

}  // namespace

void require_schedules(const Rank& rank, const WorkloadPlan& plan) {
  const Scheduled& work = *plan.scheduled();
  if (rank.ranks() < 2) throw UsageError("a workload needs two ranks at least");
  const Shape shape = shape_for(rank, plan);
  if (work.training) {
    const std::string refused = refuse_training(*work.training, shape);
    if (!refused.empty()) throw UsageError(fmt::format("{}: {}", work.workload->name, refused));
  }
  if (work.algorithms.size() == 1) {
    const Algorithm* const algorithm = work.algorithms.front();
    const std::string refused = refusal_of(work, *algorithm, shape);
    if (!refused.empty()) throw UsageError(fmt::format("{}, {}: {}", work.workload->name, algorithm->name, refused));
  }
  const int nodes = nodes_of(rank);
  if (plan.tuned != nullptr) require_rule(*plan.tuned, work.workload->name, nodes);
  // Whom a rank has messages with by an algorithm, and whether it adds up, is the same at every size.
  std::set<const Algorithm*> known;
  for (const Bytes size : work.sizes) {
    if (plan.tuned != nullptr && chosen_by_library(plan, shape, size).reduces) {
      require_rule(*plan.tuned, "reduce", nodes);
    }
    for (const Algorithm* algorithm : candidates(plan, shape, size)) {
      if (!known.insert(algorithm).second) continue;
      require_together(plan, *algorithm);
      require_graph(work, *algorithm);
      const Schedule schedule = schedule_of(work, *algorithm, shape, rank.id().value, size);
      require_pairs(rank, plan, schedule);
      require_device(plan, *algorithm, schedule);
    }
  }
}

void require_possible(const Rank& rank, const WorkloadPlan& plan) {
  if (plan.array() != nullptr) return require_array(rank, plan);
  plan.trace() != nullptr ? require_playable(rank, plan) : require_schedules(rank, plan);
}

}  // namespace twinlink::bench
