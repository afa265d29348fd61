// YAML files as trees of texts with their places.
//
// yaml-cpp's own tree keeps duplicate keys silently, expands aliases without limit and reads 010 as 8. Here its parser
// only gives the events; every scalar stays a text until somebody knows what it should be.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/yaml/diagnostics.hpp"

namespace twinlink::platforms {

/// A scalar, a list or a map. Maps keep the order of the file.
struct YamlValue {
  enum class Kind { null, scalar, list, map };
  struct Entry;

  YamlValue();
  /// A scalar with its text, or an empty list or map.
  YamlValue(Kind of, Position at, std::string scalar = {});
  /// A scalar that no file holds.
  explicit YamlValue(std::string scalar);

  Kind kind = Kind::null;
  Position position{};
  std::string text{};            ///< of a scalar
  std::vector<YamlValue> items;  ///< of a list
  std::vector<Entry> entries;    ///< of a map

  /// The value under `key`, or nullptr if there is none or this is no map.
  [[nodiscard]] const YamlValue* find(std::string_view key) const;
  [[nodiscard]] YamlValue* find(std::string_view key);
  /// Is it a map of a value and its source?
  [[nodiscard]] bool is_number() const { return find("value") != nullptr; }
  /// Appends to a map; the key has no place in a file.
  YamlValue& add(std::string_view key, YamlValue value);
  /// The keys of a map.
  [[nodiscard]] std::vector<std::string> keys() const;
};

struct YamlValue::Entry {
  std::string key{};
  Position position{};  ///< of the key
  YamlValue value{};
};

/// Reads a file and all files that it names under its top-level key `include` (one name or a list, relative to the
/// file; "parts/..." that is not there is looked for in the folders above, and then in `shared`, unless that is empty).
/// Maps are merged and the including file wins; a number (a map with the key `value`) is replaced as a whole, and so is
/// a list. A `machine` below `kinds.NAME` is a file whose `nodes`, `gpu_types` and `sources` come in the same way. What
/// is wrong goes into `diagnostics`; the result is nothing if a part could not be read at all.
std::optional<YamlValue> load_yaml(const std::filesystem::path& file, Diagnostics& diagnostics,
                                   const std::filesystem::path& shared = {});

}  // namespace twinlink::platforms
