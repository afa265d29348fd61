#include <iostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "model/cli/beside_log.hpp"
#include "model/cli/commands.hpp"
#include "platforms/import/texts/import_topology.hpp"
#include "platforms/machine/platform_numbers.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/reader/platform_writer.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/output_files.hpp"

namespace twinlink::model {
namespace {

struct ImportOptions {
  std::filesystem::path file{};
  std::filesystem::path out{};
  std::string name{};  ///< empty: that of the file to write
  std::string gpu{};   ///< empty: the file says which
};

ExitCode import_file(const ImportOptions& options) {
  bench::require_output("--out", options.out);
  const std::string name = options.name.empty() ? options.out.stem().string() : options.name;
  const std::string source = bench::read_file(options.file);
  const SketchedPlatform imported = import_topology(source, options.file.string(), name, options.gpu);
  const std::string text = platform_text(imported.platform, imported.heading);
  // As strictly as if somebody had written it.
  const Platform platform = read_platform_text(text, options.out.string());
  bench::write_file(options.out, text);
  for (const std::string& note : imported.notes) std::cerr << "twinlink-sim: note: " << note << "\n";
  std::size_t guesses = 0;
  const std::vector<NumberEntry> numbers = all_numbers(platform);
  for (const NumberEntry& number : numbers) guesses += number.source.quality == Quality::assumed ? 1 : 0;
  std::cout << fmt::format("{}: {}\n", options.out.string(), platform.description);
  std::cout << fmt::format("{} of {} numbers are assumed, until something better tells:\n", guesses, numbers.size());
  for (const std::string& line : imported.assumed) std::cout << "    " << line << "\n";
  if (!is_nccl_log(source)) return ExitCode::ok;
  const NcclLog log = read_nccl_log(source);
  const std::vector<std::string> beside = beside_log(platform, log);
  if (!beside.empty()) {
    std::cout << fmt::format("What NCCL{} has logged, and what -p nccl does on this platform{}:\n",
                             log.version.empty() ? "" : " " + log.version,
                             platform.release == nullptr ? "" : " by the tables of " + platform.release->name);
  }
  for (const std::string& line : beside) std::cout << "    " << line << "\n";
  return ExitCode::ok;
}

}  // namespace

void add_import_command(Program& program) {
  auto* command = program.app.add_subcommand(
      "import", "Write a platform from what another tool says of a node; what it does not tell is assumed, and marked");
  const auto options = std::make_shared<ImportOptions>();
  command
      ->add_option(
          "file", options->file,
          "The output of 'nvidia-smi topo -m' or '-q -x', the file of NCCL_TOPO_DUMP_FILE, what NCCL logs with "
          "NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,ENV,GRAPH,TUNING, or the file of 'lstopo FILE.xml'; its "
          "content says which it is")
      ->required()
      ->type_name("FILE");
  command->option_defaults()->group("Output");
  command->add_option("--out", options->out, "The platform file to write")->required()->type_name("NEW.yaml");
  command->add_option("--name", options->name, "The name of the platform")
      ->type_name("NAME")
      ->default_str("that of NEW.yaml");
  command
      ->add_option("--gpu", options->gpu,
                   "The model of all GPUs, as its driver calls it or a part of that, such as A100-SXM4-40GB: its "
                   "memory, capability, generation of PCIe, and on a board with NVSwitches its NVLinks")
      ->type_name("MODEL")
      ->default_str("what the file says")
      ->group("Options");
  bench::add_examples(*command, {"nvidia-smi topo -m > topo.txt; twinlink-sim import topo.txt --out node.yaml",
                                 "twinlink-sim import nccl-topology.xml --out node.yaml --name dgx"});
  command->callback([&program, options] { program.action = [options] { return import_file(*options); }; });
}

}  // namespace twinlink::model
