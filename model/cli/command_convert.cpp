#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
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
#include "protocols/bench/workload/kineto_file.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/bench/workload/mpi_file.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/workloads/goal/collectives.hpp"
#include "protocols/workloads/goal/job.hpp"
#include "protocols/workloads/goal/mpi_recording.hpp"
#include "protocols/workloads/goal/recording.hpp"

namespace twinlink::model {
namespace {

struct ConvertOptions {
  std::vector<std::filesystem::path> files{};
  std::filesystem::path out{};
};

/// What is longer is not played on trial, for a million calls of messages take 600 MB of memory then.
constexpr std::uint64_t kMostPlayed = 1'000'000;
constexpr std::uintmax_t kMostRead = std::uintmax_t{1} << 30U;  ///< by 'workload'

using Write = std::function<void(const bench::Part& part)>;

/// A text that is played on trial is judged as strictly as if somebody had written it.
ExitCode write_job(const ConvertOptions& options, std::vector<std::string> notes, bool is_played, const Write& write) {
  const std::string out = options.out.string();
  if (is_played) {
    std::string text;
    write([&](std::string_view part) { text += part; });
    workloads::goal::Trace trace = workloads::goal::read_trace(text, out);
    workloads::goal::expand(trace, {}, [](std::string_view what) { return workloads::together_of(what) != nullptr; });
    const workloads::goal::Job job(std::move(trace));
    bench::write_file(options.out, text);
    notes.front() += fmt::format("; calcs of the longest chain {}", format_seconds(job.longest_path()));
  } else {
    std::uintmax_t length = 0;
    bench::write_file(options.out, [&](const bench::Part& part) {
      write([&](std::string_view text) {
        length += text.size();
        part(text);
      });
    });
    notes.emplace_back("so many calls have not been played on trial");
    if (length > kMostRead) notes.push_back(fmt::format("{} MiB, of which 'workload' reads 1024", length >> 20U));
  }
  for (const std::string& note : notes) std::cout << fmt::format("{}: {}\n", out, note);
  return ExitCode::ok;
}

ExitCode convert(const ConvertOptions& options, const std::string& command_line) {
  bench::require_output("--out", options.out);
  if (!bench::is_trace(options.out)) throw UsageError("--out: a recorded job's file ends in .goal");
  const bool is_folder = std::filesystem::is_directory(options.files.front());
  std::vector<std::string> heading{(is_folder ? "From calls of MPI: " : "From profiles of PyTorch: ") + command_line};
  // Within a comment a line ends it.
  std::ranges::replace(heading.front(), '\n', ' ');
  const auto with = [&](const std::vector<std::string>& notes) {
    heading.insert(heading.end(), notes.begin(), notes.end());
    return notes;
  };
  if (is_folder) {
    if (options.files.size() > 1) throw UsageError("one folder of a recorded program at a time, and nothing beside it");
    const workloads::goal::MpiRecording job(bench::read_mpi_job(options.files.front()));
    const std::vector<std::string> notes = with(job.notes());
    return write_job(options, notes, job.calls() <= kMostPlayed,
                     [&](const bench::Part& part) { job.write(heading, part); });
  }
  const bench::Profiles profiles = bench::read_profiles(options.files);
  const std::vector<std::string> notes = with(profiles.notes);
  return write_job(options, notes, true,
                   [&](const bench::Part& part) { part(workloads::goal::goal_text(profiles.ranks, heading)); });
}

}  // namespace

void add_convert_command(Program& program) {
  auto* command = program.app.add_subcommand(
      "convert",
      "Write a recorded job for 'workload', from what 'twinlink-real record' wrote or from profiles of PyTorch");
  const auto options = std::make_shared<ConvertOptions>();
  command
      ->add_option(
          "files", options->files,
          "The folder of a recorded program, or what torch.profiler has exported as JSON, a file for each rank")
      ->required()
      ->type_name("FOLDER|FILE.json...");
  command->option_defaults()->group("Output");
  command->add_option("--out", options->out, "The file to write")->required()->type_name("NEW.goal");
  bench::add_examples(
      *command, {"twinlink-sim convert rank0.json rank1.json --out job.goal",
                 "twinlink-sim convert rank*.json.gz --out job.goal", "twinlink-sim convert job/ --out job.goal"});
  command->callback([&program, options] {
    program.action = [&program, options] { return convert(*options, program.command_line); };
  });
}

}  // namespace twinlink::model
