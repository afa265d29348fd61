#include "platforms/reader/platform_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "protocols/core/errors.hpp"
#include "protocols/core/text.hpp"

namespace twinlink::platforms {
namespace {

namespace fs = std::filesystem;

/// As short as it can be written from the current folder.
fs::path shortest(const fs::path& path) {
  std::error_code error;
  fs::path relative = fs::relative(path, error);
  return error || relative.empty() || *relative.begin() == ".." ? path.lexically_normal() : relative;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

fs::path platforms_folder() {
  if (const char* const named = std::getenv("TWINLINK_PLATFORMS"); named != nullptr && *named != '\0') {
    if (fs::is_directory(named)) return named;
    throw UsageError("TWINLINK_PLATFORMS: there is no folder " + std::string(named));
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& folder : {installed_platforms(), program / "../../platforms",
                                 program / "../share/twinlink/platforms", fs::path("platforms")}) {
    if (fs::is_directory(folder, error)) return shortest(folder);
  }
  throw UsageError("there is no folder of platforms beside this program; name it in TWINLINK_PLATFORMS");
}

fs::path shared_parts() {
  try {
    return platforms_folder();
  } catch (const UsageError&) {
    return {};
  }
}

fs::path find_platform(const fs::path& named) {
  std::error_code error;
  if (named.empty() || named.extension() == ".yaml" || named.string().find('/') != std::string::npos) return named;
  const fs::path folder = platforms_folder();
  if (fs::path file = folder / (named.string() + ".yaml"); fs::exists(file, error)) return file;

  const std::vector<std::string> names = names_in(folder);
  std::string message = "there is no platform '" + named.string() + "' in " + folder.string();
  if (const std::string meant = closest(named.string(), names); !meant.empty()) {
    message += "; did you mean '" + meant + "'?";
  }
  if (fs::is_regular_file(named, error)) message += "; the file beside it is ./" + named.string();
  message += " (there are:";
  for (const std::string& name : names) message += " " + name;
  throw UsageError(message + ")");
}

}  // namespace twinlink::platforms
