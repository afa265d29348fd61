#include "protocols/bench/workload/array_memory.hpp"

#include <algorithm>

#include "protocols/bench/workload/job_heap.hpp"

namespace twinlink::bench {

void ArraySizes::add(const workloads::ReshapePlan& plan) {
  const Bytes most = plan.element * std::max(plan.from.elements(), plan.to.elements());
  first = std::max(first, most);
  second = std::max(second, most);
  packed_out = std::max(packed_out, plan.packed_out);
  packed_in = std::max(packed_in, plan.packed_in);
}

ArrayMemory::ArrayMemory(MeasuredRank& rank, const WorkloadPlan& plan, ArraySizes sizes, bool in_place,
                         Patience patience)
    : rank_(rank) {
  // A buffer of no bytes is none.
  constexpr Bytes kLeast{256};
  std::array<Bytes, 4> wanted{sizes.first, in_place ? Bytes{} : sizes.second, sizes.packed_out, sizes.packed_in};
  const bool on_heap = workloads::wants_heap(plan.ways);
  Bytes all{};
  for (Bytes& size : wanted) {
    size = std::max(size, kLeast);
    if (on_heap) size = Bytes{most_of_all(rank, size.count(), patience)};
    all += size;
  }
  if (on_heap) {
    make_heap(heap_, rank, plan, all, wanted.size());
  } else {
    plan.require_room(rank, all, plan.name());
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (on_heap) {
      views_[i] = heap_->view(heap_->allocate(wanted[i]));
    } else {
      buffers_.push_back(rank.allocate(Memory::device, wanted[i], Locality::near));
      views_[i] = View(buffers_.back());
    }
  }
  if (in_place) views_[1] = views_[0];
}

ArrayMemory::~ArrayMemory() {
  for (const Buffer& buffer : buffers_) {
    try {
      rank_.release(buffer);
    } catch (const Error&) {
      return;  // an exception is passing that says why it is still in use
    }
  }
}

void ArrayMemory::close() {
  if (heap_) heap_->close();
}

workloads::ReshapeMemory ArrayMemory::of(std::size_t from, std::size_t to) const {
  return {.from = views_[from], .to = views_[to], .packed_out = views_[2], .packed_in = views_[3]};
}

}  // namespace twinlink::bench
