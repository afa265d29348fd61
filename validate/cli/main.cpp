// twinlink-validate: holds simulated results against measured ones, and makes platforms from measured primitives.
#include <CLI/CLI.hpp>

#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/program.hpp"
#include "validate/cli/commands.hpp"

int main(int argc, char** argv) {
  CLI::App app{"Holds simulated results against measured ones, and makes platforms from measured primitives",
               "twinlink-validate"};
  app.set_version_flag("--version", "twinlink-validate " TWINLINK_VERSION);
  app.require_subcommand(1);
  twinlink::validate::Action action;
  twinlink::validate::add_compare_command(app, action);
  twinlink::validate::add_table_command(app, action);
  twinlink::validate::add_ceiling_command(app, action);
  twinlink::validate::add_settings_command(app, action);
  twinlink::validate::add_import_command(app, action);
  twinlink::validate::add_calibrate_command(app, action);
  twinlink::validate::add_suspect_command(app, action);
  twinlink::validate::add_fleet_command(app, action);
  twinlink::bench::add_examples(app, {"twinlink-validate compare measured.json simulated.json",
                                      "twinlink-validate calibrate probes.json --base h200-nvlink --out mine.yaml"});
  return twinlink::bench::run_main(app, argc, argv, [&action] { return action(); });
}
