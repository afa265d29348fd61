#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "model/cli/commands.hpp"
#include "model/platform/platform_reader.hpp"
#include "protocols/bench/cli/protocol_list.hpp"

namespace twinlink::model {
namespace {

ExitCode list_protocols() {
  bench::print_protocols(std::cout);
  return ExitCode::ok;
}

ExitCode list_platforms(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  if (error) throw UsageError(folder.string() + ": " + error.message() + " (name the folder with --folder)");
  std::ranges::sort(files);
  for (const auto& file : files) {
    const Platform platform = read_platform(file, {});
    std::cout << fmt::format("{}\n    {}\n    {} node(s) with {} GPU(s)\n", file.string(), platform.description,
                             platform.node.count, platform.node.gpus.size());
  }
  return ExitCode::ok;
}

}  // namespace

void add_list_command(Program& program) {
  auto* command = program.app.add_subcommand("list", "Say which protocols and platforms there are");
  command->require_subcommand(1);
  command->add_subcommand("protocols", "All protocols with their defaults")->callback([&program] {
    program.action = list_protocols;
  });
  const auto folder = std::make_shared<std::filesystem::path>("platforms");
  auto* platforms = command->add_subcommand("platforms", "The platform files of a folder");
  platforms->add_option("--folder", *folder, "Where they lie")->capture_default_str();
  platforms->callback([&program, folder] { program.action = [folder] { return list_platforms(*folder); }; });
}

}  // namespace twinlink::model
