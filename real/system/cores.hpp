// The processor cores between which a rank may change.
#pragma once

#include <cstddef>
#include <vector>

#include "real/system/hwloc_topology.hpp"

namespace twinlink::real {

/// One CPU of each core that `cpus` has a part in, and of these cores, in the order in which they lie on the machine,
/// the `share`-th of `shares` parts, counted from 0: a node's ranks must not meet on the two threads of a core.
std::vector<unsigned> share_of_cores(const HwlocTopology& topology, hwloc_const_cpuset_t cpus, int share, int shares);

/// For a rank that shares its core with somebody else's work, which it cannot see or end: another core may be free. And
/// for one that is to try more than one place.
class Cores {
 public:
  /// The share of what the calling thread may run on, of the NUMA domain that it runs in now, so that a change moves it
  /// away from no memory and no device.
  Cores(int share, int shares);

  [[nodiscard]] std::size_t count() const { return cpus_.size(); }
  /// Binds the calling thread to the next of them, after the last one to the first; the process's other threads stay
  /// where they are, and those that it starts later begin there. False, and nothing changes, with less than two, or if
  /// the system refuses: others may be waiting for this rank, and it can do without.
  bool change();

 private:
  HwlocTopology topology_;
  std::vector<unsigned> cpus_;
  std::size_t next_ = 0;
};

}  // namespace twinlink::real
