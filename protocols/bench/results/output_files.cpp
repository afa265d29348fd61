#include "protocols/bench/results/output_files.hpp"

#include <algorithm>
#include <cassert>
#include <optional>
#include <set>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "protocols/bench/results/files.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::bench {
namespace {

namespace fs = std::filesystem;

struct Output {
  std::string name{};
  fs::path file{};
  bool written = false;  ///< and so may be read
};

struct Files {
  std::set<fs::path> inputs{};  ///< a fleet has tens of thousands
  std::vector<Output> outputs{};
};

/// One list for the process, for whoever opens a file knows of nobody who writes one.
std::optional<Files>& files() {
  static std::optional<Files> files_in_use;
  return files_in_use;
}

/// Where there is no file yet, the paths decide.
bool are_one(const fs::path& one, const fs::path& other) {
  if (one.empty() || other.empty() || is_special(one) || is_special(other)) return false;
  std::error_code ignored;
  if (fs::equivalent(one, other, ignored)) return true;
  const auto place = [&](const fs::path& file) {
    return fs::weakly_canonical(fs::absolute(follow_links(file)), ignored);
  };
  return place(one) == place(other);
}

[[noreturn]] void refuse(const Output& output) {
  throw UsageError(fmt::format("{}{}{} would overwrite an input; name another file", output.name,
                               output.name.empty() ? "" : " ", output.file.string()));
}

void require_no_input(const Output& output) {
  if (!files()) return;
  const auto is_output = [&](const fs::path& input) { return are_one(output.file, input); };
  if (std::ranges::any_of(files()->inputs, is_output)) refuse(output);
}

}  // namespace

FilesInUse::FilesInUse() {
  assert(!files());
  files().emplace();
}

FilesInUse::~FilesInUse() { files().reset(); }

void note_input(const fs::path& file) {
  if (!files() || !files()->inputs.insert(file).second) return;
  for (const Output& output : files()->outputs) {
    if (!output.written && are_one(output.file, file)) refuse(output);
  }
}

void note_output(const std::string& name, const fs::path& file) {
  if (!files() || file.empty()) return;
  if (file == "-") throw UsageError(fmt::format("{} - is no file: name one, or ./-, or see what is printed", name));
  require_no_input(Output{name, file});
  for (const Output& other : files()->outputs) {
    if (!are_one(file, other.file)) continue;
    if (other.name == name && other.file == file) return;
    throw UsageError(fmt::format("{} {} and {} {} are the same file; name another one", other.name, other.file.string(),
                                 name, file.string()));
  }
  files()->outputs.push_back({name, file});
}

void note_written(const fs::path& file) {
  if (!files()) return;
  for (Output& output : files()->outputs) output.written = output.written || output.file == file;
}

void require_output(const std::string& name, const fs::path& file) {
  if (file.empty()) return;
  note_output(name, file);
  require_writable(file);
}

void require_no_input(const fs::path& file) { require_no_input(Output{{}, file}); }

}  // namespace twinlink::bench
