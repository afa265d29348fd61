// What a command writes must be other files than what it reads, and than each other.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace twinlink::bench {

/// A file of the command line, and what the user calls it: "--json", "the base".
struct NamedFile {
  std::string name{};
  std::filesystem::path file{};  ///< empty: there is none
};
using NamedFiles = std::vector<NamedFile>;

/// Several files of one name, such as all that a command compares.
NamedFiles named(const std::string& name, const std::vector<std::filesystem::path>& files);

/// To be asked before any work. A UsageError if an output is the same file as an input or another output, whatever
/// their paths. Pipes and devices may be named twice.
void require_other_files(const NamedFiles& outputs, const NamedFiles& inputs);

}  // namespace twinlink::bench
