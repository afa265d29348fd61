// What GPUs have and the host adds up: copied there, and the result back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/workloads/execution.hpp"

namespace twinlink::bench {

/// A buffer on the rank's GPU beside those of a schedule on the host. Where `sums` copies nothing, nothing is done.
class GpuSums {
 public:
  GpuSums(MeasuredRank& rank, Sums sums, std::uint64_t elements);
  ~GpuSums();
  GpuSums(const GpuSums&) = delete;
  GpuSums& operator=(const GpuSums&) = delete;

  /// Fills it with what the schedule begins with, and the host's with sentinels.
  void prepare(const workloads::Schedule& schedule, const workloads::Buffers& buffers);
  /// Before the schedule: what is added up, and of a call of MPI on whoever gets the result the buffer for it as well.
  Outcome copy_to_host(const workloads::Schedule& schedule, const workloads::Buffers& buffers, Seconds timeout);
  /// Behind it, on whoever gets the result.
  Outcome copy_back(const workloads::Schedule& schedule, const workloads::Buffers& buffers, Seconds timeout);
  /// What is wrong with what came back; nothing: it is as the schedule promises.
  [[nodiscard]] std::optional<std::string> fault_in(const workloads::Schedule& schedule);

 private:
  [[nodiscard]] bool comes_back(const workloads::Schedule& schedule) const;
  [[nodiscard]] View view(const workloads::Slice& slice) const;
  Outcome copied(const View& to, const View& from, const char* step, Seconds timeout);

  MeasuredRank& rank_;
  Sums sums_;
  std::optional<Buffer> buffer_{};
};

}  // namespace twinlink::bench
