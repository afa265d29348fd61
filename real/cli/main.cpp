// twinlink-real: protocols on this machine, under mpirun, one rank per device.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <iostream>
#include <sstream>
#include <streambuf>
#include <string>
#include <utility>

#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/program.hpp"
#include "real/cli/commands.hpp"
#include "real/job/agreement.hpp"
#include "real/job/job.hpp"
#include "real/system/launch.hpp"
#include "real/system/mpi.hpp"

namespace twinlink::real {

void Program::begin(const CLI::App& command, std::function<ExitCode()> what) {
  job.settings = to_text(settings_of(command, kProgram));
  action = std::move(what);
}

namespace {

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

int run_program(int argc, char** argv, JobOptions& job) {
  CLI::App app{"GPU interconnect protocols on this machine; start 'run' and 'probe' with mpirun, one rank per device",
               kName};
  app.set_version_flag("--version", kProgram);
  app.require_subcommand(1);
  job.command_line = bench::command_line(argc, argv);
  Program program{.app = app, .job = job};
  add_run_command(program);
  add_probe_command(program);
  add_workload_command(program);
  add_discover_command(program);
  add_record_command(program);
  add_list_command(program);
  bench::add_examples(
      app, {"mpirun -n 2 twinlink-real run --device cuda -p gpudirect-v2", "twinlink-real discover --out here.yaml"});
  return bench::run_main(app, argc, argv, [&] {
    try {
      return program.action();
    } catch (const AgreedError& error) {
      return error.exit_code();  // the job has said it
    }
  });
}

/// One of the ranks of a launcher. What all ranks know, rank 0 says, once.
int run_rank(int rank, int argc, char** argv) {
  JobOptions job;
  std::string said;
  const int code = [&] {
    const Discretion discretion(rank == 0);
    const int result = run_program(argc, argv, job);
    said = discretion.kept();
    return result;
  }();
  if (!Mpi::has_begun()) {
    return static_cast<int>(leave_together({message_of(said), static_cast<ExitCode>(code)}, job));
  }
  fmt::print(stderr, "{}", said);
  return code;
}

int main(int argc, char** argv) {
  try {
    if (const auto rank = launcher_rank()) return run_rank(*rank, argc, argv);
    JobOptions job;
    return run_program(argc, argv, job);
  } catch (const Error& error) {
    fmt::print(stderr, "{}: error: {}\n", kName, error.what());
    return static_cast<int>(error.exit_code());
  }
}

}  // namespace
}  // namespace twinlink::real

int main(int argc, char** argv) { return twinlink::real::main(argc, argv); }
