#include "validate/compare/report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace twinlink::validate {

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
