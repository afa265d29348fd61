// What a user sets about a protocol: the options --preset, --chunk, --depth and -o, the same in every command.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocols/core/protocol.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace twinlink::bench {

/// By name or alias, as -o takes them.
using NamedValues = std::vector<std::pair<std::string, std::string>>;

struct SettingsOptions {
  std::string preset{};          ///< empty: the protocol's defaults; all others win over it
  std::optional<Bytes> chunk{};  ///< empty: the protocol's default
  std::optional<int> depth{};    ///< likewise
  NamedValues options{};         ///< the protocol's own
  /// The library of the machine, whose preset a protocol that has it takes where `preset` is empty.
  std::string library{};
};

/// `options` must live until the command line has been parsed.
void add_settings_options(CLI::App& app, SettingsOptions& options);
/// -o alone, or the same under another name.
CLI::Option* add_named_values(CLI::App& app, NamedValues& values, const std::string& description,
                              const std::string& flags = "-o,--option");

/// The preset that is meant: the one that is named, or the library's; empty: the protocol's defaults.
std::string preset_of(const Protocol& protocol, const SettingsOptions& options);
/// A UsageError for a preset or an option that `protocol` does not have, and for values that it cannot have.
Settings make_settings(const Protocol& protocol, const SettingsOptions& options);

}  // namespace twinlink::bench
