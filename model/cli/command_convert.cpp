#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "model/cli/commands.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/output_files.hpp"
#include "protocols/bench/workload/kineto_file.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/workloads/catalogue.hpp"
#include "protocols/workloads/goal/job.hpp"
#include "protocols/workloads/goal/recording.hpp"

namespace twinlink::model {
namespace {

struct ConvertOptions {
  std::vector<std::filesystem::path> files{};
  std::filesystem::path out{};
  std::vector<std::string> algorithms{};  ///< "all-reduce=tree"
};

workloads::goal::Algorithms read_algorithms(const std::vector<std::string>& texts) {
  workloads::goal::Algorithms algorithms;
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    const std::string what = text.substr(0, sign);
    if (sign == std::string::npos || !workloads::goal::is_recordable(what)) {
      throw UsageError(fmt::format("--algorithm {}: it takes COLLECTIVE=NAME, as all-reduce=tree", text));
    }
    const auto& algorithm = workloads::find_algorithm(workloads::find_workload(what), text.substr(sign + 1));
    if (algorithm.together) throw UsageError(fmt::format("--algorithm {}: it has no messages", text));
    if (const std::string why = algorithm.refuses({.ranks = 2}); !why.empty()) {
      throw UsageError(fmt::format("--algorithm {}: {}, and a profile does not say how ranks lie", text, why));
    }
    algorithms[what] = &algorithm;
  }
  return algorithms;
}

ExitCode convert(const ConvertOptions& options, const std::string& command_line) {
  bench::require_output("--out", options.out);
  const workloads::goal::Algorithms algorithms = read_algorithms(options.algorithms);
  if (!bench::is_trace(options.out)) throw UsageError("--out: a recorded job's file ends in .goal");
  const bench::Profiles profiles = bench::read_profiles(options.files);
  std::vector<std::string> heading{"From profiles of PyTorch: " + command_line};
  // Within a comment a line ends it.
  std::ranges::replace(heading.front(), '\n', ' ');
  heading.insert(heading.end(), profiles.notes.begin(), profiles.notes.end());
  const std::string text = workloads::goal::goal_text(profiles.ranks, algorithms, heading);
  // As strictly as if somebody had written it.
  const workloads::goal::Job job(workloads::goal::read_trace(text, options.out.string()));
  bench::write_file(options.out, text);
  for (const std::string& note : profiles.notes) {
    std::cout << fmt::format("{}: {}; calcs of the longest chain {}\n", options.out.string(), note,
                             format_seconds(job.longest_path()));
  }
  return ExitCode::ok;
}

}  // namespace

void add_convert_command(Program& program) {
  auto* command = program.app.add_subcommand(
      "convert",
      "Write a recorded job for 'workload' from profiles of PyTorch: collectives, and what is computed between");
  const auto options = std::make_shared<ConvertOptions>();
  command->add_option("files", options->files, "What torch.profiler has exported as JSON, a file for each rank")
      ->required()
      ->type_name("FILE.json...");
  command->option_defaults()->group("Output");
  command->add_option("--out", options->out, "The file to write")->required()->type_name("NEW.goal");
  command
      ->add_option("--algorithm", options->algorithms,
                   "Of which algorithm's messages a collective is, as all-reduce=tree; may be repeated")
      ->type_name("COLLECTIVE=NAME")
      ->default_str("rings, all at once, or trees")
      ->group("Protocol");
  bench::add_examples(*command,
                      {"twinlink-sim convert rank0.json rank1.json --out job.goal",
                       "twinlink-sim convert rank*.json --out job.goal --algorithm all-reduce=halving-doubling"});
  command->callback([&program, options] {
    program.action = [&program, options] { return convert(*options, program.command_line); };
  });
}

}  // namespace twinlink::model
