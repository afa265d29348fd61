#include "real/system/hwloc_topology.hpp"

#include <array>
#include <utility>

#include "protocols/bench/results/output_files.hpp"
#include "real/system/system_error.hpp"

namespace twinlink::real {
namespace {

hwloc_topology_t make_topology() {
  hwloc_topology_t handle = nullptr;
  if (hwloc_topology_init(&handle) != 0) throw_errno("hwloc_topology_init");
  hwloc_topology_set_io_types_filter(handle, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  return handle;
}

}  // namespace

HwlocTopology::HwlocTopology() : handle_(make_topology()) {
  if (hwloc_topology_load(handle_) == 0) return;
  hwloc_topology_destroy(handle_);
  throw_errno("hwloc_topology_load");
}

HwlocTopology HwlocTopology::of_xml(const std::filesystem::path& file) {
  bench::note_input(file);
  HwlocTopology topology(make_topology());
  if (hwloc_topology_set_xml(topology.handle_, file.c_str()) != 0 || hwloc_topology_load(topology.handle_) != 0) {
    throw InputError(file.string() + ": error: this is no topology in hwloc's XML that can be read");
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

}  // namespace twinlink::real
