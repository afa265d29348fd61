#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/cli/progress.hpp"
#include "protocols/bench/probe/probe.hpp"
#include "protocols/bench/probe/probe_parts.hpp"
#include "protocols/bench/results/files.hpp"
#include "real/cli/commands.hpp"
#include "real/cli/job_options.hpp"

namespace twinlink::real {
namespace {

struct ProbeOptions {
  bench::ProbeOptions probe{};
  bool resume = false;
};

/// What must be alike for parts to be of the same probes.
nlohmann::json identity_of(Job& job, const bench::ProbePlan& plan) {
  nlohmann::json sizes = nlohmann::json::array();
  for (const Bytes size : plan.sizes) sizes.push_back(size.count());
  const nlohmann::json& environment = job.environment();
  return {{"program", kProgram},
          {"sizes", std::move(sizes)},
          {"only", plan.only},
          {"passes", plan.passes},
          {"verify", plan.verify},
          {"rounds", plan.small.iterations},
          {"build", environment.at("build")},
          {"ranks", environment.at("ranks")}};
}

ExitCode probe(const JobOptions& job_options, const ProbeOptions& all) {
  const bench::ProbeOptions& options = all.probe;
  Job job(job_options);
  bench::ProbePlan plan;
  std::optional<bench::ProbeJournal> journal;
  job.agree([&] {
    plan = make_plan(options, bench::measured_repeats());
    const std::filesystem::path& file = options.output.json;
    if (all.resume && file.empty()) throw UsageError("--resume needs the --json FILE that the probes were to write");
    if (job.rank().id() != RankId{0}) return;
    require_writable(options.output);
    if (file.empty() || bench::is_special(file)) return;
    journal.emplace(file.string() + ".parts", identity_of(job, plan), all.resume);
    plan.done = journal->done();
    plan.on_part = [&](const std::string& part) { journal->append(part); };
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
    if (journal) journal->remove();
  });
  return ExitCode::ok;
}

}  // namespace

void add_probe_command(Program& program) {
  auto* command = program.app.add_subcommand("probe", "Measure the primitives of this machine");
  const auto options = std::make_shared<ProbeOptions>();
  add_job_options(*command, program.job);
  bench::add_probe_options(*command, options->probe);
  bench::add_passes_option(*command, options->probe.passes);
  command->add_flag("--samples", options->probe.samples, "Also store the time of every round (samples_us)")
      ->group("Output");
  command->add_flag("--resume", options->resume,
                    "Go on after an interruption with what FILE.parts of --json FILE keeps until all is measured");
  bench::add_examples(*command, {"mpirun -n 2 twinlink-real probe --device cuda --json probes.json",
                                 "mpirun -n 4 twinlink-real probe --device cuda -f 16 -i 100 --json quick.json",
                                 "mpirun -n 2 twinlink-real probe --only message -e 64K"});
  command->callback([&program, command, options] {
    program.job.timeout = options->probe.sweep.timeout;
    program.begin(*command, [&job = program.job, options] { return probe(job, *options); });
  });
}

}  // namespace twinlink::real
