#include "real/system/cores.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace twinlink::real {

std::vector<unsigned> share_of_cores(const HwlocTopology& topology, hwloc_const_cpuset_t cpus, int share, int shares) {
  std::vector<unsigned> firsts;  // of each core
  hwloc_obj_t core = nullptr;
  while ((core = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_CORE, core)) != nullptr) {
    const Bitmap usable;
    hwloc_bitmap_and(usable.get(), core->cpuset, cpus);
    const int first = hwloc_bitmap_first(usable.get());
    if (first >= 0) firsts.push_back(static_cast<unsigned>(first));
  }
  const auto from = [&](int part) {
    return firsts.begin() + static_cast<std::ptrdiff_t>(firsts.size()) * part / shares;
  };
  return {from(share), from(share + 1)};
}

Cores::Cores(int share, int shares) {
  const Bitmap here;
  const Bitmap allowed;
  if (hwloc_get_last_cpu_location(topology_.get(), here.get(), HWLOC_CPUBIND_THREAD) != 0) return;
  if (hwloc_get_cpubind(topology_.get(), allowed.get(), HWLOC_CPUBIND_THREAD) != 0) return;
  const hwloc_obj_t domain = topology_.domain_around(here.get());
  if (domain != nullptr) hwloc_bitmap_and(allowed.get(), allowed.get(), domain->cpuset);
  cpus_ = share_of_cores(topology_, allowed.get(), share, shares);
  // The next one first: where it is, it has been.
  const auto now = std::ranges::find(cpus_, static_cast<unsigned>(hwloc_bitmap_first(here.get())));
  if (now != cpus_.end()) std::rotate(cpus_.begin(), std::next(now), cpus_.end());
}

bool Cores::change() {
  if (cpus_.size() < 2) return false;
  const Bitmap cpu;
  hwloc_bitmap_only(cpu.get(), cpus_[next_]);
  next_ = (next_ + 1) % cpus_.size();
  return hwloc_set_cpubind(topology_.get(), cpu.get(), HWLOC_CPUBIND_THREAD) == 0;
}

}  // namespace twinlink::real
