#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/cli/commands.hpp"
#include "model/study/message_times.hpp"
#include "model/study/survey.hpp"
#include "platforms/reader/platform_file.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/tools/difference.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/json_option.hpp"
#include "protocols/bench/cli/settings_options.hpp"
#include "protocols/bench/measure/driver.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

struct DiffOptions {
  std::filesystem::path a{};
  std::filesystem::path b{};
  PairOptions pair{};
  std::string protocol{};  ///< empty: nothing is run
  bench::SettingsOptions settings{};
  bench::SweepOptions sweep{.begin = Bytes{4}, .end = Bytes{64U << 20U}, .factor = 4};
  std::filesystem::path json{};
};

/// What a difference does to a run.
struct RunDifference {
  std::string from{};
  std::string to{};
  std::vector<Bytes> sizes{};
  MessageTimes a{};
  MessageTimes b{};
};

RunDifference run_both(const DiffOptions& options, const Platform& a, const Platform& b) {
  const Protocol& protocol = find_protocol(options.protocol);
  // The pair that A takes by itself is asked of B as well.
  const std::vector<Place> places = read_pair(options.pair, a);
  const Topology topology(b);
  for (const Place& place : places) topology.require(place);
  bench::SettingsOptions settings = options.settings;
  settings.library = a.library;
  TimesPlan plan{.protocol = &protocol,
                 .settings = make_settings(protocol, settings),
                 .places = places,
                 .sizes = bench::size_sweep(options.sweep.begin, options.sweep.end, options.sweep.factor),
                 .at_once = cores()};
  const std::vector<std::function<Platform()>> platforms{[&] { return a; }, [&] { return b; }};
  std::vector<MessageTimes> times = message_times(platforms, plan);
  return {to_string(places[0]), to_string(places[1]), std::move(plan.sizes), std::move(times[0]), std::move(times[1])};
}

std::string text_of(const std::optional<NumberEntry>& number) { return number ? number->text : "-"; }

/// Empty where there is none: of what one lacks, and of zero.
std::optional<double> ratio(const NumberDifference& difference) {
  if (!difference.a || !difference.b || difference.a->value == 0) return std::nullopt;
  return difference.b->value / difference.a->value;
}

void print_parts(const std::string& title, const std::vector<std::string>& parts) {
  if (parts.empty()) return;
  std::cout << "\n" << title << "\n";
  for (const std::string& part : parts) std::cout << "  " << part << "\n";
}

void print_difference(const PlatformDifference& difference) {
  constexpr std::string_view kRow = "  {:<52} {:>16} {:>16} {:>9}\n";
  if (difference.none()) std::cout << "No part, word or number differs\n";
  if (!difference.numbers.empty()) {
    std::cout << "\nNumbers that differ\n" << fmt::format(kRow, "", "A", "B", "B / A");
    for (const NumberDifference& number : difference.numbers) {
      const auto factor = ratio(number);
      std::cout << fmt::format(kRow, number.path, text_of(number.a), text_of(number.b),
                               factor ? fmt::format("{:.4g}", *factor) : "");
    }
  }
  if (!difference.words.empty()) {
    std::cout << "\nWords and counts that differ\n" << fmt::format(kRow, "", "A", "B", "");
    for (const auto& [path, a, b] : difference.words) {
      std::cout << fmt::format(kRow, path, a.empty() ? "-" : a, b.empty() ? "-" : b, "");
    }
  }
  print_parts("Only in A", difference.only_a);
  print_parts("Only in B", difference.only_b);
}

void print_run(const RunDifference& run, const std::string& protocol) {
  std::cout << fmt::format("\n{} from {} to {}, one-way\n", protocol, run.from, run.to);
  for (const auto& [name, times] : {std::pair("A", &run.a), std::pair("B", &run.b)}) {
    const bool refused = !times->refused.empty();
    std::cout << fmt::format("  {}: {}\n", name, refused ? "refused: " + times->refused : times->path);
  }
  std::cout << fmt::format("{:<10} {:>14} {:>14} {:>9}\n", "size", "A us", "B us", "B / A");
  const auto cell = [](const MessageTimes& times, std::size_t i) {
    return times.refused.empty() ? fmt::format("{:.3f}", times.us[i]) : "-";
  };
  for (std::size_t i = 0; i < run.sizes.size(); ++i) {
    const bool both = run.a.refused.empty() && run.b.refused.empty();
    std::cout << fmt::format("{:<10} {:>14} {:>14} {:>9}\n", format_size(run.sizes[i]), cell(run.a, i), cell(run.b, i),
                             both ? fmt::format("{:.4f}", run.b.us[i] / run.a.us[i]) : "");
  }
}

nlohmann::json number_json(const std::optional<NumberEntry>& number) {
  return number ? nlohmann::json(number->value) : nlohmann::json();
}

nlohmann::json to_json(const PlatformDifference& difference) {
  nlohmann::json numbers = nlohmann::json::array();
  for (const NumberDifference& number : difference.numbers) {
    numbers.push_back({{"path", number.path},
                       {"unit", number.a ? number.a->unit : number.b->unit},
                       {"a", number_json(number.a)},
                       {"b", number_json(number.b)}});
  }
  nlohmann::json words = nlohmann::json::array();
  for (const auto& [path, a, b] : difference.words) words.push_back({{"path", path}, {"a", a}, {"b", b}});
  return {{"numbers", numbers}, {"words", words}, {"only_a", difference.only_a}, {"only_b", difference.only_b}};
}

nlohmann::json to_json(const RunDifference& run, const std::string& protocol) {
  const auto times = [](const MessageTimes& of) {
    if (!of.refused.empty()) return nlohmann::json{{"refused", of.refused}};
    return nlohmann::json{{"time_us", of.us}, {"path", of.path}};
  };
  nlohmann::json sizes = nlohmann::json::array();
  for (const Bytes size : run.sizes) sizes.push_back(size.count());
  return {{"protocol", protocol}, {"from", run.from},  {"to", run.to},
          {"bytes", sizes},       {"a", times(run.a)}, {"b", times(run.b)}};
}

ExitCode diff(const DiffOptions& options, const std::string& command_line) {
  bench::require_json_option(options.json);
  const Platform a = read_platform(options.a);
  const Platform b = read_platform(options.b);
  if (options.protocol.empty() && !(options.pair.from.empty() && options.pair.to.empty())) {
    throw UsageError("--from and --to are of a run: --protocol says of which");
  }
  const PlatformDifference difference = difference_of(a, b);
  std::cout << fmt::format("A: {}, {}\nB: {}, {}\n", a.name, a.file, b.name, b.file);
  print_difference(difference);
  nlohmann::json json = to_json(difference);
  json["program"] = program_name();
  json["command"] = command_line;
  for (const auto& [name, platform] : {std::pair("platform_a", &a), std::pair("platform_b", &b)}) {
    json[name] = {{"name", platform->name}, {"file", platform->file}};
  }
  if (!options.protocol.empty()) {
    const RunDifference run = run_both(options, a, b);
    print_run(run, options.protocol);
    json["run"] = to_json(run, options.protocol);
  }
  bench::write_json_option(options.json, json);
  return ExitCode::ok;
}

}  // namespace

void add_diff_command(Program& program) {
  auto* command = program.app.add_subcommand(
      "diff", "Say what differs between two platforms, and what that does to the times of a protocol");
  const auto options = std::make_shared<DiffOptions>();
  command->add_option("first", options->a, "A platform: the name of one, or a YAML file")->required()->type_name("A");
  command->add_option("second", options->b, "Another one")->required()->type_name("B");
  const bench::OptionGroup group(*command, "Run");
  bench::add_protocol_option(*command, options->protocol, "Run this protocol on both")->default_str("none");
  add_pair_options(*command, options->pair, "Run");
  bench::add_size_options(*command, options->sweep);
  bench::add_settings_options(*command, options->settings);
  bench::add_json_option(*command, options->json);
  bench::add_examples(*command,
                      {"twinlink-sim diff keeneland-kids keeneland-kfs",
                       "twinlink-sim diff keeneland-kids mine.yaml -p gpudirect-v1 --from 0/0 --to 1/0 -b 4K -e 4M"});
  command->callback(
      [&program, options] { program.action = [&program, options] { return diff(*options, program.command_line); }; });
}

}  // namespace twinlink::model
