// The processor cores between which a rank may change.
#pragma once

#include <cstddef>
#include <vector>

#include "real/hwloc_topology.hpp"

namespace twinlink::real {

/// For a rank that shares its core with somebody else's work, which it cannot see or end: another core may be free.
class Cores {
 public:
  /// Of the CPUs that this process may run on, those of the NUMA domain that the calling thread runs in now, so that a
  /// change moves it away from no memory and no device. Of these, in the order of their numbers, the `share`-th of
  /// `shares` parts, counted from 0: a node's ranks must not meet on one CPU, nor on two threads of one core, which
  /// neighbours in number often are.
  Cores(int share, int shares);

  [[nodiscard]] std::size_t count() const { return cpus_.size(); }
  /// Binds the calling thread to the next of them, after the last one to the first; the process's other threads stay
  /// where they are. Does nothing with less than two. An EnvironmentError if the system refuses.
  void change();

 private:
  HwlocTopology topology_;
  std::vector<unsigned> cpus_;
  std::size_t next_ = 0;
};

}  // namespace twinlink::real
