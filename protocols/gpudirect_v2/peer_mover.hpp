// The four movers of gpudirect-v2: each is the steps that its two ends take.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "protocols/core/lane.hpp"
#include "protocols/core/rank.hpp"
#include "protocols/gpudirect_v2/peer_transfer.hpp"

namespace twinlink {

/// Who moves the bytes between the two GPUs.
struct PeerMover {
  std::string_view path_taken;
  std::string_view batches_by{};  ///< of a path with batches, where another one moves them: " by the copy engine"
  Engine engine = Engine::dma;    ///< of copies; a push is no copy
  bool flags = false;             ///< a flag behind the bytes tells the receiver
  bool helped_by_driver = false;  ///< moves bytes without peer access too: the driver does it through the host
  std::vector<Step> (*sender)(PeerTransfer& sent) = nullptr;
  std::vector<Step> (*receiver)(PeerTransfer& awaited) = nullptr;
};

/// By the values of the option `engine`, in its order.
extern const std::array<PeerMover, 4> kPeerMovers;

}  // namespace twinlink
