#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "platforms/reader/platform_file.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/output_options.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/output_files.hpp"
#include "validate/cli/commands.hpp"
#include "validate/compare/report.hpp"
#include "validate/history/history.hpp"
#include "validate/history/history_report.hpp"
#include "validate/history/regressions.hpp"
#include "validate/nodes/anonymous.hpp"
#include "validate/nodes/fleet.hpp"
#include "validate/nodes/fleet_report.hpp"
#include "validate/nodes/node_list.hpp"

namespace twinlink::validate {
namespace {

struct FleetOptions {
  std::string folder{};
  std::string base{};
  double tolerance_percent = 10;
  double equals_percent = 3;
  std::size_t explain = 20;
  std::size_t drawings = 6;
  bool force = false;
  FleetWishes wishes{};
  std::string history{};
  std::string node{};
  std::string nodes{};
  std::size_t max_age = 14;
  bool anonymous = false;
  std::optional<std::string> report_file{};
  std::filesystem::path metrics{};
  std::filesystem::path json{};
};

void add_options(CLI::App& fleet, FleetOptions& options) {
  fleet.footer(
      "A folder in FOLDER is a node: what validate/node left there, or files of nvbandwidth, nccl-tests or the OSU "
      "benchmarks. A file in FOLDER itself is of the node that its name says before the first dot. Nodes are held "
      "against the middle of those with the same program and machine; with --base against what a platform says as "
      "well, and the part that explains the difference is named. 1 means that a node is slower than its equals, than "
      "the "
      "platform or than it was, or that nobody knows: it has no result, not all of them, or none of late.");
  fleet.add_option("folder", options.folder, "The results of all nodes")->type_name("FOLDER")->required();
  fleet.add_option("machine,--base,--platform", options.base, "Platform that each node should be like")
      ->type_name("NAME|FILE");
  fleet
      .add_option("--tolerance", options.tolerance_percent,
                  "What is slower by up to this, or by up to what chance does, is no matter: of one curve, in %")
      ->type_name("PERCENT")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 99.0).description(""));
  fleet
      .add_option("--of-many", options.equals_percent,
                  "The same of the mean of all curves of a GPU or of a test, which chance moves less")
      ->type_name("PERCENT")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 99.0).description(""));
  fleet.add_option("--explain", options.explain, "Look for the part at so many of the worst nodes")
      ->type_name("N")
      ->capture_default_str();
  fleet.add_flag("--force", options.force, "Go on if results are of another device model than the base's");
  fleet.add_option("--node", options.node, "The exit code is about this node alone, as a scheduler's prolog wants it")
      ->type_name("NAME");
  fleet
      .add_option(
          "--nodes", options.nodes,
          "The nodes that there should be: a name or Slurm's list, such as node[01-64], in each line; without it "
          "those of the history")
      ->type_name("FILE");
  fleet
      .add_option("--max-age", options.max_age,
                  "A node whose newest result is older than the fleet's by more is silent, and not alike, in days")
      ->type_name("DAYS")
      ->capture_default_str();
  fleet
      .add_option("--history", options.history,
                  "Keep the results in this SQLite file, which may be that of a study, and say what has become slower "
                  "since when")
      ->type_name("FILE");
  {
    const bench::OptionGroup foreign(fleet, "Files of other tools");
    fleet
        .add_option_function<std::string>(
            "--size", [&options](const std::string& text) { options.wishes.size = parse_size(text); },
            "How large nvbandwidth's copies were, which its file does not tell (default: 512M)")
        ->type_name("SIZE");
    fleet.add_option("--ranks", options.wishes.ranks, "How many ranks collectives had whose text does not tell")
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 20).description(""));
  }
  const bench::OptionGroup outputs(fleet, "Output");
  fleet.add_flag("--anonymous", options.anonymous, "No names of nodes, hosts and files, and no UUIDs");
  fleet.add_option("--drawings", options.drawings, "A page draws so many of the worst nodes")
      ->type_name("N")
      ->capture_default_str();
  fleet
      .add_option("--report", options.report_file,
                  "Also write the report to this file: by its extension .txt, .md, .html (one page that needs no other "
                  "file), .json or .xml (JUnit, for a CI)")
      ->type_name("FILE");
  fleet
      .add_option("--metrics", options.metrics,
                  "Also write verdicts by node to this .prom file, as Prometheus' node_exporter takes them")
      ->type_name("FILE");
  bench::add_json_option(fleet, options.json);
  bench::add_examples(fleet, {"twinlink-validate fleet results --base hgx-h100 --report fleet.html",
                              "twinlink-validate fleet results --history fleet.sqlite --report fleet.xml"});
}

/// Names of nodes that the report has, and that were asked for before they were taken away.
std::optional<std::size_t> index_of(const FleetFiles& files, const std::string& node) {
  for (std::size_t i = 0; i < files.nodes.size(); ++i) {
    if (files.nodes[i].name == node) return i;
  }
  return std::nullopt;
}

/// Nobody vouches for a node of which nothing is known.
bool is_well(const Fleet& fleet, const std::vector<NodeHistory>& history, std::optional<std::size_t> only) {
  using State = FleetRow::State;
  if (!only && fleet.slow_as_a_whole) return false;
  return std::ranges::all_of(fleet.rows, [&](const FleetRow& row) {
    if (only && row.node != *only) return true;
    // Alone it answers for what all have in common as well.
    if (only && row.platform && row.platform->slow > 0) return false;
    const bool past = row.node < history.size() && history[row.node].judged > 0;
    return row.state == State::alike || (row.state == State::unjudged && past);
  });
}

/// What decides on the exit code where it is about one node.
std::string verdict_alone(const Fleet& fleet, std::size_t node) {
  const FleetRow& row = *std::ranges::find(fleet.rows, node, &FleetRow::node);
  const std::string reason = why(fleet, row);
  std::string text =
      fmt::format("{}: {}{}{}", fleet.files.nodes[node].name, to_string(row.state), reason.empty() ? "" : ": ", reason);
  if (row.platform && row.platform->slow > 0) {
    text += fmt::format("; {} of {} curves are slower than the platform says, the worst by {:.0f} % ({})",
                        row.platform->slow, row.platform->curves, row.platform->slowest * 100, row.platform->what);
  }
  return text;
}

void write_report(const Fleet& fleet, const std::vector<NodeHistory>& history, const FleetOptions& options) {
  if (!options.report_file) return;
  const std::string& file = *options.report_file;
  const FleetReportPlan plan{.most_rows = 0, .drawings = options.drawings};
  const auto document = [&] { return fleet_report(fleet, plan, history_report(fleet, history, true)); };
  switch (format_of(file)) {
    case ReportFormat::html:
      return bench::write_file(file, report::to_html(document()));
    case ReportFormat::markdown:
      return bench::write_file(file, report::to_markdown(document()));
    case ReportFormat::text:
      return bench::write_file(file, report::to_text(document()));
    case ReportFormat::json:
      return bench::write_json_file(file, with_history(fleet_json(fleet), fleet, history));
    case ReportFormat::junit:
      return bench::write_file(file, fleet_junit(fleet));
  }
}

ExitCode run(const FleetOptions& options) {
  bench::note_output("--report", options.report_file.value_or(""));
  if (!options.metrics.empty()) bench::require_output("--metrics", options.metrics);
  bench::require_json_option(options.json);
  if (options.report_file && format_of(*options.report_file) == ReportFormat::html) report::require_html();
  if (!options.history.empty()) require_history();
  FleetPlan plan{
      .equals = {.tolerance = options.tolerance_percent / 100, .of_many_curves = options.equals_percent / 100},
      .explained = options.explain,
      .force = options.force,
      .max_age = options.max_age,
      .became = {}};
  if (!options.base.empty()) plan.base = platforms::find_platform(options.base);
  FleetFiles files = read_fleet(options.folder, options.wishes);
  if (!options.nodes.empty()) expect_nodes(files, read_node_list(options.nodes));
  std::optional<std::size_t> only;
  if (!options.node.empty()) {
    only = index_of(files, options.node);
    if (!only) throw UsageError(fmt::format("--node {}: {} has no results of it", options.node, options.folder));
  }
  std::vector<NodeHistory> history;
  if (!options.history.empty()) {
    History database(options.history);
    // A prolog brings the files of its own node alone.
    if (options.nodes.empty() && !only) expect_stored_nodes(database, files);
    history = find_regressions(keep_results(database, files), plan.equals.tolerance);
    plan.became = in_words(history);
  }
  if (options.anonymous) make_anonymous(files);
  const Fleet fleet = judge_fleet(std::move(files), plan);
  std::cout << to_text(fleet_report(fleet, {}, history_report(fleet, history, false))) << '\n'
            << verdict_of(fleet) << '\n';
  if (only) std::cout << verdict_alone(fleet, *only) << '\n';
  std::cout << std::flush;
  write_report(fleet, history, options);
  if (!options.metrics.empty()) bench::write_file(options.metrics, fleet_metrics(fleet));
  if (!options.json.empty()) bench::write_json_option(options.json, with_history(fleet_json(fleet), fleet, history));
  return is_well(fleet, history, only) ? ExitCode::ok : ExitCode::failed;
}

}  // namespace

void add_fleet_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<FleetOptions>();
  CLI::App& command = *app.add_subcommand("fleet", "Say which of many nodes are slower, by which part, and since when");
  add_options(command, *options);
  command.callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace twinlink::validate
