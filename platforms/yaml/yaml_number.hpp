// The numbers of a platform file as values of its tree: the counterpart of what the reader does with them.
#pragma once

#include <functional>
#include <string>

#include "platforms/yaml/sourced.hpp"
#include "platforms/yaml/yaml_document.hpp"

namespace twinlink::platforms {

/// How many significant digits are written.
struct Precision {
  int rate_digits = 0;
  int time_digits = 0;
  Seconds least{};  ///< less is written as zero
};
/// What a double can say, but for its last digits, in which decimal fractions become ugly.
inline constexpr Precision kExact{12, 12, Seconds{1e-18}};
/// What a measurement is good for. Less than `least` is what rounding errors leave of a zero.
inline constexpr Precision kMeasured{5, 4, Seconds{1e-12}};

YamlValue yaml_value(Rate rate, const Precision& precision);
YamlValue yaml_value(Seconds time, const Precision& precision);
YamlValue yaml_value(Ratio ratio, const Precision& precision);
YamlValue yaml_value(Flops flops, const Precision& precision);
/// Always exact.
YamlValue yaml_value(Bytes size, const Precision& precision);
/// A single time if there is but one.
YamlValue yaml_value(const Piecewise& curve, const Precision& precision);

/// A number: the value with its source, which is a text or the name of one.
YamlValue yaml_number(YamlValue value, Quality quality, const std::string& source);

/// Calls `visit` with the source of every number in the tree.
void for_each_source(YamlValue& tree, const std::function<void(std::string&)>& visit);

}  // namespace twinlink::platforms
