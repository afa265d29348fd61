#include "platforms/yaml/yaml_number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace twinlink::platforms {
namespace {

using Kind = YamlValue::Kind;

struct Unit {
  double factor;
  const char* name;
};

/// In the largest unit that leaves at least 1 before the point; the last unit for what is smaller. Never with an
/// exponent, which no reader of units knows.
YamlValue with_unit(double value, int digits, const std::array<Unit, 4>& units) {
  // What would be written as 1000 of a unit is 1 of the next.
  const double rounds_to_one = 1 - 0.5 * std::pow(10, -digits);
  const auto fits = std::ranges::find_if(units, [&](const Unit& unit) { return value >= unit.factor * rounds_to_one; });
  const Unit& unit = fits == units.end() ? units.back() : *fits;
  std::string text = fmt::format("{:.{}g}", value / unit.factor, digits);
  if (text.find('e') != std::string::npos) text = fmt::format("{:.9f}", value / unit.factor);
  return YamlValue(text + " " + unit.name);
}

}  // namespace

YamlValue yaml_value(Rate rate, const Precision& precision) {
  return with_unit(rate.bytes_per_second(), precision.rate_digits,
                   {{{1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}}});
}

YamlValue yaml_value(Seconds time, const Precision& precision) {
  // Less has no digit among those that with_unit() writes.
  constexpr Seconds kLeast{0.5e-18};
  if (time < std::max(precision.least, kLeast)) return YamlValue("0 us");
  return with_unit(time.value(), precision.time_digits, {{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}});
}

YamlValue yaml_value(Ratio ratio, const Precision& /*precision*/) { return YamlValue(format_ratio(ratio)); }

YamlValue yaml_value(Flops flops, const Precision& /*precision*/) { return YamlValue(format_flops(flops)); }

YamlValue yaml_value(Bytes size, const Precision& /*precision*/) { return YamlValue(format_bytes(size)); }

YamlValue yaml_value(const Piecewise& curve, const Precision& precision) {
  if (curve.knots().size() == 1) return yaml_value(curve.knots().front().cost, precision);
  YamlValue points(Kind::list, {});
  for (const auto& [size, cost] : curve.knots()) {
    YamlValue& point = points.items.emplace_back(Kind::list, Position{});
    point.items = {yaml_value(size, precision), yaml_value(cost, precision)};
  }
  return points;
}

YamlValue yaml_number(YamlValue value, Quality quality, const std::string& source) {
  YamlValue number(Kind::map, {});
  number.add("value", std::move(value));
  number.add(to_string(quality), YamlValue(source));
  return number;
}

void for_each_source(YamlValue& tree, const std::function<void(std::string&)>& visit) {
  for (auto& [key, position, value] : tree.entries) {
    const auto is_named = [&key = key](Quality quality) { return key == to_string(quality); };
    if (tree.is_number() && std::ranges::any_of(kQualities, is_named)) visit(value.text);
    for_each_source(value, visit);
  }
  for (YamlValue& item : tree.items) for_each_source(item, visit);
}

}  // namespace twinlink::platforms
