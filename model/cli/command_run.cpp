#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/cli/commands.hpp"
#include "model/cli/pages.hpp"
#include "model/cli/run_pairs.hpp"
#include "model/engine/simulation.hpp"
#include "model/study/idle_options.hpp"
#include "model/study/jobs/protocol_choice.hpp"
#include "model/study/model_error.hpp"
#include "model/study/referee.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/live_rows.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/measure/driver.hpp"
#include "protocols/bench/measure/pairs.hpp"
#include "protocols/bench/measure/trace.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/settings_text.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

/// A message on the machine: simulated in a process of its own, before the curve.
report::Document message_of_run(const Platform& platform, const std::vector<Place>& places, const Protocol& protocol,
                                const bench::Plan& plan) {
  constexpr Bytes kMostShown{1U << 20U};
  Bytes size = plan.sizes.front();
  for (const Bytes each : plan.sizes) {
    const bool readable = bench::parts_of(protocol, plan.settings, plan.facts.packing, each) <= bench::kMostShown;
    size = each <= kMostShown && readable ? each : size;
  }
  bench::require_readable(protocol, plan.settings, plan.facts.packing, size);
  report::Document blocks{report::Heading{.level = 2, .text = "A message"}};
  report::append(blocks, message_blocks(platform, places, protocol, plan.settings, plan.facts.packing, size));
  return blocks;
}

report::Document run_page(const bench::Result& result, const Platform& platform, report::Document message,
                          report::Document why) {
  const bench::Series& series = result.series;
  const std::string what = fmt::format("{} from {} to {} on {}", series.label, series.from, series.to, platform.name);
  report::Document page{
      report::Heading{.level = 1, .text = what},
      report::Paragraph{fmt::format("Simulated {}, {}; one-way times. The first message takes {:.3f} us, "
                                    "set-up included.",
                                    to_string(series.pattern), bench::settings_text(series.settings), series.cold_us)},
      report::Paragraph{result.command}};
  report::append(page, curve_plots("Bandwidth", {&result, 1}));
  report::append(page, std::move(message));
  if (!why.empty()) {
    page.emplace_back(report::Heading{.level = 2, .text = "Why it takes so long"});
    report::append(page, std::move(why));
  }
  page.emplace_back(report::Heading{.level = 2, .text = "The machine"});
  page.emplace_back(machine_picture(platform));
  return page;
}

/// Prints why the last round took so long, where rows are printed, and returns the same for a result file.
bench::Point tell(const RoundFindings& found, const RunOptions& options) {
  bench::Point why;
  if (options.why.links) why.links = to_json(found.links);
  if (options.why.path) why.critical_path = to_json(found.path);
  if (options.run.output.format == bench::Format::table && options.why.any()) {
    std::cout << fmt::format("# one more round like these{}:\n",
                             options.run.compute > Seconds{} ? ", its computing included" : "");
    print_why(found, options.why, std::cout);
  }
  return why;
}

/// A protocol that was chosen stands where workloads have their algorithm.
std::vector<SizeTime> times_of(const bench::Series& series, bool chosen) {
  std::vector<SizeTime> times;
  for (const bench::Point& point : series.points) {
    times.push_back({.bytes = point.size.count(),
                     .algorithm = chosen ? series.protocol : "",
                     .time_us = point.time_us.median,
                     .rate_MBps = point.bandwidth_MBps});
  }
  return times;
}

ExitCode run(RunOptions options, const Program& program) {
  note_estimates(options.platform);
  const bool chooses = options.run.protocol.empty();
  if (chooses) {
    const Protocol& chosen = choose_protocol(options);
    note_choice({.within = &chosen, .between = &chosen});
    options.run.protocol = chosen.name();
    options.chosen = true;
  }
  const std::string& command_line = program.command_line;
  const bool page = !options.report.empty();
  const bool one_pair = options.run.pairs.empty() && !options.run.all_pairs && !options.run.one_process;
  if (!one_pair && (page || options.why.any())) {
    throw UsageError("--report, --links and --critical-path are of one pair of ranks, each in a process of its own");
  }
  if (!options.run.pairs.empty()) {
    if (options.pair.from.empty() && options.pair.to.empty()) return run_pairs(options, command_line);
    throw UsageError("--pairs names its devices: --from and --to have no meaning beside it");
  }
  if (options.run.all_pairs) {
    if (options.pair.from.empty() && options.pair.to.empty()) return run_all_pairs(options, command_line);
    throw UsageError("--all-pairs runs every pair: --from and --to have no meaning beside it");
  }
  if (!options.place.empty()) {
    throw UsageError("--place is for --pairs and --all-pairs: --from and --to place the ranks of one pair");
  }
  const Protocol& protocol = find_protocol(options.run.protocol);
  const Platform platform = read_platform(options.platform, protocol, options.run.settings);
  const std::vector<Place> places = read_pair(options.pair, platform);
  bench::Plan plan = make_plan(options.run, bench::simulated_repeats());
  require_watched(options.timeline, options.report);
  require_writable(options.run);
  const Path path = Topology(platform).path(places[0], places[1]);
  note_fallback(protocol, path);
  note_all(idle_within_node(options.platform.within_node, platform, places));
  const bench::PairPlan alone{&protocol, plan};
  note_idle_settings(options, platform, {&alone, 1},
                     [&](const Platform& on) { return std::vector{Topology(on).path(places[0], places[1])}; });
  report::Document message;
  if (page) message = message_of_run(platform, places, protocol, plan);

  bench::Result result{.world = "simulated",
                       .program = program_name(),
                       .command = command_line,
                       .environment = environment_of(platform, options.platform)};
  bench::LiveRows rows(result, options.run.output, std::cout);
  const Referee referee(platform);
  plan.on_point = [&](const bench::Series& so_far) {
    referee.judge(so_far, so_far.points.back());
    rows.show(so_far);
  };
  std::string trace;
  SimulationOptions simulation = options.simulation;
  RoundWatch watch(1);  // plan.first begins and ends a round
  std::vector<bench::Point> why;
  report::Document last_why;
  if (page || options.why.any()) {
    watch.watch(simulation, {.links = true, .path = page || options.why.path});
    plan.on_round = [&watch](bool begins, RankId rank, Seconds now) { watch.round(begins, rank, now); };
    plan.on_point = [&, show = std::move(plan.on_point)](const bench::Series& so_far) {
      show(so_far);
      const RoundFindings found = watch.findings();
      why.push_back(tell(found, options));
      if (page) {
        last_why = why_blocks(fmt::format("one more round of {}", format_size(so_far.points.back().size)), found);
      }
    };
  }
  simulate_to(
      options.timeline, platform, places,
      [&](MeasuredRank& rank) {
        bench::Series mine = bench::measure(rank, protocol, plan);
        std::string lines =
            options.run.trace.empty() ? "" : bench::trace(rank, protocol, plan, options.run.trace_times);
        if (rank.id() != plan.first) return;
        result.series = std::move(mine);
        trace = std::move(lines);
      },
      simulation, &result.environment);
  result.series.clock = "simulated";
  for (std::size_t i = 0; i < why.size(); ++i) {
    result.series.points[i].links = why[i].links;
    result.series.points[i].critical_path = why[i].critical_path;
  }
  if (options.run.output.format == bench::Format::table) {
    std::cout << "# " << how_sure(simulated_by(protocol, places[0].node == places[1].node)) << '\n' << std::flush;
  }
  rows.deliver(result);
  note_all(idle_buffers({&result.series, 1}));
  if (program.on_times) program.on_times(times_of(result.series, chooses));
  if (!options.run.trace.empty()) bench::write_file(options.run.trace, trace);
  if (page) {
    const std::vector<report::Attachment> data{{"result.json", bench::to_text(to_json(result), 2)}};
    bench::write_file(options.report,
                      to_html(run_page(result, platform, std::move(message), std::move(last_why)), data));
  }
  return ExitCode::ok;
}

}  // namespace

void add_run_command(Program& program) {
  auto* command = program.app.add_subcommand("run", "Run a protocol between two devices of a simulated machine");
  const auto options = std::make_shared<RunOptions>();
  add_platform_options(*command, options->platform);
  add_pair_options(*command, options->pair);
  add_engine_option(*command, options->simulation);
  bench::add_run_options(*command, options->run);
  command->get_option("--protocol")->default_str("the one that 'explain' chooses");
  add_why_options(*command, options->why, "size");
  bench::add_timeline_option(*command, options->timeline, kTimelineTracks);
  add_page_option(*command, options->report,
                  "the curve, the way of a message on the machine and its steps, the critical path and the links");
  bench::add_pairs_option(*command, options->run, "FROM-TO", "0/0-0/1,0/2-0/3, with --place by ranks, 0-1,2-3");
  const bench::OptionGroup group(*command, "Several pairs");
  auto* place = command
                    ->add_option("--place", options->place,
                                 "Where the ranks of --pairs and --all-pairs are: packed fills node after node, spread "
                                 "gives each node one in turn, a file has NODE/GPU on a line for each rank")
                    ->type_name("packed|spread|FILE");
  constexpr int kMostRanks = 1 << 20;
  bench::add_count_option(*command, "--ranks", 2, kMostRanks, "all GPUs", "How many ranks --all-pairs has with --place",
                          [options](int ranks) { options->ranks = ranks; })
      ->needs(place);
  bench::add_examples(*command,
                      {"twinlink-sim run --platform keeneland-kids -p gpudirect-v1 --from 0/0 --to 1/0",
                       "twinlink-sim run --platform selene -p gpudirect-v3 --all-pairs --place spread --ranks 4 -b 1M",
                       "twinlink-sim run --platform h200-nvlink -p staging --pattern bandwidth -W 16 --json run.json"});
  command->callback([&program, options] { program.action = [&program, options] { return run(*options, program); }; });
}

}  // namespace twinlink::model
