// Reads a platform file: the schema of platforms/SCHEMA.md, checked to the last key.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "platforms/machine/platform.hpp"
#include "platforms/yaml/yaml_document.hpp"

namespace twinlink::platforms {

/// The `schema` of platform files that this program reads. A file of another one is an InputError at once: it would
/// give nothing but misleading errors.
inline constexpr int kPlatformSchema = 2;

/// Reads `named`, see find_platform(), with all that it includes, and replaces single values by `overrides`, each
/// "PATH=VALUE" as in "nodes.links.qpi.forward=9 GB/s". Throws InputError with everything that is wrong, one finding a
/// line ("file:line:col: error: text"), and UsageError for an override that names nothing. `change`, which may be
/// empty, may alter the document then, before it is checked.
Platform read_platform(const std::filesystem::path& named, std::span<const std::string> overrides = {},
                       const std::function<void(YamlValue&)>& change = {});

/// The same for a text that is not in a file yet and includes none; `name` stands for the file in messages.
Platform read_platform_text(const std::string& text, const std::string& name);

}  // namespace twinlink::platforms
