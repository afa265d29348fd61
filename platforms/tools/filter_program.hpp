// Programs that read a text and write another one, where they are installed.
#pragma once

#include <string>
#include <vector>

namespace twinlink::model {

/// What `command`, a program and its arguments, writes when it reads `text`. An EnvironmentError if it fails, or if it
/// is missing, which then gives `advice`.
std::string filter_through(const std::vector<std::string>& command, const std::string& text, const std::string& advice);

}  // namespace twinlink::model
