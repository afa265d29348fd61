#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/output_options.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/output_files.hpp"
#include "validate/calibrate/calibration_report.hpp"
#include "validate/cli/commands.hpp"

namespace twinlink::validate {
namespace {

struct CalibrateOptions {
  std::vector<std::string> files{};
  std::string base{};
  std::string out{};
  std::filesystem::path json{};
  bool force = false;
};

void add_options(CLI::App& calibrate, CalibrateOptions& options) {
  calibrate.footer(
      "Probes are what 'twinlink-real probe --json FILE' writes. Results of protocols are refused: what is to be "
      "predicted must not be fitted. What the probes do not tell stays as in the base.");
  calibrate.add_option("probes", options.files, "Probe files of one machine")->type_name("PROBES")->required();
  calibrate
      .add_option("--base,--platform", options.base,
                  "Platform with the machine's topology and all that is not measured; or a .yaml file among the probes")
      ->type_name("NAME|FILE");
  calibrate.add_option("--out", options.out, "The new platform; another file than the base and the probes")
      ->type_name("FILE")
      ->required()
      ->group("Output");
  bench::add_json_option(calibrate, options.json);
  bench::add_examples(calibrate, {"twinlink-validate calibrate probes.json --base h200-nvlink --out mine.yaml",
                                  "twinlink-validate calibrate a.json b.json --base old.yaml --out new.yaml "
                                  "--json report.json"});
  calibrate.add_flag("--force", options.force, "Go on if the probes are of another device model than the base's");
}

ExitCode run(CalibrateOptions options) {
  const std::filesystem::path base = take_platform(options.base, options.files);
  const std::vector<std::filesystem::path> files(options.files.begin(), options.files.end());
  bench::note_output("--out", options.out);
  bench::require_json_option(options.json);
  const Calibration calibration = calibrate(read_probe_set(files), base, options.force);
  std::cout << to_text(calibration_report(calibration)) << std::flush;
  bench::write_file(options.out, calibration.platform_text);
  bench::write_json_option(options.json, to_json(calibration));
  return ExitCode::ok;
}

}  // namespace

void add_calibrate_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<CalibrateOptions>();
  CLI::App& command = *app.add_subcommand("calibrate", "Fit the costs of a platform to the probes of a machine");
  add_options(command, *options);
  command.callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace twinlink::validate
