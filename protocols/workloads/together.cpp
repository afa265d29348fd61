// Collectives that the protocol does by itself: what is before and after is that of the schedules of messages, of those
// with the fewest steps.
#include "protocols/workloads/collectives.hpp"

namespace twinlink::workloads {
namespace {

Schedule by_protocol(Collective what, Schedule schedule) {
  const Slice all{Where::data, 0, schedule.data};
  schedule.steps = std::vector<Step>{{.together = Together{what, all}}};  // and no room for those that there were
  schedule.scratch = 0;
  return schedule;
}

}  // namespace

Schedule together_all_reduce(const Shape& shape, int rank, std::uint64_t elements) {
  return by_protocol(Collective::all_reduce, tree_all_reduce(shape, rank, elements));
}

Schedule together_all_gather(const Shape& shape, int rank, std::uint64_t elements) {
  return by_protocol(Collective::all_gather, direct_all_gather(shape, rank, elements));
}

Schedule together_reduce_scatter(const Shape& shape, int rank, std::uint64_t elements) {
  return by_protocol(Collective::reduce_scatter, direct_reduce_scatter(shape, rank, elements));
}

Schedule together_broadcast(const Shape& shape, int rank, std::uint64_t elements) {
  return by_protocol(Collective::broadcast, tree_broadcast(shape, rank, elements));
}

Schedule together_reduce(const Shape& shape, int rank, std::uint64_t elements) {
  return by_protocol(Collective::reduce, tree_reduce(shape, rank, elements));
}

Schedule together_all_to_all(const Shape& shape, int rank, std::uint64_t elements) {
  return by_protocol(Collective::all_to_all, direct_all_to_all(shape, rank, elements));
}

}  // namespace twinlink::workloads
