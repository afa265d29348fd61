// What --set does to a platform file before it is read.
#pragma once

#include <string_view>

#include "platforms/yaml/yaml_document.hpp"

namespace twinlink::platforms {

/// Replaces one value: "PATH=VALUE", with PATH as in "nodes.links.qpi.forward" or "driver.fallback.chunk". Of a
/// number, the value is replaced and its source becomes "assumed". A UsageError says what there is instead of a path
/// element that is missing.
void apply_override(YamlValue& document, std::string_view assignment);

}  // namespace twinlink::platforms
