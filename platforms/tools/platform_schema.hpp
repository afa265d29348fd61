// The form of a platform file as a JSON Schema, which editors check files by while they are written.
#pragma once

#include <string>

namespace twinlink::platforms {

/// JSON Schema, draft 7, of platforms and of parts that they include: so nothing is required but the value and the
/// source of a number. Ends in a line break. Numbers are those of platform_fields.hpp.
std::string platform_schema();

}  // namespace twinlink::platforms
