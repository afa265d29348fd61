#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/results/output_files.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/bench/workload/workload_options.hpp"
#include "protocols/bench/workload/workload_rows.hpp"
#include "real/cli/commands.hpp"
#include "real/cli/job_options.hpp"
#include "real/cli/protocol_choice.hpp"
#include "real/cli/timeline.hpp"

namespace twinlink::real {
namespace {

struct WorkloadOptions {
  bench::WorkloadOptions workload{};
  bool library = false;  ///< NCCL itself
  std::filesystem::path timeline{};
};

/// Prints and stores what rank 0 has measured. An UnavailableError where a protocol refuses a pair.
ExitCode measure_workload(const JobOptions& job_options, WorkloadOptions options) {
  Job job(job_options);
  job.agree([&] { choose_sum(options.workload); });
  if (options.workload.protocol.empty() && !options.library) {
    const ChosenProtocols chosen = choose_protocols(job, all_others(job.rank()), job_options.timeout);
    options.workload.protocol = chosen.within->name();
    if (options.workload.between.empty() && chosen.between != chosen.within) {
      options.workload.between = chosen.between->name();
    }
  }
  constexpr bench::PlanDefaults kDefaults{.warmup = 2, .iterations = 10, .timeout = bench::kMeasuredTimeout};
  bench::WorkloadPlan plan;
  std::unique_ptr<Protocol> library;
  job.agree([&] {
    if (options.library) {
      require_library_alone(options.workload.protocol);
      library = job.library(kNcclLibrary);
      options.workload.stand_in = library.get();
    }
    plan = make_plan(options.workload, kDefaults);
    if (const bench::ArrayJob* const array = plan.array()) plan.work = share_out(*array, job.rank().ranks(), {});
    plan.room = [&job](RankId) { return job.device_memory(); };
    require_possible(job.rank(), plan);
    if (job.rank().id() != RankId{0}) return;
    bench::require_output("--timeline", options.timeline);
    require_writable(options.workload);
  });
  job.run([&](MeasuredRank& rank) {
    bench::WorkloadFile file{.world = "measured",
                             .program = kProgram,
                             .command = job_options.command_line,
                             .environment = job.environment(),
                             .series = heading_of(rank, plan)};
    plan.on_point = bench::live_rows(file, std::cout);
    JobTimeline timeline(rank, options.timeline);
    bench::WorkloadSeries series = bench::measure_workload(timeline.rank(), plan);
    job.conclude();
    timeline.write(plan.timeout);
    if (rank.id() != RankId{0}) return;
    file.environment = job.environment();
    file.series = std::move(series);
    deliver(file, options.workload, std::cout);
  });
  return ExitCode::ok;
}

}  // namespace

void add_workload_command(Program& program) {
  auto* command =
      program.app.add_subcommand("workload", "Run a collective, a pattern or a recorded job over all ranks");
  const auto options = std::make_shared<WorkloadOptions>();
  add_library_option(*command, options->library);
  add_job_options(*command, program.job);
  bench::add_workload_options(*command, options->workload);
  command->get_option("--protocol")->default_str("the shortest way, within nodes and between them");
  bench::add_timeline_option(*command, options->timeline, kTimelineTracks);
  bench::add_examples(*command,
                      {"mpirun -n 4 twinlink-real workload all-reduce -p gpudirect-v2",
                       "mpirun -n 8 twinlink-real workload all-to-all --device cuda -p gpudirect-v2 --json a2a.json"});
  bench::show_by_workload(*command);
  command->callback([&program, command, options] {
    program.job.timeout = options->workload.timeout.value_or(bench::kMeasuredTimeout);
    program.begin(*command, [&job = program.job, options] { return measure_workload(job, *options); });
  });
}

}  // namespace twinlink::real
