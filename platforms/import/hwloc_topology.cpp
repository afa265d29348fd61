#include "platforms/import/hwloc_topology.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "platforms/import/xml_depth.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::platforms {
namespace {

hwloc_topology_t make_topology() {
  hwloc_topology_t handle = nullptr;
  if (hwloc_topology_init(&handle) != 0) throw EnvironmentError("hwloc_topology_init", std::strerror(errno));
  // NVSwitches and bridges too.
  hwloc_topology_set_io_types_filter(handle, HWLOC_TYPE_FILTER_KEEP_ALL);
  return handle;
}

/// hwloc 2 refuses version 3, which it would understand: elements that it does not know it passes over.
void lower_version(std::string& text) {
  static constexpr std::string_view kVersion = "<topology version=\"";
  const std::size_t start = text.find(kVersion);
  if (start == std::string::npos) return;
  const std::size_t number = start + kVersion.size();
  unsigned major = 0;
  std::from_chars(text.data() + number, text.data() + text.size(), major);
  constexpr unsigned kMajorBits = 16;
  const unsigned known = hwloc_get_api_version() >> kMajorBits;
  const std::size_t end = text.find('"', number);
  if (major > known && end != std::string::npos) text.replace(number, end - number, std::to_string(known) + ".0");
}

/// hwloc reads nothing of a matrix where a length differs from that of the text, as after an edit by hand.
void correct_lengths(std::string& text) {
  for (const std::string_view element : {"<indexes length=\"", "<u64values length=\""}) {
    for (std::size_t at = 0; (at = text.find(element, at)) != std::string::npos;) {
      at += element.size();
      const std::size_t quote = text.find('"', at);
      const std::size_t begin = text.find('>', at);
      const std::size_t end = text.find('<', at);
      if (end == std::string::npos || begin > end || quote > begin) return;
      text.replace(at, quote - at, std::to_string(end - begin - 1));
    }
  }
}

bool load(hwloc_topology_t handle, const std::string& text) {
  const auto size = static_cast<int>(std::min<std::size_t>(text.size() + 1, std::numeric_limits<int>::max()));
  return hwloc_topology_set_xmlbuffer(handle, text.c_str(), size) == 0 && hwloc_topology_load(handle) == 0;
}

/// Some damaged files end hwloc 2 in a segmentation fault, so a process of its own tries first.
bool survives(const std::string& text) {
  const pid_t child = ::fork();
  if (child < 0) throw EnvironmentError("fork", std::strerror(errno));
  if (child == 0) {
    constexpr rlimit kNoCore{0, 0};
    ::setrlimit(RLIMIT_CORE, &kNoCore);
    constexpr unsigned kSeconds = 20;
    ::alarm(kSeconds);
    ::_exit(load(make_topology(), text) ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw EnvironmentError("waitpid", std::strerror(errno));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

}  // namespace

HwlocTopology::HwlocTopology() : handle_(make_topology()) {
  if (hwloc_topology_load(handle_) == 0) return;
  hwloc_topology_destroy(handle_);
  throw EnvironmentError("hwloc_topology_load", std::strerror(errno));
}

HwlocTopology HwlocTopology::of_xml(std::string text, const std::string& file) {
  require_shallow_xml(text, file);
  // hwloc prints what it finds odd, and it may be a user's file that is. Who has set it wants to read it.
  ::setenv("HWLOC_HIDE_ERRORS", "2", 0);
  lower_version(text);
  correct_lengths(text);
  HwlocTopology topology(make_topology());
  if (!survives(text) || !load(topology.handle_, text)) {
    throw InputError(file + ": error: this is no topology in hwloc's XML that can be read");
  }
  return topology;
}

HwlocTopology::~HwlocTopology() {
  if (handle_ != nullptr) hwloc_topology_destroy(handle_);
}

HwlocTopology::HwlocTopology(HwlocTopology&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

std::vector<hwloc_obj_t> HwlocTopology::domains() const {
  std::vector<hwloc_obj_t> result;
  for (hwloc_obj_t node = nullptr; (node = hwloc_get_next_obj_by_type(handle_, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    if (hwloc_bitmap_iszero(node->cpuset) == 0) result.push_back(node);
  }
  return result;
}

hwloc_obj_t HwlocTopology::domain_of(hwloc_obj_t device) const {
  const hwloc_obj_t host = hwloc_get_non_io_ancestor_obj(handle_, device);
  for (const hwloc_obj_t domain : domains()) {
    if (hwloc_bitmap_isset(host->nodeset, domain->os_index) != 0) return domain;
  }
  return nullptr;
}

hwloc_obj_t HwlocTopology::domain_around(hwloc_const_cpuset_t cpus) const {
  for (const hwloc_obj_t domain : domains()) {
    if (hwloc_bitmap_intersects(domain->cpuset, cpus) != 0) return domain;
  }
  return nullptr;
}

std::string list_of(hwloc_const_bitmap_t set) {
  std::array<char, 1024> text{};
  hwloc_bitmap_list_snprintf(text.data(), text.size(), set);
  return text.data();
}

}  // namespace twinlink::platforms
