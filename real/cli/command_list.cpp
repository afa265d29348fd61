#include <filesystem>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/output_options.hpp"
#include "protocols/bench/cli/protocol_list.hpp"
#include "real/cli/commands.hpp"
#include "real/system/launch.hpp"

namespace twinlink::real {
namespace {

ExitCode list_protocols(const std::filesystem::path& json) {
  const bool writes = launcher_rank().value_or(0) == 0;
  if (writes) bench::require_json_option(json);
  bench::print_protocols(std::cout);
  if (writes) bench::write_json_option(json, bench::protocols_json());
  return ExitCode::ok;
}

}  // namespace

void add_list_command(Program& program) {
  auto* command = program.app.add_subcommand("list", "Say which protocols there are");
  const auto json = std::make_shared<std::filesystem::path>();
  bench::add_json_option(*command, *json);
  bench::add_examples(*command, {"twinlink-real list", "twinlink-real list --json protocols.json"});
  command->callback([&program, command, json] { program.begin(*command, [json] { return list_protocols(*json); }); });
}

}  // namespace twinlink::real
