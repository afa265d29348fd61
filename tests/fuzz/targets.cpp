#include "tests/fuzz/targets.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <unistd.h>

#include "protocols/core/errors.hpp"

namespace twinlink::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::array kTargets{
    Target{"platform", read_platform_alone},
    Target{"platform-part", read_platform_with_part},
    Target{"release", read_release},
    Target{"set", read_overrides},
    Target{"placement", read_placement},
#ifdef TWINLINK_FUZZ_TOPOLOGY
    Target{"topology", read_topology},
#endif
    Target{"result", read_result},
    Target{"probes", read_probes},
    Target{"import-osu", import_osu},
    Target{"import-nvbandwidth", import_nvbandwidth},
    Target{"import-nccl-tests", import_nccl_tests},
    Target{"layout", read_layout},
    Target{"options", read_options},
    Target{"units", read_units},
    Target{"pairs", read_pairs},
    Target{"goal", read_goal},
    Target{"kineto", read_kineto},
    Target{"nccl-record", read_nccl_record},
    Target{"mpi", read_mpi},
#ifdef TWINLINK_FUZZ_CHAKRA
    Target{"chakra", read_chakra},
#endif
};

class ScratchFolder {
 public:
  ScratchFolder() : path_(fs::temp_directory_path() / ("twinlink-fuzz-" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

std::span<const Target> all_targets() { return kTargets; }

const Target& find_target(std::string_view name) {
  const auto* const found = std::ranges::find(kTargets, name, &Target::name);
  if (found != kTargets.end()) return *found;
  std::string known;
  for (const Target& target : kTargets) known += " " + std::string(target.name);
  throw UsageError("unknown target '" + std::string(name) + "' (there are:" + known + ")");
}

bool accepts(const Target& target, const std::string& text) {
  try {
    target.read(text);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

void promise(bool holds, const std::string& what) {
  if (!holds) throw BrokenPromise(what);
}

void promise_same(const std::string& first, const std::string& second, const std::string& what) {
  promise(first == second, what + ", it is another:\n" + first + "\n---- and ----\n" + second);
}

std::string scratch_file(const std::string& name, const std::string& content) {
  static const ScratchFolder folder;
  const fs::path file = folder.path() / name;
  std::ofstream(file, std::ios::binary) << content;
  return file.string();
}

}  // namespace twinlink::fuzz
