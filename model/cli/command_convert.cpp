#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <functional>
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
#include "protocols/bench/workload/recorded/chakra_job.hpp"
#include "protocols/bench/workload/recorded/mpi_file.hpp"
#include "protocols/bench/workload/recorded/recorded_files.hpp"
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
  const auto heading_of = [&](const std::string& kind, const std::vector<std::string>& notes) {
    std::vector<std::string> heading{"From " + kind + ": " + command_line};
    heading.insert(heading.end(), notes.begin(), notes.end());
    // Names of files and of calls may hold anything. The end of a line would end the comment, and tasks could follow.
    const auto is_control = [](unsigned char c) { return std::iscntrl(c) != 0; };
    for (std::string& line : heading) std::ranges::replace_if(line, is_control, ' ');
    return heading;
  };
  if (bench::is_mpi_job(options.files.front())) {
    if (options.files.size() > 1) throw UsageError("one folder of a recorded program at a time, and nothing beside it");
    const workloads::goal::MpiRecording job(bench::read_mpi_job(options.files.front()));
    const std::vector<std::string> notes = job.notes();
    const std::vector<std::string> heading = heading_of("calls of MPI", notes);
    return write_job(options, notes, job.calls() <= kMostPlayed,
                     [&](const bench::Part& part) { job.write(heading, part); });
  }
  const std::vector<std::filesystem::path> files = bench::files_in_folders(options.files);
  if (bench::is_chakra_job(files)) {
    const bench::ChakraJob job(files);
    std::vector<std::string> notes = job.notes();
    std::ranges::copy(job.times(), std::back_inserter(notes));
    const std::vector<std::string> heading = heading_of("traces of Chakra", notes);
    return write_job(options, job.notes(), true, [&](const bench::Part& part) { part(job.text(heading)); });
  }
  bench::RecordedFiles recorded = bench::read_recorded(files);
  std::vector<std::string> notes = recorded.profiles.notes;
  std::ranges::move(workloads::goal::recorded_times(recorded.profiles.ranks), std::back_inserter(notes));
  const std::vector<std::string> heading = heading_of(recorded.kind, notes);
  return write_job(options, recorded.profiles.notes, true, [&](const bench::Part& part) {
    part(workloads::goal::goal_text(std::move(recorded.profiles.ranks), heading));
  });
}

}  // namespace

void add_convert_command(Program& program) {
  auto* command = program.app.add_subcommand("convert",
                                             "Write a recorded job for 'workload': from what 'twinlink-real record' or "
                                             "NCCL's recorders wrote, from profiles of PyTorch, or from execution "
                                             "traces of MLCommons Chakra");
  const auto options = std::make_shared<ConvertOptions>();
  command
      ->add_option("files", options->files,
                   "What 'twinlink-real record', libnccl-profiler-twinlink.so, NCCL Inspector or torch.profiler have "
                   "written, or NAME.RANK.et of Chakra, with a JSON file of its groups: the folder, or of all but the "
                   "first all files of the job")
      ->required()
      ->type_name("FOLDER|FILE...");
  command->option_defaults()->group("Output");
  command->add_option("--out", options->out, "The file to write")->required()->type_name("NEW.goal");
  bench::add_examples(
      *command,
      {"twinlink-sim convert rank0.json rank1.json --out job.goal", "twinlink-sim convert rank*.json.gz --out job.goal",
       "twinlink-sim convert job/ --out job.goal", "twinlink-sim convert trace.*.et groups.json --out job.goal"});
  command->callback([&program, options] {
    program.action = [&program, options] { return convert(*options, program.command_line); };
  });
}

}  // namespace twinlink::model
