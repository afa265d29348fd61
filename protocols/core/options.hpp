// A protocol's own options: checked when they are set, read when a connection is opened. Command lines and studies set
// them; a protocol's connect() reads them:
//
//   const OptionReader read(*this, settings);
//   const Memory memory = read.choice("memory", kMemories);   // a table of names and values, choices.hpp
//   const std::uint64_t credits = read.count("credits");
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocols/core/choices.hpp"
#include "protocols/core/protocol.hpp"

namespace twinlink {

/// Sets an option, by its name or an alias. A UsageError for a name that `protocol` does not have (it names the closest
/// one and lists all) and for a value that the option cannot have.
void set_option(const Protocol& protocol, Settings& settings, std::string_view name, std::string_view value);

/// Sets all of them, in their order; of one name the last value counts. A UsageError that names both where one thing is
/// set by two names to two values.
void set_options(const Protocol& protocol, Settings& settings,
                 std::span<const std::pair<std::string, std::string>> named_values);

/// The preset of that name. A UsageError lists those that `protocol` has.
const Preset& find_preset(const Protocol& protocol, std::string_view name);

/// The options of one connection. The names are those of Protocol::options(): another one is our own bug.
class OptionReader {
 public:
  /// Both must outlive this object. A UsageError for options that set_option() would refuse.
  OptionReader(const Protocol& protocol, const Settings& settings);

  /// As the user wrote it, or the default.
  [[nodiscard]] std::string_view text(std::string_view name) const;
  /// Of an option whose values are "SIZE": "4K" is 4096 bytes.
  [[nodiscard]] Bytes size(std::string_view name) const;
  /// Of an option whose values are "COUNT".
  [[nodiscard]] std::uint64_t count(std::string_view name) const;
  /// The value beside the option's name in `table`, whose names are what the option may be.
  template <class Value, std::size_t kCount>
  [[nodiscard]] Value choice(std::string_view name, const Choices<Value, kCount>& table) const {
    const auto found = std::ranges::find(table, text(name), &OptionChoice<Value>::name);
    assert(found != table.end());
    return found->value;
  }
  /// What a list stands for, of an option with Choices::list_names(): its members, or all of `table` but those.
  template <class Value, std::size_t kCount>
  [[nodiscard]] std::vector<Value> choices(std::string_view name, const Choices<Value, kCount>& table) const {
    const bool all_but = text(name).starts_with('^');
    const std::vector<std::string_view> named = list(name);
    std::vector<Value> values;
    const auto add = [&](const Value& value) {
      if (std::ranges::find(values, value) == values.end()) values.push_back(value);
    };
    std::vector<Value> out;
    for (const auto& choice : table) {
      if (std::ranges::find(named, choice.name) == named.end()) continue;
      if (all_but) out.push_back(choice.value);
      if (!all_but) add(choice.value);
    }
    for (const auto& choice : table) {
      if (all_but && std::ranges::find(out, choice.value) == out.end()) add(choice.value);
    }
    return values;
  }

 private:
  [[nodiscard]] std::vector<std::string_view> list(std::string_view name) const;

  const Protocol& protocol_;
  const Settings& settings_;
};

}  // namespace twinlink
