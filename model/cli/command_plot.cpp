#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/cli/commands.hpp"
#include "model/cli/result_page.hpp"
#include "model/study/gnuplot.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/figure/figures.hpp"
#include "protocols/bench/report/document.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/frame.hpp"
#include "protocols/bench/results/output_files.hpp"
#include "protocols/bench/results/results.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {
namespace {

struct PlotOptions {
  std::vector<std::filesystem::path> files{};
  std::vector<std::string> labels{};
  std::string title = "Bandwidth";
  std::filesystem::path out{};
};

/// A look of its own for each curve, as long as there are enough.
bench::FigureCurve curve_like(std::size_t number, std::string label) {
  struct Look {
    bench::Marker marker;
    const char* colour;
  };
  using enum bench::Marker;
  constexpr std::array kLooks{Look{circle, "#1f77b4"},  Look{square, "#ff7f0e"}, Look{triangle, "#2ca02c"},
                              Look{diamond, "#d62728"}, Look{cross, "#9467bd"},  Look{star, "#8c564b"}};
  const Look& look = kLooks.at(number % kLooks.size());
  return {.label = std::move(label), .marker = look.marker, .colour = look.colour};
}

/// All of a file: their labels, and of several files with the same ones the files' names as well.
std::vector<bench::Result> read_curves(const PlotOptions& options) {
  if (!options.labels.empty() && options.labels.size() != options.files.size()) {
    throw UsageError(fmt::format("--label: {} names for {} files", options.labels.size(), options.files.size()));
  }
  std::vector<bench::Result> results;
  for (const std::filesystem::path& file : options.files) results.push_back(bench::read_json(file));
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::string& label = results[i].series.label;
    label = options.labels.empty()
                ? fmt::format("{}, {} ({})", label, results[i].world, options.files[i].stem().string())
                : options.labels[i];
    // Nobody must take it for a curve of the machine.
    const std::string changes = bench::changes_of_platform(results[i].environment);
    if (!changes.empty()) label += " with " + changes;
  }
  return results;
}

report::Document page_of(const std::string& title, const std::vector<bench::Result>& results) {
  report::Document page{report::Heading{1, title}};
  report::append(page, curve_plots("Bandwidth", results));
  return page;
}

ExitCode plot_files(const PlotOptions& options) {
  const std::string ending = options.out.extension().string();
  if (!options.out.empty()) {
    bench::require_output("--out", options.out);
    if (ending != ".html" && ending != ".svg") {
      throw UsageError("--out " + options.out.string() + ": a name that ends in .svg or .html is expected");
    }
    if (ending == ".html") report::require_html();
  }
  const std::vector<bench::Result> results = read_curves(options);
  bench::Figure figure{.id = "plot", .title = options.title};
  for (const bench::Result& result : results) {
    figure.curves.push_back(curve_like(figure.curves.size(), result.series.label));
  }
  std::vector<bench::DrawnCurve> drawn;
  for (std::size_t i = 0; i < results.size(); ++i) drawn.push_back({&figure.curves[i], results[i].series});
  const bool same = std::ranges::all_of(results, [&](const auto& r) { return r.world == results.front().world; });
  const std::string world = same ? results.front().world : "measured and simulated";
  std::cout << figure_text(figure, drawn, world);
  if (ending == ".svg") bench::write_file(options.out, svg_plot(figure, drawn, world));
  if (ending == ".html") bench::write_file(options.out, to_html(page_of(options.title, results)));
  return ExitCode::ok;
}

}  // namespace

void add_plot_command(Program& program) {
  auto* command = program.app.add_subcommand("plot", "Draw the curves of result files, measured or simulated");
  const auto options = std::make_shared<PlotOptions>();
  command->add_option("files", options->files, "Results of run --json, of either program, or imported ones")
      ->type_name("RESULT.json...")
      ->required();
  command->add_option("--label", options->labels, "What each of them is called: one name for each file, by commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...");
  command->add_option("--title", options->title, "Above the plot")->type_name("TEXT")->capture_default_str();
  command->add_option("--out", options->out, "Also a picture, or a page with tables")
      ->type_name("FILE.svg|FILE.html")
      ->group("Output");
  bench::add_examples(*command, {"twinlink-sim plot results/kids-*.json --out kids.html",
                                 "twinlink-sim plot before.json after.json --label before,after --out both.svg"});
  command->callback([&program, options] { program.action = [options] { return plot_files(*options); }; });
}

}  // namespace twinlink::model
