#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/cli/commands.hpp"
#include "model/study/idle_options.hpp"
#include "model/study/sensitivity.hpp"
#include "model/study/survey.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/json_option.hpp"
#include "protocols/bench/cli/progress.hpp"
#include "protocols/bench/cli/settings_options.hpp"
#include "protocols/bench/measure/driver.hpp"
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

void print(const Sensitivity& found, const SensitivityOptions& options, const TimesPlan& plan,
           const std::string& platform) {
  std::cout << fmt::format("A message of {} from {} to {} on {} by {}: {:.3f} us, {}\n", format_size(options.size),
                           to_string(plan.places[0]), to_string(plan.places[1]), platform, options.protocol,
                           found.time_us, found.path);
  std::cout << fmt::format("{:>9}  {:<52} {}\n", "time", "when one per cent is added to", "which is");
  const std::size_t shown = options.all ? found.influences.size() : std::min(kTop, found.influences.size());
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
  print(found, options, plan, platform.name);
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

}  // namespace

void add_sensitivity_command(Program& program) {
  auto* command = program.app.add_subcommand(
      "sensitivity", "Say by how many per cent the time of a message changes with each number of the platform");
  const auto options = std::make_shared<SensitivityOptions>();
  add_platform_argument(*command, options->platform);
  add_pair_options(*command, options->pair);
  const bench::OptionGroup group(*command, "Message");
  bench::add_protocol_option(*command, options->protocol, "Which protocol moves it")->required();
  bench::add_size_option(*command, "-b,--size", options->size, "Message size");
  bench::add_settings_options(*command, options->settings);
  bench::add_pattern_options(*command, options->pattern, options->window);
  const bench::OptionGroup outputs(*command, "Output");
  command->add_flag("--all", options->all, fmt::format("Show all numbers with an influence, not the first {}", kTop));
  constexpr int kMostJobs = 1024;
  bench::add_count_option(*command, "-j,--jobs", 1, kMostJobs, "one for each core", "Simulations at a time",
                          [options](int jobs) { options->jobs = jobs; });
  bench::add_json_option(*command, options->json);
  bench::add_examples(*command,
                      {"twinlink-sim sensitivity keeneland-kids -p gpudirect-v1 --from 0/0 --to 1/0 -b 1M",
                       "twinlink-sim sensitivity h200-nvlink -p cuda-ipc -b 64K --all --json influence.json"});
  command->callback([&program, options] {
    program.action = [&program, options] { return sensitivity(*options, program.command_line); };
  });
}

}  // namespace twinlink::model
