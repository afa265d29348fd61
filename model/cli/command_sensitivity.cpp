#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/cli/commands.hpp"
#include "model/study/idle_options.hpp"
#include "model/study/jobs/simulated_job.hpp"
#include "model/study/sensitivity.hpp"
#include "model/study/survey.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/json_option.hpp"
#include "protocols/bench/cli/progress.hpp"
#include "protocols/bench/cli/settings_options.hpp"
#include "protocols/bench/measure/driver.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

struct SensitivityOptions {
  PlatformOptions platform{};
  PairOptions pair{};
  std::string protocol{};
  bench::SettingsOptions settings{};
  bench::Pattern pattern = bench::Pattern::pingpong;
  std::optional<int> window{};
  Bytes size{1U << 20U};
  bool all = false;
  int jobs = cores();
  std::filesystem::path json{};
};

constexpr std::size_t kTop = 20;

TimesPlan plan_of(const SensitivityOptions& options, const Platform& platform) {
  const Protocol& protocol = find_protocol(options.protocol);
  bench::SettingsOptions settings = options.settings;
  settings.library = platform.library;
  TimesPlan plan{.protocol = &protocol,
                 .settings = make_settings(protocol, settings),
                 .places = read_pair(options.pair, platform),
                 .sizes = {options.size},
                 .pattern = options.pattern,
                 .window = bench::window_of(options.pattern, options.window),
                 .at_once = options.jobs};
  if (options.size == Bytes{}) throw UsageError("--size: the smallest message is 1 B");
  if (protocol.cuts_messages(plan.settings)) {
    bench::require_few_pieces(options.size, plan.window, plan.settings.chunk_or_whole(), "the chunk");
  }
  return plan;
}

void print(const Sensitivity& found, bool all) {
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
  std::cout << fmt::format("{} numbers have no influence\n", found.without.size());
}

nlohmann::json to_json(const Sensitivity& found) {
  nlohmann::json influences = nlohmann::json::array();
  for (const auto& [path, text, percent] : found.influences) {
    influences.push_back({{"path", path}, {"value", text}, {"percent", percent}});
  }
  return {{"time_us", found.time_us},
          {"path", found.path},
          {"influences", influences},
          {"without_influence", found.without},
          {"refused", found.refused}};
}

ExitCode sensitivity(const SensitivityOptions& options, const std::string& command_line) {
  const Platform platform = read_platform(options.platform);
  bench::require_json_option(options.json);
  TimesPlan plan = plan_of(options, platform);
  note_idle_faults(platform, plan.places);
  note_all(idle_within_node(options.platform.within_node, platform, plan.places));
  bench::Progress progress("simulations", bench::ProgressView::standard_error(wall_clock));
  plan.on_progress = progress.listener();
  const Sensitivity found = sensitivity_of(platform, plan);
  progress.clear();
  std::cout << fmt::format("A message of {} from {} to {} on {} by {}: {:.3f} us, {}\n", format_size(options.size),
                           to_string(plan.places[0]), to_string(plan.places[1]), platform.name, options.protocol,
                           found.time_us, found.path);
  print(found, options.all);
  nlohmann::json json = to_json(found);
  json["program"] = program_name();
  json["command"] = command_line;
  json["environment"] = environment_of(platform, options.platform);
  json["protocol"] = options.protocol;
  json["bytes"] = options.size.count();
  json["from"] = to_string(plan.places[0]);
  json["to"] = to_string(plan.places[1]);
  bench::write_json_option(options.json, json);
  return ExitCode::ok;
}

struct JobSensitivityOptions {
  JobQuestion question{};
  bool all = false;
};

/// The job at one size, the largest, by the algorithm that `workload` takes on the platform as it is.
SimulatedJob one_size(const Platform& platform, SimulatedJob job, int at_once) {
  if (const ReadyJob ready = ready_job(platform, job); ready.plan.sizes().size() > 1) {
    job.workload.sweep.begin = job.workload.sweep.end = ready.plan.sizes().back();
  }
  const Timed as_it_is = timed(job, at_once, {});
  const MessageTimes times = times_on(platform, {&as_it_is, 1}, at_once, {}).front();
  if (!times.refused.empty()) throw UnavailableError(times.refused);
  if (times.us.size() > 1) throw UsageError("sensitivity is of one row: --algorithm and --pack name one");
  if (job.workload.algorithm.empty() && ready_job(platform, job).plan.scheduled() != nullptr) {
    job.workload.algorithm = times.algorithms.front();
  }
  return job;
}

ExitCode sensitivity_of_workload(JobSensitivityOptions options, const std::string& command_line) {
  JobQuestion& question = options.question;
  bench::require_writable(question.job.workload);
  const Platform platform = prepare(question);
  const SimulatedJob job = one_size(platform, question.job, question.at_once);
  const ReadyJob ready = ready_job(platform, job);
  bench::Progress progress("simulations", bench::ProgressView::standard_error(wall_clock));
  const Sensitivity found = sensitivity_of(platform, timed(job, question.at_once, progress.listener()));
  progress.clear();
  const std::string size = ready.plan.sizes().empty() ? "" : " of " + format_size(ready.plan.sizes().front());
  const std::string& algorithm = job.workload.algorithm;
  std::cout << fmt::format("{}{} of {} ranks on {}{}: {:.3f} us, {}\n", ready.plan.name(), size, ready.places.size(),
                           platform.name, algorithm.empty() ? "" : " by " + algorithm, found.time_us, found.path);
  print(found, options.all);
  if (job.workload.json.empty()) return ExitCode::ok;
  nlohmann::json json = to_json(found);
  json["program"] = program_name();
  json["command"] = command_line;
  json["environment"] = environment_of(platform, question.platform);
  json["workload"] = ready.plan.name();
  json["algorithm"] = algorithm;
  json["ranks"] = ready.places.size();
  if (!ready.plan.sizes().empty()) json["bytes"] = ready.plan.sizes().front().count();
  bench::write_json_file(job.workload.json, json);
  return ExitCode::ok;
}

const CLI::App* add_sensitivity_workload_command(CLI::App& parent, Program& program) {
  auto* command = parent.add_subcommand(
      "workload", "Say by how many per cent the time of a workload changes with each number of the platform");
  const auto options = std::make_shared<JobSensitivityOptions>();
  add_platform_options(*command, options->question.platform, Naming::by_option);
  add_job_question(*command, options->question);
  for (const char* option : {"--end", "--factor", "--csv"}) command->remove_option(command->get_option(option));
  auto* const size = command->get_option("--begin")->description("The size")->default_str("the largest of 'workload'");
  const bench::OptionGroup outputs(*command, "Output");
  command->add_flag("--all", options->all, fmt::format("Show all numbers with an influence, not the first {}", kTop));
  bench::add_examples(
      *command, {"twinlink-sim sensitivity workload all-reduce --platform selene --ranks 16 -b 64M",
                 "twinlink-sim sensitivity workload all-to-all --platform hgx-h100 -b 1M --degrade gpu0-pcie=50%"});
  bench::show_by_workload(*command);
  command->callback([&program, options, size] {
    bench::SweepOptions& sweep = options->question.job.workload.sweep;
    if (size->count() > 0) sweep.end = sweep.begin;
    program.action = [&program, options] { return sensitivity_of_workload(*options, program.command_line); };
  });
  return command;
}

}  // namespace

void add_sensitivity_command(Program& program) {
  auto* command = program.app.add_subcommand(
      "sensitivity", "Say by how many per cent the time of a message changes with each number of the platform");
  const auto options = std::make_shared<SensitivityOptions>();
  add_platform_options(*command, options->platform);
  add_pair_options(*command, options->pair);
  const bench::OptionGroup group(*command, "Message");
  bench::add_protocol_option(*command, options->protocol, "Which protocol moves it");
  bench::add_size_option(*command, "-b,--size", options->size, "Message size");
  bench::add_settings_options(*command, options->settings);
  bench::add_pattern_options(*command, options->pattern, options->window);
  const bench::OptionGroup outputs(*command, "Output");
  command->add_flag("--all", options->all, fmt::format("Show all numbers with an influence, not the first {}", kTop));
  constexpr int kMostJobs = 1024;
  bench::add_count_option(*command, "-j,--jobs", 1, kMostJobs, "one for each core", "Simulations at a time",
                          [options](int jobs) { options->jobs = jobs; });
  bench::add_json_option(*command, options->json);
  bench::add_examples(*command, {"twinlink-sim sensitivity keeneland-kids -p gpudirect-v1 --from 0/0 --to 1/0 -b 1M",
                                 "twinlink-sim sensitivity h200-nvlink -p cuda-ipc -b 64K --all --json influence.json",
                                 "twinlink-sim sensitivity workload all-reduce --platform selene --ranks 16 -b 64M"});
  command->get_option("--platform")->required(false);
  const CLI::App* const of_workload = add_sensitivity_workload_command(*command, program);
  command->callback([&program, options, command, of_workload] {
    if (asks_of_workload(*command, *of_workload, {"--platform", "--protocol"})) return;
    program.action = [&program, options] { return sensitivity(*options, program.command_line); };
  });
}

}  // namespace twinlink::model
