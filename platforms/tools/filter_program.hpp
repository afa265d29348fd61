// Programs that read a text and write another one, where they are installed.
#pragma once

#include <string>
#include <vector>

namespace twinlink::platforms {

/// What `command`, a program and its arguments, writes when it reads `text`. An EnvironmentError if it fails, or if it
/// is missing, which then gives `advice`.
std::string filter_through(const std::vector<std::string>& command, const std::string& text, const std::string& advice);

/// The picture that `dot` makes of a text in its language, as SVG. An EnvironmentError if the program is missing, which
/// names the package, or if it fails.
std::string svg_of(const std::string& dot_text);

}  // namespace twinlink::platforms
