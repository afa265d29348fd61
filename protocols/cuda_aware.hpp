// Which way a CUDA-aware MPI library takes, and why: for the protocol of that name, and for explanations.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "protocols/core/path.hpp"
#include "protocols/core/protocol.hpp"

namespace twinlink {

/// What the choice depends on beside path and size.
struct CudaAwareRules {
  enum class Library { mvapich2, openmpi, mvapich2_gdr, ucx, spectrum, cray_mpich, cray_mpich_gni };
  Library library = Library::mvapich2;
  bool ipc = true;               ///< CUDA IPC may be used
  Bytes ipc_from{};              ///< messages of this size and more go by it
  Bytes whole_to{};              ///< messages up to this size are staged whole; beyond, as a pipeline
  Bytes cpu_to{};                ///< messages up to this size the CPU copies by itself, before RDMA; 0: none
  std::optional<Bytes> chunk{};  ///< of the pipelines (gpudirect-v1 and v3) instead of their presets' own
  std::optional<int> depth{};
  /// What carries messages within a node where CUDA IPC is off: an adapter in loopback, where there is one, or shared
  /// memory with copies of `smp_copy_size`.
  bool shared_memory = false;
  std::optional<Bytes> smp_copy_size{};

  /// Do messages within a node take an adapter where there is one?
  [[nodiscard]] bool loopback() const { return is_mvapich2() && !ipc && !shared_memory; }
  [[nodiscard]] bool is_mvapich2() const { return library == Library::mvapich2 || library == Library::mvapich2_gdr; }
};

/// One way, as the protocol takes it.
struct CudaAwareChoice {
  std::string protocol;  ///< of the registry
  Settings settings{};   ///< its own, but for the timeout
  std::string reason;    ///< in words, for explanations
};

/// The first rule that fits a message of which so many ends, 0 to 2, lie in host memory. Pure, and the same at both
/// ends.
CudaAwareChoice choose_protocol(const CudaAwareRules& rules, const Path& path, Bytes size, int on_host = 0);

/// The rules of a connection. A UsageError for options that make no sense.
CudaAwareRules cuda_aware_rules(const Settings& settings);

/// A call of MPI, and whether it takes device pointers: what Open MPI's answer to frequent questions says of 1.7.
struct DeviceCall {
  std::string_view name;     ///< "MPI_Send"
  std::string_view refusal;  ///< why not; empty if it does
  std::string_view run_by;   ///< the options of cuda-aware, or the workload over it, that run it; empty: none
};
std::span<const DeviceCall> device_calls();

/// The rules in words, one per line, in their order.
std::string describe(const CudaAwareRules& rules);

}  // namespace twinlink
