#include <algorithm>
#include <cmath>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/cli/question.hpp"
#include "model/study/sensitivity.hpp"
#include "platforms/machine/platform_numbers.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/output_options.hpp"
#include "protocols/bench/cli/progress.hpp"
#include "protocols/bench/cli/settings_options.hpp"

namespace twinlink::model {
namespace {

struct SensitivityOptions {
  Question question{};
  bool all = false;
  bool strict = false;
};

constexpr std::size_t kTop = 20;

using Paths = std::set<std::string>;

/// Numbers that are guesses.
Paths assumed_of(const Platform& platform) {
  Paths paths;
  for (const NumberEntry& number : all_numbers(platform)) {
    if (number.source.quality == Quality::assumed) paths.insert(number.path);
  }
  return paths;
}

/// Those among the influences that make more than `share` of the time: by one per cent more they move it by so much.
std::vector<std::string> assumed_with(const Sensitivity& found, const Paths& assumed, double share) {
  std::vector<std::string> texts;
  for (const auto& [path, text, percent] : found.influences) {
    if (std::abs(percent) > share && assumed.contains(path)) texts.push_back(fmt::format("{} ({})", path, text));
  }
  return texts;
}

void print(const Sensitivity& found, const Paths& assumed, bool all) {
  std::cout << fmt::format("{:>9}  {:<52} {}\n", "time", "when one per cent is added to", "which is");
  const std::size_t shown = all ? found.influences.size() : std::min(kTop, found.influences.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const Influence& influence = found.influences[i];
    std::cout << fmt::format("{:>+7.3f} %  {:<52} {}\n", influence.percent, influence.path, influence.text);
  }
  if (shown < found.influences.size()) {
    std::cout << fmt::format("... and {} more with an influence; --all shows them\n", found.influences.size() - shown);
  }
  if (!found.refused.empty()) {
    std::cout << fmt::format("{} that cannot change alone: {}\n", found.refused.size(), fmt::join(found.refused, ", "));
  }
  constexpr double kMuch = 0.05;
  if (const auto much = assumed_with(found, assumed, kMuch); !much.empty()) {
    std::cout << fmt::format("assumed, and more than 5 % of the time: {}\n", fmt::join(much, ", "));
  }
  std::cout << fmt::format("{} numbers have no influence\n", found.without.size());
}

nlohmann::json to_json(const Sensitivity& found, const Paths& assumed) {
  nlohmann::json influences = nlohmann::json::array();
  for (const auto& [path, text, percent] : found.influences) {
    influences.push_back({{"path", path}, {"value", text}, {"percent", percent}, {"assumed", assumed.contains(path)}});
  }
  return {{"kind", "twinlink-sensitivity"}, {"schema", 1},
          {"time_us", found.time_us},       {"path", found.path},
          {"influences", influences},       {"without_influence", found.without},
          {"refused", found.refused}};
}

/// A workload at one size, the largest, by the algorithm that `workload` takes on the platform as it is.
void take_one_row(Question& question, const Platform& platform) {
  bench::WorkloadOptions& workload = question.job.workload;
  const ReadyJob ready = ready_job(platform, question.job);
  if (ready.plan.sizes().size() > 1) workload.sweep.begin = workload.sweep.end = ready.plan.sizes().back();
  const Timed as_it_is = timed(question.job, question.at_once, {});
  const MessageTimes times = times_on(platform, {&as_it_is, 1}, question.at_once, {}).front();
  if (!times.refused.empty()) throw UnavailableError(times.refused);
  if (times.us.size() > 1) throw UsageError("sensitivity is of one row: --algorithm and --pack name one");
  if (workload.algorithm.empty() && ready.plan.scheduled() != nullptr) workload.algorithm = times.algorithms.front();
}

ExitCode sensitivity(SensitivityOptions options, const std::string& command_line) {
  Question& question = options.question;
  if (!question.of_workload && question.job.workload.sweep.begin == Bytes{})
    throw UsageError("--size: the smallest message is 1 B");
  const Platform platform = prepare(question);
  if (question.of_workload) take_one_row(question, platform);
  AskedJob asked = asked_job(question, platform);
  bench::Progress progress("simulations", bench::ProgressView::standard_error(wall_clock));
  asked.timed.on_progress = progress.listener();
  const Sensitivity found = sensitivity_of(platform, asked.timed);
  progress.clear();
  const std::string size = asked.sizes.empty() ? "" : " of " + format_size(asked.sizes.front());
  std::cout << fmt::format("{}{} {} on {}{}: {:.3f} us, {}\n", asked.name, size, asked.where, platform.name,
                           asked.by.empty() ? "" : " by " + asked.by, found.time_us, found.path);
  const Paths assumed = assumed_of(platform);
  print(found, assumed, options.all);
  nlohmann::json json = to_json(found, assumed);
  json.update(asked.words);
  json["program"] = program_name();
  json["command"] = command_line;
  json["environment"] = environment_of(platform, question.platform);
  if (!asked.sizes.empty()) json["bytes"] = asked.sizes.front().count();
  bench::write_json_option(question.job.workload.json, json);
  auto guesses = options.strict ? assumed_with(found, assumed, 0) : std::vector<std::string>{};
  for (const std::string& path : found.refused) {  // what cannot be changed alone may move the time all the same
    if (options.strict && assumed.contains(path)) guesses.push_back(path);
  }
  if (guesses.empty()) return ExitCode::ok;
  throw Error(
      fmt::format("--strict: this time goes by {} assumed number{}: {}. Probes tell them (twinlink-real probe, "
                  "twinlink-validate calibrate), or --set",
                  guesses.size(), guesses.size() == 1 ? "" : "s", fmt::join(guesses, ", ")));
}

}  // namespace

void add_sensitivity_command(Program& program) {
  const QuestionText text{
      .name = "sensitivity",
      .of_messages = "Say by how many per cent the time of a message changes with each number of the platform",
      .of_workload = "Say by how many per cent the time of a workload changes with each number of the platform"};
  add_question(program, text, {"--platform", "--protocol"}, [&program](CLI::App& command, bool of_workload) {
    const auto options = std::make_shared<SensitivityOptions>();
    Question& question = options->question;
    bench::WorkloadOptions& job = question.job.workload;
    if (of_workload) {
      add_platform_options(command, question.platform, Naming::by_option);
      add_job_question(command, question);
      for (const char* option : {"--end", "--factor", "--csv"}) command.remove_option(command.get_option(option));
      command.get_option("--begin")->description("The size")->default_str("the largest of 'workload'");
      bench::add_examples(
          command, {"twinlink-sim sensitivity workload all-reduce --platform selene --ranks 16 -b 64M",
                    "twinlink-sim sensitivity workload all-to-all --platform hgx-h100 -b 1M --degrade gpu0-pcie=50%"});
    } else {
      job.sweep.begin = 1_MiB;
      add_platform_options(command, question.platform);
      add_pair_options(command, question.pair);
      const bench::OptionGroup group(command, "Message");
      bench::add_protocol_option(command, job.protocol, "Which protocol moves it");
      bench::add_size_option(command, "-b,--size", job.sweep.begin, "Message size");
      bench::add_settings_options(command, job.settings);
      bench::add_pattern_options(command, question.pattern, question.window);
      add_at_once_option(command, question.at_once);
      bench::add_json_option(command, job.json);
      bench::add_examples(command,
                          {"twinlink-sim sensitivity keeneland-kids -p gpudirect-v1 --from 0/0 --to 1/0 -b 1M",
                           "twinlink-sim sensitivity h200-nvlink -p cuda-ipc -b 64K --all --json influence.json",
                           "twinlink-sim sensitivity workload all-reduce --platform selene --ranks 16 -b 64M"});
    }
    const bench::OptionGroup outputs(command, "Output");
    command.add_flag("--all", options->all, fmt::format("Show all numbers with an influence, not the first {}", kTop));
    command.add_flag("--strict", options->strict, "Fail if the time depends on a number that is assumed")
        ->group("Limits");
    const CLI::Option* const size = command.get_option(of_workload ? "--begin" : "--size");
    return [&program, options, size] {
      bench::SweepOptions& sweep = options->question.job.workload.sweep;
      if (!options->question.of_workload || size->count() > 0) sweep.end = sweep.begin;
      return sensitivity(*options, program.command_line);
    };
  });
}

}  // namespace twinlink::model
