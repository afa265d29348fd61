// twinlink-sim: protocols on a simulated machine.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "model/cli/commands.hpp"
#include "model/engine/flows/machine.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/program.hpp"

int main(int argc, char** argv) {
  namespace model = twinlink::model;
  namespace bench = twinlink::bench;
  CLI::App app{"GPU interconnect protocols on a simulated machine", "twinlink-sim"};
  app.set_version_flag("--version", fmt::format("{} (SimGrid {}, platform schema {})", model::program_name(),
                                                model::simgrid_version(), twinlink::platforms::kPlatformSchema));
  app.require_subcommand(1);
  model::Program program{.app = app, .command_line = bench::command_line(argc, argv)};
  model::add_run_command(program);
  model::add_workload_command(program);
  model::add_study_command(program);
  model::add_plot_command(program);
  model::add_explain_command(program);
  model::add_advise_command(program);
  model::add_figure_command(program);
  model::add_probe_command(program);
  model::add_list_command(program);
  model::add_check_command(program);
  model::add_handshake_command(program);
  model::add_draw_command(program);
  model::add_diff_command(program);
  model::add_sensitivity_command(program);
  model::add_import_command(program);
  model::add_convert_command(program);
  model::add_new_command(program);
  bench::add_examples(app, {"twinlink-sim run --platform keeneland-kids -p gpudirect-v1",
                            "twinlink-sim advise --platform keeneland-kids --from 0/0 --to 0/1"});
  return bench::run_main(app, argc, argv, [&] { return program.action(); });
}
