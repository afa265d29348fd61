// A comparison for people and for programs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "validate/compare/comparison.hpp"
#include "validate/compare/document.hpp"

namespace twinlink::validate {

inline constexpr int kComparisonSchema = 1;

enum class ReportFormat { text, markdown, json };

/// For the terminal: every size, then the summary and, last, the verdict.
Document terminal_report(const Comparison& comparison);
/// To be kept: the verdict first, then the figures, and last both files' command lines and environments.
Document full_report(const Comparison& comparison);
/// Everything, unrounded. Errors are fractions.
nlohmann::json json_report(const Comparison& comparison);

/// By the file's extension: .txt, .md, .json. A UsageError for any other.
ReportFormat format_of(const std::filesystem::path& file);
std::string render_report(const Comparison& comparison, ReportFormat format);

}  // namespace twinlink::validate
