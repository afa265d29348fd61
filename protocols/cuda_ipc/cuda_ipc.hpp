// The protocol for the registry, and its channel for those who look inside: explanations, explorations, tests.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "protocols/core/protocol.hpp"
#include "protocols/cuda_ipc/cuda_ipc_endpoint.hpp"
#include "protocols/cuda_ipc/cuda_ipc_exchange.hpp"

namespace twinlink {

const Protocol& cuda_ipc_protocol();

/// Connects when it is made, which waits for the peer; exchange() then runs a CudaIpcExchange. Shows the state of its
/// handshake and cache.
class CudaIpcChannel final : public Channel {
 public:
  CudaIpcChannel(Rank& rank, RankId peer, const CudaIpcOptions& options, Seconds timeout)
      : end_(rank, peer, options), timeout_(timeout) {
    connected(end_.connect(timeout));
  }

  [[nodiscard]] std::string path_taken() const override;
  [[nodiscard]] std::vector<Counter> counters() const override;
  [[nodiscard]] bool connecting() const override;

  /// Says whether this rank has initialised CUDA. A send sets it: its message lies on the GPU.
  void set_cuda_in_use(bool in_use) { end_.set_cuda_in_use(in_use); }
  [[nodiscard]] const handshake::Endpoint& handshake() const { return end_.handshake(); }
  [[nodiscard]] const CacheCounts& cache_counts() const { return end_.cache.counts(); }
  [[nodiscard]] const CudaIpcCounts& counts() const { return end_.counts; }

 private:
  Outcome do_exchange(std::span<const View> outgoing, std::span<const View> incoming) override;
  CudaIpcEndpoint end_;
  CudaIpcExchange exchange_{end_};
  Seconds timeout_;
};

}  // namespace twinlink
