// The commands of twinlink-validate.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "protocols/core/errors.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace twinlink::validate {

/// What the command that was asked for does.
using Action = std::function<ExitCode()>;

/// Each adds its command; when that is parsed, it sets `action`, which must live until then.
void add_compare_command(CLI::App& app, Action& action);
void add_calibrate_command(CLI::App& app, Action& action);
void add_ceiling_command(CLI::App& app, Action& action);
void add_import_command(CLI::App& app, Action& action);
void add_table_command(CLI::App& app, Action& action);
void add_settings_command(CLI::App& app, Action& action);

/// A UsageError if `out` is the same file as `input`, whatever their paths. `what`: what the command calls that one.
void require_another_file(const std::filesystem::path& out, const std::filesystem::path& input, std::string_view what);

}  // namespace twinlink::validate
