// The four movers of gpudirect-v2: each is the steps that its two ends take, in a file of its own.
#pragma once

#include <string_view>
#include <vector>

#include "protocols/core/lane.hpp"
#include "protocols/gpudirect_v2/batches.hpp"
#include "protocols/gpudirect_v2/peer_end.hpp"

namespace twinlink {

/// Who moves the bytes between the two GPUs.
struct PeerMover {
  std::string_view path_taken;
  std::string_view batches_by{};  ///< of a path with batches, where another one moves them: " by the copy engine"
  Engine engine = Engine::dma;    ///< of copies; a push is no copy
  bool flags = false;             ///< a flag behind the bytes tells the receiver
  bool helped_by_driver = false;  ///< moves bytes without peer access too: the driver does it through the host
  std::vector<Step> (*sender)(PeerEnd& end, const BatchedPieces& sent);
  std::vector<Step> (*receiver)(PeerEnd& end, const BatchedPieces& awaited);
};

extern const PeerMover kCopyEngineMover;    // copy_engine.cpp
extern const PeerMover kKernelPushMover;    // kernel_push.cpp
extern const PeerMover kKernelPullMover;    // kernel_pull.cpp
extern const PeerMover kResidentPushMover;  // resident_push.cpp

}  // namespace twinlink
