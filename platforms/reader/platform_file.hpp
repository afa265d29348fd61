// Where platform files lie, and finding one by its name.
#pragma once

#include <filesystem>
#include <string>

namespace twinlink::platforms {

/// TWINLINK_PLATFORMS, or else installed_platforms(), or else what lies beside the program: platforms/ of the project
/// that it was built in, or share/twinlink/platforms/ of where it is installed, or else platforms/ in the current
/// folder. A UsageError if there is none.
std::filesystem::path platforms_folder();

/// The same, or an empty path where there is none: for `include: parts/...` of files that lie elsewhere.
std::filesystem::path shared_parts();

/// Those of the installation that a program of another project was built with. Such a program has a definition of its
/// own (cmake/platforms.cpp.in); for ours it is empty, for they find their platforms beside themselves.
std::filesystem::path installed_platforms();

/// The file that the user means by `named`: a path, which has a '/' or ends in ".yaml", or else the name of a file in
/// platforms_folder() without its ".yaml", whatever the current folder has. A UsageError for an unknown name lists what
/// there is.
std::filesystem::path find_platform(const std::filesystem::path& named);

}  // namespace twinlink::platforms
