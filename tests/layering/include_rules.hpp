// The folder rule: which part of the project may include what.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace twinlink::layering {

/// What a check of source files came to.
struct Report {
  std::map<std::string, int> files;   ///< by part of the project: how many files were looked at
  std::vector<std::string> findings;  ///< "file:line: what is wrong"
};

/// Checks every C++ and CUDA source file in the folders of the project below `root`.
Report check_includes(const std::filesystem::path& root);

}  // namespace twinlink::layering
