#include <iostream>

#include "model/commands.hpp"
#include "model/simulation.hpp"
#include "model/topology.hpp"
#include "protocols/bench/driver.hpp"
#include "protocols/bench/files.hpp"
#include "protocols/bench/options.hpp"
#include "protocols/bench/trace.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

struct Options {
  PlatformOptions platform{};
  PairOptions pair{};
  bench::RunOptions run{};
};

ExitCode run(const Options& options, const std::string& command_line) {
  const Platform platform = read_platform(options.platform);
  const std::vector<Place> places = read_pair(options.pair, platform);
  const Protocol& protocol = find_protocol(options.run.protocol);
  const bench::Plan plan = make_plan(options.run, bench::simulated_repeats());
  require_writable(options.run);
  const Support support = protocol.supports(Topology(platform).path(places[0], places[1]));
  if (support.kind == Support::Kind::fallback) std::cerr << "twinlink-sim: note: " << support.reason << "\n";

  bench::Series series;
  std::string trace;
  simulate(platform, places, [&](Rank& rank) {
    bench::Series mine = bench::measure(rank, protocol, plan);
    std::string lines = options.run.trace.empty() ? "" : bench::trace(rank, protocol, plan, options.run.trace_times);
    if (rank.id() != plan.first) return;
    series = std::move(mine);
    trace = std::move(lines);
  });
  series.clock = "simulated";
  bench::deliver({.world = "simulated",
                  .program = program_name(),
                  .command = command_line,
                  .environment = environment_of(platform, options.platform.overrides),
                  .series = std::move(series)},
                 options.run.output, std::cout);
  if (!options.run.trace.empty()) bench::write_file(options.run.trace, trace);
  return ExitCode::ok;
}

}  // namespace

void add_run_command(Program& program) {
  auto* command = program.app.add_subcommand("run", "Run a protocol between two devices of a simulated machine");
  const auto options = std::make_shared<Options>();
  add_platform_options(*command, options->platform);
  add_pair_options(*command, options->pair);
  bench::add_run_options(*command, options->run);
  command->callback(
      [&program, options] { program.action = [&program, options] { return run(*options, program.command_line); }; });
}

}  // namespace twinlink::model
