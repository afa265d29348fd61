// Writes a platform file: the counterpart of the reader.
#pragma once

#include <string>
#include <vector>

#include "platforms/machine/platform.hpp"

namespace twinlink::model {

/// The text of a file that read_platform() reads back to `platform`: numbers keep twelve digits, sources their quality
/// and their words. Texts that several numbers share stand in `sources`. `heading`: lines of comment to begin with.
/// Nothing is checked; the reader does that.
std::string platform_text(const Platform& platform, const std::vector<std::string>& heading = {});

}  // namespace twinlink::model
