#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/cli/commands.hpp"
#include "platforms/reader/platform_file.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/reader/release_reader.hpp"
#include "platforms/tools/platform_schema.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/output_options.hpp"
#include "protocols/bench/cli/protocol_list.hpp"
#include "protocols/bench/workload/workload_options.hpp"
#include "protocols/cuda_aware.hpp"

namespace twinlink::model {
namespace {

ExitCode list_protocols(const std::filesystem::path& json) {
  bench::require_json_option(json);
  bench::print_protocols(std::cout);
  bench::write_json_option(json, bench::protocols_json());
  return ExitCode::ok;
}

ExitCode list_platforms(const std::filesystem::path& wanted, const std::filesystem::path& json) {
  bench::require_json_option(json);
  const std::filesystem::path folder = wanted.empty() ? platforms_folder() : wanted;
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  if (error) throw UsageError(folder.string() + ": " + error.message() + " (name the folder with --folder)");
  std::ranges::sort(files);
  nlohmann::json platforms = nlohmann::json::array();
  for (const auto& file : files) {
    const Platform platform = read_platform(file, {});
    std::cout << fmt::format("{}\n    {}\n    {}\n", file.string(), platform.description, describe_nodes(platform));
    platforms.push_back({{"file", file.string()},
                         {"name", platform.name},
                         {"description", platform.description},
                         {"nodes", platform.node.count},
                         {"gpus_per_node", platform.node.gpus.size()}});
  }
  bench::write_json_option(json, platforms);
  return ExitCode::ok;
}

ExitCode list_releases(const std::filesystem::path& json) {
  bench::require_json_option(json);
  const std::vector<std::string> names = release_names();
  nlohmann::json releases = nlohmann::json::array();
  for (const std::string& name : names) {
    const bool newest = name == names.back();
    std::cout << fmt::format("{}{}\n", name, newest ? " (where a platform names none)" : "");
    releases.push_back({{"name", name}, {"newest", newest}});
  }
  bench::write_json_option(json, releases);
  return ExitCode::ok;
}

ExitCode list_schema(const std::filesystem::path& json) {
  bench::require_json_option(json);
  std::cout << platform_schema();
  bench::write_json_option(json, nlohmann::json::parse(platform_schema()));
  return ExitCode::ok;
}

ExitCode list_workloads(const std::filesystem::path& json) {
  bench::require_json_option(json);
  bench::print_workloads(std::cout);
  bench::write_json_option(json, bench::workloads_to_json());
  return ExitCode::ok;
}

ExitCode list_calls(const std::filesystem::path& json) {
  bench::require_json_option(json);
  nlohmann::json calls = nlohmann::json::array();
  for (const auto& [name, refusal, run_by] : device_calls()) {
    const std::string run = run_by.empty() ? "" : fmt::format("; run by {}", run_by);
    const std::string takes = refusal.empty() ? "device pointers" : fmt::format("no: {}", refusal);
    std::cout << fmt::format("{:<20}{}{}\n", name, takes, run);
    calls.push_back({{"name", name}, {"device_pointers", refusal.empty()}, {"reason", refusal}, {"run_by", run_by}});
  }
  bench::write_json_option(json, calls);
  return ExitCode::ok;
}

}  // namespace

void add_list_command(Program& program) {
  auto* command = program.app.add_subcommand(
      "list", "Say which protocols and platforms there are, and what form platform files have");
  command->require_subcommand(1);
  const auto json = std::make_shared<std::filesystem::path>();
  auto* protocols = command->add_subcommand("protocols", "All protocols with their options, defaults and presets");
  bench::add_json_option(*protocols, *json);
  protocols->callback([&program, json] { program.action = [json] { return list_protocols(*json); }; });
  auto* workloads = command->add_subcommand("workloads", "All workloads with their algorithms and closed forms");
  bench::add_json_option(*workloads, *json);
  workloads->callback([&program, json] { program.action = [json] { return list_workloads(*json); }; });
  const auto folder = std::make_shared<std::filesystem::path>();
  auto* platforms = command->add_subcommand("platforms", "The platform files of a folder");
  platforms->add_option("--folder", *folder, "Where they lie")->type_name("FOLDER")->default_str("beside this program");
  bench::add_json_option(*platforms, *json);
  platforms->callback(
      [&program, folder, json] { program.action = [folder, json] { return list_platforms(*folder, *json); }; });
  auto* releases = command->add_subcommand("ccl", "The releases of NCCL by whose tables a platform's ranks choose");
  bench::add_json_option(*releases, *json);
  releases->callback([&program, json] { program.action = [json] { return list_releases(*json); }; });
  auto* schema = command->add_subcommand("schema", "The form of a platform file as a JSON Schema, for editors");
  bench::add_json_option(*schema, *json);
  schema->callback([&program, json] { program.action = [json] { return list_schema(*json); }; });
  auto* calls = command->add_subcommand("calls", "Which calls of a CUDA-aware MPI library take device pointers");
  bench::add_json_option(*calls, *json);
  calls->callback([&program, json] { program.action = [json] { return list_calls(*json); }; });
  for (auto* each : {command, protocols, platforms, releases, schema, calls}) {
    bench::add_examples(*each, {"twinlink-sim list protocols", "twinlink-sim list platforms --json platforms.json",
                                "twinlink-sim list schema"});
  }
}

}  // namespace twinlink::model
