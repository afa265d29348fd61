// A comparison for people and for programs. `compare` prints terminal_report(), and `--report FILE` keeps what
// render_report() makes for the file's extension.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "platforms/report/document.hpp"
#include "validate/compare/comparison.hpp"

namespace twinlink::validate {

/// Of json_report(): a member `schema`. It grows when a member changes its meaning or goes.
inline constexpr int kComparisonSchema = 1;

enum class ReportFormat { text, markdown, html, json, junit };

/// For the terminal: every size, then the summary and, last, the verdict.
report::Document terminal_report(const Comparison& comparison);
/// To be kept: the verdict first, then the errors by size, each curve, and last what was not compared and both files'
/// command lines and environments.
report::Document full_report(const Comparison& comparison);
/// Everything, unrounded. Errors are fractions.
nlohmann::json json_report(const Comparison& comparison);
/// For a CI, in JUnit's XML: a test case for each limit of each pair.
std::string junit_report(const Comparison& comparison);

/// By the file's extension: .txt, .md, .html, .json, .xml. A UsageError for any other.
ReportFormat format_of(const std::filesystem::path& file);
std::string render_report(const Comparison& comparison, ReportFormat format);

}  // namespace twinlink::validate
