// Where platform files lie, and finding one by its name.
#pragma once

#include <filesystem>
#include <string>

namespace twinlink::model {

/// TWINLINK_PLATFORMS, or else what lies beside the program: platforms/ of the project that it was built in, or
/// share/twinlink/platforms/ of where it is installed, or else platforms/ in the current folder. A UsageError if there
/// is none.
std::filesystem::path platforms_folder();

/// The file that the user means by `named`: a path, or the name of a file in platforms_folder() without its ".yaml". A
/// UsageError for an unknown name lists what there is.
std::filesystem::path find_platform(const std::filesystem::path& named);

}  // namespace twinlink::model
