// twinlink-real: protocols on this machine, under mpirun, one rank per device.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>
#include <sstream>
#include <streambuf>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/json_option.hpp"
#include "protocols/bench/cli/live_rows.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/cli/pair_file.hpp"
#include "protocols/bench/cli/program.hpp"
#include "protocols/bench/cli/progress.hpp"
#include "protocols/bench/cli/protocol_list.hpp"
#include "protocols/bench/figure/figures.hpp"
#include "protocols/bench/measure/all_pairs.hpp"
#include "protocols/bench/measure/driver.hpp"
#include "protocols/bench/measure/expectation.hpp"
#include "protocols/bench/measure/trace.hpp"
#include "protocols/bench/probe/probe.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/registry.hpp"
#include "real/discover/discover.hpp"
#include "real/job/agreement.hpp"
#include "real/job/figure.hpp"
#include "real/job/job.hpp"
#include "real/job/job_options.hpp"
#include "real/job/run_pairs.hpp"
#include "real/job/timeline.hpp"
#include "real/job/workload.hpp"
#include "real/system/launch.hpp"
#include "real/system/mpi.hpp"

namespace twinlink::real {
namespace {

constexpr const char* kName = "twinlink-real";
constexpr const char* kProgram = "twinlink-real " TWINLINK_VERSION;
constexpr const char* kTracks = "a track for each rank's messages and streams; operations last until their rank knows";

struct Options {
  JobOptions job{};
  bench::RunOptions run{};
  std::filesystem::path expect{};  ///< of run: a simulated result of the same curve; empty: nothing is expected
  bench::ProbeOptions probe{};
  DiscoverOptions discover{};
  FigureOptions figure{};
  bench::WorkloadOptions workload{};
  std::filesystem::path timeline{};  ///< of run and workload
};

void require_ranks(const Rank& rank, const bench::Plan& plan) {
  if (rank.ranks() > plan.second.value) return;
  throw UsageError(fmt::format("this job has {} rank, and a message needs two: start with mpirun -n 2", rank.ranks()));
}

/// The matrix of --all-pairs; `plan` says what each pair runs.
void run_all_pairs(Job& job, Rank& self, const Options& options, const Protocol& protocol, const bench::Plan& plan) {
  bench::PairSeries pairs = bench::measure_all_pairs(self, protocol, plan);
  job.conclude();
  if (self.id() != RankId{0}) return;
  for (bench::Series& series : pairs.series) series.clock = "host";
  bench::deliver(bench::PairFile{.world = "measured",
                                 .program = kProgram,
                                 .command = options.job.command_line,
                                 .environment = job.environment(),
                                 .pairs = std::move(pairs)},
                 options.run.output, std::cout);
}

/// The job's environment, with what was expected of the measurement.
nlohmann::json environment_of(const Job& job, const std::optional<bench::Expectation>& expectation) {
  nlohmann::json environment = job.environment();
  if (expectation) environment[bench::kExpectedMember] = to_json(*expectation);
  return environment;
}

/// What no output of `run` and `probe` may be: the platform of --pace, and what --expect names.
bench::NamedFiles inputs_of(const Options& options) {
  bench::NamedFiles inputs = expected_files(options.run, options.expect);
  inputs.push_back({"the platform", platform_file(options.job.pace)});
  return inputs;
}

/// MVAPICH2 reads its switches when it begins; other libraries do not know them.
void pass_on_switches(const bench::NamedValues& options) {
  for (const auto& [name, value] : options) {
    if (name.starts_with("MV2_")) ::setenv(name.c_str(), value.c_str(), 1);
  }
}

ExitCode run(const Options& options) {
  if (!options.timeline.empty() && (options.run.all_pairs || !options.run.pairs.empty())) {
    throw UsageError("--timeline is of one pair of ranks");
  }
  pass_on_switches(options.run.settings.options);
  if (!options.run.pairs.empty()) {
    return run_pairs(options.job, options.run, {options.expect, inputs_of(options)}, kProgram);
  }
  Job job(options.job);
  Rank& rank = job.rank();
  bench::Plan plan;
  std::optional<bench::Expectation> expectation;  // of plan.first, which writes the result
  const Protocol* protocol = nullptr;
  job.agree([&] {
    protocol = &find_protocol(options.run.protocol);
    plan = make_plan(options.run, bench::measured_repeats());
    plan.keep_samples = true;  // a measurement is stored with all that was seen
    require_ranks(rank, plan);
    if (rank.id() != plan.first) return;
    bench::NamedFiles others = inputs_of(options);
    require_timeline(options.timeline, others);
    require_writable(options.run, others);
    if (!options.expect.empty()) expectation = bench::read_expectation(options.expect, protocol->name(), plan);
    if (options.run.all_pairs) return;  // what a pair cannot do is told with its result
    require_path(*protocol, rank.path_to(plan.second));
  });
  job.run([&](Rank& self) {
    if (options.run.all_pairs) return run_all_pairs(job, self, options, *protocol, plan);
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
                  .command = options.job.command_line,
                  .environment = environment_of(job, expectation),
                  .series = std::move(series)});
    if (traced) bench::write_file(options.run.trace, trace);
  });
  return ExitCode::ok;
}

ExitCode probe(const Options& options) {
  Job job(options.job);
  bench::ProbePlan plan;
  job.agree([&] {
    plan = make_plan(options.probe, bench::measured_repeats());
    if (job.rank().id() == RankId{0}) require_writable(options.probe.output, inputs_of(options));
  });
  bench::Progress progress("parts of the probes",
                           bench::ProgressView::standard_error([&job] { return job.rank().now(); }));
  plan.on_progress = progress.listener();
  bench::ProbeFindings findings;
  job.run([&](Rank& self) { findings = bench::probe(self, plan); });
  progress.clear();
  job.agree([&] {
    if (job.rank().id() == RankId{0}) require_found(findings, plan);
  });
  job.run([&](Rank& self) {
    job.conclude();
    if (self.id() != RankId{0}) return;
    bench::deliver(bench::ProbeFile{.world = "measured",
                                    .program = kProgram,
                                    .command = options.job.command_line,
                                    .environment = job.environment(),
                                    .findings = std::move(findings)},
                   options.probe.output, std::cout);
  });
  return ExitCode::ok;
}

ExitCode list_protocols(const std::filesystem::path& json) {
  const bool writes = launcher_rank().value_or(0) == 0;
  if (writes) bench::require_json_option(json);
  bench::print_protocols(std::cout);
  if (writes) bench::write_json_option(json, bench::protocols_json());
  return ExitCode::ok;
}

/// Takes everything and shows nothing.
class Nowhere final : public std::streambuf {
 protected:
  int_type overflow(int_type c) override { return traits_type::not_eof(c); }
};

/// As long as this lives, std::cerr is kept for later, and std::cout goes on only where `speaks`.
class Discretion {
 public:
  explicit Discretion(bool speaks) : out_(std::cout.rdbuf()), err_(std::cerr.rdbuf(kept_.rdbuf())) {
    if (!speaks) std::cout.rdbuf(&nowhere_);
  }
  ~Discretion() {
    std::cout.rdbuf(out_);
    std::cerr.rdbuf(err_);
  }
  Discretion(const Discretion&) = delete;
  Discretion& operator=(const Discretion&) = delete;

  [[nodiscard]] std::string kept() const { return kept_.str(); }

 private:
  Nowhere nowhere_;
  std::ostringstream kept_;
  std::streambuf* out_;
  std::streambuf* err_;
};

/// The message alone, of a line that says "twinlink-real: error: ...".
std::string message_of(std::string line) {
  const std::string prefix = fmt::format("{}: error: ", kName);
  if (line.starts_with(prefix)) line.erase(0, prefix.size());
  if (line.ends_with('\n')) line.pop_back();
  return line;
}

int run_program(int argc, char** argv, Options& options) {
  CLI::App app{"GPU interconnect protocols on this machine; start 'run' and 'probe' with mpirun, one rank per device",
               kName};
  app.set_version_flag("--version", kProgram);
  app.require_subcommand(1);
  options.job.command_line = bench::command_line(argc, argv);
  std::function<ExitCode()> action;
  const auto begin = [&](const CLI::App* command, std::function<ExitCode()> what) {
    options.job.settings = to_text(settings_of(*command, kProgram));
    action = std::move(what);
  };

  auto* run_command = app.add_subcommand("run", "Run a protocol between the devices of ranks 0 and 1");
  add_job_options(*run_command, options.job);
  bench::add_run_options(*run_command, options.run);
  bench::add_pairs_option(*run_command, options.run, "RANK-RANK", "0-1,2-3");
  bench::add_passes_option(*run_command, options.run.passes);
  bench::add_timeline_option(*run_command, options.timeline, kTracks);
  run_command
      ->add_option(
          "--expect", options.expect,
          "A simulated result of the same run (twinlink-sim run --json), read before anything is measured; the "
          "result holds its times, which proves that they were written before")
      ->type_name("FILE")
      ->group("Output")
      ->excludes(run_command->get_option("--all-pairs"));
  bench::add_examples(*run_command, {"mpirun -n 2 twinlink-real run -p gpudirect-v1 -e 1M",
                                     "mpirun -n 2 twinlink-real run --device cuda -p gpudirect-v2 --json run.json"});
  run_command->callback([&] {
    options.job.timeout = options.run.sweep.timeout;
    begin(run_command, [&] { return run(options); });
  });

  auto* probe_command = app.add_subcommand("probe", "Measure the primitives of this machine");
  add_job_options(*probe_command, options.job);
  bench::add_probe_options(*probe_command, options.probe);
  bench::add_passes_option(*probe_command, options.probe.passes);
  probe_command->add_flag("--samples", options.probe.samples, "Also store the time of every round (samples_us)");
  bench::add_examples(*probe_command, {"mpirun -n 2 twinlink-real probe --device cuda --json probes.json",
                                       "mpirun -n 2 twinlink-real probe --only message -e 64K"});
  probe_command->callback([&] {
    options.job.timeout = options.probe.sweep.timeout;
    begin(probe_command, [&] { return probe(options); });
  });

  auto* figure_command = app.add_subcommand(
      "figure", "Measure what this machine has of the figures of \"GPUDirect Performance on Keeneland\"");
  add_job_options(*figure_command, options.job);
  figure_command->add_option("figure", options.figure.names, "Which of them: " + bench::figure_names())
      ->type_name("NAME")
      ->default_str("all");
  bench::add_size_options(*figure_command, options.figure.run.sweep);
  figure_command->add_option("--out", options.figure.out, "The folder for result files; made if missing")
      ->type_name("FOLDER")
      ->capture_default_str()
      ->group("Output");
  bench::add_examples(*figure_command, {"mpirun -n 2 twinlink-real figure --device cuda",
                                        "mpirun -n 2 twinlink-real figure keeneland-kids -e 1M --out here"});
  figure_command->callback(
      [&] { begin(figure_command, [&] { return measure_figures(options.job, options.figure, kProgram); }); });

  auto* workload_command =
      app.add_subcommand("workload", "Run a collective, a pattern or a recorded job over all ranks");
  add_job_options(*workload_command, options.job);
  bench::add_workload_options(*workload_command, options.workload);
  bench::add_timeline_option(*workload_command, options.timeline, kTracks);
  bench::add_examples(*workload_command,
                      {"mpirun -n 4 twinlink-real workload all-reduce -p gpudirect-v2",
                       "mpirun -n 8 twinlink-real workload all-to-all --device cuda -p gpudirect-v2 --json a2a.json"});
  workload_command->callback([&] {
    options.job.timeout = options.workload.timeout.value_or(bench::kMeasuredTimeout);
    begin(workload_command,
          [&] { return measure_workload(options.job, options.workload, options.timeline, kProgram); });
  });

  auto* discover_command = app.add_subcommand(
      "discover", "Write this node's topology as a platform file; needs neither mpirun nor GPUs in use");
  DiscoverOptions& found = options.discover;
  discover_command->add_option("--out", found.out, "The file to write")
      ->type_name("FILE.yaml")
      ->default_str("standard output");
  discover_command->add_option("--json", found.json, "Also write what was found to this file, as JSON")
      ->type_name("FILE");
  discover_command
      ->add_option("--hwloc-xml", found.hwloc_xml,
                   "Another machine, as 'lstopo FILE.xml' has written it down there; its driver is not asked then")
      ->type_name("FILE.xml");
  discover_command
      ->add_option("--base", found.base, "Take costs from this platform, marked as assumed, such as h200-nvlink")
      ->type_name("NAME|FILE.yaml")
      ->default_str("guesses");
  bench::add_examples(*discover_command,
                      {"twinlink-real discover --out here.yaml",
                       "twinlink-real discover --hwloc-xml there.xml --base platforms/h200-nvlink.yaml"});
  discover_command->callback([&] {
    begin(discover_command, [&] {
      // One node, one file; other ranks have nothing to add.
      if (launcher_rank().value_or(0) != 0) return ExitCode::ok;
      bench::require_other_files({{"--out", found.out}, {"--json", found.json}},
                                 {{"the topology", found.hwloc_xml}, {"the base", found.base}});
      return discover(found, std::cout);
    });
  });

  auto* list_command = app.add_subcommand("list", "Say which protocols there are");
  std::filesystem::path list_json;
  bench::add_json_option(*list_command, list_json);
  bench::add_examples(*list_command, {"twinlink-real list", "twinlink-real list --json protocols.json"});
  list_command->callback([&] { begin(list_command, [&] { return list_protocols(list_json); }); });

  bench::add_examples(
      app, {"mpirun -n 2 twinlink-real run --device cuda -p gpudirect-v2", "twinlink-real discover --out here.yaml"});
  return bench::run_main(app, argc, argv, [&] {
    try {
      return action();
    } catch (const AgreedError& error) {
      return error.exit_code();  // the job has said it
    }
  });
}

/// One of the ranks of a launcher. What all ranks know, rank 0 says, once.
int run_rank(int rank, int argc, char** argv) {
  Options options;
  std::string said;
  const int code = [&] {
    const Discretion discretion(rank == 0);
    const int result = run_program(argc, argv, options);
    said = discretion.kept();
    return result;
  }();
  if (!Mpi::has_begun()) {
    return static_cast<int>(leave_together({message_of(said), static_cast<ExitCode>(code)}, options.job));
  }
  fmt::print(stderr, "{}", said);
  return code;
}

int main(int argc, char** argv) {
  try {
    if (const auto rank = launcher_rank()) return run_rank(*rank, argc, argv);
    Options options;
    return run_program(argc, argv, options);
  } catch (const Error& error) {
    fmt::print(stderr, "{}: error: {}\n", kName, error.what());
    return static_cast<int>(error.exit_code());
  }
}

}  // namespace
}  // namespace twinlink::real

int main(int argc, char** argv) { return twinlink::real::main(argc, argv); }
