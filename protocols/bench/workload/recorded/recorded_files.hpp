// Files of a recorded job, whoever has recorded it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "protocols/bench/workload/recorded/kineto_file.hpp"

namespace twinlink::bench {

struct RecordedFiles {
  std::string kind{};  ///< "profiles of PyTorch"
  Profiles profiles{};
};

/// Files, and those in folders: none whose name begins with a dot, and none of folders below. An InputError for an
/// empty folder.
std::vector<std::filesystem::path> files_in_folders(const std::vector<std::filesystem::path>& paths);

/// Of files and of folders. An InputError for files of several kinds, and as their readers say.
RecordedFiles read_recorded(const std::vector<std::filesystem::path>& paths);

}  // namespace twinlink::bench
