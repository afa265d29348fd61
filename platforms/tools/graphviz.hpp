// Graphviz's own program, where it is installed.
#pragma once

#include <string>

namespace twinlink::model {

/// The picture that `dot` makes of a text in its language, as SVG. An EnvironmentError if the program is missing, which
/// names the package, or if it fails.
std::string svg_of(const std::string& dot_text);

}  // namespace twinlink::model
