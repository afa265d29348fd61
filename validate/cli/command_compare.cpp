#include <charconv>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/output_files.hpp"
#include "validate/cli/commands.hpp"
#include "validate/compare/comparison.hpp"
#include "validate/compare/report.hpp"

namespace twinlink::validate {
namespace {

struct CompareOptions {
  std::vector<std::string> files{};
  std::optional<double> max_error_percent{};
  std::optional<double> max_p95_percent{};
  std::optional<double> max_slower_percent{};
  std::optional<std::string> report_file{};
  std::optional<std::string> json_file{};
  std::optional<std::string> report_format{};
  bool force = false;
  ImportWishes wishes{};
  std::vector<std::string> labels{};  ///< none, or two
};

std::string check_percent(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size() && std::isfinite(value) && value >= 0) return {};
  return fmt::format("'{}' is not a percentage: a number from 0, without a sign or unit", text);
}

const std::map<std::string, ReportFormat, std::less<>> kFormats{{"text", ReportFormat::text},
                                                                {"markdown", ReportFormat::markdown},
                                                                {"html", ReportFormat::html},
                                                                {"json", ReportFormat::json},
                                                                {"junit", ReportFormat::junit}};

std::string check_format(const std::string& text) {
  return kFormats.contains(text) ? std::string{}
                                 : fmt::format("'{}' is none of text, markdown, html, json, junit", text);
}

void add_options(CLI::App& compare, CompareOptions& options) {
  compare.footer(
      "All errors are relative to the measurement. The geometric mean error is exp(mean |ln(simulated/measured)|) - "
      "1. Several pairs are also compared with each other: from which size on is which curve faster, in either world?");
  compare
      .add_option("files", options.files,
                  "Files of results, probes or workloads, in pairs of one kind: measured, then simulated; "
                  "a file that import can read by itself will do as well")
      ->type_name("MEASURED SIMULATED")
      ->required();
  const CLI::Validator percent(check_percent, "");
  const bench::OptionGroup limits(compare, "Limits");
  compare
      .add_option("--max-error", options.max_error_percent, "Largest geometric mean error of a pair that passes, in %")
      ->type_name("PERCENT")
      ->check(percent);
  compare
      .add_option("--max-p95", options.max_p95_percent, "Largest 95th percentile of a pair's |error| that passes, in %")
      ->type_name("PERCENT")
      ->check(percent);
  compare
      .add_option("--max-slower", options.max_slower_percent,
                  "By how much a measured file may be slower than the simulated one and passes, in %: the geometric "
                  "mean, lines that are faster count as equal")
      ->type_name("PERCENT")
      ->check(percent);
  compare.add_flag("--force", options.force, "Compare even if pattern, protocol or the pairs beside it differ");
  compare.option_defaults()->group("Sides");
  compare
      .add_option("--label", options.labels,
                  "What the two sides are called, where they are not measured and simulated: two simulations, before "
                  "and after a change, or two measurements. All differences are relative to the first")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("A,B");
  {
    const bench::OptionGroup foreign(compare, "Files of other tools");
    add_file_wishes(compare, options.wishes);
  }
  const bench::OptionGroup outputs(compare, "Output");
  auto* report = compare.add_option("--report", options.report_file,
                                    "Also write the report to this file: by its extension .txt, .md, .html (one page "
                                    "with plots, which needs no other file), .json or .xml (JUnit, for a CI)");
  report->type_name("FILE");
  compare.add_option("--json", options.json_file, "Also write the report to this file, as JSON")->type_name("FILE");
  compare.add_option("--format", options.report_format, "What --report writes: text, markdown, html, json, junit")
      ->type_name("NAME")
      ->default_str("by the extension")
      ->check(CLI::Validator(check_format, ""))
      ->needs(report);
  bench::add_examples(compare, {"twinlink-validate compare measured.json simulated.json --max-error 5",
                                "twinlink-validate compare nvbandwidth.json probes.json --size 512M",
                                "twinlink-validate compare before.json after.json --label before,after",
                                "twinlink-validate compare m1.json s1.json m2.json s2.json --report report.html"});
}

ExitCode run(const CompareOptions& options) {
  const auto fraction = [](const std::optional<double>& percent) {
    return percent ? std::optional(*percent / 100) : std::nullopt;
  };
  // A wrong name is reported before any work is done.
  if (!options.labels.empty() &&
      (options.labels.size() != 2 || options.labels[0].empty() || options.labels[0] == options.labels[1])) {
    throw UsageError("--label takes two different names, A,B: what the files of each pair are called");
  }
  const std::vector<std::filesystem::path> files(options.files.begin(), options.files.end());
  bench::note_output("--report", options.report_file.value_or(""));
  bench::note_output("--json", options.json_file.value_or(""));
  std::vector<std::pair<std::string, ReportFormat>> reports;
  if (options.report_file) {
    reports.emplace_back(*options.report_file, options.report_format ? kFormats.find(*options.report_format)->second
                                                                     : format_of(*options.report_file));
    if (reports.back().second == ReportFormat::html) report::require_html();
  }
  if (options.json_file) reports.emplace_back(*options.json_file, ReportFormat::json);

  const auto comparison = compare_files(files,
                                        {.geometric_mean = fraction(options.max_error_percent),
                                         .p95 = fraction(options.max_p95_percent),
                                         .slower = fraction(options.max_slower_percent)},
                                        options.force, options.wishes, options.labels);
  std::cout << render_report(comparison, ReportFormat::text) << std::flush;
  for (const auto& [file, format] : reports) bench::write_file(file, render_report(comparison, format));
  return comparison.verdict() == Verdict::exceeded ? ExitCode::failed : ExitCode::ok;
}

}  // namespace

void add_compare_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App& command = *app.add_subcommand("compare", "Compare measured files with simulated ones");
  add_options(command, *options);
  command.callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace twinlink::validate
