// The schema of platform files that this program reads.
#pragma once

#include "platforms/yaml/diagnostics.hpp"
#include "platforms/yaml/yaml_document.hpp"

namespace twinlink::model {

inline constexpr int kPlatformSchema = 2;

/// An InputError with all that was found so far for a file of another schema, which would give nothing but misleading
/// errors; of schema 1 it says what became of it.
void require_our_schema(const YamlValue& document, Diagnostics& diagnostics);

}  // namespace twinlink::model
