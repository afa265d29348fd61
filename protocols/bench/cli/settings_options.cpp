#include "protocols/bench/cli/settings_options.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "protocols/bench/cli/options.hpp"
#include "protocols/core/options.hpp"

namespace twinlink::bench {

void add_named_values(CLI::App& app, NamedValues& values, const std::string& description) {
  const auto take = [&values](const std::vector<std::string>& texts) {
    values.clear();
    for (const std::string& text : texts) {
      const std::size_t equals = text.find('=');
      if (equals == std::string::npos) {
        throw CLI::ValidationError("--option", fmt::format("'{}' is no NAME=VALUE", text));
      }
      values.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  };
  app.add_option_function<std::vector<std::string>>("-o,--option", take, description)
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

Settings make_settings(const Protocol& protocol, const SettingsOptions& options) {
  Settings settings = options.preset.empty() ? protocol.defaults() : find_preset(protocol, options.preset).settings;
  for (const auto& [name, value] : options.options) set_option(protocol, settings, name, value);
  settings.chunk = options.chunk.value_or(settings.chunk);
  settings.depth = options.depth.value_or(settings.depth);
  return settings;
}

}  // namespace twinlink::bench
