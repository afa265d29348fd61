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

/// Of files and of folders, which stand for all files in them. An InputError for files of several kinds, and as their
/// readers say.
RecordedFiles read_recorded(const std::vector<std::filesystem::path>& files);

}  // namespace twinlink::bench
