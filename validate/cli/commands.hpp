// The commands of twinlink-validate.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "protocols/core/errors.hpp"
#include "validate/import/import.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace twinlink::validate {

/// What the command that was asked for does.
using Action = std::function<ExitCode()>;

/// Each adds its command; when that is parsed, it sets `action`, which must live until then.
void add_compare_command(CLI::App& app, Action& action);
void add_calibrate_command(CLI::App& app, Action& action);
void add_suspect_command(CLI::App& app, Action& action);
void add_fleet_command(CLI::App& app, Action& action);
void add_ceiling_command(CLI::App& app, Action& action);
void add_import_command(CLI::App& app, Action& action);
void add_table_command(CLI::App& app, Action& action);
void add_settings_command(CLI::App& app, Action& action);

/// The platform of `--base`, which is `--platform` as well, or else the one .yaml file among `files`, which is taken
/// out. A UsageError where there is none.
std::filesystem::path take_platform(const std::string& base, std::vector<std::string>& files);

/// --size and --table, which files of other tools may need.
void add_file_wishes(CLI::App& command, ImportWishes& wishes);

}  // namespace twinlink::validate
