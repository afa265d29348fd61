// The commands that validate/scripts/accuracy is made of: the settings of a measured curve, and the table of all of
// them.
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "platforms/reader/platform_reader.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/output_options.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/results.hpp"
#include "validate/cli/commands.hpp"
#include "validate/compare/accuracy_table.hpp"
#include "validate/compare/curve_settings.hpp"
#include "validate/compare/report.hpp"

namespace twinlink::validate {

void add_table_command(CLI::App& app, Action& action) {
  struct Options {
    std::vector<std::string> files{};
    std::filesystem::path json{};
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("table", "Print how far the simulation of many curves is off, as Markdown");
  command.footer("A row for each pair, one for all points, and where protocols cross in either world.");
  command.add_option("files", options->files, "Result files in pairs: measured, then simulated")
      ->type_name("MEASURED SIMULATED")
      ->required();
  command.add_option("--json", options->json, "Also write all figures to this file, as 'compare --json' does")
      ->type_name("FILE")
      ->group("Output");
  bench::add_examples(command, {"twinlink-validate table m1.json s1.json m2.json s2.json",
                                "twinlink-validate table m1.json s1.json --json all.json"});
  command.callback([options, &action] {
    action = [options] {
      const std::vector<std::filesystem::path> paths(options->files.begin(), options->files.end());
      bench::require_json_option(options->json);
      const Comparison comparison = compare_files(paths, {}, false);
      std::cout << to_markdown(accuracy_table(comparison)) << std::flush;
      if (!options->json.empty()) bench::write_file(options->json, render_report(comparison, ReportFormat::json));
      return ExitCode::ok;
    };
  });
}

void add_settings_command(CLI::App& app, Action& action) {
  struct Options {
    std::string file{};
    std::string platform{};
    std::filesystem::path json{};
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command =
      *app.add_subcommand("settings", "Print the options of run that repeat a curve, one argument a line");
  command.add_option("result", options->file, "A result file")->type_name("RESULT")->required();
  command
      .add_option("--simulated-on", options->platform,
                  "Refuse a result that was not simulated on this platform as it is")
      ->type_name("PLATFORM");
  bench::add_json_option(command, options->json);
  bench::add_examples(command, {"twinlink-validate settings measured.json",
                                "twinlink-validate settings --simulated-on platforms/h200-nvlink.yaml simulated.json"});
  command.callback([options, &action] {
    action = [options] {
      bench::require_json_option(options->json);
      const bench::Result result = bench::read_json(options->file);
      if (!options->platform.empty()) {
        require_simulated_on(platforms::read_platform(options->platform), result, options->file);
      }
      const std::vector<std::string> arguments = run_options(result.series, options->file);
      for (const std::string& argument : arguments) std::cout << argument << '\n';
      bench::write_json_option(options->json, arguments);
      return ExitCode::ok;
    };
  });
}

}  // namespace twinlink::validate
