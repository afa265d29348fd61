// Texts of several parts.
#pragma once

#include <string_view>
#include <vector>

namespace twinlink {

/// The parts of `text` between separators, empty ones included; at least one. They look into `text`.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace twinlink
