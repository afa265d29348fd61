#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/cli/commands.hpp"
#include "model/engine/simulation.hpp"
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

ExitCode run(const Options& options, const std::string& command_line) {
  bench::WorkloadPlan plan = make_plan(options.workload, 1, 1);
  const Platform platform = read_platform(options.platform, *plan.ways.within, plan.ways.settings_within);
  const std::vector<Place> places = places_of_ranks(platform, options.place, options.ranks);
  require_writable(options.workload, input_of(options.platform));
  bench::WorkloadFile file{.world = "simulated",
                           .program = program_name(),
                           .command = command_line,
                           .environment = environment_of(platform, options.platform)};
  plan.on_point = bench::live_rows(file, std::cout);
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
  auto* command = program.app.add_subcommand("workload", "Run a collective or a pattern over any protocol");
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
