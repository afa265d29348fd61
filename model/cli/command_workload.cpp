#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/cli/commands.hpp"
#include "model/engine/simulation.hpp"
#include "model/platform/topology.hpp"
#include "model/tools/placement.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/workload/workload_options.hpp"

namespace twinlink::model {
namespace {

struct Options {
  PlatformOptions platform{};
  bench::WorkloadOptions workload{};
  std::string place = "packed";
  int ranks = 0;  ///< 0: all places
  SimulationOptions simulation{};
};

/// A trace has a number of ranks of its own.
std::vector<Place> places_for(const bench::WorkloadPlan& plan, const Platform& platform, const Options& options) {
  if (!plan.trace) return places_of_ranks(platform, options.place, options.ranks);
  const workloads::goal::Job& job = *plan.trace;
  std::vector<Place> places = places_of_ranks(platform, options.place);
  const auto ranks = static_cast<std::size_t>(job.ranks());
  const std::string where = job.trace().file + ":" + std::to_string(job.trace().line) + ": error: ";
  if (options.ranks != 0 && options.ranks != job.ranks()) {
    throw InputError(where + "--ranks " + std::to_string(options.ranks) + " is another number");
  }
  if (ranks > places.size()) {
    throw InputError(where + "--place " + options.place + " has places for " + std::to_string(places.size()));
  }
  places.resize(ranks);
  return places;
}

/// What each rank has of its GPU's memory.
std::vector<Bytes> rooms_of(const Platform& platform, const std::vector<Place>& places) {
  const Topology topology(platform);
  std::map<std::pair<int, int>, std::uint64_t> ranks;
  for (const Place& place : places) ++ranks[{place.node, place.gpu}];
  std::vector<Bytes> rooms;
  for (const Place& place : places) {
    const Bytes memory = topology.type_of(topology.gpu_of(place)).memory.value;
    rooms.emplace_back(memory.count() / ranks.at({place.node, place.gpu}));
  }
  return rooms;
}

ExitCode run(const Options& options, const std::string& command_line) {
  bench::WorkloadPlan plan = make_plan(options.workload, 1, 1);
  const Platform platform = read_platform(options.platform, *plan.ways.within, plan.ways.settings_within);
  const std::vector<Place> places = places_for(plan, platform, options);
  require_writable(options.workload, input_of(options.platform));
  bench::WorkloadFile file{.world = "simulated",
                           .program = program_name(),
                           .command = command_line,
                           .environment = environment_of(platform, options.platform)};
  plan.on_point = bench::live_rows(file, std::cout);
  const std::vector<Bytes> rooms = rooms_of(platform, places);
  plan.room = [&rooms](RankId rank) { return rooms[static_cast<std::size_t>(rank.value)]; };
  simulate(
      platform, places,
      [&](Rank& rank) {
        if (rank.id() == RankId{0}) file.series = heading_of(rank, plan);
        bench::WorkloadSeries mine = measure_workload(rank, plan);
        if (rank.id() == RankId{0}) file.series = std::move(mine);
      },
      options.simulation);
  deliver(file, options.workload, std::cout);
  return ExitCode::ok;
}

}  // namespace

void add_workload_command(Program& program) {
  auto* command =
      program.app.add_subcommand("workload", "Run a collective, a pattern or a recorded job over any protocol");
  const auto options = std::make_shared<Options>();
  add_platform_options(*command, options->platform);
  command
      ->add_option("--place", options->place,
                   "Where the ranks are: packed fills node after node, spread gives each node one in turn, a file has "
                   "NODE/GPU on a line for each rank")
      ->type_name("packed|spread|FILE")
      ->capture_default_str();
  constexpr int kMostRanks = 1 << 20;
  bench::add_count_option(*command, "--ranks", 2, kMostRanks, "all GPUs", "How many ranks there are",
                          [options](int ranks) { options->ranks = ranks; });
  add_engine_option(*command, options->simulation);
  bench::add_workload_options(*command, options->workload);
  bench::add_examples(
      *command, {"twinlink-sim workload all-reduce --platform h200-nvlink -p gpudirect-v2",
                 "twinlink-sim workload all-to-all --platform selene -p gpudirect-v2 --between-nodes gpudirect-v3 "
                 "--ranks 64 -b 1M -e 64M"});
  command->callback(
      [&program, options] { program.action = [&program, options] { return run(*options, program.command_line); }; });
}

}  // namespace twinlink::model
