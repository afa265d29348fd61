#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "platforms/reader/platform_file.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/output_options.hpp"
#include "protocols/core/errors.hpp"
#include "validate/cli/commands.hpp"
#include "validate/suspect/suspect_report.hpp"

namespace twinlink::validate {
namespace {

struct SuspectOptions {
  std::vector<std::string> files{};
  std::string base{};
  double tolerance_percent = 10;
  std::filesystem::path json{};
  bool force = false;
};

void add_options(CLI::App& suspect, SuspectOptions& options) {
  suspect.footer(
      "All probes of one thing at a time are held against the platform; what nothing is said about is listed. Then "
      "each "
      "link, memory, hub and adapter in turn has the share of its bandwidth with which the platform meets copies and "
      "messages best. A simulation has the same machine with --degrade PART=50%. 1 means that the node is slower than "
      "the platform says, or more than twice as fast, so that the platform is of another machine.");
  suspect.add_option("probes", options.files, "Probe files of one machine")->type_name("PROBES")->required();
  suspect
      .add_option("--base,--platform", options.base,
                  "Platform that the machine should be like; or a .yaml file among the probes")
      ->type_name("NAME|FILE");
  suspect
      .add_option("--tolerance", options.tolerance_percent,
                  "What is slower by up to this, or by up to the model's own error, is no matter, in %")
      ->type_name("PERCENT")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 99.0).description(""));
  bench::add_json_option(suspect, options.json);
  suspect.add_flag("--force", options.force, "Go on if the probes are of another device model than the base's");
  bench::add_examples(suspect, {"twinlink-validate suspect probes.json --base dgx-a100",
                                "twinlink-validate suspect probes.json --base mine.yaml --tolerance 5 --json s.json"});
}

ExitCode run(SuspectOptions options) {
  const std::filesystem::path base = take_platform(options.base, options.files);
  const std::vector<std::filesystem::path> files(options.files.begin(), options.files.end());
  bench::require_json_option(options.json);
  const Suspicion suspicion =
      find_suspects(read_probe_set(files), base, options.tolerance_percent / 100, options.force);
  std::cout << to_text(suspect_report(suspicion)) << std::flush;
  bench::write_json_option(options.json, to_json(suspicion));
  return suspicion.verdict == Suspicion::Verdict::as_fast ? ExitCode::ok : ExitCode::failed;
}

}  // namespace

std::filesystem::path take_platform(const std::string& base, std::vector<std::string>& files) {
  if (!base.empty()) return platforms::find_platform(base);
  const auto found =
      std::ranges::find(files, ".yaml", [](const std::filesystem::path& file) { return file.extension(); });
  if (found == files.end()) throw UsageError("which platform? --base NAME, or a .yaml file among the probes");
  if (files.size() == 1) throw UsageError(*found + " is a platform; which probes?");
  std::filesystem::path platform = *found;
  files.erase(found);
  return platform;
}

void add_suspect_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<SuspectOptions>();
  CLI::App& command = *app.add_subcommand("suspect", "Name the part that makes a machine slower than its platform");
  add_options(command, *options);
  command.callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace twinlink::validate
