#include <charconv>
#include <iostream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/cli/print.hpp"
#include "protocols/bench/measure/driver.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/output_files.hpp"
#include "protocols/registry.hpp"
#include "validate/cli/commands.hpp"
#include "validate/import/import.hpp"

namespace twinlink::validate {
namespace {

struct ImportOptions {
  std::string file{};
  std::string out{};
  std::optional<Tool> tool{};
  ImportWishes wishes{};
};

void read_places(const std::string& text, ImportWishes& wishes) {
  const auto comma = text.find(',');
  if (comma == std::string::npos || comma == 0 || comma + 1 == text.size()) {
    throw UsageError(fmt::format("'{}' is no pair of places such as 0/0,0/1", text));
  }
  wishes.from = to_string(parse_place(text.substr(0, comma)));
  wishes.to = to_string(parse_place(text.substr(comma + 1)));
}

void read_window(const std::string& text, ImportWishes& wishes) {
  int window = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, window);
  if (error != std::errc{} || stop != end || window < 1 || window > bench::kMaxWindow) {
    throw UsageError(fmt::format("'{}' is no whole number from 1 to {}", text, bench::kMaxWindow));
  }
  wishes.window = window;
}

constexpr int kMostRanks = 1 << 20;

void read_size(const std::string& text, ImportWishes& wishes) {
  wishes.size = parse_size(text);
  if (wishes.size == Bytes{}) throw UsageError("a copy of no bytes has no rate: the size is larger than 0");
}

void print_table(const bench::WorkloadFile& file, std::ostream& out) {
  const bench::WorkloadSeries& series = file.series;
  out << fmt::format("# {}: measured by {}, {} ranks\n", series.workload, file.program, series.ranks)
      << fmt::format("# {:>12} {:>12} {:>12} {:>12}  {}\n", "bytes", "time us", "alg. MB/s", "bus MB/s", "verified");
  for (const bench::WorkloadPoint& point : series.points) {
    out << fmt::format("{:>14} {:>12.2f} {:>12.2f} {:>12.2f}  {}\n", point.size.count(), point.time_us.median,
                       point.algorithm_MBps, point.bus_MBps, point.verified ? "yes" : "no");
  }
  for (const std::string& note : series.notes) out << "# " << note << '\n';
}

void write_json(const bench::WorkloadFile& file, const std::string& out) {
  bench::write_json_file(out, bench::to_json(file));
}

ExitCode run_import(const ImportOptions& options) {
  bench::note_output("--out", options.out);
  const auto imported = import_file(options.file, options.tool, options.wishes);
  std::visit(
      [&](const auto& found) {
        print_table(found, std::cout);
        write_json(found, options.out);
      },
      imported);
  return ExitCode::ok;
}

}  // namespace

void add_file_wishes(CLI::App& command, ImportWishes& wishes) {
  bench::add_read_option(command, "--size", "SIZE", "512M, of SuperBench 64M",
                         "Bytes of each copy of nvbandwidth or SuperBench",
                         [&wishes](const std::string& text) { read_size(text, wishes); });
  bench::add_count_option(command, "--ranks", 2, kMostRanks, "told by the file", "How many ranks a collective had",
                          [&wishes](int ranks) { wishes.ranks = ranks; });
  command
      .add_option("--test", wishes.test, "The program of nccl-tests, where its text does not name it: all_reduce_perf")
      ->type_name("NAME");
  constexpr int kMostTables = 1'000'000;
  bench::add_count_option(command, "--table", 1, kMostTables, "the only one",
                          "Which table of a file that holds several, of OSU, nccl-tests or SuperBench",
                          [&wishes](int table) { wishes.table = table; });
}

void add_import_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ImportOptions>();
  auto& command = *app.add_subcommand("import", "Turn another tool's numbers into a result or probe file");
  command.footer(
      "osu: the text of osu_latency, osu_bw, osu_bibw, osu_mbw_mr or osu_multi_lat, and of collectives such as "
      "osu_allreduce. nvbandwidth and nccl-tests: their text, or the JSON of -j and -J. superbench: its "
      "results-summary.jsonl. A collective becomes a workload file. What a file does not tell stays absent.");
  command.add_option("file", options->file, "What the tool wrote")->type_name("FILE")->required();
  command.add_option("--out,--json", options->out, "The file to write, as JSON")
      ->type_name("FILE")
      ->required()
      ->group("Output");
  const auto add = [&](const char* name, const char* type, const char* shown_default, const char* description,
                       auto read) {
    bench::add_read_option(command, name, type, shown_default, description,
                           [options, read](const std::string& text) { read(text, *options); });
  };
  add("--from", "NAME", "told by the file", "The tool: osu, nvbandwidth, nccl-tests, superbench",
      [](const std::string& text, ImportOptions& all) { all.tool = find_tool(text); });
  const bench::OptionGroup group(command, "What the file does not tell");
  add("-p,--protocol", "NAME", "any", "The protocol that a curve is to be compared with",
      [](const std::string& text, ImportOptions& all) { all.wishes.protocol = find_protocol(text).name(); });
  add("--pattern", "NAME", "", "What a curve of nccl-tests between more than two ranks measures",
      [](const std::string& text, ImportOptions& all) { all.wishes.pattern = bench::find_pattern(text); });
  add("-W,--window", "N", "", "Messages of one exchange, which osu_bw and osu_bibw do not tell",
      [](const std::string& text, ImportOptions& all) { read_window(text, all.wishes); });
  add("--places", "NODE/GPU,NODE/GPU", "", "Sender and receiver of a curve",
      [](const std::string& text, ImportOptions& all) { read_places(text, all.wishes); });
  add_file_wishes(command, options->wishes);
  bench::add_examples(command, {"twinlink-validate import osu.txt -p cuda-ipc --places 0/0,0/1 --out measured.json",
                                "twinlink-validate import nvbandwidth.json --size 512M --out probes.json"});
  command.callback([&action, options] { action = [options] { return run_import(*options); }; });
}

}  // namespace twinlink::validate
