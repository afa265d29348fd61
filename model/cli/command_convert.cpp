#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "model/cli/commands.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/output_files.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/bench/workload/recorded_files.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/workloads/goal/collectives.hpp"
#include "protocols/workloads/goal/job.hpp"
#include "protocols/workloads/goal/recording.hpp"

namespace twinlink::model {
namespace {

struct ConvertOptions {
  std::vector<std::filesystem::path> files{};
  std::filesystem::path out{};
};

ExitCode convert(const ConvertOptions& options, const std::string& command_line) {
  bench::require_output("--out", options.out);
  if (!bench::is_trace(options.out)) throw UsageError("--out: a recorded job's file ends in .goal");
  auto [kind, profiles] = bench::read_recorded(options.files);
  std::vector<std::string> heading{"From " + kind + ": " + command_line};
  // Within a comment a line ends it.
  std::ranges::replace(heading.front(), '\n', ' ');
  heading.insert(heading.end(), profiles.notes.begin(), profiles.notes.end());
  std::ranges::move(workloads::goal::recorded_times(profiles.ranks), std::back_inserter(heading));
  const std::string text = workloads::goal::goal_text(std::move(profiles.ranks), heading);
  // As strictly as if somebody had written it.
  workloads::goal::Trace trace = workloads::goal::read_trace(text, options.out.string());
  workloads::goal::expand(trace, {}, [](std::string_view what) { return workloads::together_of(what) != nullptr; });
  const workloads::goal::Job job(std::move(trace));
  bench::write_file(options.out, text);
  std::string chain = "; calcs of the longest chain " + format_seconds(job.longest_path());
  for (const std::string& note : profiles.notes) {
    std::cout << fmt::format("{}: {}{}\n", options.out.string(), note, std::exchange(chain, ""));
  }
  return ExitCode::ok;
}

}  // namespace

void add_convert_command(Program& program) {
  auto* command = program.app.add_subcommand(
      "convert",
      "Write a recorded job for 'workload' from profiles of PyTorch, or from what NCCL's recorders have written: "
      "collectives, and what is computed between");
  const auto options = std::make_shared<ConvertOptions>();
  command
      ->add_option("files", options->files,
                   "What torch.profiler, NCCL Inspector or libnccl-profiler-twinlink.so have written: all "
                   "files of the job, or their folder")
      ->required()
      ->type_name("FILE-OR-FOLDER...");
  command->option_defaults()->group("Output");
  command->add_option("--out", options->out, "The file to write")->required()->type_name("NEW.goal");
  bench::add_examples(
      *command, {"twinlink-sim convert rank0.json rank1.json --out job.goal",
                 "twinlink-sim convert rank*.json.gz --out job.goal", "twinlink-sim convert recorded/ --out job.goal"});
  command->callback([&program, options] {
    program.action = [&program, options] { return convert(*options, program.command_line); };
  });
}

}  // namespace twinlink::model
