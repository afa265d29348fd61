// The commands that validate/scripts/accuracy is made of: the settings of a measured curve, and the table of all of
// them.
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/platform/platform_reader.hpp"
#include "protocols/bench/results/results.hpp"
#include "validate/cli/commands.hpp"
#include "validate/compare/accuracy_table.hpp"
#include "validate/compare/curve_settings.hpp"

namespace twinlink::validate {

void add_table_command(CLI::App& app, Action& action) {
  const auto files = std::make_shared<std::vector<std::string>>();
  CLI::App& command = *app.add_subcommand("table", "Print how far the simulation of many curves is off, as Markdown");
  command.footer("A row for each pair, one for all points, and where protocols cross in either world.");
  command.add_option("files", *files, "result files in pairs: measured, then simulated")
      ->type_name("MEASURED SIMULATED")
      ->required();
  command.callback([files, &action] {
    action = [files] {
      const std::vector<std::filesystem::path> paths(files->begin(), files->end());
      std::cout << to_markdown(accuracy_table(compare_files(paths, {}, false))) << std::flush;
      return ExitCode::ok;
    };
  });
}

void add_settings_command(CLI::App& app, Action& action) {
  const auto file = std::make_shared<std::string>();
  const auto platform = std::make_shared<std::string>();
  CLI::App& command =
      *app.add_subcommand("settings", "Print the options of run that repeat a curve, one argument a line");
  command.add_option("result", *file, "a result file")->type_name("RESULT")->required();
  command.add_option("--simulated-on", *platform, "refuse a result that was not simulated on this platform as it is")
      ->type_name("PLATFORM");
  command.callback([file, platform, &action] {
    action = [file, platform] {
      const bench::Result result = bench::read_json(*file);
      if (!platform->empty()) require_simulated_on(model::read_platform(*platform), result, *file);
      for (const std::string& option : run_options(result.series)) std::cout << option << '\n';
      return ExitCode::ok;
    };
  });
}

}  // namespace twinlink::validate
