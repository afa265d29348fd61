// What a user may set about the cuda-ipc protocol, under its own names and under those of Open MPI.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "protocols/handle_cache.hpp"
#include "protocols/ipc_handshake.hpp"
#include "protocols/protocol.hpp"

namespace twinlink {

/// Open MPI puts a header of 32 B into every fragment of 128 KiB.
inline constexpr Bytes kFragmentHeader = 32_B;
inline constexpr Bytes kFragmentPayload = 128_KiB - kFragmentHeader;
/// pml_ob1_send_pipeline_depth.
inline constexpr int kFragmentsInFlight = 3;

struct CudaIpcOptions {
  handshake::Fidelity fidelity = handshake::Fidelity::design;
  bool use_ipc = true;    ///< false: this rank never asks
  std::size_t cache = 0;  ///< opened ranges that are kept; 0: all
  Eviction eviction = Eviction::lru;
  Bytes eager = 256_B;  ///< until IPC is on, messages up to this size (and one fragment) travel with their header
  bool late = false;    ///< this rank uses CUDA only from its first send on
  Bytes payload = kFragmentPayload;  ///< of one fragment of the staged path
  int fragments = kFragmentsInFlight;
};

/// The protocol's own options, from Settings: a chunk is the payload of a fragment (zero: the default), the depth is
/// the number of fragments under way. A UsageError for an unknown name or a value that makes no sense.
CudaIpcOptions cuda_ipc_options(const Settings& settings, const std::map<std::string, std::string>& named);

}  // namespace twinlink
