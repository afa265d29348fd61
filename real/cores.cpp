#include "real/cores.hpp"

#include "real/system_error.hpp"

namespace twinlink::real {
namespace {

/// The CPUs of the NUMA domain of `cpu`; all, if there is no such domain.
hwloc_const_cpuset_t domain_around(const HwlocTopology& topology, hwloc_const_cpuset_t cpu) {
  for (const hwloc_obj_t domain : topology.domains()) {
    if (hwloc_bitmap_intersects(domain->cpuset, cpu) != 0) return domain->cpuset;
  }
  return hwloc_get_root_obj(topology.get())->cpuset;
}

}  // namespace

Cores::Cores(int share, int shares) {
  const Bitmap here;
  const Bitmap allowed;
  if (hwloc_get_last_cpu_location(topology_.get(), here.get(), HWLOC_CPUBIND_THREAD) != 0) return;
  if (hwloc_get_cpubind(topology_.get(), allowed.get(), HWLOC_CPUBIND_THREAD) != 0) return;
  hwloc_bitmap_and(allowed.get(), allowed.get(), domain_around(topology_, here.get()));
  const int all = hwloc_bitmap_weight(allowed.get());
  int number = 0;
  for (int cpu = hwloc_bitmap_first(allowed.get()); cpu >= 0; cpu = hwloc_bitmap_next(allowed.get(), cpu), ++number) {
    if (number * shares / all == share) cpus_.push_back(static_cast<unsigned>(cpu));
  }
}

void Cores::change() {
  if (cpus_.size() < 2) return;
  const Bitmap cpu;
  hwloc_bitmap_only(cpu.get(), cpus_[next_]);
  next_ = (next_ + 1) % cpus_.size();
  if (hwloc_set_cpubind(topology_.get(), cpu.get(), HWLOC_CPUBIND_THREAD) != 0) throw_errno("hwloc_set_cpubind");
}

}  // namespace twinlink::real
