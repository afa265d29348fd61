#include <iostream>

#include <fmt/format.h>

#include "model/cli/commands.hpp"
#include "model/platform/platform_numbers.hpp"
#include "model/platform/platform_reader.hpp"

namespace twinlink::model {
namespace {

struct Options {
  std::vector<std::filesystem::path> files{};
  bool numbers = false;
};

void print_numbers(const Platform& platform) {
  for (const NumberEntry& number : all_numbers(platform)) {
    std::cout << fmt::format("{:<52} {:>14}  {}: {}\n", number.path, number.text, to_string(number.source.quality),
                             number.source.text);
  }
}

/// All files are read before the verdict, so that all their errors are shown at once.
ExitCode check(const Options& options) {
  std::string errors;
  for (const auto& file : options.files) {
    try {
      const Platform platform = read_platform(file, {});
      std::cout << fmt::format("{}: ok: {}, {} node(s) with {} GPU(s)\n", file.string(), platform.name,
                               platform.node.count, platform.node.gpus.size());
      if (options.numbers) print_numbers(platform);
    } catch (const InputError& error) {
      errors += (errors.empty() ? "" : "\n") + std::string(error.what());
    }
  }
  if (!errors.empty()) throw InputError(errors);
  return ExitCode::ok;
}

}  // namespace

void add_check_command(Program& program) {
  auto* command = program.app.add_subcommand("check", "Check platform files; every error is shown with its place");
  const auto options = std::make_shared<Options>();
  command->add_option("files", options->files, "Platform files")->required();
  command->add_flag("--numbers", options->numbers, "List every number with its value and source");
  command->callback([&program, options] { program.action = [options] { return check(*options); }; });
}

}  // namespace twinlink::model
