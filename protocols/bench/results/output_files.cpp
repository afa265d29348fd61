#include "protocols/bench/results/output_files.hpp"

#include <system_error>

#include <fmt/format.h>

#include "protocols/bench/results/files.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::bench {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

NamedFiles named(const std::string& name, const std::vector<fs::path>& files) {
  NamedFiles all;
  for (const fs::path& file : files) all.push_back({name, file});
  return all;
}

void require_other_files(const NamedFiles& outputs, const NamedFiles& inputs) {
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    for (const NamedFile& input : inputs) {
      if (!are_one(output->file, input.file)) continue;
      throw UsageError(
          fmt::format("{} {} would overwrite {}; name another file", output->name, output->file.string(), input.name));
    }
    for (auto other = outputs.begin(); other != output; ++other) {
      if (!are_one(output->file, other->file)) continue;
      throw UsageError(fmt::format("{} {} and {} {} are the same file; name another one", other->name,
                                   other->file.string(), output->name, output->file.string()));
    }
  }
}

}  // namespace twinlink::bench
