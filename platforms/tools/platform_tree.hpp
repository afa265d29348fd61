// A platform as the tree of the file that would be written of it: every part, word and number in one form.
#pragma once

#include "platforms/machine/platform.hpp"
#include "platforms/yaml/yaml_document.hpp"

namespace twinlink::model {

/// Numbers keep twelve digits. No part of the tree has a place in a file that exists.
YamlValue platform_tree(const Platform& platform);

}  // namespace twinlink::model
