#include "real/system/host_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "real/system/system_error.hpp"

namespace twinlink::real {
namespace {

namespace fs = std::filesystem;

/// The names of one version's files, and of what in memory.stat can be dropped.
struct Names {
  std::string_view limit;
  std::string_view use;
  std::string_view droppable;
};
constexpr Names kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr Names kVersion2{"memory.max", "memory.current", "inactive_file"};

/// Nothing for a file that is not there, and for "max".
std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::uint64_t number = 0;
  if (in >> number) return number;
  return std::nullopt;
}

std::uint64_t droppable_in(const fs::path& file, std::string_view name) {
  std::ifstream in(file);
  std::string key;
  std::uint64_t value = 0;
  while (in >> key >> value) {
    if (key == name) return value;
  }
  return 0;
}

std::optional<Bytes> left_in(const fs::path& group, const Names& names) {
  const auto limit = number_in(group / names.limit);
  const auto use = number_in(group / names.use);
  if (!limit || !use) return std::nullopt;
  const std::uint64_t needed = *use - std::min(*use, droppable_in(group / "memory.stat", names.droppable));
  return Bytes{*limit - std::min(*limit, needed)};
}

/// Least that is left in `group` below the folder `top`, and in all above it. In a container the group's name may be
/// one of the host, where only `top` itself is there to be read.
std::optional<Bytes> left_up_from(const fs::path& top, const fs::path& group, const Names& names) {
  std::optional<Bytes> least = left_in(top, names);
  fs::path at = top;
  for (const fs::path& part : group.relative_path()) {
    at /= part;
    if (const auto left = left_in(at, names)) least = least ? std::min(*least, *left) : *left;
  }
  return least;
}

}  // namespace

std::optional<Bytes> left_by_control_groups(const fs::path& root) {
  const fs::path groups = root / "sys/fs/cgroup";
  // A line for each hierarchy: number, its controllers, the process's group. Version 2 has "0" and none.
  std::ifstream in(root / "proc/self/cgroup");
  std::optional<Bytes> least;
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path group = line.substr(second + 1);
    std::optional<Bytes> left;
    if (controllers == ",,") left = left_up_from(groups, group, kVersion2);
    if (controllers.find(",memory,") != std::string::npos) left = left_up_from(groups / "memory", group, kVersion1);
    if (left) least = least ? std::min(*least, *left) : *left;
  }
  return least;
}

Bytes host_memory(const fs::path& root) {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages < 0 || page < 0) throw_errno("sysconf(_SC_PHYS_PAGES)");
  const Bytes all{static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page)};
  return std::min(all, left_by_control_groups(root).value_or(all));
}

}  // namespace twinlink::real
