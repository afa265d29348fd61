#include <iostream>

#include "model/commands.hpp"
#include "model/simulation.hpp"
#include "model/topology.hpp"
#include "protocols/bench/driver.hpp"
#include "protocols/bench/files.hpp"
#include "protocols/bench/options.hpp"
#include "protocols/registry.hpp"
#include "protocols/tracing_rank.hpp"

namespace twinlink::model {
namespace {

struct Options {
  PlatformOptions platform{};
  PairOptions pair{};
  bench::RunOptions run{};
  std::filesystem::path trace{};
};

ExitCode run(const Options& options, const std::string& command_line) {
  const Platform platform = read_platform(options.platform);
  const std::vector<Place> places = read_pair(options.pair, platform);
  const Protocol& protocol = find_protocol(options.run.protocol);
  const bench::Plan plan = make_plan(options.run, bench::simulated_repeats());
  require_writable(options.run.output);
  if (!options.trace.empty()) bench::require_writable(options.trace);
  const Support support = protocol.supports(Topology(platform).path(places[0], places[1]));
  if (support.kind == Support::Kind::fallback) std::cerr << "twinlink-sim: note: " << support.reason << "\n";

  bench::Series series;
  Trace trace;
  const bool traced = !options.trace.empty();
  simulate(platform, places, [&](Rank& plain) {
    TracingRank tracing(plain, trace);
    Rank& rank = traced ? static_cast<Rank&>(tracing) : plain;
    bench::Series mine = bench::measure(rank, protocol, plan);
    if (rank.id() == plan.first) series = std::move(mine);
  });
  series.clock = "simulated";
  bench::deliver({.world = "simulated",
                  .program = program_name(),
                  .command = command_line,
                  .environment = environment_of(platform, options.platform.overrides),
                  .series = std::move(series)},
                 options.run.output, std::cout);
  if (traced) bench::write_file(options.trace, trace.timeline());
  return ExitCode::ok;
}

}  // namespace

void add_run_command(Program& program) {
  auto* command = program.app.add_subcommand("run", "Run a protocol between two devices of a simulated machine");
  const auto options = std::make_shared<Options>();
  add_platform_options(*command, options->platform);
  add_pair_options(*command, options->pair);
  bench::add_run_options(*command, options->run);
  command->add_option("--trace", options->trace, "Write every step of both ranks with its times to this file");
  command->callback(
      [&program, options] { program.action = [&program, options] { return run(*options, program.command_line); }; });
}

}  // namespace twinlink::model
