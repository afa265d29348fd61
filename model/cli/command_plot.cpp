#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/cli/commands.hpp"
#include "model/cli/pages.hpp"
#include "model/study/figures.hpp"
#include "platforms/report/document.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/frame.hpp"
#include "protocols/bench/results/results.hpp"
#include "protocols/bench/workload/workload_file.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {
namespace {

struct PlotOptions {
  std::vector<std::filesystem::path> files{};
  std::vector<std::string> labels{};
  std::string title = "Bandwidth";
  std::filesystem::path report{};
};

/// The curves of a workload's file: one for each algorithm, of bus bandwidth. What sends nothing has none.
std::vector<bench::Result> curves_of(bench::WorkloadFile file) {
  std::vector<bench::Result> curves;
  const bench::WorkloadSeries& series = file.series;
  for (const bench::WorkloadPoint& point : series.points) {
    if (point.size == Bytes{}) continue;
    auto curve = std::ranges::find(curves, point.algorithm, [](const bench::Result& r) { return r.series.preset; });
    if (curve == curves.end()) {
      bench::Result& added = curves.emplace_back();
      added.world = file.world;
      added.program = file.program;
      added.command = file.command;
      added.environment = file.environment;
      added.series.label = fmt::format("{}, {}", series.workload, point.algorithm);
      added.series.protocol = series.protocol;
      added.series.preset = point.algorithm;
      if (!series.places.empty()) {
        added.series.from = series.places.front();
        added.series.to = series.places.back();
      }
      curve = curves.end() - 1;
    }
    curve->series.points.push_back({.size = point.size,
                                    .time_us = point.time_us,
                                    .bandwidth_MBps = point.bus_MBps,
                                    .path = fmt::format("{} ranks, {}", series.ranks, point.algorithm),
                                    .verified = point.verified});
  }
  return curves;
}

std::vector<bench::Result> read_file(const std::filesystem::path& file) {
  const nlohmann::json json = bench::read_json_file(file);
  const bool workload = json.is_object() && json.contains("kind") && json["kind"] == bench::kWorkloadKind;
  if (!workload) return {bench::result_from_json(json, file.string())};
  std::vector<bench::Result> curves = curves_of(bench::workload_from_json(json, file.string()));
  if (curves.empty()) throw InputError(fmt::format("{}: error: no point has a size: there is no curve", file.string()));
  return curves;
}

/// All of a file: their labels, and of several files with the same ones the files' names as well.
std::vector<bench::Result> read_curves(const PlotOptions& options) {
  if (!options.labels.empty() && options.labels.size() != options.files.size()) {
    throw UsageError(fmt::format("--label: {} names for {} files", options.labels.size(), options.files.size()));
  }
  std::vector<bench::Result> results;
  for (std::size_t i = 0; i < options.files.size(); ++i) {
    std::vector<bench::Result> of_file = read_file(options.files[i]);
    for (bench::Result& result : of_file) {
      std::string& label = result.series.label;
      if (options.labels.empty()) {
        label = fmt::format("{}, {} ({})", label, result.world, options.files[i].stem().string());
      } else {
        // Several algorithms of a file are still told apart.
        label = options.labels[i] + (of_file.size() > 1 ? ", " + result.series.preset : "");
      }
      // Nobody must take it for a curve of the machine.
      const std::string changes = bench::changes_of_platform(result.environment);
      if (!changes.empty()) label += " with " + changes;
      results.push_back(std::move(result));
    }
  }
  return results;
}

report::Document page_of(const std::string& title, const std::vector<bench::Result>& results) {
  report::Document page{report::Heading{1, title}};
  report::append(page, curve_plots("Bandwidth", results));
  return page;
}

ExitCode plot_files(const PlotOptions& options) {
  if (!options.report.empty()) require_page(options.report);
  const std::vector<bench::Result> results = read_curves(options);
  std::vector<DrawnCurve> drawn;
  for (const bench::Result& result : results) drawn.push_back({.series = result.series});
  const bool same = std::ranges::all_of(results, [&](const auto& r) { return r.world == results.front().world; });
  const std::string world = same ? results.front().world : "measured and simulated";
  std::cout << figure_text({.title = options.title}, drawn, world);
  if (!options.report.empty()) bench::write_file(options.report, to_html(page_of(options.title, results)));
  return ExitCode::ok;
}

}  // namespace

void add_plot_command(Program& program) {
  auto* command = program.app.add_subcommand("plot", "Draw the curves of result files, measured or simulated");
  const auto options = std::make_shared<PlotOptions>();
  command
      ->add_option("files", options->files,
                   "Results of run --json or workload --json, of either program, or imported ones")
      ->type_name("RESULT.json")
      ->required();
  command->add_option("--label", options->labels, "What each of them is called: one name for each file, by commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  command->add_option("--title", options->title, "Above the plot")->type_name("TEXT")->capture_default_str();
  add_page_option(*command, options->report, "plots of rates and times, and their tables");
  bench::add_examples(*command, {"twinlink-sim plot results/kids-*.json --report kids.html",
                                 "twinlink-sim plot before.json after.json --label before,after --title Both"});
  command->callback([&program, options] { program.action = [options] { return plot_files(*options); }; });
}

}  // namespace twinlink::model
