// Writes a platform file: the counterpart of the reader.
#pragma once

#include <string>
#include <vector>

#include "platforms/machine/platform.hpp"
#include "platforms/yaml/yaml_document.hpp"

namespace twinlink::platforms {

/// The text of a file that read_platform() reads back to `platform`: numbers keep twelve digits, sources their quality
/// and their words. Texts that several numbers share stand in `sources`. `heading`: lines of comment to begin with.
/// Nothing is checked; the reader does that.
std::string platform_text(const Platform& platform, const std::vector<std::string>& heading = {});

/// The tree of the file that would be written: every part, word and number in one form, to compare and to change. No
/// part of it has a place in a file that exists.
YamlValue platform_tree(const Platform& platform);

}  // namespace twinlink::platforms
