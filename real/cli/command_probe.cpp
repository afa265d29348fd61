#include <iostream>
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/cli/progress.hpp"
#include "protocols/bench/probe/probe.hpp"
#include "real/cli/commands.hpp"
#include "real/cli/job_options.hpp"

namespace twinlink::real {
namespace {

ExitCode probe(const JobOptions& job_options, const bench::ProbeOptions& options) {
  Job job(job_options);
  bench::ProbePlan plan;
  job.agree([&] {
    plan = make_plan(options, bench::measured_repeats());
    if (job.rank().id() == RankId{0}) require_writable(options.output);
  });
  bench::Progress progress("parts of the probes",
                           bench::ProgressView::standard_error([&job] { return job.rank().now(); }));
  plan.on_progress = progress.listener();
  bench::ProbeFindings findings;
  job.run([&](MeasuredRank& self) { findings = bench::probe(self, plan); });
  progress.clear();
  job.agree([&] {
    if (job.rank().id() == RankId{0}) require_found(findings, plan);
  });
  job.run([&](MeasuredRank& self) {
    job.conclude();
    if (self.id() != RankId{0}) return;
    bench::deliver(bench::ProbeFile{.world = "measured",
                                    .program = kProgram,
                                    .command = job_options.command_line,
                                    .environment = job.environment(),
                                    .findings = std::move(findings)},
                   options.output, std::cout);
  });
  return ExitCode::ok;
}

}  // namespace

void add_probe_command(Program& program) {
  auto* command = program.app.add_subcommand("probe", "Measure the primitives of this machine");
  const auto options = std::make_shared<bench::ProbeOptions>();
  add_job_options(*command, program.job);
  bench::add_probe_options(*command, *options);
  bench::add_passes_option(*command, options->passes);
  command->add_flag("--samples", options->samples, "Also store the time of every round (samples_us)")->group("Output");
  bench::add_examples(*command, {"mpirun -n 2 twinlink-real probe --device cuda --json probes.json",
                                 "mpirun -n 2 twinlink-real probe --only message -e 64K"});
  command->callback([&program, command, options] {
    program.job.timeout = options->sweep.timeout;
    program.begin(*command, [&job = program.job, options] { return probe(job, *options); });
  });
}

}  // namespace twinlink::real
