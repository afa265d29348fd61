#include "platforms/import/hwloc_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "platforms/import/gpu_models.hpp"

namespace twinlink::platforms {
namespace {

constexpr unsigned kNetworkClass = 0x02;
constexpr unsigned kDisplayClass = 0x03;
constexpr unsigned kInfinibandClass = 0x0207;

using PciAttributes = hwloc_obj_attr_u::hwloc_pcidev_attr_s;

std::string info(hwloc_obj_t object, const char* name) {
  const char* const value = hwloc_obj_get_info_by_name(object, name);
  return value == nullptr ? "" : value;
}

std::string bus_id(const PciAttributes& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func);
}

std::string device_id(const PciAttributes& pci) { return fmt::format("{:04x}:{:04x}", pci.vendor_id, pci.device_id); }

bool is_gpu(const PciAttributes& pci) { return computes(device_id(pci), pci.class_id); }

/// The adapter that a PCI device is; nothing for others. One that is both has the name of its OpenFabrics device.
struct Adapter {
  std::string name{};
  bool infiniband = false;
};
std::optional<Adapter> adapter_of(hwloc_obj_t pci) {
  const unsigned pci_class = pci->attr->pcidev.class_id;
  std::string of_fabric;
  std::string of_network;
  for (hwloc_obj_t child = pci->io_first_child; child != nullptr; child = child->next_sibling) {
    if (child->type != HWLOC_OBJ_OS_DEVICE || child->name == nullptr) continue;
    const std::string name = child->name;
    if (child->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS || name.starts_with("mlx")) {
      if (of_fabric.empty()) of_fabric = name;
    } else if (child->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK || pci_class >> 8U == kNetworkClass) {
      if (of_network.empty()) of_network = name;
    }
  }
  if (!of_fabric.empty()) return Adapter{of_fabric, true};
  if (!of_network.empty()) return Adapter{of_network, pci_class == kInfinibandClass};
  if (pci_class == kInfinibandClass) return Adapter{"nic_" + bus_id(pci->attr->pcidev), true};
  return std::nullopt;
}

/// hwloc's backends for CUDA and NVML leave notes at a GPU.
GpuFacts gpu_of(hwloc_obj_t pci) {
  GpuFacts gpu{.device_id = device_id(pci->attr->pcidev), .bus_id = bus_id(pci->attr->pcidev), .links_told = false};
  if (model_of_device(gpu.device_id) == nullptr) gpu.model = info(pci, "PCIDevice");
  for (hwloc_obj_t child = pci->io_first_child; child != nullptr; child = child->next_sibling) {
    if (child->type != HWLOC_OBJ_OS_DEVICE) continue;
    if (std::string model = info(child, "GPUModel"); !model.empty()) gpu.model = std::move(model);
    if (std::string uuid = info(child, "NVIDIAUUID"); !uuid.empty()) gpu.uuid = std::move(uuid);
    const std::string kib = info(child, "CUDAGlobalMemorySize");
    std::uint64_t size = 0;
    if (std::from_chars(kib.data(), kib.data() + kib.size(), size).ec == std::errc{} && size > 0) {
      gpu.memory = {Bytes{size << 10U}, {Quality::measured, "as hwloc's CUDA backend tells"}};
    }
  }
  return gpu;
}

class Gatherer {
 public:
  Gatherer(const HwlocTopology& topology, std::string name) : topology_(topology) {
    node_.origin = "hwloc";
    node_.name = std::move(name);
    add_sockets();
    add_memories();
    for (hwloc_obj_t pci = nullptr; (pci = hwloc_get_next_pcidev(topology_.get(), pci)) != nullptr;) {
      const PciAttributes& attributes = pci->attr->pcidev;
      if (is_gpu(attributes) || adapter_of(pci)) {
        static_cast<void>(add(pci));
      } else if (attributes.class_id >> 8U == kDisplayClass) {
        node_.remarks.push_back(
            fmt::format("left out: {} ({}), a display and no accelerator", bus_id(attributes), device_id(attributes)));
      }
    }
    std::ranges::sort(node_.gpus, {}, &GpuFacts::bus_id);
    add_links("NVLinkBandwidth", GpuLinks::Kind::nvlink);
    add_links("XGMIBandwidth", GpuLinks::Kind::xgmi);
  }

  NodeDescription take() { return std::move(node_); }

 private:
  void add_sockets() {
    for (hwloc_obj_t package = nullptr;
         (package = hwloc_get_next_obj_by_type(topology_.get(), HWLOC_OBJ_PACKAGE, package)) != nullptr;) {
      packages_.push_back(package);
      node_.sockets.push_back(socket_of(package));
    }
    // Some virtual machines have none.
    if (packages_.empty()) node_.sockets.push_back(socket_of(hwloc_get_root_obj(topology_.get())));
  }

  static SocketFacts socket_of(hwloc_obj_t object) {
    const auto number = [&](const char* name) {
      const std::string text = info(object, name);
      int value = 0;
      std::from_chars(text.data(), text.data() + text.size(), value);
      return value;
    };
    std::string vendor = info(object, "CPUVendor");
    if (vendor.empty()) vendor = info(object, "CPUImplementer");  // of Arm: "0x41"
    if (vendor.empty()) vendor = info(object, "CPUModel");        // "POWER9"
    return {.cpu_model = info(object, "CPUModel"),
            .cpu = cpu_of(vendor, number("CPUFamilyNumber"), number("CPUModelNumber"))};
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
    if (node_.memories.empty()) node_.memories.push_back({.number = 0, .sockets = {0}});
    std::ranges::sort(node_.memories, {}, &NumaFacts::number);
  }

  /// An object of the PCI tree, after those above it; its index.
  int add(hwloc_obj_t object) {
    if (const auto known = index_.find(object); known != index_.end()) return known->second;
    PciFacts facts = facts_of(object);
    if (object->parent != nullptr && object->parent->type == HWLOC_OBJ_BRIDGE) facts.parent = add(object->parent);
    place(facts, object);
    if (facts.kind == PciFacts::Kind::gpu) node_.gpus.push_back(gpu_of(object));
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
      facts.link = pcie_rate_of_status(bridge.upstream.pci.linkspeed);
      return facts;
    }
    const PciAttributes& pci = object->attr->pcidev;
    facts.bus_id = bus_id(pci);
    facts.link = pcie_rate_of_status(pci.linkspeed);
    if (is_gpu(pci)) {
      facts.kind = PciFacts::Kind::gpu;
      facts.link_may_idle = true;
    } else {
      const auto adapter = adapter_of(object);
      facts.kind = PciFacts::Kind::adapter;
      facts.name = adapter->name;
      facts.device_id = device_id(pci);
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

  /// The GPU that an object of a matrix is or belongs to; null for others.
  [[nodiscard]] GpuFacts* gpu_at(hwloc_obj_t object) {
    if (object->type == HWLOC_OBJ_OS_DEVICE) object = object->parent;
    if (object->type != HWLOC_OBJ_PCI_DEVICE) return nullptr;
    const auto found = std::ranges::find(node_.gpus, bus_id(object->attr->pcidev), &GpuFacts::bus_id);
    return found == node_.gpus.end() ? nullptr : &*found;
  }

  /// Reads a matrix of what objects reach of each other, in MB/s.
  void add_links(const char* matrix, GpuLinks::Kind kind) {
    unsigned count = 1;
    hwloc_distances_s* distances = nullptr;
    if (hwloc_distances_get_by_name(topology_.get(), matrix, &count, &distances, 0) != 0 || count == 0) return;
    for (unsigned a = 0; a < distances->nbobjs; ++a) {
      GpuFacts* const gpu = gpu_at(distances->objs[a]);
      if (gpu == nullptr) continue;
      gpu->links_told = true;
      for (unsigned b = 0; b < distances->nbobjs; ++b) {
        const auto megabytes = static_cast<double>(distances->values[a * distances->nbobjs + b]);
        if (a == b || megabytes <= 0) continue;
        GpuLinks links = to(distances->objs[b]);
        links.kind = kind;
        links.each = {Rate{megabytes * 1e6}, {Quality::derived, fmt::format("hwloc's {}", matrix)}};
        gpu->links.push_back(std::move(links));
      }
    }
    hwloc_distances_release(topology_.get(), distances);
  }

  [[nodiscard]] GpuLinks to(hwloc_obj_t other) {
    if (const GpuFacts* const peer = gpu_at(other)) {
      return {.remote = GpuLinks::Remote::gpu, .remote_bus_id = peer->bus_id};
    }
    // Processors of IBM have NVLinks.
    const bool is_processor = other->cpuset != nullptr;
    const hwloc_obj_t domain = is_processor ? topology_.domain_around(other->cpuset) : nullptr;
    if (domain == nullptr) return {.remote = GpuLinks::Remote::nvswitch};
    return {.remote = GpuLinks::Remote::memory, .remote_numa = static_cast<int>(domain->os_index)};
  }

  const HwlocTopology& topology_;
  std::vector<hwloc_obj_t> packages_{};
  std::map<hwloc_obj_t, int> index_{};
  NodeDescription node_{};
};

}  // namespace

NodeDescription describe(const HwlocTopology& topology, std::string name) {
  return Gatherer(topology, std::move(name)).take();
}

}  // namespace twinlink::platforms
