#include <algorithm>
#include <cstddef>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/cli/commands.hpp"
#include "model/cli/pages.hpp"
#include "model/engine/flows/folding.hpp"
#include "model/engine/simulation.hpp"
#include "model/study/clustering.hpp"
#include "model/study/idle_options.hpp"
#include "model/study/jobs/protocol_choice.hpp"
#include "model/study/jobs/simulated_job.hpp"
#include "model/study/model_error.hpp"
#include "model/study/watch/round_watch.hpp"
#include "platforms/tools/placement.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/progress.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/settings_text.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/bench/workload/workload_options.hpp"
#include "protocols/bench/workload/workload_rows.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

struct Options {
  PlatformOptions platform{};
  SimulatedJob job{};
  int jobs = 1;
  std::string background{};  ///< a workload
  RoundWishes why{};
  std::filesystem::path timeline{};
  std::filesystem::path report{};
};

/// The jobs' places, and behind them those that are left for the background: of as many ranks as a job has.
Cluster cluster_of(const bench::WorkloadPlan& plan, const Platform& platform, const Options& options) {
  const bool spread = options.job.place == "spread";
  Cluster cluster{.jobs = options.jobs, .places = places_of_ranks(platform, spread ? "packed" : options.job.place)};
  const auto there = static_cast<int>(cluster.places.size());
  const workloads::goal::Job* const trace = plan.trace();
  cluster.ranks = trace != nullptr ? trace->ranks() : options.job.ranks;
  if (trace != nullptr && options.job.ranks != 0 && options.job.ranks != cluster.ranks) {
    throw UsageError("--ranks " + std::to_string(options.job.ranks) + ": " + plan.name() + " has " +
                     std::to_string(cluster.ranks));
  }
  if (cluster.ranks == 0) cluster.ranks = there / (options.jobs + (options.background.empty() ? 0 : 1));
  if (cluster.ranks < 2 || cluster.ranks > there / options.jobs) {
    throw UsageError("--jobs " + std::to_string(options.jobs) + ": --place " + options.job.place + " has places for " +
                     std::to_string(there) + ", and each job has " + std::to_string(cluster.ranks) + " ranks");
  }
  int used = cluster.jobs * cluster.ranks;
  if (!options.background.empty()) {
    cluster.background = &workloads::find_workload(options.background);
    if (there - used < 2) throw UsageError("--background: fewer than two places are left behind those of the jobs");
    used += std::min(there - used, cluster.ranks);
  }
  cluster.places.resize(static_cast<std::size_t>(used));
  if (spread) deal_places(cluster);
  return cluster;
}

ExitCode run_jobs(const Options& options, bench::WorkloadPlan plan, const Platform& platform,
                  const std::string& command_line) {
  const Cluster cluster = cluster_of(plan, platform, options);
  require_writable(options.job.workload);
  note_idle_faults(platform, cluster.places);
  note_all(idle_job_options(options.job, options.jobs, plan, platform, options.platform.within_node, cluster.places));
  plan.room = room_of(platform, cluster.places);
  const auto show = [&, headed = false](const ClusterPoint& point) mutable {
    if (!std::exchange(headed, true)) print_heading(plan, cluster, std::cout);
    print_point(point, std::cout);
  };
  const std::vector<ClusterPoint> points = measure_cluster(platform, plan, cluster, show, options.job.simulation);
  if (!options.job.workload.json.empty()) {
    nlohmann::json file = to_json(plan, cluster, points);
    file["world"] = "simulated";
    file["program"] = program_name();
    file["command"] = command_line;
    file["environment"] = environment_of(platform, options.platform);
    bench::write_json_file(options.job.workload.json, file);
  }
  if (!options.job.workload.csv.empty()) bench::write_file(options.job.workload.csv, to_csv(points));
  return ExitCode::ok;
}

/// The protocols where the user names none.
void choose_protocols(Options& options) {
  const Platform platform = read_platform(options.platform);
  const SimulatedJob& job = options.job;
  const bool one_job = options.jobs == 1 && options.background.empty();
  note_choice(model::choose_protocols(options.job.workload, platform,
                                      places_of_ranks(platform, job.place, one_job ? job.ranks : 0)));
}

/// Protocols that were chosen stand behind the algorithm.
std::vector<SizeTime> times_of(const bench::WorkloadSeries& series, bool chosen) {
  std::vector<SizeTime> times;
  for (const bench::WorkloadPoint& point : series.points) {
    times.push_back({.bytes = point.size.count(),
                     .algorithm = chosen ? point.algorithm + " over " + series.protocol : point.algorithm,
                     .time_us = point.time_us.median,
                     .rate_MBps = point.bus_MBps});
  }
  return times;
}

/// Of a job that is large enough for some ranks to stand for all: how many are simulated, or why it is each of them.
void tell_alike(const ReadyJob& ready, bench::WorkloadFile& file) {
  const Alike& alike = ready.alike;
  if (!alike.folding && alike.why_all.empty()) return;
  file.environment.set("simulated_ranks", alike.folding ? alike.folding->ranks() : std::ssize(ready.places));
  if (!alike.folding) file.environment.set("each_rank_simulated", alike.why_all);
}

/// How far a long row is, for who waits: all ranks' messages of all of its rounds.
class RowProgress {
 public:
  /// Listens to a job until it ends; what else is told of points is told when the line is gone.
  void listen(bench::WorkloadPlan& plan) {
    plan.on_messages = [this](std::size_t planned, std::size_t sent) { take(planned, sent); };
    plan.on_point = [this, row = std::move(plan.on_point)](const bench::WorkloadPoint& point) {
      progress_.reset();
      planned_ = sent_ = 0;
      row(point);
    };
  }

 private:
  void take(std::size_t planned, std::size_t sent) {
    if (!progress_) progress_.emplace("messages of the row", bench::ProgressView::standard_error(wall_clock));
    planned_ += planned;
    sent_ += sent;
    // Nobody wants to look at a clock as often as that.
    constexpr std::size_t kSeldom = 1024;
    if (++told_ % kSeldom == 0) progress_->show(sent_, std::max(planned_, sent_));
  }

  std::optional<bench::Progress> progress_{};
  std::size_t planned_ = 0;
  std::size_t sent_ = 0;
  std::size_t told_ = 0;
};

ExitCode run(Options options, const Program& program) {
  note_estimates(options.platform);
  choose_sum(options.job.workload);
  const bool chooses = options.job.workload.protocol.empty();
  if (chooses) choose_protocols(options);
  const std::string& command_line = program.command_line;
  const Platform platform =
      read_platform(options.platform, find_protocol(options.job.workload.protocol), options.job.workload.settings);
  if (options.jobs > 1 || !options.background.empty()) {
    if (options.why.any()) throw UsageError("--links and --critical-path are of one job without a background");
    if (!options.timeline.empty() || !options.report.empty()) {
      throw UsageError("--timeline and --report are of one job without a background");
    }
    tell_library(options.job.workload, platform);
    bench::WorkloadPlan plan = make_plan(options.job.workload, {});
    if (plan.array() != nullptr) throw UsageError("--jobs and --background: not of " + plan.name());
    if (const std::string& said = options.job.workload.protocol;
        !options.background.empty() && plan.tuned != nullptr && plan.ways.within->name() != said) {
      throw UsageError(
          fmt::format("--background: with --algorithm tuned {} goes by messages of the host, and what is "
                      "beside it would go by {}; -p host has both on the host",
                      plan.name(), said));
    }
    return run_jobs(options, std::move(plan), platform, command_line);
  }
  ReadyJob ready = ready_job(platform, options.job);
  bench::WorkloadPlan& plan = ready.plan;
  const std::vector<Place>& places = ready.places;
  require_watched(options.timeline, options.report);
  require_writable(options.job.workload);
  bench::WorkloadFile file{.world = "simulated",
                           .program = program_name(),
                           .command = command_line,
                           .environment = environment_of(platform, options.platform)};
  note_all(idle_job_options(options.job, 1, plan, platform, options.platform.within_node, places));
  const bool page = !options.report.empty();
  if (page || options.why.any() || !options.timeline.empty()) {
    ready.take_all("--links, --critical-path, --timeline and --report look at each rank");
  }
  tell_alike(ready, file);
  RoundWatch watch(static_cast<int>(places.size()));
  SimulationOptions simulation = options.job.simulation;
  simulation.folding = ready.alike.folding.get();
  plan.on_point = bench::live_rows(file, std::cout);
  report::Document why;
  if (page || options.why.any()) {
    watch.watch(simulation, {.links = true, .path = page || options.why.path});
    plan.on_round = [&watch](bool begins, RankId rank, Seconds now) { watch.round(begins, rank, now); };
    plan.on_point = [&, row = std::move(plan.on_point)](const bench::WorkloadPoint& point) {
      row(point);
      const RoundFindings found = watch.findings();
      if (options.why.links) file.links.emplace_back(to_json(found.links));
      if (options.why.path) file.critical_paths.emplace_back(to_json(found.path));
      print_why(found, options.why, std::cout);
      if (page)
        why = why_blocks(fmt::format("an iteration of {}, {}", format_size(point.size), point.done_by()), found);
    };
  }
  const bool by_blocks = plan.ways.within->does_collectives();
  RowProgress row;
  row.listen(plan);
  std::function<void()> faults_begin;
  let_faults_begin(plan, simulation, faults_begin);
  simulate_to(
      options.timeline, platform, places,
      [&](MeasuredRank& rank) {
        if (rank.id() == RankId{0}) file.series = heading_of(rank, plan);
        bench::WorkloadSeries mine = measure_workload(rank, plan);
        if (rank.id() == RankId{0}) file.series = std::move(mine);
      },
      simulation, &file.environment);
  const Simulated kind = by_blocks ? Simulated::block_collectives : Simulated::driven_collectives;
  std::cout << "# " << how_sure(kind) << '\n' << std::flush;  // files may go to the same place
  deliver(file, options.job.workload, std::cout);
  if (program.on_times) {
    std::vector<SizeTime> times = times_of(file.series, chooses);
    add_fabric(times, platform);
    program.on_times(std::move(times));
  }
  if (page) {
    const std::vector<report::Attachment> data{{"workload.json", bench::to_text(to_json(file), 2)}};
    bench::write_file(options.report, to_html(workload_page(file, platform, std::move(why)), data));
  }
  return ExitCode::ok;
}

}  // namespace

void add_job_options(CLI::App& command, SimulatedJob& job) {
  const bench::OptionGroup group(command, "Job");
  command
      .add_option("--place", job.place,
                  "Where the ranks are: packed fills node after node, spread gives each node one in turn, a file has "
                  "NODE/GPU on a line for each rank. Of several jobs spread fills node after node with one rank of "
                  "each job in turn")
      ->type_name("packed|spread|FILE")
      ->capture_default_str();
  constexpr int kMostRanks = 1 << 20;
  bench::add_count_option(command, "--ranks", 2, kMostRanks, "all GPUs", "How many ranks there are",
                          [&job](int ranks) { job.ranks = ranks; });
  add_engine_option(command, job.simulation);
  bench::add_workload_options(command, job.workload);
  command.get_option("--protocol")->default_str("the one that 'explain' chooses, within nodes and between them");
}

std::vector<std::string> idle_job_options(const SimulatedJob& job, int jobs, const bench::WorkloadPlan& plan,
                                          const Platform& platform, const WithinNode& within_node,
                                          const std::vector<Place>& places) {
  std::vector<std::string> notes = idle_within_node(within_node, platform, places);
  const std::vector<Path> paths = paths_between(platform, places);
  const auto add = [&](const std::vector<std::string>& more) { notes.insert(notes.end(), more.begin(), more.end()); };
  // Messages have parts of the sizes, and several of them.
  std::vector<Bytes> any_size;
  for (Bytes size = workloads::kElement; size <= 1_TiB; size = size * 2) any_size.push_back(size);
  add(idle_switches(
      platform, [&](const Platform& on) { return paths_between(on, places); },
      used_on(paths, plan.ways, job.workload.chosen), any_size));
  add(idle_beside_others(job.workload, plan, paths));
  add(idle_shares(job.workload, plan, platform, places));
  const auto any = [&](const auto& what) { return std::ranges::any_of(paths, what); };
  const auto apart = [](const Path& path) { return !path.same_node; };
  const auto across = [](const Path& path) { return !workloads::in_one_domain(path); };
  const auto joined = [](const Path& path) { return !path.same_node && workloads::in_one_domain(path); };
  if (!job.workload.between.empty()) {
    const workloads::Ways& ways = plan.ways;
    if (!any([&](const Path& path) { return apart(path) && (ways.between_domains == nullptr || !across(path)); })) {
      notes.emplace_back("--between-nodes has no effect: there are no such pairs of ranks");
    } else if (ways.between == ways.within && are_alike(*ways.within, ways.settings_between, ways.settings_within)) {
      notes.emplace_back("--between-nodes has no effect: -p names that protocol for all pairs");
    }
  }
  if (!job.workload.between.empty() && plan.ways.between_domains == nullptr && any(joined)) {
    notes.emplace_back("--between-nodes is for nodes of one NVLink domain too; --between-domains leaves them out");
  }
  if (!job.workload.between_domains.empty() && !any(across)) {
    notes.emplace_back("--between-domains has no effect: all ranks are in one domain");
  }
  if (job.place == "spread" && plan.trace() == nullptr && jobs == 1 &&
      places == places_of_ranks(platform, "packed", static_cast<int>(places.size()))) {
    notes.emplace_back("--place spread has no effect: packed gives each rank the same place");
  }
  // A trace may have several messages under way, of sizes of its own.
  if (plan.scheduled() == nullptr) return notes;
  const bool for_all = job.workload.between.empty() && job.workload.between_domains.empty();
  std::vector<std::string> idle;
  for (const Path& path : paths) {
    if (!for_all && !path.same_node) continue;
    idle = idle_pieces(job.workload.settings, {*plan.ways.within, plan.ways.settings_within, plan.sizes(), path});
    if (idle.empty()) return notes;
  }
  add(idle);
  return notes;
}

void add_workload_command(Program& program) {
  auto* command =
      program.app.add_subcommand("workload", "Run a collective, a pattern or a recorded job over any protocol");
  const auto options = std::make_shared<Options>();
  add_platform_options(*command, options->platform, Naming::by_option);
  add_job_options(*command, options->job);
  const bench::OptionGroup group(*command, "Job");
  constexpr int kMostJobs = 4096;
  bench::add_count_option(*command, "--jobs", 1, kMostJobs, "1",
                          "So many jobs at once, each of --ranks, one behind the other in the places; what each loses",
                          [options](int jobs) { options->jobs = jobs; });
  command
      ->add_option("--background", options->background,
                   "A workload that the GPUs behind the jobs do until those have ended")
      ->type_name("NAME");
  add_why_options(*command, options->why, "row");
  bench::add_timeline_option(*command, options->timeline, kTimelineTracks);
  add_page_option(*command, options->report, "times and rates, the critical path and the links of the last point");
  bench::add_examples(
      *command, {"twinlink-sim workload all-reduce --platform h200-nvlink -p gpudirect-v2",
                 "twinlink-sim workload all-to-all --platform selene -p gpudirect-v2 --between-nodes gpudirect-v3 "
                 "--ranks 64 -b 1M -e 64M",
                 "twinlink-sim workload all-reduce --platform selene -p gpudirect-v2 --between-nodes gpudirect-v3 "
                 "--jobs 2 --ranks 8 --place spread --background all-to-all -b 64M"});
  bench::show_by_workload(*command);
  command->callback([&program, options] { program.action = [&program, options] { return run(*options, program); }; });
}

}  // namespace twinlink::model
