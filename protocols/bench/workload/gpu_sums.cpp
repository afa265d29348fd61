#include "protocols/bench/workload/gpu_sums.hpp"

#include <algorithm>

#include "protocols/core/errors.hpp"

namespace twinlink::bench {

using workloads::bytes_of;
using workloads::Schedule;

GpuSums::GpuSums(MeasuredRank& rank, Sums sums, std::uint64_t elements) : rank_(rank), sums_(sums) {
  if (sums != Sums::copied_to_host && sums != Sums::copied_and_back) return;
  buffer_ = rank.allocate(Memory::device, bytes_of(std::max<std::uint64_t>(elements, 1)), Locality::near);
}

GpuSums::~GpuSums() {
  if (!buffer_) return;
  try {
    rank_.release(*buffer_);
  } catch (const Error&) {
    return;  // an exception is passing that says why it is still in use
  }
}

void GpuSums::prepare(const Schedule& schedule, const workloads::Buffers& buffers) {
  if (!buffer_) return;
  for (const workloads::Mark& mark : schedule.before) rank_.fill(view(mark.slice), summable(mark.value, mark.period));
  rank_.fill(buffers.data(schedule.data), kSentinel);
}

Outcome GpuSums::copy_to_host(const Schedule& schedule, const workloads::Buffers& buffers, Seconds timeout) {
  if (!buffer_) return {};
  const View to = buffers.data(schedule.data);
  const View from{*buffer_, Bytes{}, to.length};
  const Outcome outcome = copied(to, from, "copy to the host", timeout);
  return outcome.ok() && comes_back(schedule) ? copied(to, from, "copy to the host", timeout) : outcome;
}

Outcome GpuSums::copy_back(const Schedule& schedule, const workloads::Buffers& buffers, Seconds timeout) {
  if (!comes_back(schedule)) return {};
  const View from = buffers.data(schedule.data);
  return copied({*buffer_, Bytes{}, from.length}, from, "copy to the GPU", timeout);
}

std::optional<std::string> GpuSums::fault_in(const Schedule& schedule) {
  if (!comes_back(schedule)) return std::nullopt;
  for (const workloads::Mark& mark : schedule.after) {
    const Verdict verdict = rank_.check(view(mark.slice), summable(mark.value, mark.period));
    if (!verdict.intact()) return to_string(verdict) + " on the GPU";
  }
  return std::nullopt;
}

bool GpuSums::comes_back(const Schedule& schedule) const {
  return sums_ == Sums::copied_and_back && !schedule.after.empty();
}

View GpuSums::view(const workloads::Slice& slice) const {
  return {*buffer_, bytes_of(slice.begin), bytes_of(slice.length)};
}

Outcome GpuSums::copied(const View& to, const View& from, const char* step, Seconds timeout) {
  rank_.step(step);
  const Op copy = rank_.copy(to, from, Stream{0}, Engine::dma);
  return {wait(rank_, copy, rank_.now() + timeout), std::string("step '") + step + "'"};
}

}  // namespace twinlink::bench
