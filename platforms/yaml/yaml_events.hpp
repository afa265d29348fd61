// One YAML text as a tree: the only place that speaks to yaml-cpp.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "platforms/yaml/yaml_document.hpp"

namespace twinlink::platforms {

/// The values that one platform may have, all its files, expanded aliases and ranges together: a guard against files
/// that are small and expand without end.
class YamlBudget {
 public:
  static constexpr std::size_t kValues = 100'000;
  /// Takes `values` from what is left; false if there is not enough.
  [[nodiscard]] bool take(std::size_t values) {
    if (values > left_) return false;
    left_ -= values;
    return true;
  }

 private:
  std::size_t left_ = kValues;
};

/// Number of values in a tree, itself included.
std::size_t count_values(const YamlValue& value);

/// Parses `text`; `file` is the name for messages. A text without any value gives a null. What is wrong goes into
/// `diagnostics`, in the text's own words only if `quotes`; the result is nothing if the rest of the text could not be
/// read either.
std::optional<YamlValue> parse_yaml(const std::string& text, const std::shared_ptr<const std::string>& file,
                                    YamlBudget& budget, Diagnostics& diagnostics, bool quotes = true);

}  // namespace twinlink::platforms
