#include "protocols/bench/cli/settings_options.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "protocols/bench/cli/options.hpp"
#include "protocols/core/options.hpp"

namespace twinlink::bench {

CLI::Option* add_named_values(CLI::App& app, NamedValues& values, const std::string& description,
                              const std::string& flags) {
  const auto take = [&values, flags](const std::vector<std::string>& texts) {
    values.clear();
    for (const std::string& text : texts) {
      const std::size_t equals = text.find('=');
      if (equals == std::string::npos) {
        throw CLI::ValidationError(flags.substr(flags.find("--")), fmt::format("'{}' is no NAME=VALUE", text));
      }
      values.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  };
  return app.add_option_function<std::vector<std::string>>(flags, take, description)
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

void add_settings_options(CLI::App& app, SettingsOptions& options) {
  app.add_option("--preset", options.preset, "The settings of a library that people run; 'list' says which there are")
      ->type_name("NAME");
  add_read_option(app, "--chunk", "SIZE", "the protocol's", "Cut messages into pieces of this size; 0 does not",
                  [&options](const std::string& text) { options.chunk = parse_size(text); });
  add_count_option(app, "--depth", 1, kMaxDepth, "the protocol's", "Pieces under way at once",
                   [&options](int depth) { options.depth = depth; });
  add_named_values(app, options.options, "Set an option of the protocol; may be repeated; 'list' says which there are");
}

namespace {

/// --chunk and --depth are names of their own beside those of libraries.
void require_one_value(const Protocol& protocol, const SettingsOptions& options) {
  for (const auto& [name, value] : options.options) {
    Settings set = protocol.defaults();
    set_option(protocol, set, name, value);
    const auto alias = std::ranges::find(protocol.aliases(), name, &Alias::name);
    if (alias == protocol.aliases().end()) continue;
    const bool chunks = alias->target == "chunk" && options.chunk && options.chunk != set.chunk;
    const bool depths = alias->target == "depth" && options.depth && options.depth != set.depth;
    if (!chunks && !depths) continue;
    throw UsageError(fmt::format("protocol '{}': --{} {} and {}={} are two values of one option", protocol.name(),
                                 alias->target, chunks ? format_size(*options.chunk) : std::to_string(*options.depth),
                                 name, value));
  }
}

}  // namespace

std::string preset_of(const Protocol& protocol, const SettingsOptions& options) {
  if (!options.preset.empty()) return options.preset;
  const bool known = std::ranges::find(protocol.presets(), options.library, &Preset::name) != protocol.presets().end();
  return known ? options.library : "";
}

Settings make_settings(const Protocol& protocol, const SettingsOptions& options) {
  const std::string preset = preset_of(protocol, options);
  Settings settings = preset.empty() ? protocol.defaults() : find_preset(protocol, preset).settings;
  set_options(protocol, settings, options.options);
  require_one_value(protocol, options);
  if (options.chunk) settings.chunk = options.chunk;
  if (options.depth) settings.depth = options.depth;
  return settings;
}

}  // namespace twinlink::bench
