#include "model/study/jobs/simulated_job.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "model/engine/flows/folding.hpp"
#include "model/study/referee.hpp"
#include "model/study/shares.hpp"
#include "platforms/tools/placement.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

/// A trace has a number of ranks of its own.
std::vector<Place> places_for(const bench::WorkloadPlan& plan, const Platform& platform, const SimulatedJob& of) {
  if (plan.trace() == nullptr) return places_of_ranks(platform, of.place, of.ranks);
  const workloads::goal::Job& job = *plan.trace();
  std::vector<Place> places = places_of_ranks(platform, of.place);
  const auto ranks = static_cast<std::size_t>(job.ranks());
  const std::string where = job.trace().file + ":" + std::to_string(job.trace().line) + ": error: ";
  if (of.ranks != 0 && of.ranks != job.ranks()) {
    throw InputError(where + "--ranks " + std::to_string(of.ranks) + " is another number");
  }
  if (ranks > places.size()) {
    throw InputError(where + "--place " + of.place + " has places for " + std::to_string(places.size()));
  }
  places.resize(ranks);
  return places;
}

/// Ranks that one protocol serves are a group: those of a node, or of a domain of nodes.
workloads::Shape shape_of(const bench::WorkloadPlan& plan, const Platform& platform, std::vector<Place> places) {
  const Topology topology(platform);
  const bool share_nodes = bench::share_nodes(places);
  const bool by_domain = plan.ways.between_domains != nullptr || plan.ways.between == plan.ways.within;
  for (Place& place : places) place.node = by_domain ? topology.copy_of(place.node) : place.node;
  workloads::Shape shape = bench::shape_of(places);
  shape.shares_nodes = share_nodes;
  return shape;
}

}  // namespace

std::function<Bytes(RankId)> room_of(const Platform& platform, const std::vector<Place>& places) {
  const Topology topology(platform);
  std::map<std::pair<int, int>, std::uint64_t> ranks;
  for (const Place& place : places) ++ranks[{place.node, place.gpu}];
  std::vector<Bytes> rooms;
  for (const Place& place : places) {
    const Bytes memory = topology.type_of(topology.gpu_of(place)).memory.value;
    rooms.emplace_back(memory.count() / ranks.at({place.node, place.gpu}));
  }
  return [rooms = std::move(rooms)](RankId rank) { return rooms[static_cast<std::size_t>(rank.value)]; };
}

ChosenProtocols choose_protocols(bench::WorkloadOptions& workload, const Platform& platform,
                                 const std::vector<Place>& places) {
  ChosenProtocols chosen = shortest_ways(platform, places);
  workload.protocol = chosen.within->name();
  workload.chosen = true;
  // What the user has said of some pairs stands.
  const bool by_domain = chosen.domains && workload.between.empty();
  std::string& others = by_domain ? workload.between_domains : workload.between;
  if (!others.empty()) chosen.between = &find_protocol(others);
  if (chosen.between != chosen.within) others = chosen.between->name();
  chosen.domains = by_domain;
  return chosen;
}

void tell_library(bench::WorkloadOptions& options, const Platform& platform) {
  for (bench::SettingsOptions* settings :
       {&options.settings, &options.settings_between, &options.settings_between_domains}) {
    settings->library = platform.library;
  }
  const auto said = platforms::parse_library(platform.software.mpi);
  options.mpi = {.said = said ? said->first + " " + platforms::to_string(said->second) : "",
                 .preset = platform.library};
}

ReadyJob ready_job(const Platform& platform, SimulatedJob job) {
  tell_library(job.workload, platform);
  // A fault that comes late meets other iterations than those that would be simulated.
  ReadyJob ready{.plan = bench::make_plan(job.workload, {.shortened = platform.later_faults.empty()})};
  ready.places = places_for(ready.plan, platform, job);
  if (const bench::ArrayJob* const array = ready.plan.array()) {
    ready.plan.work = share_out(*array, static_cast<int>(ready.places.size()),
                                [&] { return shares_by_machine(platform, ready.places, *array); });
  }
  ready.plan.shape = shape_of(ready.plan, platform, ready.places);
  ready.plan.room = room_of(platform, ready.places);
  ready.plan.judge = [referee = std::make_shared<const Referee>(platform, ready.places)](
                         const bench::WorkloadPlan& plan, bench::WorkloadPoint& point) { referee->judge(plan, point); };
  if (static_cast<int>(ready.places.size()) < job.alike_from) return ready;
  ready.alike = find_alike(platform, ready.places, ready.plan);
  if (!ready.alike.folding) return ready;
  ready.plan.shape->standing = ready.alike.folding->standing();
  const bool exact = job.simulation.engine == SimulationOptions::Engine::exact;
  if (exact) ready.take_all("--engine exact shares links among the flows of each rank");
  return ready;
}

void ReadyJob::take_all(std::string why) {
  if (plan.longer) plan.work = std::exchange(plan.longer, {})(bench::kWhole);
  if (!alike.folding) return;
  alike = {.why_all = std::move(why)};
  plan.shape->standing = {};
}

void let_faults_begin(bench::WorkloadPlan& plan, SimulationOptions& simulation, std::function<void()>& begins) {
  simulation.faults_begin = &begins;
  plan.on_round = [&begins, told = std::move(plan.on_round)](bool round_begins, RankId rank, Seconds now) {
    if (round_begins) begins();
    if (told) told(round_begins, rank, now);
  };
}

MessageTimes simulate_job(const Platform& platform, const SimulatedJob& job) {
  ReadyJob ready = ready_job(platform, job);
  SimulationOptions simulation = job.simulation;
  simulation.folding = ready.alike.folding.get();
  std::function<void()> faults_begin;
  let_faults_begin(ready.plan, simulation, faults_begin);
  MessageTimes times;
  simulate(
      platform, ready.places,
      [&](MeasuredRank& rank) {
        const bench::WorkloadSeries series = measure_workload(rank, ready.plan);
        if (rank.id() != RankId{0}) return;
        times.path = series.protocols();
        for (const bench::WorkloadPoint& point : series.points) {
          times.us.push_back(point.time_us.median);
          times.sizes.push_back(point.size);
          times.algorithms.push_back(point.algorithm);
          times.ways.push_back(point.done_by() + "; " + point.why);
        }
      },
      simulation);
  return times;
}

Timed timed(const SimulatedJob& job, int at_once, bench::OnProgress on_progress) {
  return {.simulate = [job](const Platform& platform) { return simulate_job(platform, job); },
          .shares_process = job.simulation.engine != SimulationOptions::Engine::exact,
          .at_once = at_once,
          .on_progress = std::move(on_progress)};
}

}  // namespace twinlink::model
