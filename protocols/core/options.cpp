#include "protocols/core/options.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <vector>

#include "protocols/core/text.hpp"

namespace twinlink {
namespace {

std::uint64_t parse_count(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) throw UsageError("'" + std::string(text) + "' is no whole number");
  return number;
}

const Option* find(const Protocol& protocol, std::string_view name) {
  const auto options = protocol.options();
  const auto found = std::ranges::find(options, name, &Option::name);
  return found == options.end() ? nullptr : &*found;
}

/// The alias of that name; of what is none, one that means itself.
Alias resolve(const Protocol& protocol, std::string_view name) {
  const auto aliases = protocol.aliases();
  const auto found = std::ranges::find(aliases, name, &Alias::name);
  return found == aliases.end() ? Alias{.name = name, .target = name} : *found;
}

Bytes parse_chunk(std::string_view text, Bytes header) {
  const Bytes size = parse_size(text);
  if (size == Bytes{}) throw UsageError("a block of 0 bytes moves nothing");
  if (header == Bytes{} || size > header) return size - header;
  throw UsageError("'" + std::string(text) + "' has no room beside the header of " + format_size(header));
}

std::string who(const Protocol& protocol) { return "protocol '" + std::string(protocol.name()) + "'"; }

void check_value(const Option& option, std::string_view value) {
  if (option.values == "SIZE") {
    static_cast<void>(parse_size(value));
  } else if (option.values == "COUNT") {
    static_cast<void>(parse_count(value));
  } else {
    std::string_view names = option.values;
    std::vector<std::string_view> values{value};
    if (names.ends_with(kOfList)) {
      names.remove_suffix(kOfList.size());
      values = split(value.substr(value.starts_with('^') ? 1 : 0), ',');
    }
    const auto choices = split(names, '|');
    for (const std::string_view each : values) {
      if (std::ranges::find(choices, each) != choices.end()) continue;
      throw UsageError("'" + std::string(each) + "' is none of " + std::string(option.values));
    }
  }
}

[[noreturn]] void fail_unknown(const Protocol& protocol, std::string_view name) {
  std::vector<std::string> names;
  for (const Option& option : protocol.options()) names.emplace_back(option.name);
  for (const Alias& alias : protocol.aliases()) names.emplace_back(alias.name);
  std::string message = who(protocol) + " has no option '" + std::string(name) + "'";
  if (const std::string guess = closest(name, names); !guess.empty()) message += "; did you mean '" + guess + "'?";
  message += names.empty() ? " (it has none)" : " (there are:";
  for (const std::string& known : names) message += " " + known;
  throw UsageError(message + (names.empty() ? "" : ")"));
}

int parse_depth(std::string_view text) {
  const std::uint64_t depth = parse_count(text);
  if (depth >= 1 && depth <= kMaxDepth) return static_cast<int>(depth);
  throw UsageError("'" + std::string(text) + "' is not between 1 and " + std::to_string(kMaxDepth));
}

}  // namespace

void set_option(const Protocol& protocol, Settings& settings, std::string_view name, std::string_view value) {
  const Alias alias = resolve(protocol, name);
  const std::string_view target = alias.target;
  try {
    if (target == "chunk" && target != name) {
      settings.chunk = parse_chunk(value, alias.header);
    } else if (target == "depth" && target != name) {
      settings.depth = parse_depth(value);
    } else if (const Option* option = find(protocol, target)) {
      check_value(*option, value);
      settings.options[std::string(target)] = value;
    } else {
      fail_unknown(protocol, name);
    }
  } catch (const UsageError& error) {
    if (target == name && find(protocol, target) == nullptr) throw;
    throw UsageError(who(protocol) + ", option '" + std::string(name) + "': " + error.what());
  }
}

void set_options(const Protocol& protocol, Settings& settings,
                 std::span<const std::pair<std::string, std::string>> named_values) {
  for (const auto& [name, value] : named_values) set_option(protocol, settings, name, value);
  for (const auto& [name, value] : named_values) {
    for (const auto& [other, others_value] : named_values) {
      if (name == other || resolve(protocol, name).target != resolve(protocol, other).target) continue;
      Settings one = protocol.defaults();
      Settings two = one;
      set_option(protocol, one, name, value);
      set_option(protocol, two, other, others_value);
      if (one.chunk == two.chunk && one.depth == two.depth && one.options == two.options) continue;
      throw UsageError(who(protocol) + ": " + name + "=" + value + " and " + other + "=" + others_value +
                       " are two values of one option");
    }
  }
}

const Preset& find_preset(const Protocol& protocol, std::string_view name) {
  const auto presets = protocol.presets();
  const auto found = std::ranges::find(presets, name, &Preset::name);
  if (found != presets.end()) return *found;
  std::string message = who(protocol) + " has no preset '" + std::string(name) + "'";
  message += presets.empty() ? " (it has none)" : " (there are:";
  for (const Preset& preset : presets) message += " " + std::string(preset.name);
  throw UsageError(message + (presets.empty() ? "" : ")"));
}

OptionReader::OptionReader(const Protocol& protocol, const Settings& settings)
    : protocol_(protocol), settings_(settings) {
  for (const auto& [name, value] : settings.options) {
    Settings ignored;
    set_option(protocol, ignored, name, value);
  }
}

std::string_view OptionReader::text(std::string_view name) const {
  if (const auto set = settings_.options.find(std::string(name)); set != settings_.options.end()) return set->second;
  const Option* const option = find(protocol_, name);
  assert(option != nullptr);
  return option->default_value;
}

std::vector<std::string_view> OptionReader::list(std::string_view name) const {
  const std::string_view value = text(name);
  return split(value.substr(value.starts_with('^') ? 1 : 0), ',');
}

Bytes OptionReader::size(std::string_view name) const { return parse_size(text(name)); }

std::uint64_t OptionReader::count(std::string_view name) const { return parse_count(text(name)); }

}  // namespace twinlink
