#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/results/output_files.hpp"
#include "real/cli/commands.hpp"
#include "real/discover/discover.hpp"
#include "real/system/launch.hpp"

namespace twinlink::real {

void add_discover_command(Program& program) {
  auto* command = program.app.add_subcommand(
      "discover", "Write this node's topology as a platform file; needs neither mpirun nor GPUs in use");
  const auto found = std::make_shared<DiscoverOptions>();
  command->add_option("--out", found->out, "The file to write")
      ->type_name("FILE.yaml")
      ->default_str("standard output")
      ->group("Output");
  command->add_option("--json", found->json, "Also write what was found to this file, as JSON")
      ->type_name("FILE")
      ->group("Output");
  command
      ->add_option("--hwloc-xml", found->hwloc_xml,
                   "Another machine, as 'lstopo FILE.xml' has written it down there; its driver is not asked then")
      ->type_name("FILE.xml");
  command->add_option("--base", found->base, "Take costs from this platform, marked as assumed, such as h200-nvlink")
      ->type_name("NAME|FILE.yaml")
      ->default_str("guesses");
  bench::add_examples(*command, {"twinlink-real discover --out here.yaml",
                                 "twinlink-real discover --hwloc-xml there.xml --base platforms/h200-nvlink.yaml"});
  command->callback([&program, command, found] {
    program.begin(*command, [found] {
      // One node, one file; other ranks have nothing to add.
      if (launcher_rank().value_or(0) != 0) return ExitCode::ok;
      return discover(*found, std::cout);
    });
  });
}

}  // namespace twinlink::real
