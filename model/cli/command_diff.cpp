#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/cli/question.hpp"
#include "model/study/message_times.hpp"
#include "platforms/reader/platform_file.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/tools/difference.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/output_options.hpp"
#include "protocols/bench/cli/settings_options.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

struct DiffOptions {
  Question question{};  ///< of A; messages without a protocol: nothing is run
  PlatformOptions b{};
};

/// What a difference does to a run.
struct RunDifference {
  std::string what{};
  std::vector<Bytes> sizes{};
  MessageTimes a{};
  MessageTimes b{};
};

RunDifference run_both(const Question& question, const AskedJob& asked, const Platform& a, const Platform& b) {
  const Topology topology(b);
  for (const Place& place : asked.places) {
    if (!question.of_workload) topology.require(place);
  }
  note_idle_faults(b, asked.places);
  const std::vector<std::function<Platform()>> platforms{[&] { return a; }, [&] { return b; }};
  std::vector<MessageTimes> times = message_times(platforms, asked.timed);
  return {.what = question.of_workload ? fmt::format("{} {}", asked.name, asked.where)
                                       : fmt::format("{} {}, one-way", asked.by, asked.where),
          .sizes = asked.sizes,
          .a = std::move(times[0]),
          .b = std::move(times[1])};
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

/// A size on both, or of a job that says several algorithms of a size each of them.
struct Row {
  struct Side {
    std::optional<double> us{};
    std::string algorithm{};
  };
  Bytes size{};
  Side a{};
  Side b{};
};

/// By size, and what only one of both has where the other lacks it.
std::vector<Row> rows_of(const RunDifference& run) {
  const auto size_of = [&](const MessageTimes& times, std::size_t i) {
    return times.sizes.empty() ? run.sizes[i] : times.sizes[i];
  };
  const auto has_several = [](const MessageTimes& times) {
    return std::ranges::adjacent_find(times.sizes) != times.sizes.end();
  };
  const bool by_algorithm = has_several(run.a) || has_several(run.b);
  std::vector<Row> rows;
  const auto add = [&](const MessageTimes& times, Row::Side Row::*side) {
    for (std::size_t i = 0; i < times.us.size(); ++i) {
      const std::string algorithm = i < times.algorithms.size() ? times.algorithms[i] : "";
      const Bytes size = size_of(times, i);
      auto row = std::ranges::find_if(rows, [&](const Row& other) {
        const std::string& known = other.a.us ? other.a.algorithm : other.b.algorithm;
        return other.size == size && !(other.*side).us && (!by_algorithm || known == algorithm);
      });
      if (row == rows.end()) row = rows.insert(rows.end(), {.size = size});
      (*row).*side = {times.us[i], algorithm};
    }
  };
  add(run.a, &Row::a);
  add(run.b, &Row::b);
  if (rows.empty()) {
    for (const Bytes size : run.sizes) rows.push_back({.size = size});
  }
  std::ranges::stable_sort(rows, {}, &Row::size);
  return rows;
}

void print_run(const RunDifference& run) {
  std::cout << fmt::format("\n{}\n", run.what);
  for (const auto& [name, times] : {std::pair("A", &run.a), std::pair("B", &run.b)}) {
    const bool refused = !times->refused.empty();
    std::cout << fmt::format("  {}: {}\n", name, refused ? "refused: " + times->refused : times->path);
  }
  const bool of_job = !run.a.algorithms.empty() || !run.b.algorithms.empty();
  std::cout << fmt::format("{:<10} {:>14} {:>14} {:>9}{}\n", "size", "A us", "B us", "B / A",
                           of_job ? "  algorithm" : "");
  const auto cell = [](const std::optional<double>& us) { return us ? fmt::format("{:.3f}", *us) : "-"; };
  for (const Row& row : rows_of(run)) {
    std::string algorithms = row.a.us ? row.a.algorithm : row.b.algorithm;
    if (row.a.us && row.b.us && row.a.algorithm != row.b.algorithm) algorithms += ", " + row.b.algorithm;
    std::cout << fmt::format("{:<10} {:>14} {:>14} {:>9}{}\n", format_size(row.size), cell(row.a.us), cell(row.b.us),
                             row.a.us && row.b.us ? fmt::format("{:.4f}", *row.b.us / *row.a.us) : "",
                             of_job ? "  " + algorithms : "");
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

nlohmann::json to_json(const RunDifference& run) {
  nlohmann::json sizes = nlohmann::json::array();
  const std::vector<Row> rows = rows_of(run);
  for (const Row& row : rows) sizes.push_back(row.size.count());
  const auto side_of = [&](const MessageTimes& of, Row::Side Row::*side) {
    if (!of.refused.empty()) return nlohmann::json{{"refused", of.refused}};
    nlohmann::json json{{"path", of.path}, {"time_us", nlohmann::json::array()}};
    for (const Row& row : rows) {
      const auto& [us, algorithm] = row.*side;
      json["time_us"].push_back(us ? nlohmann::json(*us) : nlohmann::json());
      if (!of.algorithms.empty()) json["algorithms"].push_back(us ? nlohmann::json(algorithm) : nlohmann::json());
    }
    return json;
  };
  return {{"what", run.what}, {"bytes", sizes}, {"a", side_of(run.a, &Row::a)}, {"b", side_of(run.b, &Row::b)}};
}

/// Prints what differs, and says it as JSON.
nlohmann::json compared(const Platform& a, const Platform& b, const std::string& command_line) {
  const PlatformDifference difference = difference_of(a, b);
  std::cout << fmt::format("A: {}, {}\nB: {}, {}\n", a.name, a.file, b.name, b.file);
  print_difference(difference);
  nlohmann::json json = to_json(difference);
  json["program"] = program_name();
  json["command"] = command_line;
  for (const auto& [name, platform] : {std::pair("platform_a", &a), std::pair("platform_b", &b)}) {
    json[name] = {{"name", platform->name}, {"file", platform->file}};
  }
  return json;
}

/// A, B, and what of B is not as in its file.
void add_platforms(CLI::App& command, std::filesystem::path& a, PlatformOptions& b) {
  command.add_option("first", a, "A platform: the name of one, or a YAML file")->required()->type_name("A");
  command
      .add_option("second", b.file, "Another one, or the same: --set, --without, --degrade and --fail change it alone")
      ->required()
      ->type_name("B");
  add_change_options(command, b);
}

ExitCode diff(DiffOptions options, const std::string& command_line) {
  Question& question = options.question;
  const Platform a = prepare(question);
  const bench::WorkloadOptions& workload = question.job.workload;
  const bool runs = !workload.protocol.empty();
  bench::SettingsOptions settings = workload.settings;
  const Platform b =
      runs ? read_platform(options.b, find_protocol(workload.protocol), settings) : read_platform(options.b);
  note_estimates(options.b);
  if (!runs && !(question.pair.from.empty() && question.pair.to.empty())) {
    throw UsageError("--from and --to are of a run: --protocol says of which");
  }
  nlohmann::json json = compared(a, b, command_line);
  if (runs) {
    // What A takes by itself is asked of B as well: the pair or the ranks, and above the protocols.
    const AskedJob asked = asked_job(question, a);
    const RunDifference run = run_both(question, asked, a, b);
    print_run(run);
    json["run"] = to_json(run);
    if (!question.of_workload) json["run"].update(asked.words);
  }
  bench::write_json_option(workload.json, json);
  return ExitCode::ok;
}

}  // namespace

void add_diff_command(Program& program) {
  const QuestionText text{
      .name = "diff",
      .of_messages = "Say what differs between two platforms, and what that does to the times of a protocol",
      .of_workload = "Say what differs between two platforms, and what that does to the times of a workload"};
  add_question(program, text, {"first", "second"}, [&program](CLI::App& command, bool of_workload) {
    const auto options = std::make_shared<DiffOptions>();
    Question& question = options->question;
    bench::WorkloadOptions& job = question.job.workload;
    if (of_workload) {
      add_job_question(command, question);
      command.remove_option(command.get_option("--csv"));
    }
    add_platforms(command, question.platform.file, options->b);
    if (of_workload) {
      bench::add_examples(command,
                          {"twinlink-sim diff workload all-reduce selene mine.yaml --ranks 16 -b 1M",
                           "twinlink-sim diff workload all-to-all selene selene --ranks 16 -b 1M --fail hca0"});
    } else {
      job.sweep = {.begin = Bytes{4}, .end = 64_MiB, .factor = 4};
      const bench::OptionGroup group(command, "Run");
      bench::add_protocol_option(command, job.protocol, "Run this protocol on both")->default_str("none");
      add_pair_options(command, question.pair, "Run");
      bench::add_size_options(command, job.sweep);
      bench::add_settings_options(command, job.settings);
      bench::add_json_option(command, job.json);
      bench::add_examples(command,
                          {"twinlink-sim diff keeneland-kids keeneland-kfs",
                           "twinlink-sim diff keeneland-kids mine.yaml -p gpudirect-v1 --from 0/0 --to 1/0 -b 4K -e 4M",
                           "twinlink-sim diff workload all-reduce selene mine.yaml --ranks 16 -b 1M"});
    }
    return [&program, options] { return diff(*options, program.command_line); };
  });
}

}  // namespace twinlink::model
