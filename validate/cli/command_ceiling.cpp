#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/cli/output_options.hpp"
#include "validate/cli/commands.hpp"
#include "validate/compare/ceiling.hpp"

namespace twinlink::validate {
namespace {

struct CeilingOptions {
  std::string result{};
  std::string probes{};
  std::vector<std::string> lines{};
  std::optional<double> min_percent{};
  Bytes from{};
  std::filesystem::path json{};
};

nlohmann::json to_json(const Ceiling& ceiling) {
  nlohmann::json json{{"protocol", ceiling.protocol}, {"points", nlohmann::json::array()}};
  for (const CeilingRow& row : ceiling.rows) {
    json["points"].push_back({{"bytes", row.size.count()},
                              {"primitive", row.slowest},
                              {"primitive_us", row.bare_us},
                              {"protocol_us", row.taken_us},
                              {"share", row.share()}});
  }
  return json;
}

ExitCode run(const CeilingOptions& options) {
  bench::require_json_option(options.json);
  const Ceiling ceiling = hold_against({bench::read_json(options.result), options.result},
                                       {bench::read_probes(options.probes), options.probes}, options.lines);
  std::cout << to_text(ceiling);
  bench::write_json_option(options.json, to_json(ceiling));
  if (!options.min_percent) return ExitCode::ok;
  const auto least = least_share(ceiling, options.from);
  if (!least) throw UsageError(fmt::format("no size from {} on to be held against a limit", format_size(options.from)));
  const bool reached = 100 * *least >= *options.min_percent;
  std::cout << fmt::format("{}: the least share from {} on is {:.1f} %, asked for are {:g} %\n",
                           reached ? "reached" : "missed", format_size(options.from), 100 * *least,
                           *options.min_percent);
  return reached ? ExitCode::ok : ExitCode::failed;
}

}  // namespace

void add_ceiling_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<CeilingOptions>();
  CLI::App& command = *app.add_subcommand("ceiling", "Say how much of what its primitives allow a protocol reaches");
  command.footer("Both files should be of one job, or at least of one machine on one day: what counts is their ratio.");
  command.add_option("result", options->result, "Result of a protocol")->type_name("RESULT")->required();
  command.add_option("probes", options->probes, "Probes of the same machine")->type_name("PROBES")->required();
  command
      .add_option(
          "--line", options->lines,
          "Name of the probes' lines, such as 'peer copy write direct'; repeated for the stages of a pipeline, of "
          "which the slowest counts")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->required();
  auto* const limit = command.add_option("--min", options->min_percent, "Share that each size must reach, in %")
                          ->check(CLI::Range(0.0, 1000.0));
  limit->type_name("PERCENT");
  bench::add_size_option(command, "--from", options->from, "The limit holds for this size and larger ones")
      ->needs(limit);
  bench::add_json_option(command, options->json);
  bench::add_examples(
      command, {"twinlink-validate ceiling run.json probes.json --line 'peer copy write direct'",
                "twinlink-validate ceiling run.json probes.json --line 'peer copy write direct' --min 99 --from 64M"});
  command.callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace twinlink::validate
