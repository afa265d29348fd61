#include <algorithm>
#include <iostream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/cli/commands.hpp"
#include "model/platform/platform_file.hpp"
#include "model/platform/platform_reader.hpp"
#include "model/study/child_process.hpp"
#include "model/study/figures.hpp"
#include "protocols/bench/cli/csv.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/json_option.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/cli/pair_file.hpp"
#include "protocols/bench/cli/progress.hpp"
#include "protocols/bench/results/chart.hpp"
#include "protocols/bench/results/files.hpp"

namespace twinlink::model {
namespace {

struct FigureOptions {
  std::filesystem::path platforms{};  ///< empty: beside the program
  std::filesystem::path out = "results";
  std::filesystem::path json{};
  WithinNode within_node{};
  bench::RunOptions run{};
};

bench::Result make_result(const FigureCurve& curve, const Platform& platform, const FigureOptions& options,
                          const std::string& command_line) {
  const auto in_child = [&] {
    return bench::to_text(to_json(bench::Result{.world = "simulated",
                                                .program = program_name(),
                                                .command = command_line,
                                                .environment = environment_of(platform, {}),
                                                .series = simulate_curve(curve, platform, options.run)}));
  };
  bench::Result result = bench::result_from_json(nlohmann::json::parse(in_child_process(in_child)), curve.id);
  write_json(result, options.out / (curve.id + ".json"));
  write_csv(result, options.out / (curve.id + ".csv"));
  return result;
}

void print_table(const std::vector<bench::Result>& results) {
  std::cout << "\n      size";
  for (std::size_t i = 0; i < results.size(); ++i) std::cout << fmt::format("{:>10}", fmt::format("({})", i + 1));
  std::cout << "   MB/s\n";
  for (std::size_t row = 0; row < results[0].series.points.size(); ++row) {
    std::cout << fmt::format("{:>10}", format_size(results[0].series.points[row].size));
    for (const bench::Result& result : results) {
      std::cout << fmt::format("{:>10.1f}", result.series.points[row].bandwidth_MBps);
    }
    std::cout << "\n";
  }
  std::cout << "\n";
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bench::Series& series = results[i].series;
    std::cout << fmt::format("  ({}) {}\n      {} to {}: {}\n", i + 1, series.label, series.from, series.to,
                             series.points.back().path);
  }
}

void print_figure(const Figure& figure, const std::vector<bench::Result>& results) {
  std::vector<bench::Curve> curves;
  for (std::size_t i = 0; i < results.size(); ++i) {
    bench::Curve curve{.label = fmt::format("({}) {}", i + 1, results[i].series.label)};
    for (const bench::Point& point : results[i].series.points) {
      curve.points.push_back({point.size, point.bandwidth_MBps});
    }
    curves.push_back(std::move(curve));
  }
  std::cout << bench::draw_chart(curves, {.title = figure.title + " (simulated)"});
  print_table(results);
}

ExitCode draw_figures(const FigureOptions& options, const std::string& command_line) {
  bench::require_json_option(options.json);
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  if (error) throw EnvironmentError("create_directories " + options.out.string(), error.message());
  const std::filesystem::path folder = options.platforms.empty() ? platforms_folder() : options.platforms;
  bench::Progress progress("curves", bench::ProgressView::standard_error(wall_clock));
  std::size_t curves = 0;
  for (const Figure& figure : keeneland_figures()) curves += figure.curves.size();
  std::size_t done = 0;
  std::vector<bench::Result> all;
  for (const Figure& figure : keeneland_figures()) {
    Platform platform = read_platform(folder / figure.platform, {});
    set_within_node(platform, options.within_node);
    std::vector<bench::Result> results;
    for (const FigureCurve& curve : figure.curves) {
      results.push_back(make_result(curve, platform, options, command_line));
      progress.show(++done, curves);
    }
    progress.clear();
    print_figure(figure, results);
    std::cout << "\n";
    std::ranges::move(results, std::back_inserter(all));
  }
  bench::write_json_option(options.json, to_json(all));
  std::cout << "Result files (JSON and CSV, one per curve) are in " << options.out.string() << "\n";
  return ExitCode::ok;
}

}  // namespace

void add_figure_command(Program& program) {
  auto* command = program.app.add_subcommand(
      "figure", "Simulate both figures of \"GPUDirect Performance on Keeneland\": plot, table and result files");
  const auto options = std::make_shared<FigureOptions>();
  command->add_option("--platforms", options->platforms, "The folder of the platform files")
      ->type_name("FOLDER")
      ->default_str("beside this program");
  command->add_option("--out", options->out, "The folder for result files; made if missing")
      ->type_name("FOLDER")
      ->capture_default_str()
      ->take_last();
  add_within_node_options(*command, options->within_node);
  bench::add_json_option(*command, options->json);
  bench::add_examples(*command, {"twinlink-sim figure", "twinlink-sim figure --out figures --intra-node loopback"});
  command->callback([&program, options] {
    program.action = [&program, options] { return draw_figures(*options, program.command_line); };
  });
}

}  // namespace twinlink::model
