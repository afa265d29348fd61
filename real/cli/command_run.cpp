#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/live_rows.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/cli/pair_file.hpp"
#include "protocols/bench/measure/driver.hpp"
#include "protocols/bench/measure/expectation.hpp"
#include "protocols/bench/measure/pairs.hpp"
#include "protocols/bench/measure/trace.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/output_files.hpp"
#include "protocols/registry.hpp"
#include "real/cli/commands.hpp"
#include "real/cli/job_options.hpp"
#include "real/cli/protocol_choice.hpp"
#include "real/cli/run_pairs.hpp"
#include "real/cli/timeline.hpp"

namespace twinlink::real {
namespace {

struct RunOptions {
  bench::RunOptions run{};
  bool library = false;            ///< NCCL itself
  std::filesystem::path expect{};  ///< a simulated result of the same curve; empty: nothing is expected
  std::filesystem::path timeline{};
};

void require_ranks(const Rank& rank, const bench::Plan& plan) {
  if (rank.ranks() > plan.second.value) return;
  throw UsageError(fmt::format("this job has {} rank, and a message needs two: start with mpirun -n 2", rank.ranks()));
}

/// The matrix of --all-pairs; `plan` says what each pair runs.
void run_all_pairs(Job& job, MeasuredRank& self, const JobOptions& job_options, const bench::RunOptions& options,
                   const Protocol& protocol, const bench::Plan& plan) {
  bench::PairSeries pairs = bench::measure_all_pairs(self, protocol, plan);
  job.conclude();
  if (self.id() != RankId{0}) return;
  for (bench::Series& series : pairs.series) series.clock = "host";
  bench::deliver(bench::PairFile{.world = "measured",
                                 .program = kProgram,
                                 .command = job_options.command_line,
                                 .environment = job.environment(),
                                 .pairs = std::move(pairs)},
                 options.output, std::cout);
}

/// The job's environment, with what was expected of the measurement.
nlohmann::json environment_of(const Job& job, const std::optional<bench::Expectation>& expectation) {
  nlohmann::json environment = job.environment();
  if (expectation) environment[bench::kExpectedMember] = to_json(*expectation);
  return environment;
}

/// MVAPICH2 reads its switches when it begins; other libraries do not know them.
void pass_on_switches(const bench::NamedValues& options) {
  for (const auto& [name, value] : options) {
    if (name.starts_with("MV2_")) ::setenv(name.c_str(), value.c_str(), 1);
  }
}

/// Whom a rank has messages with.
std::set<RankId> peers_of(const Rank& self, const bench::RunOptions& options) {
  if (options.all_pairs) return all_others(self);
  if (self.ranks() < 2 || self.id().value > 1) return {};
  return {RankId{1 - self.id().value}};
}

ExitCode run(const JobOptions& job_options, RunOptions options) {
  if (!options.timeline.empty() && (options.run.all_pairs || !options.run.pairs.empty())) {
    throw UsageError("--timeline is of one pair of ranks");
  }
  pass_on_switches(options.run.settings.options);
  if (options.library && !options.run.pairs.empty()) throw UsageError("--library is of one pair of ranks, or of all");
  if (!options.run.pairs.empty()) {
    return run_pairs(job_options, options.run, options.expect);
  }
  Job job(job_options);
  MeasuredRank& rank = job.rank();
  if (options.run.protocol.empty() && !options.library) {
    options.run.protocol = choose_protocols(job, peers_of(rank, options.run), options.run.sweep.timeout).within->name();
  }
  bench::Plan plan;
  std::optional<bench::Expectation> expectation;  // of plan.first, which writes the result
  const Protocol* protocol = nullptr;
  std::unique_ptr<Protocol> library;
  job.agree([&] {
    if (options.library) {
      require_library_alone(options.run.protocol);
      library = job.library(kNcclLibrary);
      options.run.stand_in = library.get();
    }
    protocol = options.library ? library.get() : &find_protocol(options.run.protocol);
    plan = make_plan(options.run, bench::measured_repeats());
    plan.keep_samples = true;  // a measurement is stored with all that was seen
    require_ranks(rank, plan);
    if (rank.id() != plan.first) return;
    bench::require_output("--timeline", options.timeline);
    require_writable(options.run);
    if (!options.expect.empty()) expectation = bench::read_expectation(options.expect, protocol->name(), plan);
    if (options.run.all_pairs) return;  // what a pair cannot do is told with its result
    require_path(*protocol, rank.path_to(plan.second));
  });
  job.run([&](MeasuredRank& self) {
    if (options.run.all_pairs) return run_all_pairs(job, self, job_options, options.run, *protocol, plan);
    bench::LiveRows rows({.world = "measured", .program = kProgram, .environment = job.environment()},
                         options.run.output, std::cout);
    plan.on_point = rows.listener();
    JobTimeline timeline(self, options.timeline);
    bench::Series series = bench::measure(timeline.rank(), *protocol, plan);
    job.conclude();
    const bool traced = !options.run.trace.empty();
    timeline.write(options.run.sweep.timeout);
    const std::string trace = traced ? bench::trace(self, *protocol, plan, options.run.trace_times) : "";
    if (self.id() != plan.first) return;
    series.clock = "host";
    rows.deliver({.world = "measured",
                  .program = kProgram,
                  .command = job_options.command_line,
                  .environment = environment_of(job, expectation),
                  .series = std::move(series)});
    if (traced) bench::write_file(options.run.trace, trace);
  });
  return ExitCode::ok;
}

}  // namespace

void add_run_command(Program& program) {
  auto* command = program.app.add_subcommand("run", "Run a protocol between the devices of ranks 0 and 1");
  const auto options = std::make_shared<RunOptions>();
  add_job_options(*command, program.job);
  bench::add_run_options(*command, options->run);
  add_library_option(*command, options->library);
  command->get_option("--protocol")->default_str("the shortest way of the pairs");
  bench::add_pairs_option(*command, options->run, "RANK-RANK", "0-1,2-3");
  bench::add_passes_option(*command, options->run.passes);
  bench::add_timeline_option(*command, options->timeline, kTimelineTracks);
  command
      ->add_option(
          "--expect", options->expect,
          "A simulated result of the same run (twinlink-sim run --json), read before anything is measured; the "
          "result holds its times, which proves that they were written before")
      ->type_name("FILE")
      ->group("Output")
      ->excludes(command->get_option("--all-pairs"));
  bench::add_examples(*command, {"mpirun -n 2 twinlink-real run -p gpudirect-v1 -e 1M",
                                 "mpirun -n 2 twinlink-real run --device cuda -p gpudirect-v2 --json run.json"});
  command->callback([&program, command, options] {
    program.job.timeout = options->run.sweep.timeout;
    program.begin(*command, [&job = program.job, options] { return run(job, *options); });
  });
}

}  // namespace twinlink::real
