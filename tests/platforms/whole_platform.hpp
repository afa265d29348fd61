// The platform that says every key: tests/bad_platforms/parts/whole.yaml.
#pragma once

#include <filesystem>

#include "platforms/reader/platform_reader.hpp"

namespace twinlink::platforms::testing {

inline const std::filesystem::path kWhole = "tests/bad_platforms/parts/whole.yaml";
inline Platform whole_platform() { return read_platform(kWhole); }

}  // namespace twinlink::platforms::testing
