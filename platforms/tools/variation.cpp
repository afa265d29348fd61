#include "platforms/tools/variation.hpp"

#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "platforms/reader/platform_reader.hpp"
#include "platforms/reader/platform_writer.hpp"
#include "platforms/yaml/sourced.hpp"
#include "platforms/yaml/yaml_number.hpp"
#include "platforms/yaml/yaml_text.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::platforms {
namespace {

/// `path` with the point of a curve.
std::string point_path(const std::string& path, const YamlValue& size) {
  return path + "[" + format_size(parse_bytes(size.text)) + "]";
}

/// Visits the text of every number, in the order of the tree.
void each_number(const std::string& path, YamlValue& here,
                 const std::function<void(const std::string&, YamlValue&)>& visit) {
  if (YamlValue* value = here.find("value")) {
    if (value->kind != YamlValue::Kind::list) return visit(path, *value);
    for (YamlValue& point : value->items) visit(point_path(path, point.items[0]), point.items[1]);
    return;
  }
  for (YamlValue::Entry& entry : here.entries) {
    each_number(path.empty() ? entry.key : path + "." + entry.key, entry.value, visit);
  }
}

/// Changes a number with its unit. Returns by how much it has grown.
double scale(YamlValue& value, double factor) {
  constexpr double kPercent = 100;
  const std::string& text = value.text;
  if (text.ends_with("%")) {
    value = yaml_value(Ratio{std::stod(text) / kPercent * factor}, kExact);
  } else if (text.ends_with("FLOP/s")) {
    value = yaml_value(Flops{std::stod(text) * kTeraflops * factor}, kExact);
  } else if (text.ends_with("/s")) {
    value = yaml_value(Rate{parse_rate(text).bytes_per_second() * factor}, kExact);
  } else if (text.ends_with("B")) {
    const auto before = static_cast<double>(parse_bytes(text).count());
    double after = std::round(before * factor);
    if (after == before) after += factor > 1 ? 1 : -1;
    if (before == 0 || after < 0) return 0;
    value = yaml_value(Bytes{static_cast<std::uint64_t>(after)}, kExact);
    return after / before - 1;
  } else {
    value = yaml_value(parse_seconds(text) * factor, kExact);
  }
  return factor - 1;
}

}  // namespace

Variations::Variations(const Platform& platform)
    : within_node_(platform.within_node),
      later_faults_(platform.later_faults),
      slowed_parts_(platform.slowed_parts),
      failures_(platform.failures),
      cables_(platform.fabric ? platform.fabric->faults : std::vector<CableFault>{}),
      file_(platform.file),
      tree_(platform_tree(platform)) {
  each_number("", tree_, [&](const std::string& path, const YamlValue& value) {
    numbers_.push_back({path, value.text});
  });
}

Platform Variations::with(std::size_t number, double factor) const {
  YamlValue tree = tree_;
  std::size_t index = 0;
  each_number("", tree, [&](const std::string&, YamlValue& value) {
    if (index++ == number) scale(value, factor);
  });
  return read(tree);
}

double Variations::growth(std::size_t number, double factor) const {
  YamlValue value(numbers_[number].text);
  return scale(value, factor);
}

Platform Variations::unchanged() const { return read(tree_); }

Platform Variations::read(const YamlValue& tree) const {
  Platform platform = read_platform_text(to_yaml(tree), file_);
  set_within_node(platform, within_node_);
  platform.later_faults = later_faults_;
  platform.slowed_parts = slowed_parts_;
  platform.failures = failures_;
  if (platform.fabric) platform.fabric->faults = cables_;
  return platform;
}

}  // namespace twinlink::platforms
