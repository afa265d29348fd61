#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "protocols/bench/cli/csv.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/cli/progress.hpp"
#include "protocols/bench/figure/figures.hpp"
#include "protocols/bench/results/files.hpp"
#include "real/cli/commands.hpp"
#include "real/cli/job_options.hpp"

namespace twinlink::real {
namespace {

struct FigureOptions {
  std::vector<std::string> names{};  ///< ids of figures; empty: all
  std::filesystem::path out = "results";
  bench::RunOptions run{};  ///< sizes and rounds; each curve has the rest
};

/// A curve of the two ranks.
struct Wanted {
  const bench::FigureCurve* curve = nullptr;
  bench::Plan plan{};
};

/// What the ranks can run; why not the rest, line by line into `left_out`.
std::vector<Wanted> wanted_curves(const FigureOptions& options, const Path& path, std::vector<std::string>& left_out) {
  std::vector<Wanted> wanted;
  for (const bench::Figure* figure : bench::figures_named(options.names)) {
    for (const bench::FigureCurve& curve : figure->curves) {
      if (const std::string why = why_not(curve, path); !why.empty()) {
        left_out.push_back(fmt::format("{}: {}", curve.label, why));
        continue;
      }
      bench::RunOptions run = options.run;
      set_curve(run, curve);
      wanted.push_back({&curve, make_plan(run, bench::measured_repeats())});
    }
  }
  return wanted;
}

void write(const bench::Result& result, const std::filesystem::path& out, const std::string& id) {
  write_json(result, out / (id + ".json"));
  write_csv(result, out / (id + ".csv"));
}

void print(const FigureOptions& options, std::span<const bench::DrawnCurve> drawn, const std::string& world) {
  for (const bench::Figure& figure : bench::keeneland_figures()) {
    std::vector<bench::DrawnCurve> mine;
    for (const bench::DrawnCurve& each : drawn) {
      const bool ours = std::ranges::any_of(figure.curves, [&](const auto& curve) { return &curve == each.curve; });
      if (ours) mine.push_back(each);
    }
    if (!mine.empty()) std::cout << figure_text(figure, mine, world) << "\n";
  }
  std::cout << "Result files (JSON and CSV, one per curve) are in " << options.out.string() << "\n";
}

/// Measures between ranks 0 and 1 what they have: curves between nodes need two nodes, others one. Why a curve is left
/// out is printed. An UnavailableError if nothing is left.
ExitCode measure_figures(const JobOptions& job_options, const FigureOptions& options) {
  Job job(job_options);
  MeasuredRank& rank = job.rank();
  std::vector<Wanted> wanted;
  std::vector<std::string> left_out;
  job.agree([&] {
    if (rank.ranks() < 2) throw UsageError("this job has 1 rank, and a message needs two: start with mpirun -n 2");
    if (rank.id().value > 1) return;
    wanted = wanted_curves(options, rank.path_to(RankId{1 - rank.id().value}), left_out);
    if (wanted.empty()) throw UnavailableError("no curve can be measured between these two ranks: " + left_out.front());
    if (rank.id() != RankId{0}) return;
    std::error_code error;
    std::filesystem::create_directories(options.out, error);
    if (error) throw EnvironmentError("create_directories " + options.out.string(), error.message());
  });
  bench::Progress progress("curves", bench::ProgressView::standard_error([&rank] { return rank.now(); }));
  job.run([&](MeasuredRank& self) {
    std::vector<bench::DrawnCurve> drawn;
    for (const Wanted& each : wanted) {
      drawn.push_back({each.curve, measure_curve(self, *each.curve, each.plan)});
      drawn.back().series.label = each.curve->label;
      drawn.back().series.clock = "host";
      progress.show(drawn.size(), wanted.size());
    }
    progress.clear();
    job.conclude();
    if (self.id() != RankId{0}) return;
    for (const auto& [curve, series] : drawn) {
      write({.world = "measured",
             .program = kProgram,
             .command = job_options.command_line,
             .environment = job.environment(),
             .series = series},
            options.out, curve->id);
    }
    print(options, drawn, bench::heading_world("measured", job.environment()));
    for (const std::string& line : left_out) std::cout << "left out: " << line << "\n";
  });
  return ExitCode::ok;
}

}  // namespace

void add_figure_command(Program& program) {
  auto* command = program.app.add_subcommand(
      "figure", "Measure what this machine has of the figures of \"GPUDirect Performance on Keeneland\"");
  const auto options = std::make_shared<FigureOptions>();
  add_job_options(*command, program.job);
  command->add_option("figure", options->names, "Which of them: " + bench::figure_names())
      ->type_name("NAME")
      ->default_str("all");
  bench::add_size_options(*command, options->run.sweep);
  command->add_option("--out", options->out, "The folder for result files; made if missing")
      ->type_name("FOLDER")
      ->capture_default_str()
      ->group("Output");
  bench::add_examples(*command, {"mpirun -n 2 twinlink-real figure --device cuda",
                                 "mpirun -n 2 twinlink-real figure keeneland-kids -e 1M --out here"});
  command->callback([&program, command, options] {
    program.begin(*command, [&job = program.job, options] { return measure_figures(job, *options); });
  });
}

}  // namespace twinlink::real
