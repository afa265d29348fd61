#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/cli/commands.hpp"
#include "model/engine/simulation.hpp"
#include "model/study/idle_options.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/cli/progress.hpp"
#include "protocols/bench/probe/probe.hpp"

namespace twinlink::model {
namespace {

struct ProbeOptions {
  PlatformOptions platform{};
  bench::ProbeOptions probe{};
};

/// The first GPU of two nodes, so that the first pair crosses the network where there is one, and the other GPUs of the
/// first node.
std::vector<Place> places_to_probe(const Platform& platform) {
  std::vector<Place> places{{0, 0, {}}};
  const Topology topology(platform);
  const auto add = [&](const Place& place) {
    if (topology.why_gone(place).empty()) places.push_back(place);
  };
  const bool joined = topology.why_off_network(0).empty() && topology.why_off_network(1).empty();
  if (platform.fabric && topology.nodes() > 1 && joined) add({1, 0, {}});
  for (int gpu = 1; gpu < static_cast<int>(topology.part_of(0).gpus); ++gpu) add({0, gpu, {}});
  return places;
}

ExitCode probe(const ProbeOptions& options, const std::string& command_line) {
  const Platform platform = read_platform(options.platform);
  const std::vector<Place> places = places_to_probe(platform);
  note_idle_faults(platform, places);
  note_all(idle_within_node(options.platform.within_node, platform, places));
  require_writable(options.probe.output);
  bench::Progress progress("parts of the probes", bench::ProgressView::standard_error(wall_clock));
  bench::ProbePlan plan = make_plan(options.probe, bench::simulated_repeats());
  plan.on_progress = progress.listener();
  bench::ProbeFindings findings;
  simulate(platform, places, [&](MeasuredRank& rank) {
    bench::ProbeFindings mine = bench::probe(rank, plan);
    if (rank.id() == RankId{0}) findings = std::move(mine);
  });
  progress.clear();
  require_found(findings, plan);
  bench::deliver(bench::ProbeFile{.world = "simulated",
                                  .program = program_name(),
                                  .command = command_line,
                                  .environment = environment_of(platform, options.platform),
                                  .findings = std::move(findings)},
                 options.probe.output, std::cout);
  return ExitCode::ok;
}

}  // namespace

void add_probe_command(Program& program) {
  auto* command = program.app.add_subcommand(
      "probe", "Measure a simulated machine's primitives, as 'twinlink-real probe' measures a real one's");
  const auto options = std::make_shared<ProbeOptions>();
  add_platform_options(*command, options->platform);
  bench::add_probe_options(*command, options->probe);
  bench::add_examples(*command, {"twinlink-sim probe --platform keeneland-kids --json probes.json",
                                 "twinlink-sim probe --platform h200-nvlink --only 'peer copy'"});
  command->callback(
      [&program, options] { program.action = [&program, options] { return probe(*options, program.command_line); }; });
}

}  // namespace twinlink::model
