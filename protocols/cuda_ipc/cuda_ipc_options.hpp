// What a user may set about the cuda-ipc protocol, under its own names and under those of Open MPI.
#pragma once

#include <cstddef>
#include <span>

#include "protocols/core/protocol.hpp"
#include "protocols/cuda_ipc/ipc_handshake.hpp"
#include "protocols/parts/handle_cache.hpp"

namespace twinlink {

/// A fragment of the staged path, btl_smcuda_cuda_max_send_size. Its first 32 B are a header.
inline constexpr Bytes kIpcFragment = 128_KiB;
inline constexpr Bytes kIpcFragmentHeader = 32_B;
/// pml_ob1_send_pipeline_depth.
inline constexpr int kIpcFragmentsInFlight = 3;

struct CudaIpcOptions {
  handshake::Fidelity fidelity = handshake::Fidelity::design;
  bool use_ipc = true;    ///< false: this rank never asks
  std::size_t cache = 0;  ///< opened ranges that are kept; 0: all
  Eviction eviction = Eviction::lru;
  Bytes eager = 256_B;  ///< until IPC is on, messages up to this size (and one fragment) travel with their header
  Bytes rget_from{};    ///< with IPC on, messages of this size and more go by it
  bool late = false;    ///< this rank uses CUDA only from its first send on
  /// This rank neither asks nor answers: Open MPI 5 closes smcuda where CUDA is not in use when MPI begins
  /// (open-mpi/ompi issue 13354, at 5.0.8).
  bool closed = false;
  /// Every rank sees one GPU, number 0: two of the same number are taken for one, whose memory needs no peer access
  /// (open-mpi/ompi issue 11949).
  bool sees_own_alone = false;
  Bytes payload = kIpcFragment - kIpcFragmentHeader;  ///< of one fragment
  int fragments = kIpcFragmentsInFlight;
};

std::span<const Option> cuda_ipc_option_list();
std::span<const Alias> cuda_ipc_aliases();
std::span<const Preset> cuda_ipc_presets();

/// The settings of one connection of `protocol`, which has the options above. A chunk is a fragment with its header,
/// and at least one byte of it is payload; zero is the default. A UsageError for options that make no sense.
CudaIpcOptions read_cuda_ipc_options(const Protocol& protocol, const Settings& settings);

}  // namespace twinlink
