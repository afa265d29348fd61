#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/cli/commands.hpp"
#include "model/study/jobs/job_advice.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/progress.hpp"
#include "protocols/bench/results/files.hpp"

namespace twinlink::model {
namespace {

ExitCode advise(JobQuestion question, bool any_place, const std::string& command_line) {
  const bench::WorkloadOptions& workload = question.job.workload;
  const bool any_within = workload.protocol.empty();
  const bool any_between = any_within && workload.between.empty() && workload.between_domains.empty();
  if (workload.algorithm == "all") throw UsageError("--algorithm all: advise tries all where none is named");
  bench::require_writable(workload);
  const Platform platform = prepare(question);
  bench::Progress progress("simulations", bench::ProgressView::standard_error(wall_clock));
  const JobSearch search{.platform = &platform,
                         .job = question.job,
                         .any_place = any_place,
                         .any_within = any_within,
                         .any_between = any_between,
                         .any_chunk = !workload.settings.chunk,
                         .any_depth = !workload.settings.depth,
                         .at_once = question.at_once,
                         .on_progress = progress.listener()};
  const JobAdvice advice = advise_job(search);
  progress.clear();
  print_job_advice(advice, search, std::cout);
  if (!workload.json.empty()) {
    nlohmann::json json = to_json(advice, search);
    json["program"] = program_name();
    json["command"] = command_line;
    json["environment"] = environment_of(platform, question.platform);
    bench::write_json_file(workload.json, json);
  }
  if (!workload.csv.empty()) bench::write_file(workload.csv, to_csv(advice, search));
  return ExitCode::ok;
}

}  // namespace

CLI::App* add_advise_workload_command(CLI::App& parent, Program& program) {
  auto* command = parent.add_subcommand(
      "workload", "Say which algorithm, place, protocols, limits, chunk and depth make a workload fast");
  const auto question = std::make_shared<JobQuestion>();
  add_platform_options(*command, question->platform, Naming::by_option);
  add_job_question(*command, *question);
  auto* const place = command->get_option("--place");
  place->default_str("packed and spread are tried");
  command->get_option("--protocol")->default_str("those that suit all pairs are tried");
  command->get_option("--chunk")->default_str("whole messages and powers of two from 4K are tried");
  command->get_option("--depth")->default_str("1,2,4,8,16 are tried");
  bench::add_examples(*command,
                      {"twinlink-sim advise workload all-reduce --platform selene --ranks 16 -b 64M",
                       "twinlink-sim advise workload all-to-all --platform hgx-h100 -p gpudirect-v2 -b 1M -e 64M"});
  bench::show_by_workload(*command);
  command->callback([&program, question, place] {
    program.action = [&program, question, place] {
      return advise(*question, place->count() == 0, program.command_line);
    };
  });
  return command;
}

}  // namespace twinlink::model
