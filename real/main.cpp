// twinlink-real: protocols on this machine, under mpirun, one rank per device.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <streambuf>

#include "protocols/bench/driver.hpp"
#include "protocols/bench/options.hpp"
#include "protocols/bench/probe.hpp"
#include "protocols/bench/program.hpp"
#include "protocols/registry.hpp"
#include "real/job.hpp"
#include "real/launch.hpp"

namespace twinlink::real {
namespace {

constexpr const char* kProgram = "twinlink-real " TWINLINK_VERSION;

struct Options {
  JobOptions job{};
  bench::RunOptions run{};
  bench::ProbeOptions probe{};
};

/// An option that takes one of `names`.
template <class T>
void add_choice(CLI::App& command, const std::string& option, T& value, const std::map<std::string, T>& names,
                const std::string& shown_default, const std::string& description) {
  std::string list;
  for (const auto& [name, meaning] : names) list += (list.empty() ? "" : ", ") + name;
  const auto read = [&value, names, option, list](const std::string& text) {
    const auto found = names.find(text);
    if (found == names.end()) {
      throw CLI::ValidationError(option, fmt::format("unknown choice '{}' (there are: {})", text, list));
    }
    value = found->second;
  };
  command.add_option_function<std::string>(option, read, description)->type_name("NAME")->default_str(shown_default);
}

void add_job_options(CLI::App& command, JobOptions& options) {
  add_choice(command, "--device", options.device, {{"host", DeviceKind::host}, {"cuda", DeviceKind::cuda}}, "host",
             "host: devices that are emulated in host memory; cuda: for each rank the GPU of its number on the node");
  add_choice(command, "--host-peers", options.host_peers, {{"all", HostPeers::all}, {"none", HostPeers::none}}, "all",
             "Peer access between emulated devices: all, none");
}

void require_ranks(const Rank& rank, const bench::Plan& plan) {
  if (rank.ranks() > plan.second.value) return;
  throw UsageError(fmt::format("this job has {} rank, and a message needs two: start with mpirun -n 2", rank.ranks()));
}

ExitCode run(const Options& options) {
  Job job(options.job);
  Rank& rank = job.rank();
  bench::Plan plan;
  const Protocol* protocol = nullptr;
  job.agree([&] {
    protocol = &find_protocol(options.run.protocol);
    plan = make_plan(options.run, bench::measured_repeats());
    require_ranks(rank, plan);
    if (rank.id() != plan.first) return;
    const Path& path = rank.path_to(plan.second);
    require_support(*protocol, path);
    const Support support = protocol->supports(path);
    if (support.kind == Support::Kind::fallback) std::cerr << "twinlink-real: note: " << support.reason << "\n";
  });
  job.run([&](Rank& self) {
    bench::Series series = bench::measure(self, *protocol, plan);
    if (self.id() != plan.first) return;
    series.clock = "host";
    bench::deliver({.world = "measured",
                    .program = kProgram,
                    .command = options.job.command_line,
                    .environment = job.environment(),
                    .series = std::move(series)},
                   options.run.output, std::cout);
  });
  return ExitCode::ok;
}

ExitCode probe(const Options& options) {
  Job job(options.job);
  bench::ProbePlan plan;
  job.agree([&] { plan = make_plan(options.probe, bench::measured_repeats()); });
  job.run([&](Rank& self) {
    bench::ProbeFindings findings = bench::probe(self, plan);
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

ExitCode list_protocols() {
  for (const Protocol* protocol : all_protocols()) {
    std::cout << fmt::format("{:<14}{}\n", protocol->name(), protocol->description());
  }
  return ExitCode::ok;
}

/// Takes everything and shows nothing.
class Nowhere final : public std::streambuf {
 protected:
  int_type overflow(int_type c) override { return traits_type::not_eof(c); }
};

/// Standard output and standard error say nothing for as long as this lives.
class Silence {
 public:
  Silence() : out_(std::cout.rdbuf(&nowhere_)), err_(std::cerr.rdbuf(&nowhere_)) {}
  ~Silence() {
    std::cout.rdbuf(out_);
    std::cerr.rdbuf(err_);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  Nowhere nowhere_;
  std::streambuf* out_;
  std::streambuf* err_;
};

int main(int argc, char** argv) {
  // What all ranks know, rank 0 says. What one rank alone knows, the job prints by other means.
  std::optional<Silence> silence;
  if (launcher_rank().value_or(0) != 0) silence.emplace();

  CLI::App app{"GPU interconnect protocols on this machine; start 'run' and 'probe' with mpirun, one rank per device",
               "twinlink-real"};
  app.set_version_flag("--version", kProgram);
  app.require_subcommand(1);
  Options options;
  options.job.command_line = bench::command_line(argc, argv);
  std::function<ExitCode()> action;

  auto* run_command = app.add_subcommand("run", "Run a protocol between the devices of ranks 0 and 1");
  add_job_options(*run_command, options.job);
  bench::add_run_options(*run_command, options.run);
  run_command->callback([&] { action = [&] { return run(options); }; });

  auto* probe_command = app.add_subcommand("probe", "Measure the primitives of this machine");
  add_job_options(*probe_command, options.job);
  bench::add_probe_options(*probe_command, options.probe);
  probe_command->callback([&] { action = [&] { return probe(options); }; });

  app.add_subcommand("list", "Say which protocols there are")->callback([&] { action = list_protocols; });

  bool together = false;
  const int code = bench::run_main(app, argc, argv, [&] {
    together = true;
    try {
      return action();
    } catch (const AgreedError& error) {
      return error.exit_code();  // the job has said it
    }
  });
  if (code != 0 && !together) leave_together();
  return code;
}

}  // namespace
}  // namespace twinlink::real

int main(int argc, char** argv) { return twinlink::real::main(argc, argv); }
