#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/cli/commands.hpp"
#include "platforms/machine/platform_numbers.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/tools/wiring.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/output_options.hpp"

namespace twinlink::model {
namespace {

struct CheckOptions {
  std::vector<std::filesystem::path> files{};
  bool numbers = false;
  std::filesystem::path json{};
};

nlohmann::json numbers_json(const Platform& platform) {
  nlohmann::json all = nlohmann::json::array();
  for (const NumberEntry& number : all_numbers(platform)) {
    all.push_back({{"path", number.path},
                   {"value", number.value},
                   {"unit", number.unit},
                   {"quality", to_string(number.source.quality)},
                   {"source", number.source.text}});
  }
  return all;
}

void print_numbers(const Platform& platform) {
  for (const NumberEntry& number : all_numbers(platform)) {
    std::cout << fmt::format("{:<52} {:>14}  {}: {}\n", number.path, number.text, to_string(number.source.quality),
                             number.source.text);
  }
}

/// All files are read before the verdict, so that all their errors are shown at once.
ExitCode check(const CheckOptions& options) {
  bench::require_json_option(options.json);
  std::string errors;
  nlohmann::json platforms = nlohmann::json::array();
  for (const auto& file : options.files) {
    try {
      const Platform platform = read_platform(file, {});
      std::cout << fmt::format("{}: ok: {}, {}\n", file.string(), platform.name, describe_nodes(platform));
      if (platform.fabric && platform.fabric->shape != FabricShape::one_switch) {
        std::cout << fmt::format("    fabric: {}\n",
                                 describe(*platform.fabric, platform.nodes(), platform.most_nics()));
        const FabricParts parts = parts_of(*platform.fabric, platform.nodes(), platform.most_nics());
        std::cout << fmt::format("    to buy: {} ports of switches, {} cables\n", parts.ports, parts.cables);
      }
      const std::vector<NumberEntry> numbers = all_numbers(platform);
      const auto assumed = std::ranges::count_if(
          numbers, [](const NumberEntry& number) { return number.source.quality == Quality::assumed; });
      if (assumed > 0) std::cout << fmt::format("    assumed: {} of {} numbers\n", assumed, numbers.size());
      const std::vector<std::string> warnings = wiring_warnings(platform);
      std::cout << std::flush;
      for (const std::string& warning : warnings) std::cerr << fmt::format("{}: warning: {}\n", file.string(), warning);
      if (options.numbers) print_numbers(platform);
      platforms.push_back({{"file", file.string()},
                           {"name", platform.name},
                           {"nodes", platform.node.count},
                           {"gpus_per_node", platform.node.gpus.size()},
                           {"assumed_numbers", assumed},
                           {"warnings", warnings}});
      if (options.numbers) platforms.back()["numbers"] = numbers_json(platform);
    } catch (const InputError& error) {
      platforms.push_back({{"file", file.string()}, {"errors", error.what()}});
      errors += (errors.empty() ? "" : "\n") + std::string(error.what());
    }
  }
  bench::write_json_option(options.json, platforms);
  if (!errors.empty()) throw InputError(errors);
  return ExitCode::ok;
}

}  // namespace

void add_check_command(Program& program) {
  auto* command = program.app.add_subcommand(
      "check", "Check platform files; every error is shown with its place, what is likely a mistake as a warning");
  const auto options = std::make_shared<CheckOptions>();
  command->add_option("files", options->files, "Platform files")->required()->type_name("FILE");
  command->add_flag("--numbers", options->numbers, "List every number with its value and source");
  bench::add_json_option(*command, options->json);
  bench::add_examples(
      *command, {"twinlink-sim check platforms/*.yaml", "twinlink-sim check --numbers platforms/keeneland-kids.yaml"});
  command->callback([&program, options] { program.action = [options] { return check(*options); }; });
}

}  // namespace twinlink::model
