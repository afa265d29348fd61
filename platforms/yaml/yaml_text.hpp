// A tree of YAML values as the text of a platform file, in the form that people write: a number with its source on one
// line, texts that are too long folded.
#pragma once

#include <string>
#include <vector>

#include "platforms/yaml/yaml_document.hpp"

namespace twinlink::platforms {

/// The text, which parse_yaml() reads as the same tree; it begins with `heading`, lines of comment. A comment right
/// above a key is taken over from the file that the key's position names; a position without a line has none. Files
/// that are gone give no comments.
std::string to_yaml(const YamlValue& document, const std::vector<std::string>& heading = {});

}  // namespace twinlink::platforms
