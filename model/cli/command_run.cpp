#include <algorithm>
#include <charconv>
#include <iostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/cli/commands.hpp"
#include "model/cli/pages.hpp"
#include "model/engine/simulation.hpp"
#include "model/study/idle_options.hpp"
#include "model/study/jobs/protocol_choice.hpp"
#include "platforms/tools/placement.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/live_rows.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/cli/pair_file.hpp"
#include "protocols/bench/measure/driver.hpp"
#include "protocols/bench/measure/pairs.hpp"
#include "protocols/bench/measure/trace.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/settings_text.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

struct RunOptions {
  PlatformOptions platform{};
  PairOptions pair{};
  bench::RunOptions run{};
  std::string place{};  ///< of --all-pairs and --pairs: see places_of_ranks(); empty: not said
  int ranks = 0;        ///< of --all-pairs with a place; 0: all
  SimulationOptions simulation{};
  RoundWishes why{};
  std::filesystem::path timeline{};
  std::filesystem::path report{};  ///< of one pair
  bool chosen = false;             ///< the protocol, by the program
};

/// All GPUs of the first node, or of all nodes where a node has one; or those that --place gives to --ranks.
std::vector<Place> all_places(const RunOptions& options, const Platform& platform) {
  if (!options.place.empty()) return places_of_ranks(platform, options.place, options.ranks);
  const Topology topology(platform);
  const auto gpus = static_cast<int>(topology.part_of(0).gpus);
  std::vector<Place> places;
  for (int node = 0; node < (gpus > 1 ? 1 : topology.nodes()); ++node) {
    for (int gpu = 0; gpu < gpus; ++gpu) {
      if (topology.why_gone({node, gpu, {}}).empty()) places.push_back({node, gpu, {}});
    }
  }
  return places;
}

void note_fallback(const Protocol& protocol, const Path& path) {
  const Support support = protocol.supports(path);
  if (support.kind == Support::Kind::fallback) std::cerr << "twinlink-sim: note: " << support.reason << "\n";
}

using PathsOn = std::function<std::vector<Path>(const Platform&)>;

/// What is said of protocols and of what they find, and changes nothing on any path: each has a pair, or the only one
/// has all.
void note_idle_settings(const RunOptions& options, const Platform& platform, std::span<const bench::PairPlan> pairs,
                        const PathsOn& paths_on) {
  const std::vector<Path> paths = paths_on(platform);
  std::vector<UsedProtocol> used;
  std::vector<std::string> notes;
  bool idle = true;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto& [protocol, plan] = pairs[std::min(i, pairs.size() - 1)];
    used.push_back({options.chosen ? nullptr : protocol, &plan.settings});
    notes = idle_pieces(options.run.settings, {*protocol, plan.settings, plan.sizes, paths[i], plan.window});
    idle = idle && !notes.empty();
  }
  note_all(idle_switches(platform, paths_on, used, pairs.front().plan.sizes));
  if (idle) note_all(notes);
}

/// The matrix of --all-pairs.
ExitCode run_all_pairs(RunOptions options, const std::string& command_line) {
  const Protocol& protocol = find_protocol(options.run.protocol);
  const Platform platform = read_platform(options.platform, protocol, options.run.settings);
  const std::vector<Place> places = all_places(options, platform);
  note_all(idle_within_node(options.platform.within_node, platform, places));
  const bench::Plan plan = make_plan(options.run, bench::simulated_repeats());
  const bench::PairPlan all{&protocol, plan};
  note_idle_settings(options, platform, {&all, 1}, [&](const Platform& on) { return paths_between(on, places); });
  require_watched(options.timeline, options.report);
  require_writable(options.run);
  bench::PairSeries pairs;
  simulate_to(
      options.timeline, platform, all_places(options, platform),
      [&](MeasuredRank& rank) {
        bench::PairSeries mine = bench::measure_all_pairs(rank, protocol, plan);
        if (rank.id() == RankId{0}) pairs = std::move(mine);
      },
      options.simulation);
  for (bench::Series& series : pairs.series) series.clock = "simulated";
  note_all(idle_buffers(pairs.series));
  bench::deliver(bench::PairFile{.world = "simulated",
                                 .program = program_name(),
                                 .command = command_line,
                                 .environment = environment_of(platform, options.platform),
                                 .pairs = std::move(pairs)},
                 options.run.output, std::cout);
  return ExitCode::ok;
}

/// The GPUs of --pairs, each with a rank of its own, numbered as they are named: by their places, or with --place by
/// the numbers of the job's ranks.
class PairPlaces {
 public:
  PairPlaces(const Platform& platform, const std::string& how)
      : topology_(platform),
        job_(how.empty() ? std::vector<Place>{} : places_of_ranks(platform, how)),
        by_rank_(!how.empty()) {}

  RankId add(const std::string& text) {
    const Place place = by_rank_ ? place_of_rank(text) : parse_place(text);
    topology_.require(place);
    if (!by_rank_ && std::ranges::find(places_, place) != places_.end()) throw UsageError(text + " is in two pairs");
    places_.push_back(place);
    return RankId{static_cast<int>(places_.size()) - 1};
  }
  [[nodiscard]] const std::vector<Place>& places() const { return places_; }
  [[nodiscard]] Path path(RankId first, RankId second) const { return topology_.path(place(first), place(second)); }

 private:
  [[nodiscard]] const Place& place(RankId rank) const { return places_[static_cast<std::size_t>(rank.value)]; }

  [[nodiscard]] Place place_of_rank(const std::string& text) const {
    std::size_t rank = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
    if (error == std::errc{} && end == text.data() + text.size() && rank < job_.size()) return job_[rank];
    throw UsageError(fmt::format("'{}' is no rank: --place gives places to ranks 0 to {}", text, job_.size() - 1));
  }

  Topology topology_;
  std::vector<Place> job_;  ///< by rank, where --place says so
  bool by_rank_;
  std::vector<Place> places_;
};

/// The pairs of --pairs, at once.
ExitCode run_pairs(RunOptions options, const std::string& command_line) {
  const Protocol& common = find_protocol(options.run.protocol);
  const Platform platform = read_platform(options.platform, common, options.run.settings);
  PairPlaces all(platform, options.place);
  const bool several = options.run.pairs.size() > 1;
  const bench::DefaultRepeats repeats = several ? bench::simulated_repeats_at_once() : bench::simulated_repeats();
  const std::vector<bench::PairPlan> pairs =
      make_pair_plans(options.run, repeats, [&all](const std::string& text) { return all.add(text); });
  require_watched(options.timeline, options.report);
  require_writable(options.run);
  for (const auto& [protocol, plan] : pairs) note_fallback(*protocol, all.path(plan.first, plan.second));
  note_all(idle_within_node(options.platform.within_node, platform, all.places()));
  note_idle_settings(options, platform, pairs, [&](const Platform& on) {
    const Topology topology(on);
    std::vector<Path> paths;
    for (std::size_t i = 0; i + 1 < all.places().size(); i += 2) {
      paths.push_back(topology.path(all.places()[i], all.places()[i + 1]));
    }
    return paths;
  });
  std::vector<bench::Result> results;
  simulate_to(
      options.timeline, platform, all.places(),
      [&](MeasuredRank& rank) {
        for (bench::Series& series : bench::measure_at_once(rank, pairs)) {
          series.clock = "simulated";
          results.push_back({.world = "simulated",
                             .program = program_name(),
                             .command = command_line,
                             .environment = environment_of(platform, options.platform),
                             .series = std::move(series)});
        }
      },
      options.simulation);
  bench::deliver(results, options.run.output, std::cout);
  return ExitCode::ok;
}

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

/// The protocol where the user names none: the shortest way that all pairs which take it have.
const Protocol& choose_protocol(const RunOptions& options) {
  const Platform platform = read_platform(options.platform);
  if (options.run.all_pairs) return shortest_way(paths_between(platform, all_places(options, platform)));
  std::vector<Path> paths;
  if (options.run.pairs.empty()) {
    const std::vector<Place> places = read_pair(options.pair, platform);
    paths.push_back(Topology(platform).path(places[0], places[1]));
  }
  PairPlaces all(platform, options.place);
  for (const bench::PairWish& pair : options.run.pairs) {
    const RankId first = all.add(pair.first);
    const RankId second = all.add(pair.second);
    if (pair.protocol.empty()) paths.push_back(all.path(first, second));
  }
  return shortest_way(paths);
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
  plan.on_point = rows.listener();
  std::string trace;
  SimulationOptions simulation = options.simulation;
  RoundWatch watch(1);  // plan.first begins and ends a round
  std::vector<bench::Point> why;
  report::Document last_why;
  if (page || options.why.any()) {
    watch.watch(simulation, {.links = true, .path = page || options.why.path});
    plan.on_round = [&watch](bool begins, RankId rank, Seconds now) { watch.round(begins, rank, now); };
    plan.on_point = [&](const bench::Series& so_far) {
      rows.show(so_far);
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
