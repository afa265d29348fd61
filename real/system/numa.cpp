#include "real/system/numa.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <sys/mman.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "platforms/import/hwloc_topology.hpp"
#include "real/system/system_error.hpp"

namespace twinlink::real {
namespace {

using platforms::Bitmap;
using platforms::HwlocTopology;

/// Null if the device is unknown.
hwloc_obj_t domain_of_device(const HwlocTopology& topology, const std::string& pci_bus_id) {
  const hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology.get(), pci_bus_id.c_str());
  return device == nullptr ? nullptr : topology.domain_of(device);
}

/// The one that this process runs in, or else the first.
hwloc_obj_t domain_of_process(const HwlocTopology& topology) {
  const Bitmap cpu;
  const bool known = hwloc_get_last_cpu_location(topology.get(), cpu.get(), HWLOC_CPUBIND_PROCESS) == 0;
  const hwloc_obj_t domain = known ? topology.domain_around(cpu.get()) : nullptr;
  return domain != nullptr ? domain : topology.domains().front();
}

/// By the firmware's latencies; where it gives none, the one with the most different number.
hwloc_obj_t farthest_from(hwloc_topology_t topology, hwloc_obj_t from, const std::vector<hwloc_obj_t>& domains) {
  hwloc_obj_t best = domains.front() == from ? domains.back() : domains.front();
  unsigned count = 1;
  hwloc_distances_s* distances = nullptr;
  if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &count, &distances, HWLOC_DISTANCES_KIND_MEANS_LATENCY,
                                  0) != 0 ||
      count == 0) {
    return best;
  }
  std::uint64_t longest = 0;
  for (const hwloc_obj_t domain : domains) {
    hwloc_uint64_t there = 0;
    hwloc_uint64_t back = 0;
    if (hwloc_distances_obj_pair_values(distances, from, domain, &there, &back) != 0 || there <= longest) continue;
    longest = there;
    best = domain;
  }
  hwloc_distances_release(topology, distances);
  return best;
}

bool bind_to(hwloc_topology_t topology, std::byte* memory, std::size_t size, int domain) {
  const Bitmap nodes;
  hwloc_bitmap_only(nodes.get(), static_cast<unsigned>(domain));
  return hwloc_set_area_membind(topology, memory, size, nodes.get(), HWLOC_MEMBIND_BIND,
                                HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_STRICT) == 0;
}

bool binding_works(hwloc_topology_t topology, int domain) {
  constexpr std::size_t kSize = 4096;
  void* page = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw_errno("mmap");
  const bool works = bind_to(topology, static_cast<std::byte*>(page), kSize, domain);
  ::munmap(page, kSize);
  return works;
}

}  // namespace

Numa::Numa(std::string pci_bus_id) : topology_(std::make_unique<HwlocTopology>()), pci_bus_id_(std::move(pci_bus_id)) {
  const hwloc_topology_t topology = topology_->get();
  const std::vector<hwloc_obj_t> domains = topology_->domains();
  if (domains.empty()) return;
  hwloc_obj_t near = domain_of_device(*topology_, pci_bus_id_);
  if (near == nullptr) near = domain_of_process(*topology_);
  near_ = static_cast<int>(near->os_index);
  far_ = static_cast<int>(farthest_from(topology, near, domains)->os_index);
  if (domains.size() > 1 && binding_works(topology, near_) && binding_works(topology, far_)) {
    domains_ = static_cast<int>(domains.size());
  } else {
    far_ = near_;
  }
}

Numa::~Numa() = default;

void Numa::bind(std::byte* memory, Bytes size, Locality locality) const {
  if (domains_ == 1) return;
  if (!bind_to(topology_->get(), memory, size.count(), number(locality))) throw_errno("hwloc_set_area_membind");
}

std::string Numa::cpu_binding() const {
  const Bitmap cpus;
  if (hwloc_get_cpubind(topology_->get(), cpus.get(), HWLOC_CPUBIND_PROCESS) != 0) return "unknown";
  return platforms::list_of(cpus.get());
}

bool Numa::bind_process() {
  const hwloc_topology_t topology = topology_->get();
  const hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology, pci_bus_id_.c_str());
  if (device == nullptr) {
    binding_ = fmt::format("nothing to bind to: hwloc knows no PCI device {}", pci_bus_id_);
    return false;
  }
  const hwloc_obj_t host = hwloc_get_non_io_ancestor_obj(topology, device);
  const bool whole_machine = hwloc_bitmap_isequal(host->cpuset, hwloc_get_root_obj(topology)->cpuset) != 0;
  if (whole_machine && topology_->domains().size() > 1) {
    binding_ = fmt::format("nothing to bind to: the system does not say to which NUMA domain {} belongs", pci_bus_id_);
    return false;
  }
  if (hwloc_set_cpubind(topology, host->cpuset, HWLOC_CPUBIND_PROCESS) != 0) throw_errno("hwloc_set_cpubind");
  binding_ = fmt::format("NUMA domain {}, next to {}: CPUs {}", platforms::list_of(host->nodeset), pci_bus_id_,
                         platforms::list_of(host->cpuset));
  return true;
}

}  // namespace twinlink::real
