#include "protocols/bench/workload/recorded/recorded_files.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "protocols/bench/results/files.hpp"
#include "protocols/bench/workload/recorded/nccl_records.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::bench {
namespace {

namespace fs = std::filesystem;

/// The first whose beginning fits.
struct Kind {
  std::string_view name;
  bool (*fits)(std::string_view beginning);
  Profiles (*read)(const std::vector<fs::path>& files);
};
constexpr std::array<Kind, 2> kKinds{{
    {"records of NCCL", is_nccl_record, read_nccl_records},
    {"profiles of PyTorch", [](std::string_view) { return true; }, read_profiles},
}};

const Kind& kind_of(const fs::path& file) {
  if (is_special(file)) return kKinds.back();  // A pipe is read once.
  constexpr std::size_t kBeginning = 4096;
  std::string beginning(kBeginning, 0);
  const auto stream = open_to_read(file);
  stream->read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  beginning.resize(static_cast<std::size_t>(stream->gcount()));
  return *std::ranges::find_if(kKinds, [&](const Kind& kind) { return kind.fits(beginning); });
}

std::vector<fs::path> files_in(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (entry.is_regular_file() && !entry.path().filename().string().starts_with('.')) files.push_back(entry.path());
  }
  if (files.empty()) throw InputError(fmt::format("{}: error: there is no file in this folder", path.string()));
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::vector<fs::path> files_in_folders(const std::vector<fs::path>& paths) {
  std::vector<fs::path> all;
  for (const fs::path& path : paths) std::ranges::copy(files_in(path), std::back_inserter(all));
  return all;
}

RecordedFiles read_recorded(const std::vector<fs::path>& paths) {
  const std::vector<fs::path> all = files_in_folders(paths);
  const Kind& kind = kind_of(all.at(0));
  for (const fs::path& file : all) {
    const Kind& other = kind_of(file);
    if (&other == &kind) continue;
    throw InputError(fmt::format("{}: error: {}, and {} is {}: convert them apart", file.string(), other.name,
                                 all[0].string(), kind.name));
  }
  return {std::string(kind.name), kind.read(all)};
}

}  // namespace twinlink::bench
