// When something was measured, as far as texts tell.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

namespace twinlink::validate {

/// The day of "2026-11-23", whatever follows; nothing: there is no such day.
std::optional<std::chrono::sys_days> day_of(const std::string& date);

/// The first "2026-11-23" or "2026-11-23T07:48" in a path, the innermost folder first; empty: there is none.
std::string date_in(const std::filesystem::path& path);

}  // namespace twinlink::validate
