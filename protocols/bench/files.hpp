// Files that are written whole or not at all, and JSON files that say what is wrong with them.
#pragma once

#include <filesystem>
#include <string_view>

#include <nlohmann/json.hpp>

namespace twinlink::bench {

/// Writes a temporary beside `file` and renames it. An EnvironmentError with the system's text.
void write_file(const std::filesystem::path& file, std::string_view content);

/// An InputError that names the file if it cannot be read or is not JSON.
nlohmann::json read_json_file(const std::filesystem::path& file);
/// Indented, with a line end. An EnvironmentError as for write_file().
void write_json_file(const std::filesystem::path& file, const nlohmann::json& json);

}  // namespace twinlink::bench
