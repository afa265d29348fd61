// Two ranks of the sample machine, joined by the cuda-ipc protocol.
#pragma once

#include <functional>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "protocols/core/measured_rank.hpp"
#include "protocols/cuda_ipc/cuda_ipc.hpp"

namespace twinlink::model::testing {

using NamedOptions = std::vector<std::pair<std::string_view, std::string_view>>;

struct IpcPair {
  bool peer_access = true;  ///< GPUs of one hub, or of two
  NamedOptions options{};
  NamedOptions options_of_rank_1{};  ///< in addition
  Seconds timeout{1.0};
};

/// One end of the pair, while the channel is open.
struct IpcEnd {
  MeasuredRank& rank;
  RankId peer;
  CudaIpcChannel& channel;

  [[nodiscard]] bool sending() const { return rank.id().value == 0; }
  [[nodiscard]] Buffer device(Bytes size) const { return rank.allocate(Memory::device, size); }
  /// Both ends have come here.
  void connect_ends() const;
  /// Nothing happens until then. A time in the past is our own bug.
  void sleep_until(Seconds when) const;
  /// Moves one message from rank 0 to rank 1, checks its content, and returns when the exchange ended here.
  Seconds one_message(View message) const;
  /// Makes a message pass so that the handshake is through.
  void shake_hands() const;
};

/// Decorates a rank before its channel is opened; may be empty.
using Decorate = std::function<MeasuredRank&(MeasuredRank&)>;

/// Runs `body` at both ends. The buffers that it allocates outlive the channel.
void run_ipc_pair(const IpcPair& pair, const std::function<void(const IpcEnd&)>& body, const Decorate& decorate = {});

}  // namespace twinlink::model::testing
