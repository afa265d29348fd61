#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/cli/commands.hpp"
#include "model/cli/pages.hpp"
#include "model/study/child_process.hpp"
#include "model/study/figures.hpp"
#include "platforms/reader/platform_file.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/bench/cli/csv.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/cli/output_options.hpp"
#include "protocols/bench/cli/pair_file.hpp"
#include "protocols/bench/cli/progress.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/output_files.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

struct FigureOptions {
  std::vector<std::string> names{};
  std::vector<std::string> overrides{};
  std::filesystem::path platform{};  ///< instead of each figure's own
  std::filesystem::path out = "results";
  std::filesystem::path json{};
  std::filesystem::path report{};
  WithinNode within_node{};
  bench::RunOptions run{};
};

bench::Result make_result(const FigureCurve& curve, const Platform& platform, const FigureOptions& options,
                          const std::string& command_line) {
  const auto in_child = [&] {
    return bench::to_text(
        to_json(bench::Result{.world = "simulated",
                              .program = program_name(),
                              .command = command_line,
                              .environment = environment_of(platform, {.overrides = options.overrides}),
                              .series = simulate_curve(curve, platform, options.run)}));
  };
  bench::Result result = bench::result_from_json(nlohmann::json::parse(in_child_process(in_child)), curve.id);
  write_json(result, options.out / (curve.id + ".json"));
  write_csv(result, options.out / (curve.id + ".csv"));
  return result;
}

/// Why the platform, which may lack the devices or ways, has no such curve; empty: it has.
std::string why_not_on(const Platform& platform, const FigureCurve& curve) {
  try {
    return why_not(curve, Topology(platform).path(curve.from, curve.to));
  } catch (const Error& error) {
    return error.what();
  }
}

/// Asked before anything runs: no output is the platform or another output.
void require_own_files(const FigureOptions& options, std::span<const Figure* const> figures) {
  for (const Figure* figure : figures) {
    for (const FigureCurve& curve : figure->curves) {
      for (const char* ending : {".json", ".csv"}) bench::note_output("a result", options.out / (curve.id + ending));
    }
  }
  bench::note_output("--report", options.report);
  if (!options.platform.empty()) static_cast<void>(read_platform(options.platform, options.overrides));
}

ExitCode draw_figures(const FigureOptions& options, const std::string& command_line) {
  bench::require_json_option(options.json);
  const bool page = !options.report.empty();
  const std::vector<const Figure*> figures = figures_named(options.names);
  require_own_files(options, figures);
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  if (error) throw EnvironmentError("create_directories " + options.out.string(), error.message());
  if (page) require_page(options.report);
  bench::Progress progress("curves", bench::ProgressView::standard_error(wall_clock));
  std::size_t curves = 0;
  for (const Figure* figure : figures) curves += figure->curves.size();
  std::size_t done = 0;
  std::vector<bench::Result> all;
  std::vector<SimulatedFigure> simulated;
  for (const Figure* figure : figures) {
    Platform platform = read_platform(
        options.platform.empty() ? platforms_folder() / figure->platform : options.platform, options.overrides);
    set_within_node(platform, options.within_node);
    std::vector<DrawnCurve> drawn;
    for (const FigureCurve& curve : figure->curves) {
      if (const std::string why = why_not_on(platform, curve); !why.empty()) {
        std::cerr << "twinlink-sim: note: left out: " << curve.label << ": " << why << "\n";
      } else {
        all.push_back(make_result(curve, platform, options, command_line));
        drawn.push_back({&curve, all.back().series});
      }
      progress.show(++done, curves);
    }
    progress.clear();
    std::cout << figure_text(*figure, drawn, "simulated") << "\n";
    simulated.push_back({.figure = figure, .platform = std::move(platform), .curves = std::move(drawn)});
  }
  bench::write_json_option(options.json, to_json(all));
  if (page) {
    const std::vector<report::Attachment> data{{"figures.json", bench::to_text(to_json(all), 2)}};
    bench::write_file(options.report, to_html(figure_page(simulated), data));
  }
  std::cout << "Result files (JSON and CSV, one per curve) are in " << options.out.string() << "\n";
  if (page) std::cout << "The page with all of it: " << options.report.string() << "\n";
  return ExitCode::ok;
}

}  // namespace

void add_figure_command(Program& program) {
  auto* command = program.app.add_subcommand(
      "figure", "Simulate the figures of \"GPUDirect Performance on Keeneland\": plots, tables and result files");
  const auto options = std::make_shared<FigureOptions>();
  command->add_option("figure", options->names, "Which of them: " + figure_names())
      ->type_name("NAME")
      ->default_str("all");
  const bench::OptionGroup machine(*command, "Machine");
  command
      ->add_option("--platform", options->platform, "Another machine instead of the figure's own: a name or YAML file")
      ->type_name("NAME|FILE");
  command
      ->add_option("--set", options->overrides,
                   "Another value for a number of the platform: nodes.links.qpi.forward='9 GB/s'; may be repeated")
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE");
  command->add_option("--out", options->out, "The folder for result files; made if missing")
      ->type_name("FOLDER")
      ->capture_default_str()
      ->take_last()
      ->group("Output");
  add_within_node_options(*command, options->within_node);
  bench::add_json_option(*command, options->json);
  add_page_option(*command, options->report, "the figures, the machines and the ways of five protocols on them");
  bench::add_examples(
      *command,
      {"twinlink-sim figure", "twinlink-sim figure keeneland-kids --set nodes.links.hca0-pcie.to=ioh1 --out figures"});
  command->callback([&program, options] {
    program.action = [&program, options] { return draw_figures(*options, program.command_line); };
  });
}

}  // namespace twinlink::model
