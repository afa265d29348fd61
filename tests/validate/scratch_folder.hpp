// A folder for one test's files, gone when the test ends.
#pragma once

#include <filesystem>
#include <string>

namespace twinlink::validate::test {

class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Writes a file into the folder and returns its path.
  [[nodiscard]] std::filesystem::path write(const std::string& name, const std::string& content) const;

 private:
  std::filesystem::path path_;
};

/// The whole file; a runtime_error if it cannot be read.
std::string read_file(const std::filesystem::path& file);

}  // namespace twinlink::validate::test
