// hwloc's topology as an object, and what several parts ask of it.
#pragma once

#include <hwloc.h>

#include <memory>
#include <string>
#include <vector>

namespace twinlink::platforms {

/// Topology of this machine, or one that somebody has written down. Devices and bridges that matter are in it.
class HwlocTopology {
 public:
  /// This machine. An EnvironmentError if hwloc cannot look at it.
  HwlocTopology();
  /// From XML as lstopo writes it, of any version. An InputError that names `file` if it is none.
  static HwlocTopology of_xml(std::string text, const std::string& file);
  ~HwlocTopology();
  HwlocTopology(HwlocTopology&& other) noexcept;
  HwlocTopology& operator=(HwlocTopology&&) = delete;
  HwlocTopology(const HwlocTopology&) = delete;
  HwlocTopology& operator=(const HwlocTopology&) = delete;

  [[nodiscard]] hwloc_topology_t get() const { return handle_; }
  /// NUMA domains with CPUs, by number. Memory without CPUs (of a GPU, of an expander) is no domain that buffers come
  /// from.
  [[nodiscard]] std::vector<hwloc_obj_t> domains() const;
  /// The first such domain next to an object of the I/O tree; null if there is none.
  [[nodiscard]] hwloc_obj_t domain_of(hwloc_obj_t device) const;
  /// The first such domain that has one of `cpus`; null if there is none.
  [[nodiscard]] hwloc_obj_t domain_around(hwloc_const_cpuset_t cpus) const;

 private:
  explicit HwlocTopology(hwloc_topology_t handle) : handle_(handle) {}

  hwloc_topology_t handle_;
};

/// A set of CPUs or of NUMA domains; empty.
class Bitmap {
 public:
  [[nodiscard]] hwloc_bitmap_t get() const { return set_.get(); }

 private:
  struct Free {
    void operator()(hwloc_bitmap_t set) const { hwloc_bitmap_free(set); }
  };
  std::unique_ptr<hwloc_bitmap_s, Free> set_{hwloc_bitmap_alloc()};
};

/// "0-7,16".
std::string list_of(hwloc_const_bitmap_t set);

}  // namespace twinlink::platforms
