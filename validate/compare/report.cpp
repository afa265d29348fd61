#include "validate/compare/report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace twinlink::validate {

ReportFormat format_of(const std::filesystem::path& file) {
  const auto extension = file.extension();
  if (extension == ".txt") return ReportFormat::text;
  if (extension == ".md") return ReportFormat::markdown;
  if (extension == ".json") return ReportFormat::json;
  throw UsageError(
      fmt::format("{}: a report's name ends in .txt, .md or .json, or --format says what it is", file.string()));
}

std::string render_report(const Comparison& comparison, ReportFormat format) {
  switch (format) {
    case ReportFormat::text:
      return to_text(terminal_report(comparison));
    case ReportFormat::markdown:
      return to_markdown(full_report(comparison));
    case ReportFormat::json:
      // A file's name need not be valid UTF-8; everything else is.
      return json_report(comparison).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  }
  return {};
}

}  // namespace twinlink::validate
