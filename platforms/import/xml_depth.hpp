// How deep XML is nested: parsers and readers go into it by calls, and their stack has an end.
#pragma once

#include <string>
#include <string_view>

namespace twinlink::platforms {

/// An InputError that names `file` if elements of `text` are nested deeper than in any description of a machine. Text
/// that is no XML passes.
void require_shallow_xml(std::string_view text, const std::string& file);

}  // namespace twinlink::platforms
