#include "real/discover/node_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <utility>

namespace twinlink::real {
namespace {

constexpr unsigned kNvidia = 0x10de;
constexpr unsigned kDisplayClass = 0x03;

std::string info(hwloc_obj_t object, const char* name) {
  const char* const value = hwloc_obj_get_info_by_name(object, name);
  return value == nullptr ? "" : value;
}

std::string bus_id(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func);
}

bool is_gpu(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
  return pci.vendor_id == kNvidia && pci.class_id >> 8U == kDisplayClass;
}

/// The adapter that a PCI device is; nothing for others. One that is both has the name of its OpenFabrics device.
struct Adapter {
  std::string name{};
  bool infiniband = false;
};
std::optional<Adapter> adapter_of(hwloc_obj_t pci) {
  std::optional<Adapter> found;
  for (hwloc_obj_t child = pci->io_first_child; child != nullptr; child = child->next_sibling) {
    if (child->type != HWLOC_OBJ_OS_DEVICE || child->name == nullptr) continue;
    const bool fabric = child->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS;
    if (!fabric && child->attr->osdev.type != HWLOC_OBJ_OSDEV_NETWORK) continue;
    if (!found || (fabric && !found->infiniband)) found = Adapter{child->name, fabric};
  }
  return found;
}

class Gatherer {
 public:
  Gatherer(const HwlocTopology& topology, std::string name) : topology_(topology) {
    node_.name = std::move(name);
    add_sockets();
    add_memories();
    for (hwloc_obj_t pci = nullptr; (pci = hwloc_get_next_pcidev(topology_.get(), pci)) != nullptr;) {
      if (is_gpu(pci->attr->pcidev) || adapter_of(pci)) static_cast<void>(add(pci));
    }
  }

  NodeDescription take() { return std::move(node_); }

 private:
  void add_sockets() {
    for (hwloc_obj_t package = nullptr;
         (package = hwloc_get_next_obj_by_type(topology_.get(), HWLOC_OBJ_PACKAGE, package)) != nullptr;) {
      packages_.push_back(package);
      node_.sockets.push_back({info(package, "CPUModel")});
    }
    // Some virtual machines have none.
    if (packages_.empty()) node_.sockets.push_back({info(hwloc_get_root_obj(topology_.get()), "CPUModel")});
  }

  void add_memories() {
    for (const hwloc_obj_t domain : topology_.domains()) {
      NumaFacts facts{.number = static_cast<int>(domain->os_index)};
      for (std::size_t p = 0; p < packages_.size(); ++p) {
        if (hwloc_bitmap_intersects(packages_[p]->cpuset, domain->cpuset) != 0) {
          facts.sockets.push_back(static_cast<int>(p));
        }
      }
      if (facts.sockets.empty()) facts.sockets.push_back(0);
      node_.memories.push_back(std::move(facts));
    }
  }

  /// An object of the PCI tree, after those above it; its index.
  int add(hwloc_obj_t object) {
    if (const auto known = index_.find(object); known != index_.end()) return known->second;
    PciFacts facts = facts_of(object);
    if (object->parent != nullptr && object->parent->type == HWLOC_OBJ_BRIDGE) facts.parent = add(object->parent);
    place(facts, object);
    node_.pci.push_back(std::move(facts));
    const int index = static_cast<int>(node_.pci.size()) - 1;
    index_[object] = index;
    return index;
  }

  static PciFacts facts_of(hwloc_obj_t object) {
    PciFacts facts;
    if (object->type == HWLOC_OBJ_BRIDGE) {
      const auto& bridge = object->attr->bridge;
      const bool host = bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST;
      facts.kind = host ? PciFacts::Kind::host_bridge : PciFacts::Kind::bridge;
      if (host) return facts;
      facts.bus_id = bus_id(bridge.upstream.pci);
      facts.link_GBps = bridge.upstream.pci.linkspeed;
      return facts;
    }
    const auto& pci = object->attr->pcidev;
    facts.bus_id = bus_id(pci);
    facts.link_GBps = pci.linkspeed;
    if (is_gpu(pci)) {
      facts.kind = PciFacts::Kind::gpu;
      facts.name = info(object, "PCIDevice");
    } else {
      const auto adapter = adapter_of(object);
      facts.kind = PciFacts::Kind::adapter;
      facts.name = adapter->name;
      facts.infiniband = adapter->infiniband;
    }
    return facts;
  }

  void place(PciFacts& facts, hwloc_obj_t object) const {
    const hwloc_obj_t host = hwloc_get_non_io_ancestor_obj(topology_.get(), object);
    const hwloc_obj_t domain = topology_.domain_of(object);
    facts.numa = domain == nullptr ? node_.memories.front().number : static_cast<int>(domain->os_index);
    int sockets = 0;
    for (std::size_t p = packages_.size(); p-- > 0;) {
      if (hwloc_bitmap_intersects(packages_[p]->cpuset, host->cpuset) == 0) continue;
      facts.socket = static_cast<int>(p);
      ++sockets;
    }
    facts.place_known = domain != nullptr && sockets <= 1;
  }

  const HwlocTopology& topology_;
  std::vector<hwloc_obj_t> packages_{};
  std::map<hwloc_obj_t, int> index_{};
  NodeDescription node_{};
};

/// hwloc's backends for CUDA and NVML leave notes at a GPU.
GpuFacts gpu_of(hwloc_obj_t pci, const std::string& id) {
  GpuFacts gpu{.model = info(pci, "PCIDevice"), .bus_id = id};
  for (hwloc_obj_t child = pci->io_first_child; child != nullptr; child = child->next_sibling) {
    if (child->type != HWLOC_OBJ_OS_DEVICE) continue;
    if (std::string model = info(child, "GPUModel"); !model.empty()) gpu.model = std::move(model);
    if (std::string uuid = info(child, "NVIDIAUUID"); !uuid.empty()) gpu.uuid = std::move(uuid);
    const std::string kib = info(child, "CUDAGlobalMemorySize");
    std::uint64_t size = 0;
    if (std::from_chars(kib.data(), kib.data() + kib.size(), size).ec == std::errc{}) gpu.memory = Bytes{size << 10U};
  }
  return gpu;
}

}  // namespace

NodeDescription describe_topology(const HwlocTopology& topology, std::string name) {
  if (topology.domains().empty()) {
    throw UnavailableError("hwloc finds no NUMA domain with processors on " + name);
  }
  return Gatherer(topology, std::move(name)).take();
}

GpuInventory gpus_of_topology(const HwlocTopology& topology, const NodeDescription& node) {
  GpuInventory inventory;
  for (const PciFacts& pci : node.pci) {
    if (pci.kind != PciFacts::Kind::gpu) continue;
    inventory.gpus.push_back(gpu_of(hwloc_get_pcidev_by_busidstring(topology.get(), pci.bus_id.c_str()), pci.bus_id));
  }
  return inventory;
}

}  // namespace twinlink::real
