// Jobs of two ranks with a cuda-ipc connection, and what must hold in all of them.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "protocols/cuda_ipc/cuda_ipc.hpp"
#include "tests/explore/explorer/scenario.hpp"

namespace twinlink::explore {

/// How many messages rank 0 and rank 1 send in one exchange.
using Sends = std::array<int, 2>;

/// "ACKED": what the ending of a rank says by default.
std::string handshake_state(const CudaIpcChannel& channel);

struct IpcJob {
  handshake::Fidelity fidelity = handshake::Fidelity::design;
  std::vector<Sends> exchanges{{1, 1}};
  bool peer_access = true;
  std::array<bool, 2> late{};
  Bytes eager{};  ///< 0: each message that is staged has a header of its own
  bool late_sends = false;
  int buffers = 0;  ///< that a rank's messages take in turn; 0: as many as it sends at once
  std::size_t cache = 0;
  Eviction eviction = Eviction::lru;
  std::string (*ending)(const CudaIpcChannel&) = handshake_state;
};

/// `exchanges`, so many times.
std::vector<Sends> times(int count, const std::vector<Sends>& exchanges);

/// Both ranks connect and exchange. Required: everything arrives; at most five REQs; an RGET header is sent and
/// received only by an end that has sent or received an ACK before.
Scenario scenario_of(const IpcJob& job);

}  // namespace twinlink::explore
