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

namespace twinlink::bench {

using workloads::Algorithm;
using workloads::Shape;

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
  std::set<int> nodes;
  for (int r = 0; r < rank.ranks(); ++r) {
    series.places.push_back(to_string(rank.place(RankId{r})));
    nodes.insert(rank.place(RankId{r}).node);
  }
  series.nodes = static_cast<int>(nodes.size());
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

std::vector<const Algorithm*> candidates(const WorkloadPlan& plan, const Shape& shape) {
  const Scheduled& work = *plan.scheduled();
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

}  // namespace twinlink::bench
