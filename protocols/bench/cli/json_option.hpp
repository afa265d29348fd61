// --json of commands that print for people.
#pragma once

#include <filesystem>

#include <nlohmann/json_fwd.hpp>

namespace CLI {
class App;
}  // namespace CLI

namespace twinlink::bench {

/// `file` must live until the command line has been parsed, and stays empty unless it is named.
void add_json_option(CLI::App& app, std::filesystem::path& file);

/// To be asked before any work. A UsageError if the file that was named cannot be written or is an input.
void require_json_option(const std::filesystem::path& file);

/// Writes to the file that was named, if one was.
void write_json_option(const std::filesystem::path& file, const nlohmann::json& json);

}  // namespace twinlink::bench
