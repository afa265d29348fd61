#include "validate/compare/report.hpp"

#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "platforms/report/junit.hpp"

namespace twinlink::validate {
namespace {

using report::escaped_markup;

void add(report::JUnitCases& cases, const Pair& pair, std::string_view name, double error,
         std::optional<double> limit) {
  if (!limit) return;
  if (error > *limit) {
    cases.fail(pair.label, name, fmt::format("{:.2f} % exceeds {:g} %", error * 100, *limit * 100),
               fmt::format("largest {} {:.2f} % at {}", pair.difference(), pair.errors.max * 100,
                           escaped_markup(to_string(pair.errors.max_at))));
  } else {
    cases.add(pair.label, name,
              fmt::format("<system-out>{:.2f} % of at most {:g} %</system-out>", error * 100, *limit * 100));
  }
}

}  // namespace

/// A test case for each limit of each pair, so that a CI shows which curve went astray.
std::string junit_report(const Comparison& comparison) {
  report::JUnitCases cases;
  for (const auto& pair : comparison.pairs) {
    // There is one at least, or a CI would see no pair.
    if (comparison.verdict() == Verdict::no_limit) cases.skip(pair.label, "compared", "no limit was given");
    for (const LimitedFigure& figure : limited_figures(comparison.limits)) {
      add(cases, pair, fmt::format("{} {}", figure.name, pair.difference()), pair.errors.*figure.error, figure.limit);
    }
  }
  return cases.file("twinlink-validate compare");
}

ReportFormat format_of(const std::filesystem::path& file) {
  const auto extension = file.extension();
  if (extension == ".txt") return ReportFormat::text;
  if (extension == ".md") return ReportFormat::markdown;
  if (extension == ".html") return ReportFormat::html;
  if (extension == ".json") return ReportFormat::json;
  if (extension == ".xml") return ReportFormat::junit;
  throw UsageError(fmt::format(
      "{}: a report's name ends in .txt, .md, .html, .json or .xml, or --format says what it is", file.string()));
}

std::string render_report(const Comparison& comparison, ReportFormat format) {
  // A file's name need not be valid UTF-8; everything else is.
  const auto json_text = [&] {
    return json_report(comparison).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  };
  switch (format) {
    case ReportFormat::text:
      return to_text(terminal_report(comparison));
    case ReportFormat::markdown:
      return to_markdown(full_report(comparison));
    case ReportFormat::html:
      return to_html(full_report(comparison), std::vector<report::Attachment>{{"comparison.json", json_text()}});
    case ReportFormat::json:
      return json_text();
    case ReportFormat::junit:
      return junit_report(comparison);
  }
  return {};
}

}  // namespace twinlink::validate
